"""Memory: what is alive in a step of training, against graphs that run, torch's autograd, and real modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.accounting import Formats
from symacct.backward import joint
from symacct.dtypes import Policy, as_format
from symacct.expr import evaluate
from symacct.graph import Graph
from symacct.memory.candidates import Walks, undominated
from symacct.memory.step import Step, Storages
from symacct.testing.compositions import Composition, compositions
from verify.check import Check, DisagreementError, agree, at_most
from verify.rooms.worked import REPEATED, WORKED
from verify.stacks import module_agrees, unrolled_agrees

FP32 = Policy("fp32", {"param": "fp32"})
GRAPHS = tuple(n for n in WORKED if n != "decode_step")
"""Graphs that are trained."""

LESS_IN_TORCH = {
    "conv_block": "torch runs the gradient of a batch norm as one kernel",
    "gru": "torch's engine adds to gradients in place",
    "lstm": "likewise",
}
"""Graphs of which torch holds less."""


class Case(NamedTuple):
    graph: str
    sizes: dict[str, int]


@cache
def training_of(graph: str) -> Any:
    """A step of a worked graph in fp32, without an update."""
    return WORKED[graph].account().training(optimizer=None, policy="fp32")


def walks_of(graph: Graph) -> Walks:
    """As `graph.run` frees: inputs too, all in fp32."""
    storages = storages_of(graph)
    return Walks(graph, storages.given, storages.measure)


def storages_of(graph: Graph) -> Storages:
    return Storages(Step(graph, {}, (), FP32, None, "", Formats(as_format("fp32"))))


@cache
def joint_of(name: str) -> tuple[Graph, Walks]:
    graph = joint(WORKED[name].account().graph).graph
    return graph, walks_of(graph)


def peak_of(graph: Graph, walks: Walks, sizes: Mapping[str, int]) -> int:
    """The most that is alive: from the forms, or written out where a repeat has too few turns for them."""
    few = {n: int(evaluate(n, sizes)) for n in walks.free if evaluate(n, sizes) < walks.few[n]}
    if few:
        storages = storages_of(graph)
        walks = Walks(graph, storages.given, storages.measure, turns=few)
    return max(int(evaluate(moment.bytes, sizes)) for moment in undominated(walks.moments()))


def runs_agree(case: Case) -> None:
    """Forward and backward as one graph, run on tensors that are freed at their last use."""
    graph, walks = joint_of(case.graph)
    ran = graph.run(case.sizes, dtype="fp32")
    agree(peak_of(graph, walks, case.sizes), ran.peak_bytes, f"peak of {case.graph} at {case.sizes}")


def compositions_agree(c: Composition) -> None:
    """The same of random functions."""
    graph = joint(sa.account(c.function()).graph).graph
    walks = walks_of(graph)
    agree(peak_of(graph, walks, c.sizes), graph.run(c.sizes, dtype="fp32").peak_bytes, f"peak of {c}")


def ledger_agrees(case: Case) -> None:
    """With inputs that stay: the graph run with its inputs among its outputs.

    Run alone it is given the gradient of its output from the start, the ledger from the backward pass on; and the
    gradients of stacked layers are one tensor, of which the ledger has each layer's by itself.
    """
    memory = training_of(case.graph).memory
    step = memory.step
    stay = tuple(i for i in step.graph.inputs if i not in step.seeds)
    ran = step.graph._replace(outputs=step.graph.outputs + stay).run(case.sizes, dtype="fp32").peak_bytes
    figures = memory.at(sizes=case.sizes)
    apart = step.seeds if case.graph not in REPEATED else (*step.seeds, *step.gradients.values())
    at_most(int(figures.peak), ran, f"peak of {case.graph} at {case.sizes}")
    less = sum(4 * int(evaluate(step.graph.tensors[i].numel, case.sizes)) for i in apart)
    at_most(ran - less, int(figures.peak), f"peak of {case.graph} at {case.sizes}, less what is apart")
    agree(int(figures.peak), max(memory.timeline(sizes=case.sizes).totals), f"peak of {case.graph}, turn by turn")
    agree(sum(figures.held.values()), int(figures.peak), f"what is alive at the peak of {case.graph}")


def autograd_agrees(case: Case) -> None:
    """The function on real tensors under autograd holds at least that much: it keeps what each operation saves."""
    import torch

    from symacct.eager.inputs import random_input
    from verify.meter import Meter

    worked = WORKED[case.graph]
    training = training_of(case.graph)
    memory, graph = training.memory, training.memory.step.graph
    ours = int(memory.at(sizes=case.sizes).peak)
    given = [i for i in graph.inputs if i not in memory.step.seeds]
    generator = torch.Generator().manual_seed(0)
    tensors = [random_input(graph, i, case.sizes, "fp32", generator) for i in given]
    for i, t in zip(given, tensors, strict=True):
        t.requires_grad_(i in training.gradients)
    values = {n: case.sizes.get(v, v) for n, v in worked.values.items()}
    meter = Meter(tensors)
    with meter:
        out = worked.build(*tensors, **values)
        outs = [t for t in (out if isinstance(out, tuple) else (out,)) if t.requires_grad]
        torch.autograd.backward(outs, [torch.ones_like(t) for t in outs])
    held = sum(t.nbytes for t in tensors)
    at_most(ours, meter.peak + held, f"peak of {case.graph} at {case.sizes}, against autograd's")


def accumulation_agrees(parts: int) -> None:
    """Mean losses of micro-batches, each times 1/n, give the gradients of the whole batch; sums need no factor."""
    import torch

    generator = torch.Generator().manual_seed(parts)
    x, w = (torch.randn(s, generator=generator, dtype=torch.float64) for s in ((12, 5), (5, 3)))
    w.requires_grad_()
    ((x @ w) ** 2).mean().backward()
    whole, w.grad = w.grad, None
    scale = WORKED["linear"].account().training(optimizer="sgd", accumulate=parts).update.scale
    for part in x.chunk(parts):
        (((part @ w) ** 2).mean() * float(scale)).backward()
    torch.testing.assert_close(w.grad, whole)
    added = WORKED["deep_network"].account().training(optimizer="sgd", policy="bf16", accumulate=parts).memory
    once = WORKED["deep_network"].account().training(optimizer="sgd", policy="bf16").memory
    if parts > 1 and added.by_role != once.by_role:
        msg = f"what lasts depends on {parts} micro-batches"
        raise DisagreementError(msg)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    graph = draw(st.sampled_from(GRAPHS))
    sizes = dict(WORKED[graph].tiny)
    if "L" in sizes:
        sizes["L"] = draw(st.integers(1, 9))
    return Case(graph, sizes)


_FIXED = tuple(Case(n, dict(WORKED[n].tiny)) for n in GRAPHS)
_SOME = ("cross_attention", "deep_network", "gpt2", "mixture_of_experts", "mlp", "state_space")
_FEW = tuple(case for case in _FIXED if case.graph in _SOME)
CHECKS = (
    Check(
        "peak of a step",
        "the candidates of memory.candidates",
        "graph.run, each tensor freed at its last use",
        runs_agree,
        cases(),
        _FIXED,
        needs=("torch",),
        share=0.05,
    ),
    Check(
        "peak of random functions",
        "the candidates of memory.candidates",
        "graph.run of forward and backward",
        compositions_agree,
        compositions(),
        needs=("torch",),
        share=0.2,
    ),
    Check(
        "peak of a ledger",
        "training(...).memory.at(...)",
        "graph.run with the inputs kept; the sum of what is alive",
        ledger_agrees,
        cases(),
        _FEW,
        claims=("S59", "S64"),
        needs=("torch",),
        share=0.05,
    ),
    Check(
        "peak of stacked layers",
        "training(...).memory.at(...) of a repeat",
        "graph.run of the layers written out",
        unrolled_agrees,
        st.tuples(
            st.sampled_from(("linear", "residual")),
            st.fixed_dictionaries({"b": st.integers(1, 30), "d": st.integers(1, 8), "L": st.integers(1, 9)}),
        ),
        (
            ("linear", {"b": 3, "d": 5, "L": 7}),
            ("residual", {"b": 17, "d": 3, "L": 8}),
            ("linear", {"b": 1, "d": 4, "L": 2}),
        ),
        needs=("torch",),
        share=0.2,
    ),
    Check(
        "peak under autograd",
        "training(...).memory.at(...).peak",
        "at most the storages that torch's autograd has alive",
        autograd_agrees,
        cases().filter(lambda case: case.graph not in LESS_IN_TORCH),
        _FEW,
        needs=("torch",),
        share=0.05,
    ),
    Check(
        "peak of a module",
        "training(optimizer='adamw').memory",
        "at most torch's MemTracker, on meta tensors",
        module_agrees,
        fixed=({"b": 64, "d": 32, "L": 7}, {"b": 512, "d": 16, "L": 12}, {"b": 2, "d": 64, "L": 6}),
        needs=("torch",),
    ),
    Check(
        "gradients of micro-batches",
        "mean losses times 1/n",
        "torch's gradients of the whole batch",
        accumulation_agrees,
        fixed=(1, 2, 3, 4, 6),
        claims=("S62", "S63"),
        needs=("torch",),
    ),
)
