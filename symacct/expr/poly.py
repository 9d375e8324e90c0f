"""Exact sums of products of powers: what every size, count and cost is made of.

An expression is an `int`, a `Fraction` or a `Poly`; arithmetic returns the simplest of the three, so a `Poly` is never
a constant. A monomial is a sorted tuple of `(atom, exponent)`. An atom is a `str`: a name, or a `Call` (a `str` that
carries its function and arguments). Strings, since sorting and hashing monomials is what the engine spends its time
on, and strings compare at C speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Self, TypeAlias

from symacct.errors import ExpressionError

Number: TypeAlias = int | Fraction
Expr: TypeAlias = "int | Fraction | Poly"
Size: TypeAlias = "int | Poly"
Monomial: TypeAlias = tuple[tuple[str, Number], ...]

MAX_TERMS = 20_000
ONE: Monomial = ()


class Call(str):
    """An atom that is a function of expressions: ceil, floor, log2, or `group` (a sum raised to a power that stays)."""

    __slots__ = ("args", "function")
    function: str
    args: tuple[Expr, ...]

    def __new__(cls, text: str, function: str, args: tuple[Expr, ...]) -> Self:
        """Make the atom; its text is canonical, so two calls are equal exactly when their texts are."""
        self = super().__new__(cls, text)
        self.function = function
        self.args = args
        return self

    def __getnewargs__(self) -> tuple[str, str, tuple[Expr, ...]]:  # type: ignore[override]
        return str(self), self.function, self.args


class Poly:
    """A non-constant exact expression, `sum(coefficient * product(atom ** exponent))`; immutable, hashed by content."""

    __slots__ = ("_hash", "bare", "terms")
    terms: dict[Monomial, Number]
    bare: tuple[str, Number] | None
    """The atom and its exponent 1 of an expression that is one name; most sizes are."""

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        """Keep `terms` as they are; build expressions by arithmetic, `name` and `read`, not by hand."""
        self.terms = terms
        self.bare = None
        self._hash = 0

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Poly and self.terms == other.terms

    def __reduce__(self) -> tuple[type[Poly], tuple[dict[Monomial, Number]]]:
        return Poly, (self.terms,)

    def __bool__(self) -> bool:
        msg = "a size that is still a name has no truth value; compare with symacct.same, or substitute numbers first"
        raise ExpressionError(msg)

    def __add__(self, other: Expr) -> Expr:
        return add((self, other))

    def __mul__(self, other: Expr) -> Expr:
        return multiply(self, other)

    def __sub__(self, other: Expr) -> Expr:
        return add((self, -other))

    def __rsub__(self, other: Expr) -> Expr:
        return add((other, -self))

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __pow__(self, exponent: Number) -> Expr:
        from symacct.expr.powers import power

        return power(self, exponent)

    def __truediv__(self, other: Expr) -> Expr:
        from symacct.expr.division import divide

        return divide(self, other)

    def __rtruediv__(self, other: Number) -> Expr:
        from symacct.expr.division import divide

        return divide(other, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        from symacct.expr.printer import to_text

        return to_text(self)


@lru_cache(maxsize=4096)
def name(text: str) -> Poly:
    """Return the expression that is one name."""
    out = Poly({((text, 1),): 1})
    out.bare = (text, 1)
    return out


def bare_name(x: Expr) -> str:
    """Return the name that an expression is, or nothing."""
    if isinstance(x, Poly) and len(x.terms) == 1:
        ((m, c),) = x.terms.items()
        if c == 1 and len(m) == 1 and m[0][1] == 1 and not isinstance(m[0][0], Call):
            return m[0][0]
    return ""


def atom(text: str) -> Poly:
    """Return the expression that is one atom, a name or a `Call`."""
    return Poly({((text, 1),): 1})


def terms_of(x: Expr) -> Mapping[Monomial, Number]:
    """Return the terms of any expression; none for zero."""
    if type(x) is Poly:
        return x.terms
    return {ONE: x} if x else {}  # type: ignore[dict-item]


def from_terms(terms: dict[Monomial, Number]) -> Expr:
    """Return the simplest expression with these terms; zeros and whole fractions must be gone already."""
    if not terms:
        return 0
    if len(terms) == 1 and ONE in terms:
        return terms[ONE]
    return Poly(terms)


def monomial(m: Monomial) -> Expr:
    """Return one monomial as an expression."""
    return Poly({m: 1}) if m else 1


def magnitude(value: Number) -> Number:
    """Return the absolute value (`abs` of the union has no type)."""
    return value if value >= 0 else -value


def whole(value: Number) -> Number:
    """Return an `int` for a fraction that is one."""
    if type(value) is Fraction and value.denominator == 1:
        return value.numerator
    return value


def add(parts: Iterable[Expr]) -> Expr:
    """Sum any number of expressions in one pass."""
    out: dict[Monomial, Number] = {}
    for part in parts:
        for m, c in part.terms.items() if type(part) is Poly else terms_of(part).items():
            old = out.get(m)
            if old is None:
                out[m] = c
            elif (new := old + c) == 0:
                del out[m]
            else:
                out[m] = whole(new)
    return from_terms(out)


def multiply(a: Expr, b: Expr) -> Expr:
    """Multiply two expressions, sums expanded."""
    if type(a) is not Poly:
        a, b = b, a
    if type(a) is not Poly:
        return whole(a * b)  # type: ignore[operator,arg-type,unused-ignore]
    if not isinstance(b, Poly):
        if b == 0:
            return 0
        return a if b == 1 else Poly({m: whole(c * b) for m, c in a.terms.items()})
    if len(a.terms) * len(b.terms) > MAX_TERMS:
        msg = f"a product of sums with {len(a.terms)} and {len(b.terms)} terms would not be readable; give numbers"
        raise ExpressionError(msg)
    short = _shortened(a, b)
    return _expanded(a, b) if short is None else short


def _shortened(a: Poly, b: Poly) -> Expr | None:
    """Return a product where a sum in the denominator of one divides the other: ``d/(s + 1) * (s + 1)`` is d."""
    for one, other in ((a, b), (b, a)):
        if len(other.terms) > 1 and any(type(x) is not str for x, _ in next(iter(one.terms))):
            from symacct.expr.division import without_group

            short = without_group(one, other)
            if short is not None:
                return short
    return None


def _expanded(a: Poly, b: Poly) -> Expr:
    out: dict[Monomial, Number] = {}
    expand: list[Expr] = []
    for ma, ca in a.terms.items():
        for mb, cb in b.terms.items():
            m = join(ma, mb)
            if has_whole_group(m):
                from symacct.expr.powers import expand_groups

                expand.append(expand_groups(m, ca * cb))
                continue
            c = out.get(m, 0) + ca * cb
            if c:
                out[m] = whole(c)
            else:
                out.pop(m, None)
    return add((from_terms(out), *expand)) if expand else from_terms(out)


@lru_cache(maxsize=16384)
def join(a: Monomial, b: Monomial) -> Monomial:
    """Multiply two monomials."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for base, exponent in b:
        powers[base] = powers.get(base, 0) + exponent
    return tuple(sorted((base, whole(e)) for base, e in powers.items() if e))


def product(factors: Iterable[Expr]) -> Expr:
    """Multiply any number of expressions; bare names, as in the size of a tensor, in one pass."""
    bare: list[tuple[str, Number]] = []
    out: Expr = 1
    for factor in factors:
        if type(factor) is Poly and factor.bare:
            bare.append(factor.bare)
        else:
            out = multiply(out, factor)
    if not bare:
        return out
    bare.sort()
    m = tuple(bare) if len(dict(bare)) == len(bare) else _powers(bare)
    return Poly({m: 1}) if out == 1 else multiply(out, Poly({m: 1}))


def _powers(bare: list[tuple[str, Number]]) -> Monomial:
    powers: dict[str, Number] = {}
    for base, exponent in bare:
        powers[base] = powers.get(base, 0) + exponent
    return tuple(powers.items())


def has_whole_group(m: Monomial) -> bool:
    """Whether a group stands to a natural power, to be multiplied out."""
    return any(type(a) is Call and a.function == "group" and type(e) is int and e > 0 for a, e in m)


def call(function: str, *args: Expr) -> Call:
    """Make a function atom with its canonical text."""
    from symacct.expr.printer import call_text

    return Call(call_text(function, args), function, args)


def names_in(x: Expr) -> Iterator[str]:
    """Yield every name of an expression, with repetitions, also inside functions."""
    for m in terms_of(x):
        for a, _ in m:
            if isinstance(a, Call):
                for arg in a.args:
                    yield from names_in(arg)
            else:
                yield a
