"""Shapes and places against NumPy: what is a view there moves nothing, what is a copy reads and writes everything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from symacct.expr import name
from symacct.graph import Graph, Op, Tensor
from symacct.rules import RULES
from verify.check import Check, agree, number
from verify.one_op import flops_of, one_op, traffic_agrees

SIZES = {"b": 2, "s": 3, "d": 4, "e": 5}


class Move(NamedTuple):
    """A kind with its attributes, sizes as names where they have one, and NumPy's way to do it."""

    kind: str
    attrs: dict[str, Any]
    do: Callable[[Any], Any]


def _permute(*axes: int) -> Move:
    return Move("permute", {"axes": axes}, lambda x: x.transpose(axes))


def _reshape(*shape: str) -> Move:
    """Axes are products of names: `b*s`."""
    factors = [[name(n) for n in axis.split("*")] for axis in shape]
    sizes = [math.prod(SIZES[n] for n in axis.split("*")) for axis in shape]
    return Move("reshape", {"shape": tuple(math.prod(f) for f in factors)}, lambda x: x.reshape(sizes))


def _slice(*stops: int) -> Move:
    """Every second element up to a place, of each axis."""
    ranges = tuple((0, stop, 2) for stop in stops)
    return Move("slice", {"ranges": ranges}, lambda x: x[tuple(slice(0, stop, 2) for stop in stops)])


def _expand(*shape: str) -> Move:
    wanted = tuple(name(n) for n in shape)
    import numpy as np

    return Move("expand", {"shape": wanted}, lambda x: np.broadcast_to(x, [SIZES[n] for n in shape]))


class Case(NamedTuple):
    axes: tuple[str, ...]
    moves: tuple[Move, ...]


CASES: Mapping[str, tuple[Case, ...]] = {
    "permute": (Case(("b", "s", "d"), (_permute(2, 0, 1),)), Case(("b", "s"), (_permute(1, 0), _permute(1, 0)))),
    "slice": (Case(("d", "e"), (_slice(3, 4),)),),
    "expand": (Case(("d",), (_expand("b", "s", "d"),)), Case(("d",), (_expand("s", "d"), _permute(1, 0)))),
    "reshape": (
        Case(("b", "s", "d"), (_reshape("b*s", "d"),)),
        Case(("b", "s", "d"), (_permute(0, 2, 1), _reshape("b", "d*s"))),
        Case(("b", "s", "d", "e"), (_permute(0, 2, 1, 3), _reshape("b", "d", "s", "e"))),
        Case(("b", "s", "d", "e"), (_permute(2, 3, 0, 1), _reshape("d*e", "b*s"))),
        Case(("b*s", "d*e"), (_reshape("b", "s", "d", "e"),)),
        Case(("b", "s", "d*e"), (_permute(0, 2, 1), _reshape("b", "d", "e", "s"))),
        Case(("s", "d"), (_expand("b", "s", "d"), _reshape("b*s", "d"))),
        Case(("d", "e"), (_slice(3, 4), _permute(1, 0))),
    ),
}


def agrees(case: Case) -> None:
    """Do all moves one after the other, here and there."""
    import numpy as np

    real = np.zeros([math.prod(SIZES[n] for n in axis.split("*")) for axis in case.axes])
    tensor = Tensor(0, tuple(math.prod(name(n) for n in axis.split("*")) for axis in case.axes), "input", "x")
    for move in case.moves:
        what = f"{move.kind} {move.attrs} of {tensor.shape}"
        after = move.do(real)
        (out,) = RULES[move.kind].shape([tensor], move.attrs)
        agree(tuple(number(s, SIZES) for s in out.shape), after.shape, f"shape of {what}")
        view = np.shares_memory(after, real)
        agree(out.view_of == 0, view, f"whether {what} is a view")
        made = Tensor(1, out.shape, "output", "y", storage=0 if view else None, strides=out.strides)
        graph = Graph((tensor, made), (Op(0, move.kind, (0,), (1,), attrs=move.attrs),), (0,), (1,))
        if view:
            strides = out.strides or _contiguous(after.shape)
            agree([number(s, SIZES) for s in strides], [s // 8 for s in after.strides], f"strides of {what}")
        moved = [set() if view else _places(x) for x in (real, after)]
        traffic_agrees(graph, SIZES, moved, [real.shape[-1], after.shape[-1]])
        agree(flops_of(graph, SIZES, "2n"), 0, f"flops of {what}")
        real, tensor = after, made._replace(id=0)


def _places(x: Any) -> set[int]:
    """The places in memory that a tensor stands on: a repeated axis stands on the same ones."""
    turns = itertools.product(*(range(n) for n in x.shape))
    return {sum(i * stride for i, stride in zip(turn, x.strides, strict=True)) for turn in turns}


def _contiguous(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


class Joined(NamedTuple):
    axis: int
    lengths: tuple[int, ...]


def concat_agrees(case: Joined) -> None:
    import numpy as np

    operands = [["b", n, "d"] if case.axis in (1, -2) else ["b", "s", n] for n in case.lengths]
    sizes = [[SIZES.get(a, a) for a in axes] for axes in operands]
    real = np.concatenate([np.zeros(s) for s in sizes], axis=case.axis)
    graph = one_op("concat", operands, axis=case.axis)
    agree([number(s, SIZES) for s in graph.tensors[-1].shape], list(real.shape), f"shape of concat {case}")
    moved = [set(range(math.prod(s))) for s in (*sizes, real.shape)]
    traffic_agrees(graph, SIZES, moved, [s[-1] for s in (*sizes, real.shape)])
    agree(flops_of(graph, SIZES, "2n"), 0, f"flops of concat {case}")


_LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)

CHECKS = (
    *(
        Check(
            kind,
            f"shape, strides, reads and writes of {kind}",
            "NumPy: shapes, strides, shared memory",
            agrees,
            fixed=fixed,
            claims=("S27",),
            proves=(kind,),
        )
        for kind, fixed in CASES.items()
    ),
    Check(
        "concat",
        "shape, reads and writes of concat",
        "NumPy's shape; everything is read and written once",
        concat_agrees,
        st.builds(
            Joined, st.sampled_from((1, 2, -1, -2)), st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
        ),
        (Joined(1, (3, 5)), Joined(-1, (2, 7, 4))),
        proves=("concat",),
        share=0.1,
    ),
)
