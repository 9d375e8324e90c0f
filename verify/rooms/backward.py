"""Backward passes: gradients, what is executed, what is kept, against autograd, torch's counter and a tiny autograd."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

from hypothesis import strategies as st

import symacct as sa
from symacct.accounting import Account
from symacct.backward import chosen_inputs, joint
from symacct.backward.needs import is_float
from symacct.eager.inputs import random_input
from symacct.expr import add
from symacct.graph import Graph
from symacct.testing.compositions import Composition, compositions
from symacct.testing.counting import totals
from verify.check import Check, DisagreementError, agree, number
from verify.counted_arrays import Machine, plain
from verify.rooms.compositions import FIXED
from verify.rooms.worked import WORKED, as_tuple, legal
from verify.tape import PROGRAMS, Tape, Var

CONSTANTS = {"mean", "var", "cos", "sin"}
"""Running statistics, which torch gives no gradient, and angles, which our rotary gives none."""

NO_KERNEL = {
    "state_space": "torch runs a recurrence as a loop, and stacks what it made",
    "sliding_window_attention": "a window is a mask of numbers to torch",
    "mixture_of_experts": "a grouped product is a loop over experts, which stacks what it made",
}
"""Where torch runs in several operations what is one here, so that it keeps more, and why."""

NOT_COUNTED = {
    "flash_attention": "torch's counter does not know the attention kernel of a CPU",
    "sliding_window_attention": "nor that with a mask",
    "dot": "a dot product is none to it, and its gradients are no products of matrices",
    "matrix_vector": "nor is a matrix with a vector",
    "linear_attention": "an outer product is one of matrices with a single row to it, and here a multiply an element",
    "decode_step": "likewise",
    "depthwise_separable": "of a grouped convolution it counts the gradient of the kernel as if of all channels",
    "state_space": "likewise",
}
"""Where torch's counter is not to be compared with, and why."""


class Case(NamedTuple):
    """A worked graph, at which sizes, and whether everything needs a gradient or the parameters alone."""

    graph: str
    sizes: dict[str, int]
    everything: bool


def account_of(case: Case, **options: Any) -> Account:
    return WORKED[case.graph].account(**options)


def wrt_of(case: Case, graph: Graph) -> tuple[str, ...]:
    floats = [graph.tensors[i].name for i in graph.inputs if is_float(graph.tensors[i])]
    everything = tuple(n for n in floats if n not in CONSTANTS)
    return everything if case.everything or not WORKED[case.graph].params else tuple(WORKED[case.graph].params)


def inputs_of(case: Case, graph: Graph, dtype: str) -> list[Any]:
    """Random tensors; those of which a gradient is wanted say so to torch."""
    import torch

    draw = torch.Generator().manual_seed(1)
    wrt = wrt_of(case, graph)
    given = []
    for i in graph.inputs:
        made = random_input(graph, i, case.sizes, dtype, draw)
        name = graph.tensors[i].name
        given.append((made.abs() if name == "var" else made).requires_grad_(name in wrt))
    return given


def function_of(case: Case) -> Callable[..., Any]:
    """The function of a worked graph on its tensors alone."""
    worked = WORKED[case.graph]
    values = {n: case.sizes.get(v, v) if isinstance(v, str) else v for n, v in worked.values.items()}
    named = [n for n, p in inspect.signature(worked.build).parameters.items() if n not in values]
    tensors = [n for n in named if worked.build.__annotations__.get(n) not in ("int", "float")]
    return lambda *given: worked.build(**dict(zip(tensors, given, strict=False)), **values)


def gradients_agree(case: Case) -> None:
    """Outputs and gradients of the graph, run in double precision, with autograd's of the same function."""
    graph = account_of(case).graph
    _agree_with_autograd(graph, case.sizes, function_of(case), inputs_of(case, graph, "fp64"), wrt_of(case, graph))


def _agree_with_autograd(
    graph: Graph, sizes: Any, function: Callable[..., Any], given: Sequence[Any], wrt: Sequence[str]
) -> None:
    import torch

    outputs = as_tuple(function(*given))
    over = [o for o in outputs if o.requires_grad]
    draw = torch.Generator().manual_seed(2)
    seeds = [torch.randn(o.shape, generator=draw, dtype=o.dtype) for o in over]
    leaves = [t for t in given if t.requires_grad]
    theirs = torch.autograd.grad(over, leaves, seeds, allow_unused=True)
    both = joint(graph, wrt)
    ran = both.graph.run(sizes, inputs=[*(t.detach() for t in given), *seeds]).outputs
    torch.testing.assert_close(list(ran[: len(outputs)]), [o.detach() for o in outputs])
    ours = dict(zip(both.gradients, ran[len(outputs) :], strict=True))
    asked = [i for i, t in zip(graph.inputs, given, strict=True) if t.requires_grad]
    for i, expected in zip(asked, theirs, strict=True):
        torch.testing.assert_close(ours[i], torch.zeros_like(ours[i]) if expected is None else expected)


def counter_agrees(case: Case) -> None:
    """Forward and backward under torch's own counter, which knows products of matrices."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    account = account_of(case)
    given = inputs_of(case, account.graph, "fp32")
    off = torch.backends.opt_einsum.flags(enabled=False)
    with sdpa_kernel(SDPBackend.MATH), off, FlopCounterMode(display=False) as counter:
        outputs = [o for o in as_tuple(function_of(case)(*given)) if o.requires_grad]
        torch.autograd.backward(outputs, [torch.ones_like(o) for o in outputs])
    ours = account.training(wrt_of(case, account.graph)).total.total("matmul_flops")
    counted = counter.get_total_flops()
    if case.graph not in NOT_COUNTED:
        agree(number(ours, case.sizes), counted, f"matmul_flops of a step of {case}")


def kept_agrees(case: Case) -> None:
    """Bytes that `saved_tensors_hooks` sees, each storage once: fp32 on a CPU, in torch's own operations."""
    if case.graph in NO_KERNEL:
        return
    account = account_of(case, dtype="fp32")
    given = inputs_of(case, account.graph, "fp32")
    ours = add(r.bytes for r in account.residuals(wrt=wrt_of(case, account.graph)).rows)
    agree(number(ours, case.sizes), saved_bytes(function_of(case), given), f"bytes kept of {case}")


def saved_bytes(function: Callable[..., Any], given: Sequence[Any]) -> int:
    import torch

    alive: dict[int, Any] = {}

    def keep(t: Any) -> Any:
        alive[t.untyped_storage().data_ptr()] = t
        return t

    off = torch.backends.opt_einsum.flags(enabled=False)
    with off, torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        out = function(*given)
    total = sum(t.untyped_storage().nbytes() for t in alive.values())
    del out
    return total


def composition_agrees(c: Composition) -> None:
    """A random function: its gradients, and what is kept of it."""
    import torch

    function = c.function()
    account = sa.account(function, dtype="fp64")
    graph = account.graph
    draw = torch.Generator().manual_seed(1)
    given = [random_input(graph, i, c.sizes, "fp64", draw).requires_grad_() for i in graph.inputs]
    names = chosen_inputs(graph, None)
    _agree_with_autograd(graph, c.sizes, function, given, names)
    if not any(step.kind in ("choose", "rms_norm") for step in c.steps):  # run in other operations there
        ours = number(add(r.bytes for r in account.residuals().rows), c.sizes)
        agree(ours, saved_bytes(function, given), f"bytes kept of {c}")


class Program(NamedTuple):
    """A program of `verify.tape`, its sizes, and whether everything needs a gradient or the parameters alone."""

    name: str
    size: int
    everything: bool


def recurrent(x: "b d", w: "d d") -> Any:
    return sa.repeat(3, lambda h, w: sa.tanh(h @ w), x, consts=w)


def scalars_agree(program: Program) -> None:
    """Every scalar operation of a step, forward and backward, and the gradients themselves."""
    import numpy as np

    name, size, everything = program
    how = {"convention": "exact"}
    counted = sa.account(recurrent, params=["w"], **how) if name == "recurrent" else WORKED[name].account(**how)
    graph = counted.graph
    sizes = {n: size + i for i, n in enumerate(counted.names)}
    params = ("w",) if name == "recurrent" else WORKED[name].params
    wrt = tuple(graph.tensors[i].name for i in graph.inputs) if everything or not params else params
    rng = np.random.default_rng(1)
    shapes = [[number(s, sizes) for s in graph.tensors[i].shape] for i in graph.inputs]
    values = [rng.normal(size=shape) for shape in shapes]
    machine = Machine("exact")
    tape = Tape(machine)
    needs = [graph.tensors[i].name in wrt for i in graph.inputs]
    leaves = [Var(machine.load(v), needs=need) for v, need in zip(values, needs, strict=True)]
    if name == "deep_network":
        layers = [Var(w, needs=needs[1]) for w in leaves[1].values]
        out, given = PROGRAMS[name](tape, leaves[0], *layers), [leaves[0], *layers]
    else:
        out, given = PROGRAMS[name](tape, *leaves), leaves
    seed = rng.normal(size=out.values.shape)
    tape.back(out, machine.load(seed))
    flops = totals(machine.calls + machine.reduced)["FLOP"]
    agree(number(counted.training(wrt).total.total("flops"), sizes), flops, f"flops of a step of {program}")
    _same_gradients(joint(graph, wrt), sizes, [*values, seed], given, name)


def _same_gradients(both: Any, sizes: Any, values: Sequence[Any], given: Sequence[Var], name: str) -> None:
    import numpy as np
    import torch

    ran = both.graph.run(sizes, inputs=[torch.from_numpy(v) for v in values]).outputs[1:]
    theirs = [plain(v.grad) for v in given if v.grad is not None]
    if name == "deep_network":
        theirs = [*theirs[: len(ran) - 1], np.stack(theirs[len(ran) - 1 :])]
    for mine, other in zip(ran, theirs, strict=True):
        if not np.allclose(mine.numpy(), other):
            msg = f"a gradient of {name}: symacct says {mine}, the tape {other}"
            raise DisagreementError(msg)


def loops_agree(case: tuple[str, int, bool]) -> None:
    """A step of a repeat multiplies what the loop in Python does, written out."""
    name, times, everything = case

    def loop(_n: Any, body: Callable[..., Any], carry: Any, xs: Any, consts: Any = None) -> Any:
        for i in range(times):
            one = tuple(x[i] for x in xs) if isinstance(xs, tuple) else xs[i]
            carry = body(carry, one) if consts is None else body(carry, one, consts)
        return carry

    form = WORKED[name].account()
    (op,) = (op for op in form.graph.ops if op.kind == "repeat")
    sizes = {str(op.attrs["n"]): times}
    wrt = wrt_of(Case(name, {}, everything), form.graph)
    ours = form.training(wrt).total
    with mock.patch.object(sa, "repeat", loop):
        written_out = WORKED[name].account(sizes=sizes).training(wrt).total
    others = {n: i for i, n in enumerate(form.names, 2) if n not in sizes}
    expected = number(written_out.total("matmul_flops"), others)
    agree(number(ours.total("matmul_flops"), {**others, **sizes}), expected, f"matmul_flops of a step of {case}")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(tuple(WORKED)))
    account = WORKED[name].account()
    numbers = st.fixed_dictionaries({n: st.integers(2, 4) for n in account.names})
    return Case(name, draw(numbers.filter(lambda sizes: legal(account, sizes))), draw(st.booleans()))


def tiny() -> Iterator[Case]:
    for name, worked in WORKED.items():
        sizes = {n: min(size, 3) if n == "L" else size for n, size in worked.tiny.items()}
        yield from (Case(name, sizes, everything) for everything in (False, True))


_EVERY = tuple(tiny())
_TORCH = ("torch",)
_PROGRAMS = tuple(Program(name, 2, everything) for name in PROGRAMS for everything in (False, True))
_LOOPS = ("deep_network", "gpt2", "llama", "vit")

CHECKS = (
    Check(
        "gradients",
        "the gradient graph, run",
        "torch.autograd of the same function",
        gradients_agree,
        cases(),
        _EVERY,
        claims=("S53", "S55"),
        proves=("absent",),
        needs=_TORCH,
        share=0.2,
    ),
    Check(
        "products of a step",
        "account.training().matmul_flops",
        "torch.utils.flop_counter over forward and backward",
        counter_agrees,
        cases(),
        _EVERY,
        claims=("S55", "S56"),
        needs=_TORCH,
        share=0.2,
    ),
    Check(
        "operations of a step",
        'account(convention="exact").training().flops',
        "a tiny autograd on numbers that count",
        scalars_agree,
        st.builds(Program, st.sampled_from(tuple(PROGRAMS)), st.integers(1, 3), st.booleans()),
        _PROGRAMS,
        claims=("S54", "S55", "S56"),
        needs=_TORCH,
        share=0.1,
    ),
    Check(
        "what is kept",
        'account(dtype="fp32").residuals()',
        "torch.autograd.graph.saved_tensors_hooks on a CPU, storages merged",
        kept_agrees,
        cases(),
        _EVERY,
        claims=("D12", "S66"),
        needs=_TORCH,
        share=0.2,
    ),
    Check(
        "random functions",
        "gradients and what is kept",
        "torch.autograd and saved_tensors_hooks",
        composition_agrees,
        compositions(),
        FIXED,
        needs=_TORCH,
        share=0.5,
    ),
    Check(
        "loops",
        "a step of a repeat",
        "the same loop in Python, written out",
        loops_agree,
        fixed=tuple((name, times, both) for name in _LOOPS for times in (1, 2, 5) for both in (False, True)),
    ),
)
