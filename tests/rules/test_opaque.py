"""What stands for an operation without a rule: traffic, no work, no gradient."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ShapeError, UnknownOpError
from symacct.expr import name
from symacct.rules import RULES, rule_of
from symacct.rules.rule import Backward
from symacct.symbolic import Builder, Symbolic, apply

torch = pytest.importorskip("torch")

B, S, D = name("b"), name("s"), name("d")


def symbolic(*shapes: tuple) -> list[Symbolic]:
    builder = Builder()
    return [Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)]


def test_opaque_is_recorded_with_its_traffic():
    x, w = symbolic((B, S), (S, D))
    out, stats = sa.opaque("kernel", [x, w], [(B, 2 * x.shape[1]), x.shape[:1]], dtype="fp32")
    graph = x.builder.graph([out.id, stats.id])
    (op,) = graph.ops
    assert (op.kind, op.attrs["name"]) == ("opaque", "kernel")
    assert [(t.shape, t.dtype) for t in graph.tensors[2:]] == [((B, 2 * S), "fp32"), ((B,), "fp32")]
    assert [r.shape for r in rule_of(op).reads(op, graph)] == [(B, S), (S, D)]
    assert [r.shape for r in rule_of(op).writes(op, graph)] == [(B, 2 * S), (B,)]


def test_opaque_refuses_what_it_cannot_know():
    x, _ = symbolic((B, S), (S, D))
    with pytest.raises(UnknownOpError, match="'kernel' stands for an operation we have no rule for"):
        sa.opaque("kernel", [torch.zeros(2)], [(2,)])
    for shapes in (["b s"], [("b", S)], []):
        with pytest.raises(ShapeError, match="one shape an output"):
            sa.opaque("kernel", [x], shapes)
    with pytest.raises(ShapeError, match="a size of 0"):
        sa.opaque("kernel", [x], [(B, 0)])
    with pytest.raises(UnknownOpError, match="gradient of the opaque operation 'kernel'"):
        RULES["opaque"].gradient(Backward(apply, {"name": "kernel"}, (x,), (x,), (x,), (True,)))
