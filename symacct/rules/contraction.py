"""Einsum operations: contractions, outer and element-wise products, reductions, diagonals, permutations.

One product of two operands, `b d, d k -> b k`, visits b*d*k points and yields b*k outputs: a sum of d products each.
An axis of one operand alone that is not in the output is summed before the product, as torch does.

The gradient of an operand is the product in which it and the output have changed places: of `b d, d k -> b k` they are
`b k, d k -> b d`, which sums over k, and `b d, b k -> d k`, which sums over b. Each visits the forward's points again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.errors import GraphError
from symacct.expr import Expr, Size, add
from symacct.graph import Einsum, Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides, is_copied, matrices, strides_of_operand, strides_of_product
from symacct.rules.rule import Attrs, Backward, Out, Read, Residual, Rule, sizes_of, whole


def work(op: Op, _graph: Graph) -> Work:
    """Return the work of one einsum operation.

    - one operand: axes missing from the output are summed, `reduce`; nothing else costs an operation
    - two operands: lone axes are summed first; then `contract` if an axis is summed over the product, else one `mul`
      an output element
    - as one loop nest (`order="naive"`) of k operands: k - 2 multiplies a point besides the sum of products, or
      k - 1 multiplies an output element where nothing is summed
    """
    e = op.einsum
    assert e is not None
    if len(e.operands) == 1:
        return _reduction(e, set(e.operands[0]), set(e.output))
    return _nest(e) if e.nest or len(e.operands) > 2 else pair_work(e)


def pair_work(e: Einsum) -> Work:
    """Return the work of one product of two operands, lone axes summed first."""
    first, second, out = set(e.operands[0]), set(e.operands[1]), set(e.output)
    shared = (first & second) | out
    product = _product_of(e, shared, out, 2)
    if first | second == shared:
        return product
    return _sum(_reduction(e, first, first & shared), _reduction(e, second, second & shared), product)


def _nest(e: Einsum) -> Work:
    return _product_of(e, {a for operand in e.operands for a in operand}, set(e.output), len(e.operands))


def _product_of(e: Einsum, axes: set[str], out: set[str], operands: int) -> dict[Key, Expr]:
    points = e.size(axes)
    if axes <= out:
        return {("mul", "points"): (operands - 1) * points}
    work: dict[Key, Expr] = {("contract", "points"): points, ("contract", "outputs"): e.size(axes & out)}
    return work if operands == 2 else {**work, ("mul", "points"): (operands - 2) * points}


def _reduction(e: Einsum, axes: set[str], kept: set[str]) -> dict[Key, Expr]:
    if axes <= kept:
        return {}
    return {("reduce", "points"): e.size(axes), ("reduce", "outputs"): e.size(axes & kept)}


def _sum(*works: dict[Key, Expr]) -> Work:
    out: dict[Key, Expr] = {}
    for key, amount in (item for work in works for item in work.items()):
        out[key] = add((out[key], amount)) if key in out else amount
    return out


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return what is read: each operand once, of a repeated name the diagonal only, of a repeated axis one element."""
    e = op.einsum
    assert e is not None
    return tuple(_touched(e, axes, graph, i) for axes, i in zip(e.operands, op.inputs, strict=True))


def _touched(e: Einsum, axes: tuple[str, ...], graph: Graph, i: int) -> Read:
    """Return the distinct axes; what is summed is a row, along which blocks run (the last axis where none is named)."""
    distinct = tuple(dict.fromkeys(axes))
    summed = tuple(at for at, a in enumerate(distinct) if a not in e.output)
    if not summed and distinct == axes:
        return whole(graph, i)
    strides = graph.tensors[i].strides
    repeated = set() if strides is None else {a for a, t in zip(axes, strides, strict=True) if t == 0}
    return Read(i, tuple(1 if a in repeated else e.sizes[a] for a in distinct), summed)


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the sizes of the output axes; the inputs were checked when the axes were named."""
    e = attrs["einsum"]
    sizes = tuple(e.sizes[a] for a in e.output)
    dtypes = {t.dtype for t in inputs}
    strides = _strides(e, sizes, inputs) if len(inputs) == 2 and not e.nest else None
    return (Out(sizes, dtypes.pop() if len(dtypes) == 1 else None, None, strides),)


def _strides(e: Einsum, sizes: tuple[Size, ...], inputs: Sequence[Tensor]) -> tuple[Expr, ...] | None:
    """Return where torch puts a product of two operands."""
    groups = matrices(e)
    if groups:
        return strides_of_product(e, groups)
    operands = []
    for i, t in enumerate(inputs):
        own = strides_of_operand(e, i, t)
        wide = tuple(e.sizes[a] if a in own else 1 for a in e.output)
        operands.append(t._replace(shape=wide, strides=tuple(own.get(a, 1) for a in e.output)))
    return elementwise_strides(sizes, operands)


def copies(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return the operands that torch copies, since they cannot be viewed as a batch of matrices.

    With the axes of a product in four groups (both operands and output, first and output, second and output, summed),
    an operand is copied unless the axes of each group follow each other in memory. Heads split off the last axis,
    `b s h k`, are: `b` and `h` are both batch axes, and s lies between them. Measured at torch's dispatcher; what a
    matrix library copies inside is not seen.
    """
    e = op.einsum
    assert e is not None
    groups = matrices(e) if len(e.operands) == 2 and not e.nest else None
    if groups is None:
        return ()
    out = []
    for i, (axes, tensor) in enumerate(zip(e.operands, op.inputs, strict=True)):
        strides = strides_of_operand(e, i, graph.tensors[tensor])
        if is_copied(e, groups, strides):
            kept = tuple(e.sizes[a] for a in dict.fromkeys(axes) if a in strides)
            out.append(Read(tensor, kept, (len(kept) - 1,)))
    return tuple(out)


def residuals(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep each operand that another's gradient is made from: x if w needs one; its sum where lone axes are summed."""
    e = op.einsum
    assert e is not None
    out = []
    for i, axes in enumerate(e.operands):
        if not any(need for j, need in enumerate(needs) if j != i):
            continue
        others = set(e.output).union(*(o for j, o in enumerate(e.operands) if j != i))
        kept = tuple(e.sizes[a] for a in dict.fromkeys(axes) if a in others)
        summed = not e.nest and not others.issuperset(axes)
        dtype = graph.tensors[op.inputs[i]].dtype
        out.append(Residual("extra", i, kept, dtype, "summed operand") if summed else Residual("input", i))
    return tuple(out)


def gradient(b: Backward) -> tuple[Any, ...]:
    """Return, for each operand, the product in which it and the output have changed places.

    Raises
    ------
    GraphError
        For an operand of which only a diagonal was read.

    """
    e = b.attrs["einsum"]
    return tuple(_gradient_of(b, e, i) if need else None for i, need in enumerate(b.needs))


def _gradient_of(b: Backward, e: Einsum, i: int) -> Any:
    own = e.operands[i]
    if len(set(own)) < len(own):
        msg = (
            f"the gradient of operand {i + 1} of {e.text()!r}, of which only a diagonal is read, is not known; "
            "multiply by an identity matrix instead"
        )
        raise GraphError(msg)
    terms = (*e.operands[:i], e.output, *e.operands[i + 1 :])
    tensors = [*b.inputs[:i], b.grads[0], *b.inputs[i + 1 :]]
    reached = {a for term in terms for a in term}
    kept = tuple(a for a in own if a in reached)
    grad = _product(b, e._replace(operands=terms, output=kept), tensors)
    if kept != own:
        narrow = grad.reshape(tuple(e.sizes[a] if a in kept else 1 for a in own))
        grad = narrow.expand(tuple(e.sizes[a] for a in own))
    return _in_shape(grad, sizes_of(b.inputs[i]))


def _product(b: Backward, e: Einsum, tensors: list[Any]) -> Any:
    if e.operands == (e.output,):
        return tensors[0]
    # an axis of a pattern's tensor may stand for several, (h d), or for none, 1
    split = [_in_shape(t, tuple(e.sizes[a] for a in axes)) for t, axes in zip(tensors, e.operands, strict=True)]
    return b.apply("einsum", *split, einsum=e)


def _in_shape(tensor: Any, shape: tuple[Size, ...]) -> Any:
    return tensor if sizes_of(tensor) == shape else tensor.reshape(shape)


RULES = {"einsum": Rule("contraction", shape, work, reads, residuals=residuals, gradient=gradient, copies=copies)}
