"""Questions about closed forms: leading behaviour, limits, sensitivities, crossovers, comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.accounting.numbers import axis_name
from symacct.accounting.steps import counts_of
from symacct.conventions import matmul_work
from symacct.errors import ConventionError, InconclusiveError, MixedUnitsError, one_of
from symacct.expr import (
    Expr,
    Sympy,
    add,
    coefficient,
    degree,
    derivative,
    divide,
    inequality,
    infinity,
    multiply,
    name,
    numerator,
    power,
    sign,
    terms_of,
    to_latex,
    to_sympy,
    to_text,
)

if TYPE_CHECKING:
    from symacct.accounting.core import Account


COSTS = ("flops", "matmul_flops", "bytes")


class Leading(NamedTuple):
    """The leading behaviour of each total as one size grows."""

    flops: Sympy
    matmul_flops: Sympy
    bytes: Sympy
    intensity: Sympy


def _leading(account: Account, axis: str, quantity: str) -> Expr:
    if quantity == "intensity":
        return divide(_leading(account, axis, "flops"), _leading(account, axis, "bytes"))
    total = account.total(quantity)
    top = degree(total, axis)
    return multiply(coefficient(total, axis, top), power(name(axis), top))


def leading(account: Account, axis: Any, of: str | None) -> Any:
    """See `Account.leading`."""
    n = axis_name(account, axis)
    if of is not None:
        return to_sympy(_leading(account, n, of))
    return Leading(*(to_sympy(_leading(account, n, q)) for q in Leading._fields))


def limit(account: Account, axis: Any, of: str) -> Sympy:
    """See `Account.limit`."""
    n = axis_name(account, axis)
    form = _leading(account, n, of)
    exponent = degree(form, n)
    if exponent > 0:
        return infinity()
    return to_sympy(form) if exponent == 0 else to_sympy(0)


def sensitivity(account: Account, axis: Any, of: str) -> Sympy:
    """See `Account.sensitivity`."""
    return to_sympy(_elasticity(account, axis_name(account, axis), of))


def _elasticity(account: Account, n: str, of: str) -> Expr:
    if of == "intensity":
        above, below = account.total("flops"), account.total("bytes")
        top = add((multiply(derivative(above, n), below), -multiply(above, derivative(below, n))))
        return divide(multiply(name(n), top), multiply(above, below)) if above != 0 else 0
    total = account.total(of)
    return divide(multiply(name(n), derivative(total, n)), total) if total != 0 else 0


@dataclass(frozen=True, slots=True)
class Crossover:
    """Two terms of a total that are equal at one size; above it, `larger_above` is the larger (None: it depends)."""

    first: str
    second: str
    axis: str
    value: Expr
    larger_above: str | None

    @property
    def at(self) -> Sympy:
        """The size at which they are equal."""
        return to_sympy(self.value)

    def __str__(self) -> str:
        """Print as a sentence."""
        return f"{self.first} = {self.second} at {self.axis} = {to_text(self.value)}"


def terms(account: Account, of: str) -> list[tuple[str, Expr]]:
    """Return the parts of a total with their labels: operations for flops, tensors for bytes."""
    if of == "bytes":
        return account.traffic_terms()
    if of in ("flops", "matmul_flops"):
        account.total(of)  # raises where there are two units
        parts = []
        for step in account.steps:
            work = matmul_work(step.work) if of == "matmul_flops" else step.work
            parts.append((step.label, add(counts_of([work], account.convention).values())))
        return parts
    msg = f"{of!r} has no terms; known: {one_of(COSTS)}"
    raise ConventionError(msg)


def crossovers(account: Account, axis: Any, of: str) -> list[Crossover]:
    """See `Account.crossovers`."""
    n = axis_name(account, axis)
    parts = terms(account, of)
    out = []
    for i, (first, a) in enumerate(parts):
        for second, b in parts[i + 1 :]:
            if (found := _crossing(a, b, n)) is not None:
                at, rises = found
                out.append(Crossover(first, second, n, at, {1: first, -1: second, None: None}[rises]))
    return out


def _crossing(a: Expr, b: Expr, n: str) -> tuple[Expr, int | None] | None:
    """Return where ``a = b``, and the sign of ``a - b`` above; None where they never are."""
    if a == 0 or b == 0:
        return None
    gap = numerator(add((divide(a, b), -1)))  # the quotient is without common factors
    degree(gap, n)  # raises where the name stands inside a rounding
    powers = sorted({dict(m).get(n, 0) for m in terms_of(gap)}, reverse=True)
    if len(powers) < 2:
        return None
    high, low = (coefficient(gap, n, e) for e in powers[:2])
    signs = sign(high), sign(low)
    if len(powers) > 2 or (None in signs and powers[0] - powers[1] != 1):
        msg = f"no closed form of the {n} at which {to_text(a)} = {to_text(b)}; give some sizes as numbers"
        raise InconclusiveError(msg)
    if signs in ((1, 1), (-1, -1)):
        return None
    return power(divide(-low, high), Fraction(1) / (powers[0] - powers[1])), signs[0]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two designs: the difference ``b - a`` of a total as a formula, and where the first is cheaper.

    `cheaper` is ``"a"``, ``"b"``, ``"equal"`` for all sizes, or None where it depends; `left < right` is then
    the region in which the first is cheaper.
    """

    of: str
    unit: str
    a: Expr
    b: Expr
    cheaper: str | None
    left: Expr
    right: Expr

    @property
    def difference(self) -> Sympy:
        """What the second costs more than the first."""
        return to_sympy(add((self.b, -self.a)))

    @property
    def region(self) -> str:
        """Where the first is cheaper, as text."""
        if self.cheaper is not None:
            return {"a": "always", "b": "never", "equal": "never: they cost the same"}[self.cheaper]
        return f"{to_text(self.left, factored=False)} < {to_text(self.right, factored=False)}"

    def __str__(self) -> str:
        """Print both totals, the difference and the region."""
        rows = [
            ("a", to_text(self.a)),
            ("b", to_text(self.b)),
            ("b - a", to_text(add((self.b, -self.a)))),
            ("a is cheaper", self.region),
        ]
        return "\n".join([f"{self.of} in {self.unit}", *(f"  {label:<13} {value}" for label, value in rows)])

    def latex(self) -> str:
        """Return the difference as LaTeX."""
        return to_latex(add((self.b, -self.a)))


def compare(a: Account, b: Account, of: str = "flops") -> Comparison:
    """Compare two accounts: the difference as a formula, and the sizes at which the first is cheaper.

    Parameters
    ----------
    a, b
        Accounts; names that are alike mean the same size.
    of
        ``"flops"``, ``"matmul_flops"`` or ``"bytes"``.

    Raises
    ------
    MixedUnitsError
        If the two count in different units.
    ConventionError
        For a quantity that is no cost.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.compare(sa.account("b d, d k -> b k"), sa.account("b d, d r, r k -> b k")))
    flops in FLOP
      a             2*b*d*k
      b             2*b*r*(d + k)
      b - a         -2*b*(d*k - d*r - k*r)
      a is cheaper  1/r < 1/d + 1/k

    """
    if of not in COSTS:
        msg = f"{of!r} is not a cost to compare; known: {one_of(COSTS)}"
        raise ConventionError(msg)
    if a.unit(of) != b.unit(of):
        msg = f"one account is in {a.unit(of)}, the other in {b.unit(of)}; count both in one unit, as under '2n'"
        raise MixedUnitsError(msg)
    first, second = a.total(of), b.total(of)
    gap = add((second, -first))
    direction = sign(gap)
    left, right = inequality(first, second)
    names = {1: "a", -1: "b", 0: "equal", None: None}
    return Comparison(of, a.unit(of), first, second, names[direction], left, right)
