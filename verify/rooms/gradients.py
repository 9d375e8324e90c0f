"""What rules pass back and what they keep, one operation at a time, against torch's autograd."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from symacct.errors import GraphError
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic, apply
from verify.check import Check, DisagreementError, agree
from verify.gradient_cases import CASES, INDEX, MASK, Case

READ = ("grouped_matmul", "linear_recurrence")
"""Kinds that torch has no operation for."""
REFUSED = ("sdpa", "rotary")
"""Kinds with inputs that get no gradient."""


def tensors_of(case: Case) -> list[Any]:
    """Real tensors, the same at each call: numbers in 0.5 to 1.5, indices that repeat, masks."""
    import torch

    draw = torch.Generator().manual_seed(1)

    def one(i: int, shape: tuple[int, ...]) -> Any:
        if case.dtypes.get(i) == INDEX:
            return torch.randint(0, case.below, shape, generator=draw)
        x = torch.rand(shape, generator=draw) + 0.5
        return x > 1 if case.dtypes.get(i) == MASK else x

    return [one(i, shape) for i, shape in enumerate(case.shapes)]


def gradients(case: Case) -> None:
    from verify.autograd import gradients_agree

    for needs in case.needs():
        try:
            gradients_agree(case.kind, tensors_of(case), needs, case.results, **case.attrs)
        except AssertionError as wrong:
            raise DisagreementError(f"gradients of {case.kind} for {needs}: {wrong}") from wrong


def residuals(case: Case) -> None:
    from verify.autograd import kept_bytes, saved_bytes

    if not case.kept:
        return
    for needs in case.needs():
        builder = Builder()
        made = apply(
            case.kind,
            *(Symbolic(builder, builder.input(s, "x", "input", case.dtypes.get(i))) for i, s in enumerate(case.shapes)),
            **case.attrs,
        )
        first = made[0] if isinstance(made, tuple) else made
        graph = builder.graph([first.id])
        leaves = [t.requires_grad_(need) for t, need in zip(tensors_of(case), needs, strict=True)]
        call = case.call or (lambda *given: apply(case.kind, *given, **case.attrs))
        saved = saved_bytes(lambda call=call, given=leaves: call(*given))
        agree(kept_bytes(graph, {}, needs), saved, f"bytes that {case.kind} keeps for {needs}")


def operations(case: Case) -> None:
    from verify.autograd import symbolic_gradients

    if case.made is not None:
        needs = list(case.needs())[-1]
        made = symbolic_gradients(case.kind, case.shapes, needs, **case.attrs).ops[1:]
        agree(tuple(op.kind for op in made), case.made, f"operations of the gradients of {case.kind}")


def reads_what_is_kept(case: Case) -> None:
    """Of what torch has no operation for: what is kept is what the gradients read."""
    from verify.autograd import symbolic_gradients

    for needs in case.needs():
        graph = symbolic_gradients(case.kind, case.shapes, needs, **case.attrs)
        op, *later = graph.ops
        root = {t.id: t.id if t.storage is None else t.storage for t in graph.tensors}
        read = {root[r.tensor] for part in later for r in rule_of(part).reads(part, graph)}
        ids = {"input": op.inputs, "output": op.outputs}
        kept = {ids[r.kind][r.which] for r in rule_of(op).residuals(op, graph, needs)}
        agree(kept, read & {*op.inputs, *op.outputs}, f"what {case.kind} keeps for {needs}")


def refuses(case: Case) -> None:
    """No gradient is made of an input that is a constant to the operation."""
    from verify.autograd import symbolic_gradients

    for constant in case.constant:
        needs = tuple(i in (0, constant) for i in range(len(case.shapes)))
        try:
            symbolic_gradients(case.kind, case.shapes, needs, **case.attrs)
        except GraphError:
            continue
        raise DisagreementError(f"{case.kind} made a gradient of its input {constant}")


def by_kind() -> dict[str, tuple[Case, ...]]:
    ordered = sorted(CASES, key=lambda case: case.kind)
    return {kind: tuple(several) for kind, several in groupby(ordered, lambda case: case.kind)}


CHECKS = tuple(
    Check(name, formula, oracle, judge, None, cases, proves=(f"gradient of {kind}",), needs=("torch",))
    for kind, cases in by_kind().items()
    for name, formula, oracle, judge in (
        (f"gradient of {kind}", "what a rule passes back", "torch.autograd.grad", gradients),
        (f"residuals of {kind}", "bytes that autograd keeps", "saved_tensors_hooks, storages merged", residuals),
        (
            f"operations of the gradient of {kind}",
            "the operations a gradient is made of",
            "written by hand",
            operations,
        ),
    )
) + tuple(
    Check(name, formula, oracle, judge, None, by_kind()[kind], proves=(f"gradient of {kind}",), needs=("torch",))
    for kinds, name, formula, oracle, judge in (
        (
            ("grouped_matmul", "linear_recurrence"),
            "what is kept",
            "residuals",
            "what gradients read",
            reads_what_is_kept,
        ),
        (("sdpa", "rotary"), "no gradient of constants", "an error", "the list of constants", refuses),
    )
    for kind in kinds
)
