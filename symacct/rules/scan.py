"""Scans along an axis: associative ones, and the first-order linear recurrence ``h_t = a_t*h_(t-1) + b_t``.

One after the other, a recurrence over n is n - 1 multiplies and n - 1 additions a row: the first h is b_1, copied. With
an initial state it is n of each, 2 operations an element.

In parallel, neighbours are combined, the half that results is scanned, and every other result is combined with its
neighbour (Blelloch 1990, as `jax.lax.associative_scan` does it): over n that is

    C(n) = floor(n/2) + C(floor(n/2)) + ceil(n/2) - 1,   C(1) = 0
         = 2n - 1 - floor(log2(n)) - (the ones in n, written in binary)      = 2n - 2 - log2(n) for a power of two

combinations a row, against n - 1 in sequence. Two steps of a recurrence combine to
``(a_1*a_2, a_2*b_1 + b_2)``: 2 multiplies and an addition; an initial state is put into b_1 first, a multiply and an
addition a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import ConventionError, ShapeError, UnknownOpError, one_of
from symacct.expr import Expr, Size, log2, product
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Residual,
    Rule,
    axis_of,
    broadcast,
    show_shape,
    unbroadcast,
)

METHODS = ("sequential", "parallel")
COMBINES = ("add", "mul", "max")
"""What an associative scan combines two elements by."""


def combinations(n: Size) -> Expr:
    """Return how often a parallel scan of n combines two elements; of a name, as for a power of two.

    Examples
    --------
    >>> from symacct.expr import name
    >>> [combinations(n) for n in (1, 2, 3, 4, 8)], combinations(name("s"))
    ([0, 1, 2, 4, 11], 2*s - log2(s) - 2)

    """
    if type(n) is int:
        return 2 * n - n.bit_length() - n.bit_count()
    return 2 * n - 2 - log2(n)


def conditions_of_scan(op: Op, graph: Graph) -> list[Condition]:
    """Return that a length that is still a name is a power of two, where it is scanned in parallel."""
    _, n = _rows(op, graph)
    parallel = op.kind == "associative_scan" or op.attrs["method"] == "parallel"
    return [Condition("stated", f"{n} is a power of two")] if parallel and type(n) is not int else []


def _rows(op: Op, graph: Graph) -> tuple[Expr, Size]:
    """Return how many rows are scanned, and how long they are."""
    shape = graph.tensors[op.outputs[0]].shape
    axis = axis_of(op.attrs["axis"], len(shape))
    return product(shape[:axis] + shape[axis + 1 :]), shape[axis]


def shape_of_associative_scan(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return every prefix combined."""
    (x,) = inputs
    if attrs["combine"] not in COMBINES:
        msg = f"unknown way to combine {attrs['combine']!r}; known: {one_of(COMBINES)}; see linear_recurrence"
        raise ConventionError(msg)
    axis_of(attrs["axis"], len(x.shape))
    return (Out(x.shape, x.dtype),)


def work_of_associative_scan(op: Op, graph: Graph) -> Work:
    """Return the combinations of every row."""
    rows, n = _rows(op, graph)
    return {(op.attrs["combine"], "points"): rows * combinations(n)}


def gradient_of_associative_scan(b: Backward) -> tuple[Any, ...]:
    """Return the sums from the other end, of a scan of sums.

    Raises
    ------
    UnknownOpError
        For another way to combine.

    """
    if b.attrs["combine"] != "add":
        msg = f"the gradient of an associative scan by {b.attrs['combine']!r} is not known; that of 'add' is"
        raise UnknownOpError(msg)
    return (b.apply("associative_scan", b.grads[0], **{**b.attrs, "reverse": not b.attrs["reverse"]}),)


def shape_of_recurrence(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return every state: the shape of b, to which a broadcasts; an initial state has no axis of time."""
    a, b, *initial = inputs
    if attrs["method"] not in METHODS:
        msg = f"unknown method {attrs['method']!r} of a recurrence; known: {one_of(METHODS)}"
        raise ConventionError(msg)
    axis = axis_of(attrs["axis"], len(b.shape))
    same_time = len(a.shape) == len(b.shape) and a.shape[axis] == b.shape[axis]
    if not same_time or broadcast([a.shape, b.shape]) != b.shape:
        msg = f"the coefficients {show_shape(a.shape)} for {show_shape(b.shape)}; only axes besides {axis} may be 1"
        raise ShapeError(msg)
    if initial and initial[0].shape != b.shape[:axis] + b.shape[axis + 1 :]:
        msg = (
            f"an initial state of the shape {show_shape(initial[0].shape)} for {show_shape(b.shape)} along axis {axis}"
        )
        raise ShapeError(msg)
    return (Out(b.shape, b.dtype),)


def work_of_recurrence(op: Op, graph: Graph) -> Work:
    """Return the multiplies and additions of every row."""
    rows, n = _rows(op, graph)
    initial = 1 if len(op.inputs) == 3 else 0
    if op.attrs["method"] == "sequential":
        steps = rows * (n - 1 + initial)
        return {("mul", "points"): steps, ("add", "points"): steps}
    return {
        ("mul", "points"): rows * (2 * combinations(n) + initial),
        ("add", "points"): rows * (combinations(n) + initial),
    }


def residuals_of_recurrence(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the coefficients to go back through time, and the states where the coefficients need a gradient."""
    kept = [Residual("input", 0)] if any(needs) else []
    alone = graph.tensors[op.inputs[1]].shape[op.attrs["axis"]] == 1  # no state comes before another
    kept += [Residual("output")] if needs[0] and not alone else []
    return (*kept, *(Residual("input", 2) for _ in needs[2:] if needs[0]))


def gradient_of_recurrence(b: Backward) -> tuple[Any, ...]:
    """Go back through time, ``G_t = g_t + a_(t+1)*G_(t+1)``: b's is G, a's ``G_t*h_(t-1)``, h_0's ``a_1*G_1``."""
    a, x, *initial = b.inputs
    axis, reverse = axis_of(b.attrs["axis"], len(x.shape)), b.attrs["reverse"]
    later = b.apply("roll", a, axes=(axis,), shifts=(1 if reverse else -1,))
    grad = b.apply("linear_recurrence", later, b.grads[0], **{**b.attrs, "reverse": not reverse})
    before = _before(b, axis) if b.needs[0] else None
    of_a = None if before is None else unbroadcast(b, b.apply("mul", grad, before), a)
    first = (*[slice(None)] * axis, -1 if reverse else 0)
    of_initial = [b.apply("mul", a[first], grad[first])] if initial and b.needs[2] else [None] * len(initial)
    return (of_a, grad if b.needs[1] else None, *of_initial)


def _before(b: Backward, axis: int) -> Any:
    """Return ``h_(t-1)`` at every t: the initial state or zero at the first; None where that is all, and zero."""
    (h,), reverse = b.outputs, b.attrs["reverse"]
    alone = h.shape[axis] == 1
    earlier = None if alone else h[(*[slice(None)] * axis, slice(1, None) if reverse else slice(0, -1))]
    if len(b.inputs) == 3:
        initial = b.inputs[2].unsqueeze(axis)
        both = (earlier, initial) if reverse else (initial, earlier)
        return initial if alone else b.apply("concat", *both, axis=axis)
    widths = [(0, 0)] * len(h.shape)
    widths[axis] = (0, 1) if reverse else (1, 0)
    return None if alone else b.apply("pad", earlier, widths=tuple(widths), value=0)


RULES = {
    "associative_scan": Rule(
        "scan",
        shape_of_associative_scan,
        work_of_associative_scan,
        conditions=conditions_of_scan,
        gradient=gradient_of_associative_scan,
    ),
    "linear_recurrence": Rule(
        "scan",
        shape_of_recurrence,
        work_of_recurrence,
        conditions=conditions_of_scan,
        residuals=residuals_of_recurrence,
        gradient=gradient_of_recurrence,
    ),
}
