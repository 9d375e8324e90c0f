"""What updates the parameters once the gradients are there: its work and traffic, and the memory of the whole step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from symacct.accounting import Account
from symacct.accounting.numbers import axis_name
from symacct.accounting.steps import counts_of, one_unit
from symacct.backward import Joint
from symacct.conventions import Convention, Work, matmul_work
from symacct.errors import ConventionError, GraphError, InconclusiveError
from symacct.expr import (
    Expr,
    add,
    as_size,
    collect_sizes,
    divide,
    multiply,
    numbers_for,
    substitute,
    to_text,
)
from symacct.memory import Ledger, Parameter, Step, static_entries
from symacct.memory.formats import policy_for
from symacct.memory.largest import Accumulation, accumulation
from symacct.memory.step import NONE
from symacct.optimizers import KERNELS, Optimizer, optimizer

READ = {"param": 1, "grad": 1, "master": 1, "state": 1}
WRITTEN = {"param": 1, "grad": 0, "master": 1, "state": 1}


@dataclass(frozen=True)
class Update:
    """The update after so many micro-batches, and what a step takes in memory."""

    step: Step
    convention: Convention

    @property
    def scale(self) -> Expr:
        """What each of n mean losses is multiplied with, ``1/n``, so that gradients add up to that of the mean."""
        return divide(1, self.step.micro_batches)

    def works(self, sizes: Mapping[str, int] | None = None) -> list[Work]:
        """Return what is executed, parameter by parameter: the optimizer's work, and additions of gradients.

        At given sizes also where the sizes decide what is executed, as with Muon.
        """
        step, found = self.step, list[Work]()
        for p in step.trained if sizes is None else [_in_numbers(p, sizes) for p in step.trained]:
            added = multiply(add((step.micro_batches, -1)), p.numel)
            if added != 0:
                found.append({("add", "points"): added})
            if step.optimizer is not None:
                work = step.optimizer.work(p.shape)
                found.append({key: multiply(p.copies, amount) for key, amount in work.items()})
        return found

    def total(self, quantity: str, sizes: Mapping[str, int] | None = None) -> Expr:
        """Return the operations, or the bytes moved: what lasts is read, and all but gradients written, once."""
        if quantity == "bytes":
            return self.bytes
        works = [matmul_work(w) if quantity == "matmul_flops" else w for w in self.works(sizes)]
        return one_unit(counts_of(works, self.convention), self.convention)

    @cached_property
    def bytes(self) -> Expr:
        """The bytes of the update as one kernel: parameters are read where there is no master copy.

        Adding the gradient of a further micro-batch up reads both and writes the sum.
        """
        step = self.step
        entries = list(static_entries(step.trained, step.optimizer or NONE, step.policy))
        gradients = add(e.bytes for e in entries if e.role == "grad")
        moved = [multiply(multiply(3, add((step.micro_batches, -1))), gradients)]
        if step.optimizer is None:
            return moved[0]
        copied = {e.parameter for e in entries if e.role == "master"}
        for e in entries:
            read = READ[e.role] - (e.role == "param" and e.parameter in copied)
            moved.append(multiply(read + WRITTEN[e.role], e.bytes))
        return add(moved)

    @cached_property
    def memory(self) -> Ledger:
        """The ledger of the step."""
        return Ledger(self.step)

    def told_memory(self) -> str:
        """Print the memory of the step, or why it is not known."""
        try:
            return str(self.memory)
        except InconclusiveError as error:
            return f"memory is not known: {error}"

    def memory_json(self) -> dict[str, Any] | None:
        """Return the memory of the step as JSON-able data, null where it is not known."""
        try:
            return self.memory.to_json()
        except InconclusiveError:
            return None

    def notes(self) -> list[list[str]]:
        """Return how the step is done, in words."""
        step = self.step
        said = [["policy", f"{step.policy.name}: {step.policy.note}" if step.policy.note else step.policy.name]]
        if step.optimizer is not None:
            kernel = KERNELS.get(step.kernel)
            note = step.optimizer.note if step.trained else "no parameter has a gradient, so nothing is updated"
            said.append(["optimizer", f"{step.optimizer.name}; {note}" if note else step.optimizer.name])
            said.append(["kernel", f"{step.kernel}: {kernel}" if kernel else "what the update makes is not known"])
        if step.micro_batches != 1:
            told = f"{step.micro_batches} micro-batches a step; each mean loss times {to_text(self.scale)}"
            said.append(["accumulate", told])
        with suppress(InconclusiveError):  # where the memory is not known, that is told in its place
            said += [["memory", f"where {condition}"] for condition in self.memory.conditions]
        return said

    def accumulation(self, axis: str, batch: Any, memory: Any, sizes: Mapping[str, Any]) -> Accumulation:
        """Return into how many equal parts a batch must be taken apart to fit; see `Training.accumulation`."""
        once, several = (Ledger(replace(self.step, micro_batches=m)) for m in (1, 2))
        axis = axis_name(cast("Any", once), axis)
        others = [n for n in once.names if n != axis]
        given = collect_sizes(sizes, {}, once.names)
        if axis in given:
            msg = f"{axis} is the batch that is taken apart, and it is given too, as {given[axis]}"
            raise ConventionError(msg)
        return accumulation((once, several), axis, batch, memory, numbers_for(others, given))


def _in_numbers(p: Parameter, sizes: Mapping[str, int]) -> Parameter:
    shape = tuple(substitute(size, sizes) for size in p.shape)
    return p._replace(shape=shape, copies=substitute(p.copies, sizes))  # type: ignore[arg-type] # sizes stay sizes


def updated(
    account: Account, both: Joint, optimizer_: Any, policy: Any, *, kernel: str | None, micro_batches: Any
) -> Update:
    """Return the update of a training step; see `Account.training`.

    Raises
    ------
    ConventionError
        For an unknown optimizer, policy or kernel, and for a kernel without an optimizer.
    GraphError
        For an optimizer where no parameter is known.
    DtypeError
        Where the optimizer keeps its state in another format than the policy asks for.

    """
    chosen = None if optimizer_ is None else optimizer(optimizer_)
    given = both.graph.inputs
    gradients = {i: made for i, made in both.gradients.items() if i in given}
    step = Step(
        both.graph,
        gradients,
        both.seeds,
        policy_for(account, policy),
        chosen,
        _kernel(chosen, kernel),
        account.dtypes,
        as_size(micro_batches, "accumulate"),
    )
    _check_updated(step)
    return Update(step, account.convention)


def _check_updated(step: Step) -> None:
    """Check that an optimizer has parameters to update, and keeps its state in the formats of the policy."""
    if step.optimizer is None:
        return
    if not step.parameters:
        msg = (
            "no argument is known to be a parameter, so the optimizer has nothing to update; name them: "
            "sa.account(layer, params=['w']), on the command line --params w, in a file worked = sa.Worked(layer, "
            "params=('w',))"
        )
        raise GraphError(msg)
    for parameter in step.trained:
        with suppress(InconclusiveError):  # of one whose state is not known its memory says so
            list(static_entries([parameter], step.optimizer, step.policy))


def _kernel(chosen: Optimizer | None, kernel: str | None) -> str:
    """Return how the update runs: as asked, or as this optimizer runs best."""
    if chosen is None and kernel is not None:
        msg = f"kernel={kernel!r} says how an update runs, and nothing is updated; give an optimizer too"
        raise ConventionError(msg)
    if chosen is None or (kernel is None and not chosen.makes):
        return ""
    if kernel is None:
        return next(iter(chosen.makes))
    chosen.temporaries(kernel)
    return kernel
