"""Grouped products: counts by loops, values and gradients against torch, what is kept, conditions, mistakes."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import DtypeError, ShapeError, SizeError
from symacct.expr import name
from symacct.graph import Graph, check
from symacct.rules import check_shapes
from verify.rooms.grouped import CHECKS


@pytest.mark.parametrize("which", CHECKS, ids=lambda which: which.name)
def test_counts_are_the_loops(which):
    for module in which.needs:
        pytest.importorskip(module)
    assert which.try_fixed() == len(which.fixed) > 0


def experts(x: "n d", w: "e d f", groups: "n"):
    return sa.grouped_matmul(x, w, groups)


def test_forms_by_hand():
    made = sa.account(experts)
    check(made.graph)
    check_shapes(made.graph)
    assert Graph.from_json(made.graph.to_json()) == made.graph
    assert sa.same(made.matmul_flops, "2*n*d*f")
    assert sa.same(sa.account(experts, convention="exact").flops, "n*f*(2*d - 1)")
    assert sa.same(made.bytes, "2*(n*d + e*d*f + n*f) + 8*n")
    assert sa.same(sa.account(experts, traffic="compulsory").bytes, "2*(n*d + e*d*f + n*f) + 8*n")


def test_a_balanced_mixture_is_a_batched_product():
    """E groups of m rows each: the products, and the bytes but for the groups, of a batch of E."""
    batched = sa.account("e m d, e d f -> e m f")
    grouped = sa.account(experts, n="e*m")
    assert grouped.flops == batched.flops
    assert sa.same(grouped.bytes - batched.bytes, "8*e*m")


def test_fewer_rows_than_matrices_read_a_matrix_a_row():
    few = sa.account(experts, n=2, e=8)
    assert sa.same(few.bytes, "2*(2*d + 2*d*f + 2*f) + 16")
    assert [str(c) for c in few.conditions] == ["2 rows are in 2 of 8 groups"]
    many = sa.account(experts)
    assert [str(c) for c in many.conditions] == ["n >= e", "each of e groups has a row"]
    with pytest.raises(SizeError, match="n >= e"):
        many.at(n=2, d=1, e=8, f=1)


@pytest.mark.parametrize(
    ("shapes", "error", "said"),
    [
        ({"x": "n d", "w": "e k f", "groups": "n"}, ShapeError, r"\(n, d\) and \(e, k, f\) do not fit: rows"),
        ({"x": "b n d", "w": "e d f", "groups": "n"}, ShapeError, r"\(b, n, d\) and \(e, d, f\) do not fit"),
        ({"x": "n d", "w": "e d f", "groups": "m"}, ShapeError, r"groups of the shape \(m,\) for rows \(n, d\)"),
    ],
)
def test_what_does_not_fit_is_refused(shapes, error, said):
    with pytest.raises(error, match=said):
        sa.account(sa.grouped_matmul, **shapes)


def test_groups_are_integers():
    with pytest.raises(DtypeError, match="integer"):
        sa.account(lambda x, w: sa.grouped_matmul(x, w, x[:, 0] * 2), x="n d", w="e d f")


def test_values_gradients_and_what_is_kept_are_torchs():
    torch = pytest.importorskip("torch")
    from verify.autograd import gradients_agree, symbolic_gradients

    x, w = torch.randn(7, 4, dtype=torch.float64), torch.randn(3, 4, 5, dtype=torch.float64)
    groups = torch.tensor([2, 0, 0, 1, 2, 2, 0])
    expected = torch.stack([x[i] @ w[g] for i, g in enumerate(groups)])
    torch.testing.assert_close(sa.grouped_matmul(x, w, groups), expected)
    graph = sa.account(experts).graph
    (ran,) = graph.run({"n": 7, "d": 4, "e": 3, "f": 5}, inputs=[x, w, groups]).outputs
    torch.testing.assert_close(ran, expected)
    graph.run({"n": 7, "d": 4, "e": 3, "f": 5})  # random groups lie below e
    for needs in ((True, True, False), (True, False, False), (False, True, False)):
        gradients_agree("grouped_matmul", (x, w, groups), needs)
    shapes = [(name("n"), name("d")), (name("e"), name("d"), name("f")), (name("n"),)]
    kinds = [op.kind for op in symbolic_gradients("grouped_matmul", shapes, (True, True, False)).ops]
    assert kinds == ["grouped_matmul", "permute", "grouped_matmul", "grouped_matmul_backward_weight"]
