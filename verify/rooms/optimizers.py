"""Optimizers: what a step executes, keeps and makes, against programs that count and against torch's own optimizers."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from symacct.conventions import Work
from symacct.dtypes import policy_of
from symacct.memory import Parameter, static_entries
from symacct.optimizers import optimizer
from symacct.optimizers.value import numel
from verify import optimizer_programs as programs
from verify.check import Check, DisagreementError, agree, number
from verify.counted_arrays import plain
from verify.known_optimizers import KNOWN

STEPS = 3


class Case(NamedTuple):
    """An optimizer by its name here, and the shape of a parameter."""

    name: str
    shape: tuple[int, ...]


def run(case: Case) -> tuple[list[Any], list[Any], programs.Bench]:
    """Take steps with the program; return the gradients, the parameter after each step, and what the last executed."""
    rng = np.random.default_rng(0)
    p, state, values, grads = rng.normal(size=case.shape), {}, [], []
    values.append(p)
    for _ in range(STEPS):
        m = programs.Bench()
        grads.append(rng.normal(size=case.shape))
        state = _reloaded(state, m)
        p = plain(KNOWN[case.name].program(m.load(values[-1]), m.load(grads[-1]), state, m))
        values.append(p)
    return grads, values, m


def _reloaded(state: Any, m: programs.Bench) -> Any:
    """Make what a program kept count for a new step."""
    if isinstance(state, dict):
        return {name: _reloaded(value, m) for name, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_reloaded(value, m) for value in state)
    return m.load(plain(state)) if isinstance(state, np.ndarray) and state.dtype == object else state


def work_agrees(case: Case) -> None:
    """By name: calls element by element, terms of reductions, products and sums of matrix products."""
    _, _, m = run(case)
    calls = Counter({"compare" if name in ("gt", "lt") else name: n for name, n in m.calls.items()})
    ours = _by_name(KNOWN[case.name].data.work(case.shape))
    agree(ours["calls"], dict(calls), f"calls of {case.name} for {case.shape}")
    agree(ours["reduced"], sum(m.reduced.values()), f"reductions of {case.name} for {case.shape}")
    agree(ours["products"], (m.products["mul"], m.products["add"]), f"products of {case.name} for {case.shape}")


def _by_name(work: Work) -> dict[str, Any]:
    value = {key: number(amount, {}) for key, amount in work.items()}
    sums = {kind: [value.pop((kind, part), 0) for part in ("points", "outputs")] for kind in ("contract", "reduce")}
    (points, outputs), (terms, totals) = sums["contract"], sums["reduce"]
    calls = {primitive: amount for (primitive, _), amount in value.items() if amount}
    return {"calls": calls, "reduced": terms - totals, "products": (points, points - outputs)}


def values_agree(case: Case) -> None:
    """The program is the optimizer: it takes the steps that torch's takes."""
    import torch

    grads, values, _ = run(case)
    p = torch.nn.Parameter(torch.tensor(values[0]))
    made = KNOWN[case.name].torch([p])
    for g in grads:
        p.grad = torch.tensor(g)
        made.step()
    step, theirs = values[-1] - values[0], p.detach().numpy() - values[0]
    gap, size = np.abs(step - theirs).max(), np.abs(theirs).max()
    if not gap <= KNOWN[case.name].near * size:
        msg = f"{case.name} for {case.shape}: steps of up to {size} differ by {gap}"
        raise DisagreementError(msg)


def roots_agree(size: int) -> None:
    """What Shampoo multiplies with is a root: four of them and the matrix are the identity."""
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size, size))
    s = half @ half.T + np.eye(size)
    m = programs.Bench()
    root = plain(programs.inverse_root(m.load(s), m, 40))
    gap = np.abs(np.linalg.matrix_power(root, 4) @ s - np.eye(size)).max()
    agree(bool(gap < 1e-6), True, f"the root of a matrix of {size}: off by {gap}")  # noqa: FBT003


def _tensors(state: Any) -> list[Any]:
    import torch

    return [value for kept in state.values() for value in kept.values() if isinstance(value, torch.Tensor)]


class AdamW32:
    """AdamW that keeps fp32 moments for parameters of any dtype: what the policy `bf16` speaks of."""

    def __init__(self, params: Any) -> None:
        self.params, self.state = list(params), {}

    def step(self) -> None:
        import torch

        for p in self.params:
            kept = self.state.setdefault(p, {n: torch.zeros(p.shape) for n in ("exp_avg", "exp_avg_sq")})
            g = p.grad.float()
            kept["exp_avg"].lerp_(g, 0.1)
            kept["exp_avg_sq"].mul_(0.999).addcmul_(g, g, value=0.001)
            p.data = (p.float() - 0.01 * kept["exp_avg"] / (kept["exp_avg_sq"].sqrt() + 1e-8)).to(p.dtype)


def state_agrees(case: tuple[str, str]) -> None:
    """Bytes by dtype of parameters, gradients and state, of a few tensors."""
    import torch

    name, policy = case
    shapes = [s for s in ((5,), (3, 7), (4, 2, 3)) if len(s) in KNOWN[name].ranks]
    dtype = torch.float32 if policy_of(policy).of("param").name == "fp32" else torch.bfloat16
    params = [torch.nn.Parameter(torch.randn(s).to(dtype)) for s in shapes]
    made = AdamW32(params) if policy == "bf16" else KNOWN[name].torch(params)
    for _ in range(2):
        for p in params:
            p.grad = torch.randn(p.shape).to(dtype)
        made.step()
    held = Counter()
    for t in [*params, *(p.grad for p in params), *_tensors(made.state)]:
        held[{"float32": "fp32", "bfloat16": "bf16"}[str(t.dtype).removeprefix("torch.")]] += t.nbytes
    ours = Counter()
    for entry in static_entries([Parameter(str(s), s) for s in shapes], KNOWN[name].data, policy_of(policy)):
        ours[entry.dtype] += entry.bytes
    agree(dict(ours), dict(held), f"bytes by dtype of {name} under {policy}")


def temporaries_agree(case: tuple[str, str]) -> None:
    """The most bytes that a step makes besides, where tensors of one size follow each other."""
    import torch

    from verify.meter import Meter

    name, kernel = case
    shape, count = (48, 64), 3
    params = [torch.nn.Parameter(torch.randn(shape)) for _ in range(count)]
    options = {} if name == "muon" else {"foreach": kernel == "foreach"}
    made = KNOWN[name].torch(params, **options)
    for step in range(2):
        for p in params:
            p.grad = torch.randn(shape)
        meter = Meter([*params, *(p.grad for p in params), *_tensors(made.state)])
        if step == 0:
            made.step()
            continue
        with meter:
            made.step()
    size = {"bf16": 2}
    moments = [
        [(b.shape(shape), size.get(b.dtype, 4)) for b in buffers] for buffers in KNOWN[name].data.temporaries(kernel)
    ]
    ours = max(sum(numel(s) * each for s, each in buffers if s is not None) for buffers in moments)
    ours *= count if kernel == "foreach" else 1
    scalars = 4 * 8 * count  # counters and norms, of a number each
    if not 0 <= meter.peak - ours <= scalars + (_sides(shape) if name == "adafactor" else 0):
        msg = f"{name} as {kernel}: torch makes {meter.peak} bytes, the data says {ours}"
        raise DisagreementError(msg)


def _sides(shape: tuple[int, ...]) -> int:
    """Adafactor's means of rows and columns, a tensor each, beside what the data names."""
    return 4 * 3 * 2 * sum(shape)


def reading_agrees(case: Case) -> None:
    """An optimizer read from runs keeps, at a shape that was not tried, what a real one keeps."""
    import torch

    found = optimizer(KNOWN[case.name].torch)
    p = torch.nn.Parameter(torch.randn(case.shape))
    made = KNOWN[case.name].torch([p])
    for _ in range(2):
        p.grad = torch.randn(case.shape)
        made.step()
    theirs = {n: tuple(t.shape) for n, t in made.state[p].items() if isinstance(t, torch.Tensor)}
    ours = {b.name: b.shape(case.shape) for b in found.state}
    agree({n: s for n, s in ours.items() if s is not None}, theirs, f"state of {case.name} for {case.shape}")


_SHAPES = {1: ((6,),), 2: ((3, 4), (5, 2)), 3: ((2, 3, 4),)}
_CASES = [Case(n, s) for n, known in KNOWN.items() for rank in known.ranks for s in _SHAPES[rank]]
_IN_TORCH = [case for case in _CASES if KNOWN[case.name].torch]


@st.composite
def _drawn(draw: st.DrawFn, names: tuple[str, ...]) -> Case:
    name = draw(st.sampled_from(names))
    rank = draw(st.sampled_from(KNOWN[name].ranks))
    return Case(name, tuple(draw(st.lists(st.integers(2, 5), min_size=rank, max_size=rank))))


_TORCH_NAMES = tuple(n for n, known in KNOWN.items() if known.torch)
_POLICIES = ("torch-fp32", "torch-bf16")

CHECKS = (
    Check(
        "work of a step",
        "optimizer(name).work(shape)",
        "the update as a program on numbers that count, its third step",
        work_agrees,
        _drawn(tuple(KNOWN)),
        tuple(_CASES),
        claims=("S58",),
        share=0.1,
    ),
    Check(
        "what the programs compute",
        "the programs of verify/optimizer_programs.py",
        "the parameter after three steps of torch's own optimizer",
        values_agree,
        _drawn(_TORCH_NAMES),
        tuple(_IN_TORCH),
        needs=("torch",),
        share=0.1,
    ),
    Check("Shampoo's roots", "S**(-1/4)", "its fourth power times S", roots_agree, fixed=(2, 3, 5)),
    Check(
        "state by dtype",
        "static_entries(parameters, optimizer, policy)",
        "the tensors of torch's own optimizers; under bf16, of one that keeps fp32 state",
        state_agrees,
        fixed=(*((n, policy) for n in _TORCH_NAMES for policy in _POLICIES), ("adamw", "bf16")),
        claims=("S8", "S58", "S59"),
        needs=("torch",),
    ),
    Check(
        "temporaries of a step",
        "optimizer(name).temporaries(kernel)",
        "the storages that torch's own optimizers make during a step",
        temporaries_agree,
        fixed=tuple((n, kernel) for n in _TORCH_NAMES for kernel in KNOWN[n].data.makes if kernel != "fused"),
        needs=("torch",),
    ),
    Check(
        "state that is read from code",
        "optimizer(torch.optim...).state",
        "the state of a real one at a shape that was not tried",
        reading_agrees,
        fixed=tuple(
            Case(n, (9, 4)) for n in ("momentum", "adamw", "amsgrad", "rmsprop, centered", "adafactor", "muon")
        ),
        needs=("torch",),
    ),
)
