"""Kernels of element-wise, reduction and view operations: groups and bytes against a simulation of addresses."""

from __future__ import annotations

import random

import einops
import networkx as nx
import pytest

import symacct as sa
from symacct.accounting.fusion import MERGED, groups
from symacct.expr import name
from symacct.graph import Graph
from symacct.rules import rule_of

torch = pytest.importorskip("torch")

from tests.accounting.addresses import check, greedy  # noqa: E402

B, D, N = name("b"), name("d"), name("n")


# -- graphs ------------------------------------------------------------------------------------------------------------


def residual(x: "b d", w: "d f", v: "f d"):
    h = sa.layer_norm(x, x.shape[-1])
    return x + sa.gelu(h @ w) @ v


def softmax_by_hand(x: "b d"):
    e = sa.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def twice_used(x: "b d", w: "d d"):
    h = sa.relu(x)
    return h @ w, h + 1, h


def outputs_inside(x: "b d"):
    h = sa.relu(x)
    k = h * h
    return h, k.sum(), k[:2]


def cycle_through_a_product(x: "b d", w: "d d"):
    """Merging the two additions would put the product both before and after the kernel."""
    h = x + 1
    return (h @ w) + h


def cycle_through_a_kernel(p: "b d", a: "b d", w: "d d", v: "d d"):
    """No operation stands between the outer two, but the kernel that the other two share does."""
    first = a * 2
    shared = sa.relu(p)
    inner = shared + (first @ w)
    beside = (shared * 3) @ v
    return first - beside, inner


def cycle_that_a_merge_made(p: "b d", a: "b d", w: "d d", v: "d d"):
    """Once two additions are a kernel, the product of the first comes after what the second waits for."""
    first = a * 2
    product = first @ w
    other = sa.relu(p)
    second = first + other @ v
    return second, product - other


def views(x: "b d", w: "d f"):
    heads = einops.rearrange(sa.relu(x), "b (h k) -> h b k", h=2)
    back = einops.rearrange(heads + 1, "h b k -> b (h k)")
    return back @ w, heads


def halves(x: "n d"):
    half = x.shape[0] // 2
    return x[:half] * x[half:], sa.relu(x[:half])


def neighbours(x: "n d"):
    return x[1:] - x[:-1]


def parts_of_what_is_outside(x: "n d", w: "d d"):
    y = x @ w
    a, b = y[:2], y[2:4]
    return sa.relu(a) + b


def same_part_twice(x: "n d"):
    return x[:2] + x[:2].sum()


def expanded(x: "d", y: "b d"):
    wide = einops.repeat(x, "d -> b d", b=y.shape[0])
    return wide * y + wide


def a_tensor_twice(x: "b d"):
    return x * x + x


def made_from_nothing(x: "b b"):
    return sa.where(sa.causal_mask(x.shape[0], x.shape[1], like=x), x, 0.0)


def part_of_a_table(table: "n d", x: "b d"):
    return x + table[: x.shape[0]], sa.relu(table)[: x.shape[0]] * 2


GRAPHS = [
    residual,
    softmax_by_hand,
    twice_used,
    outputs_inside,
    cycle_through_a_product,
    cycle_through_a_kernel,
    cycle_that_a_merge_made,
    views,
    halves,
    neighbours,
    parts_of_what_is_outside,
    same_part_twice,
    expanded,
    a_tensor_twice,
    made_from_nothing,
    part_of_a_table,
]


@pytest.mark.parametrize("fn", GRAPHS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("layout", ["ideal", "torch"])
def test_groups_and_bytes_are_those_of_the_simulation(fn, layout):
    check(sa.account(fn).graph, layout)


def random_graph(seed: int) -> Graph:
    """A graph of 4 to 24 operations, any of which takes any tensors made so far."""
    rng = random.Random(seed)  # noqa: S311

    def layer(x: "b d", y: "b d", w: "d d"):
        made = [x, y]
        for _ in range(rng.randint(4, 24)):
            a, b = rng.choice(made), rng.choice(made)
            made.append(
                rng.choice(
                    [
                        lambda a, b: a + b,
                        lambda a, b: a * b,
                        lambda a, _b: sa.relu(a),
                        lambda a, b: a - b.sum(-1, keepdim=True),
                        lambda a, _b: sa.layer_norm(a, a.shape[-1]),
                        lambda a, _b: a @ w,
                        lambda a, _b: a @ w,
                        lambda a, _b: sa.softmax(a),
                        lambda a, _b: einops.rearrange(a, "b (h k) -> b (k h)", k=3),
                        lambda a, b: einops.rearrange(a, "b d -> d b").mT + b,
                        lambda a, b: a + b[:1],
                    ]
                )(a, b)
            )
        return tuple(rng.sample(made[2:], rng.randint(1, 3)))

    return sa.account(layer).graph


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    graph = random_graph(seed)
    for layout in ("ideal", "torch"):
        check(graph, layout)


def test_random_graphs_have_what_is_hard():
    """Some merges are refused."""
    refused = 0
    for seed in range(60):
        graph = random_graph(seed)
        maker = {i: op.id for op in graph.ops for i in op.outputs}
        home = {op: min(group) for group in greedy(graph) for op in group}
        pairs = [(maker[i], op.id) for op in graph.ops for i in op.inputs if i in maker]
        fits = [pair for pair in pairs if all(rule_of(graph.ops[x]).family in MERGED for x in pair)]
        refused += sum(home[a] != home[b] for a, b in fits)
    assert refused > 10


def test_a_cycle_through_another_kernel_is_one():
    """Between the two operations of the kernel that is refused stands none that depends on both."""
    graph = sa.account(cycle_through_a_kernel).graph
    labels = {op.id: op.label for op in graph.ops}
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    direct = nx.DiGraph([(maker[i], op.id) for op in graph.ops for i in op.inputs if i in maker])
    first, last = min(i for i in labels if labels[i] == "mul"), next(i for i in labels if labels[i] == "sub")
    assert not nx.descendants(direct, first) & nx.ancestors(direct, last)
    assert not any({first, last} <= {op.id for op in group} for group in groups(graph))


# -- by hand -----------------------------------------------------------------------------------------------------------


def fused(fn, **options):
    return sa.account(fn, fuse="pointwise", **options)


def test_forms_by_hand():
    assert fused(softmax_by_hand).total("bytes") == 2 * (B * D + B * D)
    assert fused(lambda x: sa.relu(x * 2) + 1, x="n").total("bytes") == 4 * N
    assert fused(lambda x, y: (x + y).sum(), x="n", y="n").total("bytes") == 4 * N + 2
    assert fused(a_tensor_twice).total("bytes") == 4 * B * D
    assert fused(halves).total("bytes") == 2 * (N * D + N * D / 2) + 2 * (N * D / 2 + N * D / 2), (
        "two kernels: none makes x"
    )
    assert fused(neighbours).total("bytes") == 2 * (N * D + (N - 1) * D)
    assert fused(parts_of_what_is_outside).total("bytes") == 2 * (2 * N * D + D * D + 4 * D + 2 * D)


def test_labels_name_what_computes():
    made = fused(cycle_through_a_product)
    assert [s.label for s in made.steps] == ["add", "b d, d d' -> b d'", "add"]
    assert [s.label for s in fused(softmax_by_hand).steps] == ["max + sub + exp + sum + div"]
    assert [s.label for s in fused(lambda x: x.T[:2], x="n d").steps] == ["permute + slice"]
    assert {s.kind for s in fused(softmax_by_hand).steps} == {"fused"}
    assert [s.label for s in fused(lambda x: sa.relu(sa.relu(x + 1)) * 2, x="n").steps] == ["add + 2 relu + mul"]


def test_kernels_of_bodies_run_with_them():
    def network(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: sa.relu(h @ w) * 2 + 1, x, xs=w)

    made = fused(network)
    assert [s.label for s in made.steps] == ["b d, d d' -> b d'", "relu + mul + add"]
    assert [str(s.times) for s in made.steps] == ["L", "L"]
    assert made.total("bytes") == 2 * name("L") * (2 * B * D + D * D + 2 * B * D)


def test_long_chains_take_no_quadratic_time():
    """2,000 operations in one kernel, and 1,000 kernels; this test has no clock, but would not end."""

    def long(x: "n"):
        for _ in range(2000):
            x = sa.relu(x)
        return x

    def alternating(x: "b b"):
        for _ in range(500):
            x = (x @ x) + x
        return x

    assert fused(long).total("bytes") == 4 * N
    assert len(fused(alternating).steps) == 1000
