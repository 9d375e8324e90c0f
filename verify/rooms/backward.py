"""Backward passes: gradients, what is executed, what is kept, against autograd, torch's counter and a tiny autograd."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.accounting import Account
from symacct.backward import chosen_inputs
from symacct.backward.needs import is_float
from symacct.eager.inputs import random_input
from symacct.expr import add, read
from symacct.graph import Graph
from symacct.testing.compositions import Composition, compositions
from verify.check import Check, agree, number
from verify.joint import gradients_agree_with
from verify.rooms.compositions import FIXED
from verify.rooms.worked import WORKED, as_tuple, legal

CONSTANTS = {"mean", "var", "cos", "sin"}
"""Running statistics, which torch gives no gradient, and angles, which our rotary gives none."""

NO_KERNEL = {
    "state_space": "torch runs a recurrence as a loop, and stacks what it made",
    "sliding_window_attention": "a window is a mask of numbers to torch",
}
"""Where torch runs in several operations what is one here, so that it keeps more, and why."""

LOOPS = {"mixture_of_experts": "16*b*s*k"}
"""Where torch's own code is a loop over what is one kernel here: the bytes of indices that it keeps besides."""

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
    gradients_agree_with(graph, case.sizes, function_of(case), inputs_of(case, graph, "fp64"), wrt_of(case, graph))


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
    kept = add(r.bytes for r in account.residuals(wrt=wrt_of(case, account.graph)).rows)
    ours, run = number(kept, case.sizes), function_of(case)
    if case.graph in LOOPS:
        ours += number(read(LOOPS[case.graph]), case.sizes)
        run, own = WORKED[case.graph].reference(case.sizes)
        given += own[len(given) :]
    agree(ours, _saved(run, given), f"bytes kept of {case}")


def _saved(function: Callable[..., Any], given: Sequence[Any]) -> int:
    import torch

    from verify.autograd import saved_bytes

    with torch.backends.opt_einsum.flags(enabled=False):
        return saved_bytes(lambda: function(*given))


def composition_agrees(c: Composition) -> None:
    """A random function: its gradients, and what is kept of it."""
    import torch

    function = c.function()
    account = sa.account(function, dtype="fp64")
    graph = account.graph
    draw = torch.Generator().manual_seed(1)
    given = [random_input(graph, i, c.sizes, "fp64", draw).requires_grad_() for i in graph.inputs]
    names = chosen_inputs(graph, None)
    gradients_agree_with(graph, c.sizes, function, given, names)
    if not any(step.kind in ("choose", "rms_norm") for step in c.steps):  # run in other operations there
        ours = number(add(r.bytes for r in account.residuals().rows), c.sizes)
        agree(ours, _saved(function, given), f"bytes kept of {c}")


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

CHECKS = (
    Check(
        "gradients",
        "the gradient graph, run",
        "torch.autograd of the same function",
        gradients_agree,
        cases(),
        _EVERY,
        claims=("S53", "S55"),
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
)
