"""Steps of training: every scalar operation under a tiny autograd, and repeats as the loops they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

from hypothesis import strategies as st

import symacct as sa
from symacct.backward import joint
from symacct.testing.counting import totals
from verify.check import Check, DisagreementError, agree, number
from verify.counted_arrays import Machine, plain
from verify.rooms.backward import Case, wrt_of
from verify.rooms.worked import WORKED
from verify.tape import PROGRAMS, Tape, Var


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


_PROGRAMS = tuple(Program(name, 2, everything) for name in PROGRAMS for everything in (False, True))
_LOOPS = ("deep_network", "gpt2", "llama", "vit")

CHECKS = (
    Check(
        "operations of a step",
        'account(convention="exact").training().flops',
        "a tiny autograd on numbers that count",
        scalars_agree,
        st.builds(Program, st.sampled_from(tuple(PROGRAMS)), st.integers(1, 3), st.booleans()),
        _PROGRAMS,
        claims=("S54", "S55", "S56"),
        needs=("torch",),
        share=0.1,
    ),
    Check(
        "loops",
        "a step of a repeat",
        "the same loop in Python, written out",
        loops_agree,
        fixed=tuple((name, times, both) for name in _LOOPS for times in (1, 2, 5) for both in (False, True)),
    ),
)
