"""Expressions as text and LaTeX, without sympy: `2*(b*d + b*k + d*k)`, `b*k*(2*d - 1)`, `(2*n - 1)/6`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symacct.expr.poly import Call, Expr, Monomial, Number, Poly, magnitude
from symacct.expr.powers import print_order, split_content

GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "pi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "chi",
        "psi",
        "omega",
    ]
)


def to_text(x: Expr, *, factored: bool = True) -> str:
    """Write an expression as our own reader and Python read it back; `factored=False` writes term by term.

    Examples
    --------
    >>> from symacct.expr import read
    >>> to_text(read("2*b*d*k - b*k")), to_text(read("n/3 - 1/6"))
    ('b*k*(2*d - 1)', '(2*n - 1)/6')

    """
    if not isinstance(x, Poly):
        return str(x)
    return _fraction(x, _TEXT) if factored else _sum(x, _TEXT)


def to_latex(x: Expr) -> str:
    r"""Write an expression as LaTeX.

    Examples
    --------
    >>> from symacct.expr import read
    >>> print(to_latex(read("n/3 - 1/6")), to_latex(read("2*b*d_model*k")))
    \frac{2 n - 1}{6} 2 b d_{model} k

    """
    if isinstance(x, Poly):
        return _fraction(x, _LATEX)
    return str(x) if type(x) is int else _latex_ratio(str(x.numerator), str(x.denominator))


def call_text(function: str, args: tuple[Expr, ...]) -> str:
    """Write a function atom; a group is its sum alone, its parentheses come with the power."""
    inside = ", ".join(to_text(a) for a in args)
    return f"({inside})" if function == "group" else f"{function}({inside})"


@dataclass(frozen=True, slots=True)
class _Style:
    """How the pieces of one notation are written."""

    times: str
    power: Callable[[str, Number], str]
    ratio: Callable[[str, str], str]
    parens: Callable[[str], str]


def _fraction(x: Poly, style: _Style) -> str:
    """Write content, common monomial and the rest as one fraction."""
    content, common, rest = split_content(x)
    if content == 0:
        return "0"
    if content < 0 and isinstance(rest, Poly) and any(c < 0 for c in rest.terms.values()):
        content, rest = -content, -rest  # s - b rather than -(b - s)
    inside = _sum(rest, style)
    sums = [] if rest == 1 else [inside]
    above = [(a, e) for a, e in common if e > 0]
    below = [(a, -e) for a, e in common if e < 0]
    top = _product(abs(content.numerator), above, sums, style, alone=not below and content.denominator == 1)
    if not below and content.denominator == 1:
        return ("-" + (top if len(sums) == 0 or top != inside else style.parens(top))) if content < 0 else top
    bottom = _product(content.denominator, below, [], style, alone=True)
    if style is _TEXT:
        many = (content.denominator > 1) + len(below) > 1
        top = top if top != inside or not sums else style.parens(top)
        bottom = style.parens(bottom) if many else bottom
    return ("-" if content < 0 else "") + style.ratio(top, bottom)


def _product(number: int, powers: Sequence[tuple[str, Number]], sums: list[str], style: _Style, *, alone: bool) -> str:
    factors = [str(number)] if number != 1 else []
    factors += [style.power(a, e) for a, e in powers]
    if sums and (factors or not alone):
        factors += [style.parens(s) for s in sums] if factors else sums
    elif sums:
        return sums[0]
    if style is _LATEX and any("mathrm" in f for f in factors):
        return r" \, ".join(factors)  # words run together without
    return style.times.join(factors) or "1"


def _sum(x: Expr, style: _Style) -> str:
    """Write the terms in falling degree, one that is added first."""
    if not isinstance(x, Poly):
        return str(x)
    out = ""
    order = sorted(x.terms, key=print_order)
    first = next((m for m in order if x.terms[m] > 0), order[0])
    for m in (first, *(m for m in order if m != first)):
        c = x.terms[m]
        term = _term(magnitude(c), m, style)
        out += (" - " if c < 0 else " + ") + term if out else ("-" if c < 0 else "") + term
    return out


def _term(c: Number, m: Monomial, style: _Style) -> str:
    above = [(a, e) for a, e in m if e > 0]
    below = [(a, -e) for a, e in m if e < 0]
    top = _product(c.numerator, above, [], style, alone=True)
    if not below and c.denominator == 1:
        return top
    bottom = _product(c.denominator, below, [], style, alone=True)
    if style is _TEXT and (c.denominator > 1) + len(below) > 1:
        bottom = style.parens(bottom)
    return style.ratio(top, bottom)


def _text_power(base: str, exponent: Number) -> str:
    if exponent == 1:
        return str(base)
    if exponent == Fraction(1, 2):
        return f"sqrt{base}" if _is_group(base) else f"sqrt({base})"
    return f"{base}**{exponent}" if type(exponent) is int else f"{base}**({exponent})"


def _is_group(base: str) -> bool:
    return isinstance(base, Call) and base.function == "group"


def latex_name(text: str) -> str:
    """Write a name: the part after the first underscore is a subscript, Greek names are letters, the rest upright."""
    head, _, tail = text.partition("_")
    if not head:
        return r"\mathrm{" + text.replace("_", r"\_") + "}"
    letter = "\\" + head if head.lower() in GREEK else head if len(head) == 1 else r"\mathrm{" + head + "}"
    return letter + ("_{" + tail.replace("_", ",") + "}" if tail else "")


def _latex_atom(base: str) -> str:
    if not isinstance(base, Call):
        return latex_name(base)
    inside = ", ".join(to_latex(a) for a in base.args)
    return {
        "ceil": rf"\left\lceil {inside} \right\rceil",
        "floor": rf"\left\lfloor {inside} \right\rfloor",
        "log2": rf"\log_2\left({inside}\right)",
        "group": rf"\left({inside}\right)",
    }[base.function]


def _latex_power(base: str, exponent: Number) -> str:
    if exponent == Fraction(1, 2):
        inside = to_latex(base.args[0]) if isinstance(base, Call) and base.function == "group" else _latex_atom(base)
        return rf"\sqrt{{{inside}}}"
    text = _latex_atom(base)
    return text if exponent == 1 else f"{text}^{{{exponent}}}"


def _latex_ratio(top: str, bottom: str) -> str:
    return rf"\frac{{{top}}}{{{bottom}}}"


def _text_ratio(top: str, bottom: str) -> str:
    return f"{top}/{bottom}"


_TEXT = _Style("*", _text_power, _text_ratio, lambda s: f"({s})")
_LATEX = _Style(" ", _latex_power, _latex_ratio, lambda s: rf"\left({s}\right)")
