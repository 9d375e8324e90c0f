"""What a student's function is held against: a closed form, its sizes, and how torch executes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symacct.accounting import Account
from symacct.accounting.numbers import holds
from symacct.api import account
from symacct.errors import SymacctError, one_of
from symacct.expr import Expr, evaluate, from_sympy, names_in, read
from symacct.graph import Graph
from symacct.testing.executed import Execution, execution_of
from symacct.worked import Worked, load_worked


@dataclass(frozen=True, slots=True)
class Truth:
    """A closed form, the sizes it may depend on, the account it comes from, and how torch executes it."""

    form: Expr
    names: tuple[str, ...]
    account: Account | None = None
    run: Execution | None = None

    @property
    def conditions(self) -> str:
        """The account's conditions in words."""
        return "the truth's conditions: " + "; ".join(map(str, self.account.conditions if self.account else ()))

    def legal(self, sizes: Mapping[str, int]) -> bool:
        """Whether the account's conditions hold at these sizes."""
        return self.account is None or all(holds(c, sizes) for c in self.account.conditions)

    def defined(self, sizes: Mapping[str, int]) -> bool:
        """Whether there is a value at these sizes: none where it divides by 0."""
        try:
            evaluate(self.form, sizes)
        except (SymacctError, ArithmeticError):
            return False
        return self.legal(sizes)

    def with_sizes(self, names: Iterable[str]) -> Truth:
        """Return it with sizes on which it does not depend."""
        return replace(self, names=tuple(dict.fromkeys((*self.names, *names))))


def truth_of(truth: Any, of: str, options: Mapping[str, Any], *, execute: bool | None) -> Truth:
    """Read a truth; the parameters are those of `assert_formula`.

    Raises
    ------
    SymacctError
        For a truth that cannot be read, counted or executed as was asked.

    Examples
    --------
    >>> truth_of("b d, d k -> b k", "flops", {}, execute=False).form
    2*b*d*k

    """
    worked = truth if isinstance(truth, Worked) else None
    if isinstance(truth, Path) or (isinstance(truth, str) and ".py" in truth):
        worked = load_worked(truth)
    if worked:
        counted = worked.account(**options)
    elif isinstance(truth, Account):
        counted = truth
    elif isinstance(truth, Graph) or callable(truth) or (isinstance(truth, str) and "->" in truth):
        counted = account(truth, **options)
    else:
        if options:
            msg = f"a formula takes no {one_of(options)}; they belong to a pattern, a graph or a worked file"
            raise SymacctError(msg)
        form = read(truth) if isinstance(truth, str) else from_sympy(truth)
        return Truth(form, tuple(sorted(names_in(form))), run=execution_of(None, None, of, wanted=execute))
    return Truth(counted.total(of), counted.names, counted, execution_of(counted, worked, of, wanted=execute))
