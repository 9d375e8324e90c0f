"""How many pairs of a query and a key a mask lets through, in closed form.

Let R(n) be what n queries see of which the i-th sees i keys, or min(i, w) of them through a window w:

    R(n) = n(n+1)/2        R(n) = n*w - w(w-1)/2   for w <= n + 1

a causal mask over S queries and T keys lets through, for S <= T and for S >= T,

    align="top-left"       query i sees keys 1..i            R(S)             R(S) - R(S-T)
    align="bottom-right"   query i sees keys 1..i + T - S    R(T) - R(T-S)    R(T)

The two are each other's mirror image: reading queries and keys from the end exchanges S with T and one corner with the
other. Both are S(S+1)/2 where S = T.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias, get_args

from symacct.errors import ConventionError, one_of
from symacct.expr import Expr, Size, add, at_most, multiply
from symacct.graph import Condition

Mask: TypeAlias = Literal["full", "half", "exact", "window"]
Align: TypeAlias = Literal["top-left", "bottom-right"]


class Pairs(NamedTuple):
    """A number of pairs, and what has to hold of the sizes for it to be true."""

    number: Expr
    conditions: tuple[Condition, ...] = ()


def pairs(s: Size, t: Size, mask: Mask, align: Align = "top-left", window: Size | None = None) -> Expr:
    """Return the number of pairs of S queries and T keys that a mask lets through.

    Parameters
    ----------
    s, t
        Queries and keys.
    mask
        ``"full"``: S*T. ``"half"``: S*T/2, the customary half. ``"exact"``: what a causal mask lets through.
        ``"window"``: what a causal mask lets through of the last `window` keys, a query's own included.
    align
        Where the diagonal ends: at the first query and key (torch's is_causal), or at the last (a KV cache, flash).
    window
        Keys a query sees at most.

    Returns
    -------
    The number of pairs. It holds under `conditions_of_pairs`: where names leave open which case applies, it is the
    one of S <= T, and of w <= n + 1 in each sum R(n).

    Raises
    ------
    ConventionError
        For an unknown mask or alignment, or a window that is missing, superfluous or below 1.

    Examples
    --------
    >>> from symacct.expr import name
    >>> s, t = name("s"), name("t")
    >>> pairs(s, s, "exact"), pairs(s, t, "exact", "bottom-right"), pairs(s, s, "window", window=name("w"))
    (s*(s + 1)/2, s*(2*t - s + 1)/2, w*(2*s - w + 1)/2)
    >>> pairs(3, 5, "exact"), pairs(3, 5, "exact", "bottom-right"), pairs(3, 5, "half")
    (6, 12, Fraction(15, 2))

    """
    return allowed(s, t, mask, align, window).number


def conditions_of_pairs(
    s: Size, t: Size, mask: Mask, align: Align = "top-left", window: Size | None = None
) -> list[Condition]:
    """Return what has to hold for `pairs` to be true: none where the sizes decide every case.

    Examples
    --------
    >>> from symacct.expr import name
    >>> [str(c) for c in conditions_of_pairs(name("s"), name("t"), "exact")]
    ['t >= s']

    """
    return list(allowed(s, t, mask, align, window).conditions)


def allowed(s: Size, t: Size, mask: Mask, align: Align = "top-left", window: Size | None = None) -> Pairs:
    """Return the number of pairs together with its conditions; see `pairs`."""
    check_mask(mask, align, window)
    if mask == "full":
        return Pairs(multiply(s, t))
    if mask == "half":
        return Pairs(multiply(Fraction(1, 2), multiply(s, t)))
    wide, known = _decide(s, t)
    top = align == "top-left"
    long, short = (t, s) if wide else (s, t)
    # the corner that cuts rows of the longer side off needs no second ramp
    if wide == top:
        total, holds = _ramp(short, window)
        return Pairs(total, known + holds)
    total, holds = _ramp(long, window)
    before, more = _ramp(long - short, window)
    return Pairs(total - before, tuple(dict.fromkeys(known + holds + more)))


def reached(s: Size, t: Size, align: Align, window: Size | None) -> tuple[Expr, Expr]:
    """Return the queries that see a key and the keys that are seen; where names leave it open, as `pairs` does."""
    short = t if at_most(t, s) else s
    long = s if at_most(t, s) else t
    wide = add((short, window, -1)) if window is not None else long
    far = wide if window is not None and not at_most(long, wide) else long
    if align == "top-left":
        return (far, short) if long == s else (s, short)
    return (short, far) if long == t else (short, t)


def check_mask(mask: str, align: str, window: Size | None) -> None:
    """Check the words of a mask.

    Raises
    ------
    ConventionError
        Lists what is known.

    """
    for what, word, known in (("mask", mask, get_args(Mask)), ("alignment", align, get_args(Align))):
        if word not in known:
            msg = f"unknown {what} {word!r} of attention pairs; known: {one_of(known)}"
            raise ConventionError(msg)
    if (mask == "window") != (window is not None):
        msg = f"the mask {mask!r} with window={window}; a window goes with the mask 'window' and needs its width"
        raise ConventionError(msg)
    if type(window) is int and window < 1:
        msg = f"a window of {window} keys; a query sees at least itself"
        raise ConventionError(msg)


def _ramp(n: Expr, window: Size | None) -> Pairs:
    """Return min(1, w) + min(2, w) + ... + min(n, w)."""
    triangle = multiply(Fraction(1, 2), n * n + n)
    if window is None:
        return Pairs(triangle)
    narrow, known = _decide(window, n + 1)
    if not narrow or n == 0:
        return Pairs(triangle)
    return Pairs(n * window - multiply(Fraction(1, 2), window * window - window), known)


def _decide(small: Expr, large: Expr) -> tuple[bool, tuple[Condition, ...]]:
    """Return whether small <= large; taken as true, under a condition, where names leave it open."""
    if at_most(small, large):
        return True, ()
    if at_most(large, small):
        return False, ()
    return True, (Condition("at_least", large, small),)
