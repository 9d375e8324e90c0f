"""The shape of a rule, and the pieces that most rules share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from symacct.conventions import Work
from symacct.errors import ShapeError, UnknownOpError
from symacct.expr import Expr, Poly, Size, terms_of
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.spills import Spills, spill_nothing

Attrs: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """What an operation touches of a tensor: the axes it visits, and which of them form a row that is summed.

    Where that is a part, `places` say which, if that is known: the same ones are the same elements.
    """

    tensor: int
    shape: tuple[Size, ...]
    row: tuple[int, ...]
    places: Hashable = None


class Out(NamedTuple):
    """An output that a rule announces: its shape, a pinned dtype, and whose memory it shares (a view of input i)."""

    shape: tuple[Size, ...]
    dtype: str | None = None
    view_of: int | None = None
    strides: tuple[Expr, ...] | None = None


Shape: TypeAlias = Callable[[Sequence[Tensor], Attrs], tuple[Out, ...]]
Touch: TypeAlias = Callable[[Op, Graph], tuple[Read, ...]]


def last_axis(shape: Sequence[Size]) -> tuple[int, ...]:
    """Return the last axis as stored, as a row, also where its size is 1; none of a scalar."""
    return (len(shape) - 1,) if shape else ()


def whole(graph: Graph, tensor: int) -> Read:
    """Return a tensor touched once, all of it, what stride 0 repeats as one element; a row is its last axis."""
    t = graph.tensors[tensor]
    shape = t.shape
    if t.strides is not None:
        shape = tuple(1 if stride == 0 else size for size, stride in zip(t.shape, t.strides, strict=True))
    return Read(tensor, shape, last_axis(shape))


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


class Residual(NamedTuple):
    """Something autograd keeps from the forward pass: an input, an output or one made for it; by which kernels."""

    kind: Literal["input", "output", "extra"]
    which: int = 0
    shape: tuple[Size, ...] = ()
    dtype: str | None = None
    name: str = ""
    kernel: Literal["any", "fused", "composite"] = "any"


class Backward(NamedTuple):
    """What a gradient is made from: values are symbolic or real tensors, and operators work on both.

    `apply(kind, *tensors, **attrs)` makes an operation; `needs` says which inputs want a gradient.
    """

    apply: Callable[..., Any]
    attrs: Attrs
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    grads: tuple[Any, ...]
    needs: tuple[bool, ...]


Gradient: TypeAlias = Callable[[Backward], tuple[Any, ...]]
Residuals: TypeAlias = Callable[[Op, Graph, tuple[bool, ...]], tuple[Residual, ...]]


def keep_nothing(_op: Op, _graph: Graph, _needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep nothing: the gradient needs no value of the forward pass."""
    return ()


def keep_output(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the output, as relu, exp, tanh, sigmoid, softmax and sqrt do."""
    return (Residual("output"),) if any(needs) else ()


def keep_input(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the first input, as gelu, silu, log and pow do."""
    return (Residual("input"),) if any(needs) else ()


def keep_input_and_output(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the first input and the output, as amax, prod and logsumexp do."""
    return (Residual("input"), Residual("output")) if any(needs) else ()


def no_gradient(_b: Backward) -> tuple[Any, ...]:
    """Pass no gradient on: comparisons, indices, masks."""
    return tuple(None for _ in _b.inputs)


def no_second_gradient(_b: Backward) -> tuple[Any, ...]:
    """Refuse: what is itself a gradient has none here.

    Raises
    ------
    UnknownOpError
        Always.

    """
    msg = "the gradient of a gradient is not known for an operation that torch runs as one in its backward pass"
    raise UnknownOpError(msg)


def unbroadcast(b: Backward, grad: Any, like: Any) -> Any:
    """Return a gradient summed over the axes along which its tensor was broadcast."""
    extra = len(grad.shape) - len(like.shape)
    axes = tuple(i for i, size in enumerate(grad.shape) if i < extra or (like.shape[i - extra] == 1 and size != 1))
    if not axes:
        return grad
    summed = b.apply("sum", grad, axes=axes, keepdims=False)
    shape = tuple(like.shape)
    return summed if tuple(summed.shape) == shape else summed.reshape(shape)


def no_conditions(_op: Op, _graph: Graph) -> list[Condition]:
    """Ask for nothing."""
    return []


@dataclass(frozen=True, slots=True)
class Rule:
    """What one kind of operation yields, executes and moves.

    `family` is the file of the rule; `shape` checks the inputs and announces the outputs; `residuals` are what torch's
    autograd keeps; `gradient` makes the gradients of the inputs out of operations.
    """

    family: str
    shape: Shape
    work: Callable[[Op, Graph], Work]
    reads: Touch = read_all
    writes: Touch = write_all
    conditions: Callable[[Op, Graph], list[Condition]] = no_conditions
    residuals: Residuals = keep_nothing
    gradient: Gradient = no_gradient
    copies: Touch = touch_nothing
    """What torch copies first to lay it out: counted (read and written) under the layout `torch` only."""
    implicit_copy: bool = False
    """Whether what it moves is a copy that a better layout avoids: not counted under the layout `ideal`."""
    spills: Spills = spill_nothing
    """What a logical operation writes and reads inside, unless a flash kernel runs it (``fuse="flash"``)."""


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


def same_shape(inputs: Sequence[Tensor], count: int) -> tuple[Out, ...]:
    """Announce an output of the shape that so many inputs share.

    Raises
    ------
    ShapeError
        For another number of inputs; names two shapes that differ.

    """
    if len(inputs) != count:
        msg = f"{len(inputs)} tensors; it takes {count}"
        raise ShapeError(msg)
    first = inputs[0]
    if different := [t for t in inputs if t.shape != first.shape]:
        msg = f"the shapes {show_shape(first.shape)} and {show_shape(different[0].shape)} differ"
        raise ShapeError(msg)
    return (Out(first.shape, first.dtype),)


def reduced(shape: Sequence[Any], axes: Iterable[int], *, keepdims: bool) -> tuple[Any, ...]:
    """Return a shape without some axes, or with them at size 1."""
    places = [axis_of(a, len(shape)) for a in axes]
    gone = set(places)
    if len(gone) < len(places):
        msg = f"an axis is named twice in {tuple(axes)}"
        raise ShapeError(msg)
    return tuple(1 if i in gone else s for i, s in enumerate(shape) if keepdims or i not in gone)


def show_shape(shape: Sequence[Expr]) -> str:
    """Return a shape as text: ``(b, s, 4*d)``."""
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front.

    Raises
    ------
    ShapeError
        If there is no such axis.

    """
    if type(axis) is not int or not -rank <= axis < rank:
        msg = f"there is no axis {axis!r} in a tensor with {rank} axes"
        raise ShapeError(msg)
    return axis % rank if rank else 0


def check_sizes(shape: Sequence[Expr]) -> None:
    """Check that sizes are whole and at least 1, as far as that shows.

    Raises
    ------
    ShapeError
        Names the size and the shape.

    """
    if bad := [s for s in shape if _is_no_size(s)]:
        msg = f"a size of {bad[0]} in {show_shape(shape)}; sizes are whole and at least 1"
        raise ShapeError(msg)


def _is_no_size(s: Expr) -> bool:
    if isinstance(s, Poly):
        return all(c < 0 for c in terms_of(s).values())
    return type(s) is not int or s < 1


def sizes_of(x: Any) -> tuple[Size, ...]:
    """Return the shape of a symbolic or a real tensor as sizes, to put into attributes."""
    return tuple(getattr(size, "value", size) for size in x.shape)


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
