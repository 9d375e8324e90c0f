"""Worked graphs: forms derived by hand, torch's own layers, and what torch and counting numbers execute."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from hypothesis import strategies as st

import symacct as sa
from symacct.accounting import Account
from symacct.errors import SizeError
from symacct.expr import Expr, add, read, to_text
from symacct.graph import Graph
from symacct.testing.counting import totals
from verify.check import Check, DisagreementError, agree, at_most, number
from verify.counted_arrays import Machine, plain
from verify.kernels import bytes_moved, products
from verify.worked_programs import PROGRAMS

WORKED = {path.stem: sa.load_worked(path) for path in sorted(Path(__file__).parents[2].glob("graphs/*.py"))}

REPEATED = ("decode_step", "deep_network", "gpt2", "gru", "llama", "lstm", "vit")
"""Graphs with a repeat."""

ONE_KERNEL_EACH = (
    *("conv_block", "cross_attention", "deep_network", "depthwise_separable", "dot", "gated_mlp", "gelu"),
    *("grouped_query_attention", "gru", "linear", "linear_attention", "lora_linear", "lstm", "matmul"),
    *("matrix_vector", "mlp", "multi_head_attention", "multi_query_attention", "relu", "vit"),
)
"""Graphs of which torch runs an operation as one kernel; rms_norm and rotary it writes out, masks it makes in two."""

UNCOUNTED = {
    ("matrix_vector", "build"): "torch's counter does not know mv",
    ("flash_attention", "build"): "nor the attention kernel of a CPU",
    ("sliding_window_attention", "build"): "nor that with a mask",
    ("dot", "reference"): "nor dot",
    ("matrix_vector", "reference"): "an element-wise product and a sum",
    ("sliding_window_attention", "reference"): "likewise",
    ("decode_step", "reference"): "the new token's value is one more row of a product",
    ("linear_attention", "reference"): "all pairs",
    ("lora_linear", "reference"): "the update is merged into the matrix",
}
"""Where torch's counter is not to be compared with, and why."""


class Case(NamedTuple):
    graph: str
    sizes: dict[str, int]


@cache
def account_of(name: str, **options: Any) -> Account:
    return WORKED[name].account(**options)


def total(account: Account, quantity: str) -> Expr:
    if quantity == "flash_bytes":
        return replace(account, fuse="flash").total("bytes")
    if quantity != "params":
        return account.total(quantity)
    tensors = [account.graph.tensors[i] for i in account.graph.inputs]
    return add(t.numel for t in tensors if t.role == "param")


@st.composite
def cases(draw: st.DrawFn, low: int, high: int, among: tuple[str, ...] = tuple(WORKED)) -> Case:
    name = draw(st.sampled_from(among))
    account = account_of(name)
    numbers = st.fixed_dictionaries({n: st.integers(low, high) for n in account.names})
    return Case(name, draw(numbers.filter(lambda sizes: legal(account, sizes))))


def legal(account: Account, sizes: dict[str, int]) -> bool:
    try:
        account.at(sizes=sizes)
    except SizeError:
        return False
    return True


def inputs_of(case: Case) -> tuple[Callable[..., Any], tuple[Any, ...], list[Any]]:
    """The reference, what it takes in double precision, and the tensors among that."""
    import torch

    torch.manual_seed(1)
    function, given = WORKED[case.graph].reference(case.sizes)
    wide = tuple(x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in given)
    return function, wide, [x for x in wide if isinstance(x, torch.Tensor)]


def forms_agree(name: str) -> None:
    for quantity, form in WORKED[name].formulas.items():
        ours = to_text(total(account_of(name), quantity))
        if not sa.same(ours, form):
            msg = f"{quantity} of {name}: symacct says {ours}, by hand it is {form}"
            raise DisagreementError(msg)


def numbers_agree(case: Case) -> None:
    """Build the graph again with numbers for sizes."""
    account = WORKED[case.graph].account(sizes=case.sizes)
    for quantity, form in WORKED[case.graph].formulas.items():
        agree(total(account, quantity), number(read(form), case.sizes), f"{quantity} of {case}")


def values_agree(case: Case) -> None:
    """The function on tensors, the graph's run and torch's own layer; shapes are compared too."""
    import torch

    function, given, tensors = inputs_of(case)
    expected = as_tuple(function(*given))
    ran = account_of(case.graph).graph.run(case.sizes, inputs=tensors).outputs
    for way in (as_tuple(WORKED[case.graph].build(*given)), ran):
        for ours, theirs in zip(way, expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def counter_agrees(case: Case) -> None:
    function, given, _ = inputs_of(case)
    ours = number(account_of(case.graph).total("matmul_flops"), case.sizes)
    for way, run in (("build", WORKED[case.graph].build), ("reference", function)):
        counted = products(run, *given)
        if (case.graph, way) not in UNCOUNTED:
            agree(ours, counted, f"matmul_flops of {case}, {way}")
        elif ours == counted:
            msg = f"torch's counter is right about the {way} of {case}, which is listed as one that it misses"
            raise DisagreementError(msg)


def calls_agree(case: Case) -> None:
    """Plain programs on numbers that count; what they yield is what torch yields."""
    import numpy as np

    function, given, tensors = inputs_of(case)
    machine = Machine("exact")
    rest = given[len(tensors) :]
    made = as_tuple(PROGRAMS[case.graph](machine, *(machine.load(t.numpy()) for t in tensors), *rest))
    for ours, theirs in zip(made, as_tuple(function(*given)), strict=True):
        if not np.allclose(plain(np.asarray(ours, dtype=object)), theirs.numpy()):
            msg = f"the program of {case} yields {ours}, not {theirs}"
            raise DisagreementError(msg)
    form = account_of(case.graph, convention="exact").total("flops")
    agree(number(form, case.sizes), totals(machine.calls + machine.reduced)["FLOP"], f"flops of {case}")


def parameters_agree(case: Case) -> None:
    _, given, _ = inputs_of(case)
    worked = WORKED[case.graph]
    named = zip(inspect.signature(worked.build).parameters, given, strict=False)  # what has a default may be missing
    elements = sum(x.numel() for n, x in named if n in worked.params)
    agree(number(total(account_of(case.graph), "params"), case.sizes), elements, f"params of {case}")


def bytes_agree(case: Case) -> None:
    """With the copies that torch makes to lay operands out."""
    _, given, _ = inputs_of(case)
    ours = WORKED[case.graph].account(sizes=case.sizes, dtype="fp64", layout="torch").total("bytes")
    agree(ours, bytes_moved(WORKED[case.graph].build, *given), f"bytes of {case}")


def times_of(graph: Graph) -> str:
    """The name of how often a repeat runs."""
    (op,) = (op for op in graph.ops if op.kind == "repeat")
    return to_text(op.attrs["n"])


def loops_agree(case: tuple[str, int]) -> None:
    """A repeat costs what the same loop in Python costs, written out; what it collects is stacked there."""
    name, times = case

    def loop(
        _n: Any, body: Callable[..., Any], carry: Any, xs: Any, consts: Any = None, *, collect: bool = False
    ) -> Any:
        made = []
        for i in range(times):
            one = tuple(x[i] for x in xs) if isinstance(xs, tuple) else xs[i]
            carry = body(carry, one) if consts is None else body(carry, one, consts)
            if collect:
                carry, one = carry
                made.append(one if isinstance(one, tuple) else (one,))
        stacked = [sa.stack(list(rows)) for rows in zip(*made, strict=True)]
        return (carry, stacked[0] if len(stacked) == 1 else tuple(stacked)) if collect else carry

    sizes = {times_of(account_of(name).graph): times}
    repeated = WORKED[name].account(sizes=sizes, layout="torch")
    with mock.patch.object(sa, "repeat", loop):
        written_out = WORKED[name].account(sizes=sizes, layout="torch")
    for quantity in ("flops", "matmul_flops", "bytes"):
        agree(repeated.total(quantity), written_out.total(quantity), f"{quantity} of {name}, {times} times")


def traffic_agrees(case: Case) -> None:
    """Compare them; fused FLOPs are those of the same operations."""
    unfused, fused = account_of(case.graph), account_of(case.graph, fuse="pointwise")
    moved = [number(a.total("bytes"), case.sizes) for a in (fused, unfused)]
    at_most(*moved, f"fused and unfused bytes of {case}")
    agree(fused.total("flops"), unfused.total("flops"), f"flops of {case.graph}, fused")
    least = number(account_of(case.graph, traffic="compulsory").total("bytes"), case.sizes)
    at_most(least, moved[0], f"compulsory and fused bytes of {case}")


def tiny(*names: str) -> tuple[Case, ...]:
    return tuple(Case(n, dict(WORKED[n].tiny)) for n in names)


_TORCH = ("torch",)
CHECKS = (
    Check("closed forms", "formulas of graphs/", "derived by hand", forms_agree, fixed=tuple(WORKED)),
    Check(
        "closed forms at numbers",
        "formulas of graphs/",
        "the graph built anew with numbers for sizes",
        numbers_agree,
        cases(2, 60),
        tiny(*WORKED),
        share=0.5,
    ),
    Check(
        "values and shapes",
        "the function on tensors = graph.run",
        "torch's own layers",
        values_agree,
        cases(2, 5),
        tiny(*WORKED),
        needs=_TORCH,
        share=0.5,
    ),
    Check(
        "matmul_flops against torch's counter",
        "account.matmul_flops",
        "torch.utils.flop_counter on the function and on torch's own layers",
        counter_agrees,
        cases(3, 5),
        tiny(*WORKED),
        claims=("S54",),
        needs=_TORCH,
        share=0.5,
    ),
    Check(
        "flops of small graphs",
        'account(convention="exact").flops',
        "plain programs on numbers that count",
        calls_agree,
        cases(2, 3, tuple(PROGRAMS)),
        tiny(*PROGRAMS),
        claims=("S46", "S47", "S48"),
        needs=_TORCH,
        share=0.2,
    ),
    Check(
        "parameters",
        "elements of the arguments in params",
        "numel of torch's tensors",
        parameters_agree,
        cases(2, 5),
        tiny(*WORKED),
        claims=("S52",),
        needs=_TORCH,
        share=0.5,
    ),
    Check(
        "bytes",
        'account(layout="torch").bytes',
        "tensors that go into torch's kernels and come out",
        bytes_agree,
        cases(2, 5, ONE_KERNEL_EACH),
        tiny(*ONE_KERNEL_EACH),
        needs=_TORCH,
        share=0.5,
    ),
    Check(
        "loops",
        "a repeat of n is n bodies",
        "the same loop in Python, written out",
        loops_agree,
        fixed=tuple((name, times) for name in REPEATED for times in (1, 3, 5, 10)),
    ),
    Check(
        "notions of traffic",
        "compulsory <= fused <= unfused",
        "each other",
        traffic_agrees,
        cases(1, 60),
        tiny(*WORKED),
        share=0.5,
    ),
)
