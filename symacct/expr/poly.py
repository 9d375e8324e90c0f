"""Exact sums of products of powers: what every size, count and cost is made of.

An expression is an `int`, a `Fraction` or a `Poly`; arithmetic returns the simplest of the three, so a `Poly` is never a
constant. A monomial is a sorted tuple of `(atom, exponent)`. An atom is a `str`: a name, or a `Call` (a `str` that carries
its function and arguments). Strings, since sorting and hashing monomials is what the engine spends its time on: they
compare at C speed, objects with a Python `__lt__` took five times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

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

    def __new__(cls, text: str, function: str, args: tuple[Expr, ...]) -> Call:
        """Make the atom; its text is canonical, so two calls are equal exactly when their texts are."""
        self = super().__new__(cls, text)
        self.function = function
        self.args = args
        return self

    def __getnewargs__(self) -> tuple[str, str, tuple[Expr, ...]]:  # type: ignore[override]
        """Give pickle and copy what `__new__` needs."""
        return str(self), self.function, self.args


class Poly:
    """A non-constant exact expression, `sum(coefficient * product(atom ** exponent))`; immutable, hashed by content."""

    __slots__ = ("_hash", "terms")
    terms: dict[Monomial, Number]

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        """Keep `terms` as they are; build expressions by arithmetic, `name` and `read`, not by hand."""
        self.terms = terms
        self._hash = 0

    def __hash__(self) -> int:
        """Hash the content."""
        if not self._hash:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare structurally; `symacct.same` compares values."""
        return type(other) is Poly and self.terms == other.terms

    def __reduce__(self) -> tuple[type[Poly], tuple[dict[Monomial, Number]]]:
        """Pickle the terms alone."""
        return Poly, (self.terms,)

    def __bool__(self) -> bool:
        """Refuse a truth value: a size is not known yet."""
        msg = "a size that is still a name has no truth value; compare with symacct.same, or substitute numbers first"
        raise ExpressionError(msg)

    def __add__(self, other: Expr) -> Expr:
        """Add exactly."""
        return add((self, other))

    def __mul__(self, other: Expr) -> Expr:
        """Multiply exactly."""
        return multiply(self, other)

    def __sub__(self, other: Expr) -> Expr:
        """Subtract exactly."""
        return add((self, -other))

    def __rsub__(self, other: Expr) -> Expr:
        """Subtract exactly."""
        return add((other, -self))

    def __neg__(self) -> Poly:
        """Negate."""
        return Poly({m: -c for m, c in self.terms.items()})

    def __pow__(self, exponent: Number) -> Expr:
        """Raise to a rational power: expanded when it is a natural number, kept as a group else."""
        return power(self, exponent)

    def __truediv__(self, other: Expr) -> Expr:
        """Divide exactly; what does not divide stays as a power -1 of the divisor."""
        return multiply(self, power(other, -1)) if not isinstance(other, Poly) else _divide(self, other)

    def __rtruediv__(self, other: Number) -> Expr:
        """Divide a number by this."""
        return multiply(other, power(self, -1))

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        """Print the expression as text."""
        from symacct.expr.printer import to_text

        return to_text(self)


@lru_cache(maxsize=4096)
def name(text: str) -> Poly:
    """Return the expression that is one name."""
    return Poly({((text, 1),): 1})


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
        return whole(a * b)  # type: ignore[operator, arg-type]
    if type(b) is not Poly:
        if b == 0:
            return 0
        return a if b == 1 else Poly({m: whole(c * b) for m, c in a.terms.items()})  # type: ignore[operator]
    if len(a.terms) * len(b.terms) > MAX_TERMS:
        msg = f"a product of sums with {len(a.terms)} and {len(b.terms)} terms would not be readable; give some sizes as numbers"
        raise ExpressionError(msg)
    out: dict[Monomial, Number] = {}
    expand: list[Expr] = []
    for ma, ca in a.terms.items():
        for mb, cb in b.terms.items():
            m = join(ma, mb)
            if _has_whole_group(m):
                expand.append(_expand_groups(m, ca * cb))
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
    """Multiply any number of expressions; many bare names at once, as in the size of a tensor, in one pass."""
    out: Expr = 1
    powers: dict[str, Number] = {}
    for factor in factors:
        if type(factor) is Poly and len(factor.terms) == 1:
            ((monomial, coefficient),) = factor.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1 and type(monomial[0][0]) is str:
                powers[monomial[0][0]] = powers.get(monomial[0][0], 0) + 1
                continue
        out = multiply(out, factor)
    return multiply(out, Poly({tuple(sorted(powers.items())): 1})) if powers else out


def power(x: Expr, exponent: Number) -> Expr:
    """Raise to a rational power exactly, or keep the base as a group.

    Raises
    ------
    ExpressionError
        For zero to a negative power, a root of a negative number, or a result too large to read.

    """
    exponent = whole(Fraction(exponent))
    if exponent == 1:
        return x
    if not isinstance(x, Poly):
        return _number_power(x, exponent)
    if len(x.terms) == 1:
        ((m, c),) = x.terms.items()
        scaled = tuple((base, whole(e * exponent)) for base, e in m)
        return multiply(_number_power(c, exponent), _expand_groups(scaled, 1) if exponent > 0 else Poly({scaled: 1}))
    if type(exponent) is int and exponent >= 0:
        out: Expr = 1
        for _ in range(exponent):
            out = multiply(out, x)
        return out
    return _group_power(x, exponent)


def _group_power(x: Poly, exponent: Number) -> Expr:
    """Keep a sum to a negative or fractional power: its monomial factor outside, the primitive rest as one atom."""
    content, common, rest = split_content(x)
    outside = multiply(_number_power(content, exponent), power(monomial(common), exponent))
    if not isinstance(rest, Poly):
        return outside
    return multiply(outside, Poly({((call("group", rest), exponent),): 1}))


def _number_power(x: Number, exponent: Number) -> Expr:
    if type(exponent) is int:
        if x == 0 and exponent < 0:
            msg = "division by zero"
            raise ExpressionError(msg)
        if abs(exponent) * max(x.numerator.bit_length(), x.denominator.bit_length()) > 100_000:
            msg = f"{x}**{exponent} is too large a number"
            raise ExpressionError(msg)
        return whole(Fraction(x) ** exponent)
    if x < 0:
        msg = f"a root of the negative number {x} is not a size"
        raise ExpressionError(msg)
    root = exponent.denominator
    top, bottom = (_integer_root(v, root) for v in (x.numerator, x.denominator))
    if top is None or bottom is None:
        return Poly({((call("group", x), exponent),): 1})
    return _number_power(Fraction(top, bottom), exponent.numerator)


def _integer_root(n: int, degree: int) -> int | None:
    """Return the whole root when there is one."""
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= n else (low, middle - 1)
    return low if low**degree == n else None


def split_content(x: Expr) -> tuple[Number, Monomial, Expr]:
    """Split into rational content, common monomial and primitive rest: `6*n**2 - 3*n = 3 * n * (2*n - 1)`."""
    import math

    terms = terms_of(x)
    if not terms:
        return 0, ONE, 0
    content: Number = whole(
        Fraction(
            math.gcd(*(c.numerator for c in terms.values())),
            math.lcm(*(c.denominator for c in terms.values())),
        )
    )
    monomials = iter(terms)
    common = dict(next(monomials))
    for m in monomials:
        here = dict(m)
        common = {a: min(e, here.get(a, 0)) for a, e in common.items()} | {a: min(e, 0) for a, e in here.items() if a not in common}
    shared: Monomial = tuple(sorted((a, e) for a, e in common.items() if e))
    inverse: Monomial = tuple((a, -e) for a, e in shared)
    rest = {join(m, inverse): whole(c / Fraction(content)) for m, c in terms.items()}
    if leading(rest) < 0:
        content, rest = -content, {m: -c for m, c in rest.items()}
    return content, shared, from_terms(rest)


def leading(terms: Mapping[Monomial, Number]) -> Number:
    """Return the coefficient of the first monomial as printed: highest degree, then alphabetical."""
    return terms[min(terms, key=print_order)]


def print_order(m: Monomial) -> tuple[Number, list[tuple[str, Number]]]:
    """Sort monomials by falling degree, then by name."""
    return -sum(e for _, e in m), [(a, -e) for a, e in m]


def _divide(a: Poly, b: Poly) -> Expr:
    """Divide and cancel: contents, monomials, whole factors; else one group in the denominator."""
    content_a, common_a, rest_a = split_content(a)
    content_b, common_b, rest_b = split_content(b)
    outside = multiply(
        whole(Fraction(content_a) / Fraction(content_b)), monomial(join(common_a, tuple((x, -e) for x, e in common_b)))
    )
    if not isinstance(rest_b, Poly):
        return multiply(outside, rest_a)
    if isinstance(rest_a, Poly):
        from symacct.expr.division import cancel

        rest_a, rest_b = cancel(rest_a, rest_b)
        if not isinstance(rest_b, Poly):
            return multiply(multiply(outside, rest_a), power(rest_b, -1))
    return multiply(multiply(outside, rest_a), _group_power(rest_b, -1))


def _has_whole_group(m: Monomial) -> bool:
    return any(type(a) is Call and a.function == "group" and type(e) is int and e > 0 for a, e in m)


def _expand_groups(m: Monomial, coefficient: Number) -> Expr:
    """Multiply out groups whose power became a natural number, such as `sqrt(x + 1)**2`."""
    keep = tuple((a, e) for a, e in m if not _has_whole_group(((a, e),)))
    out: Expr = from_terms({keep: coefficient})
    for a, e in m:
        if isinstance(a, Call) and _has_whole_group(((a, e),)):
            out = multiply(out, power(a.args[0], e))
    return out


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
