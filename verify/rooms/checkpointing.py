"""Activation checkpointing: plans acted out, the best of all plans, and torch.utils.checkpoint with its early stop."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from verify.acting import Acted, as_plan, drawn, halves, plans
from verify.carried import NETWORKS, attending, core
from verify.check import Check, agree, at_most

GRAPHS = Path(__file__).resolve().parents[2] / "graphs"
WITH_BLOCKS = ("deep_network", "gpt2", "vit", "llama")


class Case(NamedTuple):
    seed: int
    stages: int
    early_stop: bool


class Torch(NamedTuple):
    """Layers of one kind, or a worked graph, in segments of k (0: nothing is recomputed)."""

    what: str
    layers: int
    k: int
    early_stop: bool


def told(plan: Any, **sizes: int) -> tuple[Any, Any, Any]:
    numbers = plan.at(sizes=sizes)
    return numbers.held.value, numbers.memory.value, numbers.recomputed.value


def acted_plans_agree(case: Case) -> None:
    """Compare held, peak and operations of each kind of plan with those of the plan acted out."""
    draw, layers = drawn(case.seed, case.stages)
    stages = [layer.stage for layer in layers]
    k, everything = draw.randint(1, case.stages), list(range(case.stages))
    kept = draw.randrange(case.stages)
    segments = [everything[i : i + k] for i in range(0, case.stages, k)]
    asked: list[tuple[list[Any], dict[str, Any]]] = [
        (everything, {"strategy": "none"}),
        ([[i] for i in everything], {"strategy": "block"}),
        (segments, {"every": k}),
        (halves(0, case.stages) if case.stages > 1 else [[0]], {"strategy": "recursive"}),
        ([[i] if i != kept else i for i in everything], {"stages": [i for i in everything if i != kept]}),
    ]
    for plan, options in asked:
        acted = Acted(layers, plan, early_stop=case.early_stop)
        ours = told(sa.checkpoint(stages, early_stop=case.early_stop, **options))
        agree(ours, (acted.between, acted.memory, acted.again), f"held, peak, again of {options}, {case}")


def best_plans_agree(case: Case) -> None:
    """Compare the least peak, and the fewest operations within each budget, with those of all plans."""
    _, layers = drawn(case.seed, case.stages)
    stages = [layer.stage for layer in layers]
    found = [Acted(layers, plan, early_stop=case.early_stop) for plan in plans(0, case.stages)]
    least = min(a.memory for a in found)
    best = sa.checkpoint(stages, "least", early_stop=case.early_stop)
    agree(told(best)[1], least, f"the least peak, {case}")
    for budget in sorted({a.memory for a in found} - {0}):
        fewest = min(a.again for a in found if a.memory <= budget)
        ours = sa.checkpoint(stages, budget=budget, early_stop=case.early_stop)
        again = Acted(layers, as_plan(ours.segments), early_stop=case.early_stop)
        at_most(again.memory, budget, f"bytes of a plan within {budget}, {case}")
        agree((told(ours)[2], again.again), (fewest, fewest), f"the fewest operations within {budget} bytes, {case}")


KINDS = {
    "Linear, ReLU": lambda x, w: sa.relu(x @ w),
    "Linear, GELU": lambda x, w: sa.gelu(x @ w),
    "ReLU, Linear": lambda x, w: sa.relu(x) @ w,
    "GELU, Linear": lambda x, w: sa.gelu(x) @ w,
    "Linear, Tanh, skip": lambda x, w: x + sa.tanh(x @ w),
}
ROWS, WIDTH = 3, 5


def layers_agree(case: Torch) -> None:
    """Compare with the same layers on torch tensors: live storages, and products counted at the dispatcher."""
    import torch

    from verify.recomputed import in_halves, in_segments, watched

    kind, n = KINDS[case.what], case.layers
    case = case._replace(k=min(case.k, n))

    def network(x: "b d", w: "L d d") -> Any:
        return sa.repeat("L", kind, x, xs=w)

    account = sa.account(network, params=["w"], dtype="fp32", sizes={"b": ROWS, "d": WIDTH, "L": n})
    weights = [torch.randn(WIDTH, WIDTH, requires_grad=True) for _ in range(n)]
    layers = [lambda x, w=w: kind(x, w) for w in weights]
    cuts = [(i, min(i + case.k, n), True) for i in range(0, n, case.k)] if case.k > 0 else [(0, n, False)]
    run = in_halves(layers) if case.k < 0 else in_segments(layers, cuts)
    seen = watched(run, (ROWS, WIDTH), weights, early_stop=case.early_stop)
    asked = {0: {"strategy": "none"}, -1: {"strategy": "recursive"}}.get(case.k, {"every": case.k})
    plan = sa.checkpoint(account, early_stop=case.early_stop, **asked)
    held, memory, _ = told(plan)
    agree(held, seen.held, f"bytes held between the passes, {case}")
    agree(int(plan.recomputed_matmul), seen.matmul, f"matmul flops executed again, {case}")
    if case.k < 0 and case.what == "ReLU, Linear":
        # torch frees what a nested block takes once it ran again, where the block itself does not keep it
        at_most(memory - 4 * ROWS * WIDTH, seen.memory, f"bytes held at the fullest but for one tensor, {case}")
        at_most(seen.memory, memory, f"bytes held at the fullest, {case}")
    else:
        agree(memory, seen.memory, f"bytes held at the fullest, {case}")


def worked_agree(case: Torch) -> None:
    """Compare with a worked graph on torch tensors, its blocks under torch.utils.checkpoint."""
    from verify.recomputed import watched_graph

    own = NETWORKS.get(case.what)
    worked = own or sa.load_worked(GRAPHS / f"{case.what}.py")
    sizes = {**({"b": ROWS, "d": WIDTH} if own else worked.tiny), "L": case.layers}
    case = case._replace(k=min(case.k, case.layers))
    account = worked.account(dtype="fp32")
    asked = {"every": case.k} if case.k else {"strategy": "none"}
    plan = sa.checkpoint(account, early_stop=case.early_stop, sizes=sizes, **asked)
    held, memory, _ = told(plan)
    seen = watched_graph(worked, account.graph, sizes, case.k, early_stop=case.early_stop)
    agree(held, seen.held, f"bytes held between the passes, {case}")
    agree(memory, seen.memory, f"bytes held at the fullest, {case}")
    agree(int(plan.recomputed_matmul), seen.matmul, f"matmul flops executed again, {case}")


def selective_agrees(case: Torch) -> None:
    """Compare layers whose scores are not kept with torch.utils.checkpoint around what makes and uses them."""
    import torch
    from torch.utils.checkpoint import checkpoint

    from verify.recomputed import watched

    b, s, d, h, k = 2, 5, 6, 2, 3

    def network(x: "b s d", w: "L 4 d h k") -> Any:
        return sa.repeat("L", partial(attending, core), x, xs=w)

    sizes = {"b": b, "s": s, "d": d, "h": h, "k": k, "L": case.layers}
    account = sa.account(network, params=["w"], dtype="fp32")
    weights = torch.randn(case.layers, 4, d, h, k, requires_grad=True)
    attend = partial(checkpoint, core, use_reentrant=False) if case.k else core

    def run(x: Any) -> Any:
        for w in weights:
            x = attending(attend, x, w)
        return x

    seen = watched(run, (b, s, d), [weights], early_stop=case.early_stop)
    plan = sa.checkpoint(account, "selective" if case.k else "none", early_stop=case.early_stop, sizes=sizes)
    held, memory, _ = told(plan)
    agree(held, seen.held, f"bytes held between the passes, {case}")
    agree(memory, seen.memory, f"bytes held at the fullest, {case}")
    agree(int(plan.recomputed_matmul), seen.matmul, f"matmul flops executed again, {case}")


OPERATIONS = ("product", "relu", "gelu", "tanh", "sigmoid", "softmax", "square")


def budgets_agree(case: Case) -> None:
    """Run the plan for a budget of a random chain of operations in torch: it holds what is said, within the budget."""
    import torch

    from verify.recomputed import in_segments, watched

    draw = random.Random(case.seed)  # noqa: S311
    kinds = ["product", *(draw.choice(OPERATIONS) for _ in range(case.stages - 1))]
    count = kinds.count("product")

    def steps(w: Any) -> list[Callable[[Any], Any]]:
        rows = iter(range(count))
        products = {i: next(rows) for i, kind in enumerate(kinds) if kind == "product"}
        return [partial(_times, w[products[i]]) if i in products else APPLY[kind] for i, kind in enumerate(kinds)]

    def network(x: "b d", w: "n d d") -> Any:
        for step in steps(w):
            x = step(x)
        return x

    account = sa.account(network, params=["w"], dtype="fp32", sizes={"b": ROWS, "d": WIDTH, "n": count})
    everything = told(sa.checkpoint(account, "none"))[1]
    least = told(sa.checkpoint(account, "least", early_stop=case.early_stop))[1]
    budget = draw.randint(least, everything)
    plan = sa.checkpoint(account, budget=budget, early_stop=case.early_stop)
    weights = torch.randn(count, WIDTH, WIDTH, requires_grad=True)
    seen = watched(in_segments(steps(weights), plan.segments), (ROWS, WIDTH), [weights], early_stop=case.early_stop)
    held, memory, _ = told(plan)
    at_most(seen.memory, budget, f"bytes held at the fullest within {budget}, {case}")
    agree((held, memory), (seen.held, seen.memory), f"bytes held, {case}, {kinds}")
    agree(int(plan.recomputed_matmul), seen.matmul, f"matmul flops executed again, {case}, {kinds}")


def _times(w: Any, x: Any) -> Any:
    return x @ w


APPLY: dict[str, Callable[[Any], Any]] = {
    "relu": sa.relu,
    "gelu": sa.gelu,
    "tanh": sa.tanh,
    "sigmoid": sa.sigmoid,
    "softmax": sa.softmax,
    "square": lambda x: x * x,
}

_CASES = st.builds(Case, st.integers(0, 10**6), st.integers(1, 9), st.booleans())
_FEW = st.builds(Case, st.integers(0, 10**6), st.integers(1, 6), st.booleans())
_LAYERS = st.builds(Torch, st.sampled_from(list(KINDS)), st.integers(1, 9), st.integers(-1, 4), st.booleans())
_WORKED = st.builds(Torch, st.sampled_from(WITH_BLOCKS), st.integers(1, 5), st.integers(0, 3), st.booleans())
_CARRIED = st.builds(Torch, st.sampled_from(list(NETWORKS)), st.integers(2, 5), st.integers(0, 3), st.booleans())
_ORACLE = "torch.utils.checkpoint (CPU, fp32, non-reentrant): live storages and calls at the dispatcher"

CHECKS = (
    Check(
        "plans acted out",
        "max over parts s of (held up to s + transient of s), and what is executed again",
        "tensors held, freed and made again one by one",
        acted_plans_agree,
        _CASES,
        (Case(1, 7, early_stop=True), Case(2, 8, early_stop=False), Case(3, 1, early_stop=True)),
        claims=("S65", "S67", "D10"),
    ),
    Check(
        "best plans",
        "the least peak, and the fewest operations within a budget",
        "every way to keep stages and recompute segments, each acted out",
        best_plans_agree,
        _FEW,
        (Case(4, 6, early_stop=True), Case(5, 5, early_stop=False)),
        claims=("D10",),
        share=0.2,
    ),
    Check(
        "layers in torch",
        "memory, held and matmul flops of none, every k and nested halves",
        _ORACLE,
        layers_agree,
        _LAYERS,
        tuple(Torch(kind, 4, k, early) for kind in KINDS for k in (0, 1, -1) for early in (True, False)),
        claims=("S65", "S66", "D12"),
        needs=("torch",),
        share=0.4,
    ),
    Check(
        "worked graphs in torch",
        "memory, held and matmul flops of none and every k blocks",
        _ORACLE,
        worked_agree,
        _WORKED,
        tuple(Torch(name, 2, 1, early_stop=True) for name in WITH_BLOCKS),
        claims=("D10", "D12"),
        needs=("torch",),
        share=0.05,
    ),
    Check(
        "repeats in torch",
        "the same where a repeat has several carries, others inside, and tensors that its turns share or that pass by",
        _ORACLE,
        worked_agree,
        _CARRIED,
        tuple(Torch(name, 3, 2, early_stop=True) for name in NETWORKS),
        claims=("D10", "D12"),
        needs=("torch",),
        share=0.2,
    ),
    Check(
        "attention scores in torch",
        "memory, held and matmul flops of the selective plan",
        _ORACLE,
        selective_agrees,
        st.builds(Torch, st.just("scores"), st.integers(1, 4), st.integers(0, 1), st.booleans()),
        (Torch("scores", 2, 1, early_stop=True), Torch("scores", 2, 1, early_stop=False)),
        claims=("D12",),
        needs=("torch",),
        share=0.05,
    ),
    Check(
        "budgets in torch",
        "memory, held and matmul flops of the best plan of a random chain within a budget",
        _ORACLE,
        budgets_agree,
        _CASES,
        (Case(11, 8, early_stop=True), Case(12, 8, early_stop=False)),
        claims=("D10",),
        needs=("torch",),
        share=0.4,
    ),
)
