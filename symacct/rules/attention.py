"""Attention as one operation, its gradient, and rotary embedding.

B*H heads of S queries and T keys of width d_k, values of width d_v; P pairs of a query and a key are visited, S*T where
nothing is masked. G key and value heads (GQA: G divides H) change bytes, not operations: a product runs per query head.

    forward    scores Q K^T       P*d_k products, P sums        scale   P mul      softmax   P elements in S rows
               outputs P V        P*d_v products, S*d_v sums    mask    P add where it is made of numbers
    backward   dV = P^T dO        P*d_v products, T*d_v sums    delta = sum(dO*O): S*d_v mul and sum
               dP = dO V^T        P*d_v products, P sums        dS = scale * P*(dP - delta): P sub, 2P mul
               dQ = dS K          P*d_k products, S*d_k sums
               dK = dS^T Q        P*d_k products, T*d_k sums
    again      scores, scale, mask, exp(scores - lse): as forward, and P sub, P exp; under ``flash_backward=5`` alone

so 2*B*H*P*(d_k + d_v) forward and 4*B*H*P*(d_k + d_v) backward, plus 2*B*H*P*d_k where scores are computed again. How
many pairs a causal mask leaves is a convention (``attention=``); what a window does not see is no pair in any. What
moves: see `symacct.rules.attention_traffic`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from symacct.conventions import Key, Work
from symacct.errors import GraphError, ShapeError
from symacct.expr import Expr, Size, add, multiply, product
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.attention_traffic import (
    reads,
    spills_of_attention,
    spills_of_attention_gradient,
    writes_of_attention,
)
from symacct.rules.layout import elementwise_strides
from symacct.rules.pairs import conditions_of_pairs, pairs, reached
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Residual,
    Rule,
    broadcast,
    no_second_gradient,
    show_shape,
)


class Heads(NamedTuple):
    """The sizes of an attention: rows are batch times heads, of queries and of keys."""

    query_rows: Expr
    key_rows: Expr
    s: Size
    t: Size
    width: Size
    value_width: Size


class Seen(NamedTuple):
    """How many pairs are visited, and how many queries and keys are in one."""

    pairs: Expr
    queries: Expr
    keys: Expr


Amounts = Callable[[Seen], dict[Key, Expr]]


def shape_of_attention(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the outputs, laid out as the queries are, and the logsumexp of each row of scores, in fp32.

    Raises
    ------
    ShapeError
        Names two shapes that do not fit.

    """
    q, k, v = inputs[:3]
    if min(len(t.shape) for t in (q, k, v)) < 2 or k.shape[:-1] != v.shape[:-1]:
        _refuse(k, v, "keys and values differ in their width alone, (..., heads, keys, width)")
    if q.shape[-1] != k.shape[-1]:
        _refuse(q, k, f"queries have the width {q.shape[-1]}, keys {k.shape[-1]}")
    _check_heads(q, k, attrs)
    if len(inputs) > 3:
        wanted = (*q.shape[:-1], k.shape[-2])
        if broadcast([inputs[3].shape, wanted]) != wanted:
            _refuse(inputs[3], q, f"a mask broadcasts to {show_shape(wanted)}")
    shape = (*q.shape[:-1], v.shape[-1])
    strides = elementwise_strides(shape, (q._replace(shape=shape),)) if q.strides else None
    return (Out(shape, q.dtype, None, strides), Out(q.shape[:-1], "fp64" if q.dtype == "fp64" else "fp32"))


def _check_heads(q: Tensor, k: Tensor, attrs: Attrs) -> None:
    """Check that heads agree, or, with enable_gqa, that those of keys divide those of queries."""
    if q.shape[:-2] == k.shape[:-2]:
        return
    if not attrs["enable_gqa"] or len(q.shape) < 3 or q.shape[:-3] != k.shape[:-3]:
        hint = "" if attrs["enable_gqa"] else "; fewer heads of keys than of queries need enable_gqa=True"
        _refuse(q, k, f"batch and heads are {show_shape(q.shape[:-2])} and {show_shape(k.shape[:-2])}{hint}")
    heads, groups = q.shape[-3], k.shape[-3]
    if type(heads) is type(groups) is int and heads % groups:
        _refuse(q, k, f"{groups} heads of keys do not divide {heads} heads of queries")


def _refuse(first: Tensor, second: Tensor, why: str) -> None:
    msg = f"the shapes {show_shape(first.shape)} and {show_shape(second.shape)} do not fit: {why}"
    raise ShapeError(msg)


def shape_of_attention_gradient(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shapes of queries, keys and values."""
    return tuple(Out(t.shape, t.dtype) for t in inputs[1:4])


def heads_of(q: Tensor, k: Tensor, v: Tensor) -> Heads:
    """Return the sizes of an attention."""
    return Heads(product(q.shape[:-2]), product(k.shape[:-2]), q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1])


def work_of_attention(op: Op, graph: Graph) -> Work:
    """Return two products, a scale, a softmax and a mask of numbers, over the pairs that are visited."""
    x = heads_of(*(graph.tensors[i] for i in op.inputs[:3]))

    def amounts(seen: Seen) -> dict[Key, Expr]:
        visited = multiply(x.query_rows, seen.pairs)
        rows = multiply(x.query_rows, seen.queries)
        return {
            ("contract", "points"): multiply(visited, x.width + x.value_width),
            ("contract", "outputs"): add((visited, multiply(rows, x.value_width))),
            ("mul", "points"): visited,
            ("softmax", "points"): visited,
            ("softmax", "outputs"): rows,
            **({("add", "points"): visited} if adds_mask(op, graph, 3) else {}),
        }

    return by_convention(amounts, x, op.attrs)


def work_of_attention_gradient(op: Op, graph: Graph) -> Work:
    """Return four products and what lies between them; under ``flash_backward=5`` the scores once more."""
    x = heads_of(*(graph.tensors[i] for i in op.inputs[1:4]))

    def amounts(seen: Seen) -> dict[Key, Expr]:
        visited = multiply(x.query_rows, seen.pairs)
        rows, columns = multiply(x.query_rows, seen.queries), multiply(x.key_rows, seen.keys)
        both = x.width + x.value_width
        deltas = multiply(rows, x.value_width)
        return {
            ("contract", "points"): multiply(2 * visited, both),
            ("contract", "outputs"): add((visited, multiply(rows, x.width), multiply(columns, both))),
            ("mul", "points"): add((2 * visited, deltas)),
            ("sub", "points"): visited,
            ("reduce", "points"): deltas,
            ("reduce", "outputs"): rows,
        }

    def again(seen: Seen) -> dict[Key, Expr]:
        visited = multiply(x.query_rows, seen.pairs)
        calls = ("mul", "sub", "exp", "add") if adds_mask(op, graph, 6) else ("mul", "sub", "exp")
        return {
            ("contract@flash_backward=5", "points"): multiply(visited, x.width),
            ("contract@flash_backward=5", "outputs"): visited,
            **{(f"{call}@flash_backward=5", "points"): visited for call in calls},
        }

    return {**by_convention(amounts, x, op.attrs), **by_convention(again, x, op.attrs)}


def adds_mask(op: Op, graph: Graph, at: int) -> bool:
    """Whether an operation has a mask of numbers, as its input `at`."""
    return len(op.inputs) > at and graph.tensors[op.inputs[at]].dtype != "bool"


def by_convention(amounts: Amounts, x: Heads, attrs: Attrs) -> Work:
    """Return amounts of all pairs, and by how much each convention changes them where a causal mask skips some."""
    align, window = attrs["align"], attrs["window"]
    if window is not None:
        queries, keys = reached(x.s, x.t, align, window)
        return amounts(Seen(pairs(x.s, x.t, "window", align, window), queries, keys))
    everything = Seen(multiply(x.s, x.t), x.s, x.t)
    full = amounts(everything)
    if not attrs["is_causal"]:
        return full
    half = everything._replace(pairs=multiply(Fraction(1, 2), everything.pairs))
    exact = Seen(pairs(x.s, x.t, "exact", align), *reached(x.s, x.t, align, None))
    out = dict(full)
    for value, seen in (("half", half), ("exact", exact)):
        for (primitive, role), amount in amounts(seen).items():
            change = add((amount, -full[primitive, role]))
            if change != 0:
                out[f"{primitive}@attention={value}", role] = change
    return out


def conditions_of_attention(op: Op, graph: Graph) -> list[Condition]:
    """Return that heads of keys divide heads of queries, and what the number of pairs depends on."""
    first = 1 if op.kind.endswith("backward") else 0
    q, k, v = (graph.tensors[i] for i in op.inputs[first : first + 3])
    x, attrs = heads_of(q, k, v), op.attrs
    out = []
    if q.shape[:-2] != k.shape[:-2] and not type(q.shape[-3]) is type(k.shape[-3]) is int:
        out.append(Condition("divides", k.shape[-3], q.shape[-3]))
    if attrs["window"] is not None:
        out += conditions_of_pairs(x.s, x.t, "window", attrs["align"], attrs["window"])
    elif attrs["is_causal"]:
        out += [replace(c, under="attention=exact") for c in conditions_of_pairs(x.s, x.t, "exact", attrs["align"])]
    return out


def residuals(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep queries, keys, values, outputs and the logsumexp of each row, as flash kernels do; a mask as numbers."""
    if not any(needs):
        return ()
    kept = (*(Residual("input", i) for i in range(3)), Residual("output", 0), Residual("output", 1))
    if len(op.inputs) < 4:
        return kept
    mask, q = graph.tensors[op.inputs[3]], graph.tensors[op.inputs[0]]
    numbers = Residual("extra", 0, mask.shape, q.dtype, "mask as numbers")
    return (*kept, numbers if mask.dtype == "bool" else Residual("input", 3))


def gradient_of_attention(b: Backward) -> tuple[Any, ...]:
    """Return the gradients of queries, keys and values, made by one operation.

    Raises
    ------
    GraphError
        If the mask needs a gradient: flash kernels make none.

    """
    if any(b.needs[3:]):
        msg = "sdpa: flash kernels make no gradient of a mask; use backend='math'"
        raise GraphError(msg)
    made = b.apply("sdpa_backward", b.grads[0], *b.inputs[:3], *b.outputs, *b.inputs[3:], **b.attrs)
    grads = tuple(grad if need else None for grad, need in zip(made, b.needs[:3], strict=True))
    return grads + (None,) * len(b.inputs[3:])


RULES = {
    "sdpa": Rule(
        "attention",
        shape_of_attention,
        work_of_attention,
        reads,
        writes=writes_of_attention,
        spills=spills_of_attention,
        conditions=conditions_of_attention,
        residuals=residuals,
        gradient=gradient_of_attention,
    ),
    "sdpa_backward": Rule(
        "attention",
        shape_of_attention_gradient,
        work_of_attention_gradient,
        reads,
        spills=spills_of_attention_gradient,
        conditions=conditions_of_attention,
        gradient=no_second_gradient,
    ),
}
