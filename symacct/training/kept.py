"""What autograd keeps from the forward pass, as a table by tensor and a total in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from symacct.accounting import Account, Formats, Quantity
from symacct.accounting.gradients import assumption
from symacct.accounting.numbers import check_condition, concrete
from symacct.accounting.steps import dearest_branch
from symacct.backward import Kept, Running, joint, kept
from symacct.backward.needs import is_float
from symacct.backward.policies import POLICIES
from symacct.dtypes import AnyFormat, as_format, storage_bytes
from symacct.errors import ConventionError, one_of
from symacct.expr import Expr, Sympy, add, collect_sizes, evaluate, multiply, to_json, to_sympy, to_text
from symacct.graph import Condition
from symacct.rules.rule import show_shape
from symacct.show import table

What: TypeAlias = Literal["input", "parameter", "activation", "statistic", "mask", "index"]
DEVICES = {
    "cpu": "dropout keeps its mask in the dtype of its input, a norm its statistics; rms_norm runs in fp32",
    "cuda": "dropout keeps its mask in bytes, a norm its statistics in fp32, rms_norm no copy",
}
MEANING = {
    "torch": "what torch's autograd keeps, run operation by operation; memories merged",
    "ideal": "what the gradients need, nothing copied to be laid out",
    "outputs": "the output of each product: one tensor a linear layer",
    "pre_and_post": "both sides of each non-linearity",
}


class Row(NamedTuple):
    """A tensor that is kept: what it is, where it was made, how often, its bytes altogether and who keeps it."""

    name: str
    what: What
    scope: str
    shape: tuple[Any, ...]
    dtype: str
    times: Expr
    numel: Expr
    bytes: Expr
    by: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Residuals:
    """What is kept from the forward pass for the backward one; made by `Account.residuals`.

    Attributes
    ----------
    policy
        ``"torch"``, ``"ideal"``, ``"outputs"`` or ``"pre_and_post"``.
    device
        Where it runs, which decides how masks and statistics are kept: ``"cpu"`` or ``"cuda"``.
    rows
        The tensors. Parameters among them are there anyway, so that totals leave them out.
    conditions
        What must hold besides the conditions of the account: where the first turns of a repeat differ, so many turns.

    """

    account: Account
    policy: str
    device: str
    gradients: str
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]

    def total(self, of: str = "bytes") -> Expr:
        """Return bytes or elements (``"numel"``) of everything but parameters, as an expression of the engine."""
        return add(getattr(r, of) for r in self.rows if r.what != "parameter")

    def without(self, *what: str) -> Residuals:
        """Return the same without some tensors, by what they are: `statistic`, `mask`, `index`, `input`, `activation`.

        Raises
        ------
        ConventionError
            For another word.

        """
        known = get_args(What)
        if unknown := [w for w in what if w not in known]:
            msg = f"nothing that is kept is called {unknown[0]!r}; known: {one_of(known)}"
            raise ConventionError(msg)
        return replace(self, rows=tuple(r for r in self.rows if r.what not in what))

    @property
    def bytes(self) -> Sympy:
        """The bytes of everything kept but parameters."""
        return to_sympy(self.total())

    @property
    def elements(self) -> Sympy:
        """The elements of everything kept but parameters."""
        return to_sympy(self.total("numel"))

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> Quantity:
        """Return the bytes at given sizes."""
        given = concrete(self.account, collect_sizes(sizes, axes, self.account.names))
        for condition in self.conditions:
            check_condition(condition, given)
        return Quantity(evaluate(self.total(), given), "B")

    def by(self, group: str) -> dict[str, Sympy]:
        """Return the bytes in parts: by ``"what"``, ``"scope"``, ``"dtype"`` or ``"name"``, parameters too.

        Raises
        ------
        ConventionError
            For another word.

        """
        if group not in ("what", "scope", "dtype", "name"):
            msg = f"cannot group by {group!r}; known: what, scope, dtype, name"
            raise ConventionError(msg)
        parts: dict[str, list[Expr]] = {}
        for r in self.rows:
            parts.setdefault(getattr(r, group) or "(top)", []).append(r.bytes)
        return {name: to_sympy(add(amounts)) for name, amounts in parts.items()}

    def to_json(self) -> dict[str, Any]:
        """Return rows and total as JSON-able data with stable keys."""
        rows = [
            {**r._asdict(), "shape": [to_json(s) for s in r.shape], **{k: to_json(getattr(r, k)) for k in AMOUNTS}}
            for r in self.rows
        ]
        return {
            "title": self.account.title,
            "policy": self.policy,
            "device": self.device,
            "gradients": self.gradients,
            "bytes": to_json(self.total()),
            "elements": to_json(self.total("numel")),
            "conditions": [str(c) for c in self.conditions],
            "tensors": rows,
        }

    def __str__(self) -> str:
        """Print the tensors, the total, and under what they hold."""
        kept_rows = [r for r in self.rows if r.what != "parameter"]
        rows = [[*_told(r), ", ".join(r.by)] for r in kept_rows]
        rows.append(["total", "", "", to_text(self.total()), ""])
        parts = self.by("what")
        rows += [["of which", what, "", to_text(parts[what]), ""] for what in ("mask", "statistic") if what in parts]
        under = [
            ["policy", f"{self.policy}: {MEANING[self.policy]}"],
            ["device", f"{self.device}: {DEVICES[self.device]}"],
            ["gradients", self.gradients],
            ["not counted", f"parameters that are kept too ({len(self.rows) - len(kept_rows)}): they are there anyway"],
            *(["condition", str(c)] for c in self.conditions),
        ]
        title = f"kept for the backward pass of {self.account.title}"
        tensors = table(["tensor", "what", "shape", "bytes", "kept by"], rows, title)
        return f"{tensors}\n\n{table(['under', ''], under)}"

    __repr__ = __str__


AMOUNTS = ("times", "numel", "bytes")


def _told(r: Row) -> list[str]:
    name = f"{r.scope}/{r.name}" if r.scope else r.name
    often = "" if r.times == 1 else f"{to_text(r.times)} x "
    return [name, r.what, f"{often}{show_shape(r.shape)} {r.dtype}", to_text(r.bytes)]


def residuals(
    account: Account, policy: str = "torch", wrt: Sequence[str] | str | None = None, device: str = "cpu"
) -> Residuals:
    """Return what is kept for the backward pass; see `Account.residuals`."""
    for what, word, known in (("policy", policy, POLICIES), ("device", device, DEVICES)):
        if word not in known:
            msg = f"unknown {what} {word!r} of what is kept; known: {one_of(known)}"
            raise ConventionError(msg)
    graph = account.graph
    both = joint(graph, wrt)
    needed = tuple(i in both.gradients for i in graph.inputs)
    running = running_on(device, account.dtypes)
    found, conditions = kept(graph, needed, policy, lambda op: dearest_branch(op, account.convention), running)
    rows = tuple(_row(k, format_on(device, k, account.dtypes)) for k in found)
    return Residuals(account, policy, device, assumption(graph, both, wrt), rows, tuple(conditions))


def running_on(device: str, formats: Formats) -> Running:
    """Return how a forward pass runs on a device."""
    return Running(device == "cuda", formats.of)


def format_on(device: str, k: Kept, formats: Formats) -> AnyFormat:
    """Return the format in which a tensor is kept on a device."""
    form, what = formats.of_owner(k.tensor), _what(k)
    if device == "cpu":
        return form
    if what == "mask":
        return as_format("bool")
    return as_format("fp32") if what == "statistic" and form.name != "fp64" else form


def _row(k: Kept, form: AnyFormat) -> Row:
    shape, numel = k.tensor.shape, k.tensor.numel
    amounts = (k.times, multiply(k.times, numel), multiply(k.times, storage_bytes(form, shape)))
    return Row(k.tensor.name, _what(k), k.scope, shape, form.name, *amounts, k.by)


def _what(k: Kept) -> What:
    """Tell what a tensor is by where it comes from; what an operation makes besides its result are statistics."""
    if k.tensor.role == "param":
        return "parameter"
    if k.tensor.dtype == "bool" or (k.maker == "dropout" and k.output == 1):
        return "mask"
    if not is_float(k.tensor):
        return "index"
    if not k.maker and not k.copy:
        return "input"
    return "statistic" if k.output else "activation"
