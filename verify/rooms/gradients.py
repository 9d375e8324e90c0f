"""What rules pass back and what they keep, one operation at a time, against torch's autograd."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from symacct.symbolic import Builder, Symbolic, apply
from verify.check import Check, DisagreementError, agree
from verify.gradient_cases import CASES, INDEX, MASK, Case


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


def by_kind() -> dict[str, tuple[Case, ...]]:
    ordered = sorted(CASES, key=lambda case: case.kind)
    return {kind: tuple(several) for kind, several in groupby(ordered, lambda case: case.kind)}


CHECKS = tuple(
    Check(name, formula, oracle, judge, None, cases, proves=(f"gradient of {kind}",), needs=("torch",))
    for kind, cases in by_kind().items()
    for name, formula, oracle, judge in (
        (f"gradient of {kind}", "what a rule passes back", "torch.autograd.grad", gradients),
        (f"residuals of {kind}", "bytes that autograd keeps", "saved_tensors_hooks, storages merged", residuals),
    )
)
