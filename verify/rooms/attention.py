"""Attention against loops over pairs, by what each convention visits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from symacct.conventions import Convention, tally
from symacct.expr import evaluate
from symacct.rules import FORMULAS, RULES
from verify.check import Check, DisagreementError, agree
from verify.counted_arrays import Array
from verify.masks import MASKS, REFUSED, masks_agree, refused
from verify.one_op import one_op
from verify.pairwise import Case, Tally, arrays_of, backward, forward, plain_attention
from verify.programs import difference


def graph_of(kind: str, case: Case) -> Any:
    """The operation with names for its sizes, or with numbers where a condition of the closed form does not hold."""
    graph = _graph(kind, case, {n: n for n in case.names})
    (op,) = graph.ops
    asked = [c for c in RULES[kind].conditions(op, graph) if c.kind == "at_least"]
    holds = all(evaluate(c.left, case.names) >= evaluate(c.right, case.names) for c in asked)
    return graph if holds else _graph(kind, case, case.names)


def _graph(kind: str, case: Case, sizes: Mapping[str, str | int]) -> Any:
    q, k, v, rest = "bhsd", "bgtd", "bgte", ["st"] if case.mask else []
    axes = ["bhse", q, k, v, "bhse", "bhs", *rest] if kind == "sdpa_backward" else [q, k, v, *rest]
    graph = one_op(kind, [[sizes[a] for a in operand] for operand in axes], **case.attrs)
    if case.mask != "bool":
        return graph
    tensors = tuple(t._replace(dtype="bool") if t.id == len(axes) - 1 else t for t in graph.tensors)
    return graph._replace(tensors=tensors)


def attention_agrees(case: Case) -> None:
    """Run all pairs that a convention visits, by each way to sum; values are those of whole arrays."""
    arrays, n = arrays_of(case), case.names
    expected = plain_attention(case, arrays, arrays["q"], arrays["k"], arrays["v"])
    grads = _gradients(case, arrays)
    for kind, products in (("sdpa", 4), ("sdpa_backward", 4), ("sdpa_backward", 5)):
        graph = graph_of(kind, case)
        (op,) = graph.ops
        work = RULES[kind].work(op, graph)
        for way, attention in itertools.product(("2n", "exact"), ("full", "exact")):
            m = Tally(way)
            skips = case.window is not None or attention == "exact"
            visited = case.sees if skips else lambda _i, _j: True
            if kind == "sdpa":
                made, wanted = [forward(case, m, arrays, visited)], [expected]
            else:
                made, wanted = backward(case, m, arrays, visited, products), grads
            _same(made, wanted, f"{kind} of {case}")
            convention = Convention(way, attention=attention, flash_backward=products)
            what = f"flops of {kind} of {case} under {convention.label}"
            agree(_number(work, convention, n), sum(m.pairs.values()) + sum(m.rows.values()), what)
            if case.causal and case.window is None and attention == "full" and way == "2n":
                half = Convention(way, attention="half", flash_backward=products)
                agree(_number(work, half, n), sum(m.pairs.values()) / 2 + sum(m.rows.values()), f"{what}, halved")
        _traffic(graph, case)


def _number(work: Any, convention: Convention, sizes: dict[str, int]) -> Any:
    return evaluate(tally(work, convention, FORMULAS)["FLOP"], sizes)


def _gradients(case: Case, arrays: dict[str, Array]) -> list[Array]:
    out = []
    for at, name in enumerate("qkv"):

        def run(x: Array, at: int = at) -> Array:
            operands = [arrays[n] for n in "qkv"]
            operands[at] = x
            return plain_attention(case, arrays, *operands)

        out.append(difference(run, arrays[name].copy(), arrays["grad"]))
    return out


def _same(made: Sequence[Array], wanted: Sequence[Array], what: str) -> None:
    for ours, theirs in zip(made, wanted, strict=True):
        if not np.allclose(ours, theirs, rtol=1e-4, atol=1e-6):
            msg = f"the loops of {what} yield {ours}, not {theirs}"
            raise DisagreementError(msg)


def _traffic(graph: Any, case: Case) -> None:
    """Everything once, no scores; through a window what is in a pair, the other rows unfused alone."""
    (op,) = graph.ops
    sizes, rule = case.names, RULES[op.kind]
    moved = (*rule.reads(op, graph), *rule.writes(op, graph))
    ours = [(m.tensor, _at(m.shape, sizes), [_at(m.shape, sizes)[i] for i in m.row]) for m in moved]
    shapes = [_at(graph.tensors[i].shape, sizes) for i in (*op.inputs, *op.outputs)]
    rest = [s for s in rule.spills(op, graph) if s.name.endswith("sees")]
    unseen = [(s.reads + s.writes) * prod(_at(s.shape, sizes)) for s in rest]
    left = 0
    if case.window is not None:
        seen = [(i, j) for i in range(sizes["s"]) for j in range(sizes["t"]) if case.sees(i, j)]
        queries, keys = (len(set(x)) for x in zip(*seen, strict=True))
        operands = "qkv" if op.kind == "sdpa" else "gqkvor"
        for shape, what in zip(shapes, operands, strict=False):
            whole = prod(shape)
            shape[-1 if what == "r" else -2] = keys if what in "kv" else queries
            left += whole - prod(shape)
    agree(ours, [(i, s, s[-1:]) for i, s in enumerate(shapes)], f"what {op.kind} of {case} moves")
    agree(sum(unseen), left, f"what no window of {op.kind} of {case} sees")


def _at(shape: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
    return [evaluate(s, sizes) for s in shape]


CASES = st.builds(
    Case,
    st.tuples(*(st.integers(1, most) for most in (2, 2, 2, 5, 5, 3, 3))),
    st.sampled_from((None, "top-left", "bottom-right")),
).flatmap(
    lambda case: st.builds(
        case._replace,
        window=st.none() if case.causal is None else st.one_of(st.none(), st.integers(1, 6)),
        mask=st.sampled_from((None, "bool", "numbers")) if case.causal is None else st.none(),
    )
)

FIXED = (
    Case((2, 1, 3, 4, 5, 2, 3)),
    Case((1, 2, 2, 3, 5, 2, 3), mask="numbers"),
    Case((1, 2, 2, 3, 4, 3, 2), mask="bool"),
    Case((1, 2, 2, 3, 5, 2, 3), "top-left"),
    Case((1, 2, 1, 3, 5, 2, 3), "bottom-right"),
    Case((1, 2, 1, 4, 5, 2, 3), "top-left", 2),
    Case((2, 1, 2, 3, 6, 2, 1), "bottom-right", 2),
    Case((1, 1, 1, 5, 3, 2, 1), "top-left"),
    Case((1, 1, 1, 5, 3, 2, 1), "bottom-right"),
    Case((1, 1, 1, 6, 3, 2, 1), "top-left", 2),
    Case((1, 1, 1, 6, 3, 2, 1), "bottom-right", 2),
)

CHECKS = (
    Check(
        "attention",
        "work, reads and writes of sdpa and its gradient, by conventions of pairs and of products",
        "loops over the pairs that are visited, on numbers that count; values by whole arrays and by differences",
        attention_agrees,
        CASES,
        FIXED,
        proves=("sdpa", "sdpa_backward"),
        needs=("numpy",),
        share=0.03,
    ),
    Check(
        "masks",
        "pairs of a query and a key under full, half, exact and window masks, both alignments",
        "a walk over all pairs",
        masks_agree,
        fixed=MASKS,
        proves=("sdpa", "sdpa_backward"),
    ),
    Check(
        "masks refused",
        "a mask without a meaning is refused by name",
        "the refusal itself",
        refused,
        fixed=REFUSED,
        proves=("sdpa", "sdpa_backward"),
    ),
)
