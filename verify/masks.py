"""Pairs that masks let through, against walking over all of them one by one."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from symacct.errors import ConventionError
from symacct.expr import evaluate, name
from symacct.rules import pairs as engine
from verify.check import agree

SMALL = range(1, 7)


class Mask(NamedTuple):
    """A mask as the engine is asked for it."""

    kind: str
    align: str = "top-left"
    window: int | str | None = None


MASKS = (
    Mask("full"),
    Mask("half"),
    *(Mask("exact", align) for align in ("top-left", "bottom-right")),
    *(Mask("window", align, w) for align in ("top-left", "bottom-right") for w in (1, 2, 3, 5, "w")),
)
REFUSED = (Mask("none"), Mask("exact", "middle"), Mask("window"), Mask("exact", window=2), Mask("window", window=0))


def masks_agree(mask: Mask) -> None:
    """Numbers, and names wherever their conditions hold, are what a walk over all pairs counts."""
    s, t = name("s"), name("t")
    width = name("w") if mask.window == "w" else mask.window
    held = 0
    for queries, keys in ((s, t), (s, s), (s, s + t), (s + t, t), (s, 4), (2 * s, s)):
        form = engine.allowed(queries, keys, mask.kind, mask.align, width)
        for a, b, c in itertools.product(SMALL, SMALL, SMALL):
            sizes = {"s": a, "t": b, "w": c}
            numbers = [evaluate(x, sizes) if x is not None else None for x in (queries, keys, width)]
            seen = counted(mask, *numbers)
            exact = engine.allowed(numbers[0], numbers[1], mask.kind, mask.align, numbers[2])
            agree((exact.number, exact.conditions), (seen, ()), f"{mask} at {numbers}")
            if all(evaluate(x.left, sizes) >= evaluate(x.right, sizes) for x in form.conditions):
                agree(evaluate(form.number, sizes), seen, f"{mask} of {queries}, {keys} at {sizes}")
                held += 1
    agree(held >= 20, theirs=True, what=f"that {mask} holds at some sizes")


def counted(mask: Mask, s: int, t: int, window: int | None) -> object:
    """Walk over all pairs; a query at i sees the keys up to its own, the last `window` of them."""
    from fractions import Fraction

    if mask.kind in ("full", "half"):
        return s * t if mask.kind == "full" else Fraction(s * t, 2)
    shift = 0 if mask.align == "top-left" else t - s
    distances = (i + shift - j for i in range(s) for j in range(t))
    return sum(d >= 0 and (window is None or d < window) for d in distances)


def refused(mask: Mask) -> None:
    """What is no mask is refused by name."""
    try:
        engine.allowed(3, 4, mask.kind, mask.align, mask.window)
    except ConventionError as error:
        named = mask.align if mask.align == "middle" else mask.kind if mask.kind == "none" else "window"
        agree(named in str(error), theirs=True, what=f"that the refusal of {mask} names {named}")
    else:
        agree("counted", "refused", f"{mask}")
