"""Two designs against each other: the difference of a total, and where the first is cheaper."""

from __future__ import annotations

from dataclasses import dataclass

from symacct.accounting.core import Account
from symacct.accounting.render import formats
from symacct.accounting.tables import COSTS
from symacct.errors import ConventionError, InconclusiveError, MixedUnitsError, one_of
from symacct.expr import Expr, Sympy, add, at_most, inequality, sign, to_latex, to_sympy, to_text


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two designs: the difference ``b - a`` of a total as a formula, and where the first is cheaper.

    `cheaper` is ``"a"``, ``"b"``, ``"equal"`` for all sizes, or None where it depends; `left < right` is then
    the region in which the first is cheaper. `never` says that there is none, though at some sizes they cost the same.
    `under` tells in what the two are counted differently: a name, the first's and the second's.
    """

    of: str
    unit: str
    a: Expr
    b: Expr
    cheaper: str | None
    left: Expr
    right: Expr
    never: bool = False
    under: tuple[tuple[str, str, str], ...] = ()

    @property
    def difference(self) -> Sympy:
        """What the second costs more than the first."""
        return to_sympy(add((self.b, -self.a)))

    @property
    def region(self) -> str:
        """Where the first is cheaper, as text."""
        if self.cheaper is not None:
            return {"a": "always", "b": "never", "equal": "never: they cost the same"}[self.cheaper]
        if self.never:
            return "never: b costs more at no sizes"
        return f"{to_text(self.left, factored=False)} < {to_text(self.right, factored=False)}"

    def __str__(self) -> str:
        """Print both totals, the difference and the region."""
        rows = [
            ("a", to_text(self.a)),
            ("b", to_text(self.b)),
            ("b - a", to_text(add((self.b, -self.a)))),
            ("a is cheaper", self.region),
            *((called, f"{first} (a), {second} (b)") for called, first, second in self.under),
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
        ``"flops"``, ``"matmul_flops"`` or ``"bytes"``. Bytes may be of other formats, traffic, layout or kernels, which
        the comparison then tells.

    Returns
    -------
    `Comparison`, with both totals, their `difference` b - a and the `region` where a is cheaper.

    Raises
    ------
    MixedUnitsError
        If the two count in different units.
    InconclusiveError
        If operations without a rule are passed over in one, and not the same ones in the other.
    ConventionError
        For a quantity that is no cost, what is no account, or operations counted under two conventions.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.compare(sa.account("b d, d k -> b k"), sa.account("b d, d r, r k -> b k")))
    flops in FLOP
      a             2*b*d*k
      b             2*b*r*(d + k)
      b - a         2*b*(d*r - d*k + k*r)
      a is cheaper  1/r < 1/d + 1/k

    """
    for given in (a, b):
        _check_account(given)
    if of not in COSTS:
        msg = f"{of!r} is not a cost to compare; known: {one_of(COSTS)}"
        raise ConventionError(msg)
    if of != "bytes" and a.uncounted != b.uncounted:
        lists = (", ".join(f"{times} {name}" for name, times in x.uncounted.items()) or "nothing" for x in (a, b))
        msg = f"the totals are partial, and pass over different operations: {' in one, '.join(lists)} in the other"
        raise InconclusiveError(msg)
    if a.unit(of) != b.unit(of):
        msg = f"one account is in {a.unit(of)}, the other in {b.unit(of)}; count both in one unit, as under '2n'"
        raise MixedUnitsError(msg)
    if of != "bytes" and a.convention != b.convention:
        msg = f"one account counts under {a.convention.label}, the other under {b.convention.label}; count both alike"
        raise ConventionError(msg)
    first, second = a.total(of), b.total(of)
    direction = sign(add((second, -first)))
    names = {1: "a", -1: "b", 0: "equal", None: None}
    never = direction is None and at_most(second, first)
    return Comparison(
        of, a.unit(of), first, second, names[direction], *inequality(first, second), never, _told(a, b, of)
    )


def _check_account(given: object) -> None:
    if isinstance(given, Account):
        return
    if isinstance(getattr(given, "total", None), Account):  # a step of training
        msg = "a step of training has several accounts; compare one, such as a.total with b.total, or a.backward"
    else:
        msg = f"{given!r} is not an account; make one with symacct.account(...)"
    raise ConventionError(msg)


def _told(a: Account, b: Account, of: str) -> tuple[tuple[str, str, str], ...]:
    """Return in what the bytes of two accounts are counted differently."""
    ways = [("dtype", formats(a), formats(b))]
    ways += [(called, getattr(a, called), getattr(b, called)) for called in ("traffic", "layout", "fuse")]
    return tuple(way for way in ways if of == "bytes" and way[1] != way[2])
