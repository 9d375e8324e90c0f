"""The shape of a rule, and the pieces that most rules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Size
from symacct.graph import Condition, Graph, Op, Tensor

Attrs: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """What an operation touches of a tensor: the axes it visits, and which of them form a row that is summed."""

    tensor: int
    shape: tuple[Size, ...]
    row: tuple[int, ...]


class Out(NamedTuple):
    """An output that a rule announces: its shape, a pinned dtype, and whose memory it shares (a view of input i)."""

    shape: tuple[Size, ...]
    dtype: str | None = None
    view_of: int | None = None
    strides: tuple[Expr, ...] | None = None


Shape: TypeAlias = Callable[[Sequence[Tensor], Attrs], tuple[Out, ...]]
Touch: TypeAlias = Callable[[Op, Graph], tuple[Read, ...]]


def whole(graph: Graph, tensor: int) -> Read:
    """Return a tensor touched once, all of it; a row is its last axis."""
    shape = graph.tensors[tensor].shape
    return Read(tensor, shape, (len(shape) - 1,) if shape else ())


def read_all(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read every input once."""
    return tuple(whole(graph, i) for i in op.inputs)


def write_all(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write every output once."""
    return tuple(whole(graph, i) for i in op.outputs)


def touch_nothing(_op: Op, _graph: Graph) -> tuple[Read, ...]:
    """Move nothing: a view."""
    return ()


def no_work(_op: Op, _graph: Graph) -> Work:
    """Execute no arithmetic: views, copies, lookups, masks; listed as free."""
    return {}


def no_conditions(_op: Op, _graph: Graph) -> list[Condition]:
    """Ask for nothing."""
    return []


@dataclass(frozen=True, slots=True)
class Rule:
    """What one kind of operation yields, executes and moves.

    `family` is the file of the rule; `shape` checks the inputs and announces the outputs.
    """

    family: str
    shape: Shape
    work: Callable[[Op, Graph], Work]
    reads: Touch = read_all
    writes: Touch = write_all
    conditions: Callable[[Op, Graph], list[Condition]] = no_conditions
    implicit_copy: bool = False
    """Whether what it moves is a copy that a better layout avoids: not counted under the layout `ideal`."""


def out_of(op: Op, graph: Graph) -> Tensor:
    """Return the first output of an operation."""
    return graph.tensors[op.outputs[0]]


def broadcast(shapes: Sequence[tuple[Size, ...]]) -> tuple[Size, ...]:
    """Return the shape that shapes broadcast to, aligned at the last axis; a size is 1 or equal to the others.

    Raises
    ------
    ShapeError
        Names the two shapes and the sizes that differ. Sizes are compared as written: put ``D = h*k`` in first.

    """
    rank = max((len(s) for s in shapes), default=0)
    out: list[Size] = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, rank - len(shape)):
            if out[i] == 1:
                out[i] = size
            elif size not in (1, out[i]):
                both = " and ".join(show_shape(s) for s in shapes)
                msg = f"the shapes {both} do not fit: {out[i]} against {size}"
                raise ShapeError(msg)
    return tuple(out)


def show_shape(shape: tuple[Size, ...]) -> str:
    """Return a shape as text: ``(b, s, 4*d)``."""
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front.

    Raises
    ------
    ShapeError
        If there is no such axis.

    """
    if not -rank <= axis < rank:
        msg = f"there is no axis {axis} in a tensor with {rank} axes"
        raise ShapeError(msg)
    return axis % rank if rank else 0


def strides_of(tensor: Tensor) -> tuple[Expr, ...]:
    """Return the strides of a tensor in elements, also where it is contiguous."""
    if tensor.strides is not None:
        return tensor.strides
    return contiguous(tensor.shape)


def contiguous(shape: tuple[Size, ...]) -> tuple[Expr, ...]:
    """Return the strides of a contiguous tensor: ``(s*d, d, 1)`` for ``(b, s, d)``."""
    out: list[Expr] = []
    step: Expr = 1
    for size in reversed(shape):
        out.append(step)
        step = step * size
    return tuple(reversed(out))
