"""Contraction orders: the numeric optimum against every binary tree, the symbolic list against it at random sizes."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random

import opt_einsum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import AmbiguousOrderError
from symacct.expr import evaluate

CHAIN = "i j, j k, k l -> i l"


def trees(leaves):
    """Yield every way to multiply the operands in pairs, each once."""
    if len(leaves) == 1:
        yield leaves[0]
        return
    first, rest = leaves[0], leaves[1:]
    for size in range(len(rest)):
        for chosen in itertools.combinations(rest, size):
            others = tuple(n for n in rest if n not in chosen)
            yield from itertools.product(trees((first, *chosen)), trees(others))


def reduction(axes, kept, sizes, *, exact):
    """Operations to sum the axes that are not kept."""
    distinct = set(axes)
    points, outputs = (math.prod(sizes[n] for n in s) for s in (distinct, distinct & kept))
    return 0 if distinct <= kept else points - outputs * exact


def pair_cost(a, b, out, sizes, *, exact):
    """Operations of one product: lone axes first, then a sum of products, or a product alone."""
    kept_a, kept_b = set(a) & (set(b) | out), set(b) & (set(a) | out)
    total = reduction(a, kept_a, sizes, exact=exact) + reduction(b, kept_b, sizes, exact=exact)
    points, outputs = (math.prod(sizes[n] for n in s) for s in (kept_a | kept_b, out))
    return total + (points if kept_a | kept_b == out else 2 * points - outputs * exact)


def cost(tree, operands, output, sizes, *, exact=False):
    """Operations of an order, and the axes of its result."""

    def visit(node, inside):
        if isinstance(node, int):
            return 0, set(operands[node])
        leaves = flat(node)
        elsewhere = [operands[i] for i in range(len(operands)) if i not in leaves]
        (cost_a, a), (cost_b, b) = (visit(part, inside) for part in node)
        out = (a | b) & set(output).union(*elsewhere)
        return cost_a + cost_b + pair_cost(a, b, out, sizes, exact=exact), out

    return visit(tree, None)[0]


def flat(tree):
    return {tree} if isinstance(tree, int) else flat(tree[0]) | flat(tree[1])


def written(operands, output):
    return ", ".join(map(" ".join, operands)) + " -> " + " ".join(output)


def test_the_trees_of_the_oracle_are_all():
    assert [len(list(trees(tuple(range(n))))) for n in (2, 3, 4, 5)] == [1, 3, 15, 105]


@st.composite
def problems(draw, most=4):
    operands = draw(st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=3), min_size=3, max_size=most))
    used = sorted({n for operand in operands for n in operand})
    output = draw(st.permutations(used))[: draw(st.integers(0, 3))]
    return operands, output, {n: draw(st.integers(1, 9)) for n in used}


@given(problems(most=5), st.booleans())
@settings(max_examples=60)
def test_best_is_the_cheapest_of_all_trees(problem, exact):
    operands, output, sizes = problem
    convention = "exact" if exact else "2n"
    best = sa.flops(written(operands, output), order="best", sizes=sizes, convention=convention)
    every = [cost(t, operands, output, sizes, exact=exact) for t in trees(tuple(range(len(operands))))]
    assert best == min(every)


@given(problems())
@settings(max_examples=60)
def test_left_is_the_tree_that_leans_left(problem):
    operands, output, sizes = problem
    tree = 0
    for i in range(1, len(operands)):
        tree = (tree, i)
    assert sa.flops(written(operands, output), sizes=sizes) == cost(tree, operands, output, sizes)


@given(problems(), st.booleans())
@settings(max_examples=40)
def test_at_any_sizes_from_two_on_the_cheapest_is_listed(problem, exact):
    operands, output, sizes = problem
    sizes = {n: s + 1 for n, s in sizes.items()}
    listed = sa.orders(written(operands, output), convention="exact" if exact else "2n")
    least = min(cost(t, operands, output, sizes, exact=exact) for t in trees(tuple(range(len(operands)))))
    assert min(evaluate(choice.cost, sizes) for choice in listed) == least
    for choice in listed:
        assert evaluate(choice.cost, sizes) == cost(choice.tree, operands, output, sizes, exact=exact)


@given(problems())
@settings(max_examples=40)
def test_each_listed_order_can_win_and_its_conditions_say_when(problem):
    operands, output, _ = problem
    listed = sa.orders(written(operands, output))
    for choice in listed:
        if choice.witness:
            costs = [evaluate(other.cost, choice.witness) for other in listed]
            assert evaluate(choice.cost, choice.witness) == min(costs)
            assert costs.count(min(costs)) == 1
            assert all(evaluate(a, choice.witness) < evaluate(b, choice.witness) for a, b in choice.conditions)
    assert len(listed) == 1 or all(choice.conditions for choice in listed)


def test_conditions_hold_exactly_where_an_order_is_strictly_the_cheapest():
    draw = random.Random(3)  # noqa: S311
    for pattern in (CHAIN, "a b, b c, c d, d e -> a e", "a b c, c d, b d e -> a e", "i, j, k -> i j k"):
        listed = sa.orders(pattern)
        names = sorted({n for n in pattern if n.isalpha()})
        for _ in range(200):
            sizes = {n: draw.randint(2, 60) for n in names}
            costs = [evaluate(choice.cost, sizes) for choice in listed]
            for choice, own in zip(listed, costs, strict=True):
                claimed = all(evaluate(a, sizes) < evaluate(b, sizes) for a, b in choice.conditions)
                assert claimed == (own == min(costs) and costs.count(own) == 1)


def test_the_chain_of_three():
    left, right = sa.orders(CHAIN)
    assert str(left) == "((1 2) 3): 2*i*k*(j + l) when 1/j + 1/l < 1/i + 1/k"
    assert str(right) == "(1 (2 3)): 2*j*l*(i + k) when 1/i + 1/k < 1/j + 1/l"
    assert left.name == "((1 2) 3)"
    assert sa.same(left.flops, "2*i*k*(j + l)")


@pytest.mark.parametrize(("operands", "catalan"), [(2, 1), (3, 2), (4, 5), (5, 14)])
def test_a_chain_has_as_many_orders_as_the_catalan_numbers(operands, catalan):
    names = "abcdefg"
    pattern = ", ".join(f"{names[i]} {names[i + 1]}" for i in range(operands)) + f" -> a {names[operands]}"
    listed = sa.orders(pattern)
    assert len(listed) == catalan
    assert catalan == 1 or all(choice.witness for choice in listed)


def test_no_order_is_listed_with_a_condition_that_cannot_be():
    """With sizes from 1 on, outer products would tie at the corners and be listed too."""
    assert {choice.name for choice in sa.orders(CHAIN)} == {"((1 2) 3)", "(1 (2 3))"}


def test_sizes_that_decide():
    assert [c.name for c in sa.orders(CHAIN, l=1)] == ["(1 (2 3))"]
    assert [c.name for c in sa.orders(CHAIN, i=1)] == ["((1 2) 3)"]
    (only,) = sa.orders(CHAIN, i=30, j=4, k=50, l=6)
    assert only.condition == "always"
    assert only.cost == 2 * 4 * 6 * (30 + 50)
    assert sa.same(sa.flops(CHAIN, order="best", l=1), "2*j*(i + k)")
    assert sa.same(sa.bytes(CHAIN, order="best", l=1, dtype="fp32"), "4*(i*j + j*k + k + i + 2*j)")


def test_sizes_that_do_not_decide():
    with pytest.raises(AmbiguousOrderError) as error:
        sa.flops(CHAIN, order="best", j=7)
    message = str(error.value)
    assert "give sizes that decide, or an order" in message
    for choice in sa.orders(CHAIN, j=7):
        assert str(choice) in message


def test_ties_go_to_the_left():
    assert [c.name for c in sa.orders("i, i, i ->")] == ["((1 2) 3)"]
    assert [c.name for c in sa.orders("i j, j k, k l -> i l", i=3, j=3, k=3, l=3)] == ["((1 2) 3)"]
    assert [c.name for c in sa.orders("n, n, n, n -> n")] == ["(((1 2) 3) 4)"]


def test_one_and_two_operands_have_one_order():
    assert [str(c) for c in sa.orders("b d, d k -> b k")] == ["(1 2): 2*b*d*k when always"]
    (single,) = sa.orders("b d -> b")
    assert sa.same(single.flops, sa.flops("b d -> b"))
    for order in ("left", "best", "naive"):
        assert sa.same(sa.flops("b d, d k -> b k", order=order), "2*b*d*k")


def test_the_convention_can_change_the_order():
    """Under exact, a sum of two products of scalars costs less than under 2n by one add."""
    for convention in ("2n", "exact", "unit"):
        listed = sa.orders(CHAIN, convention=convention)
        at = {"i": 3, "j": 2, "k": 5, "l": 4}
        costs = [evaluate(c.cost, at) for c in listed]
        expected = [cost(c.tree, ("ij", "jk", "kl"), "il", at, exact=convention == "exact") for c in listed]
        assert costs == expected
    assert [str(c) for c in sa.orders(CHAIN, convention="mac")] == [str(c) for c in sa.orders(CHAIN)]


def too_many(operands):
    names = [f"x{i}" for i in range(operands + 1)]
    chain = ", ".join(f"{a} {b}" for a, b in itertools.pairwise(names)) + f" -> x0 {names[-1]}"
    return chain, {n: i % 7 + 2 for i, n in enumerate(names)}


def test_above_five_symbolic_operands_sizes_are_asked_for():
    chain, sizes = too_many(6)
    with pytest.raises(AmbiguousOrderError, match=r"6 operands .* up to 5; give all sizes as numbers, or account"):
        sa.orders(chain)
    with pytest.raises(AmbiguousOrderError, match="give all sizes as numbers"):
        sa.flops(chain, order="best")
    assert len(sa.orders(chain, sizes=sizes)) == 1


def test_above_ten_operands_no_order_is_searched():
    chain, sizes = too_many(11)
    with pytest.raises(AmbiguousOrderError, match=r"11 operands with numeric sizes: orders are searched up to 10"):
        sa.flops(chain, order="best", sizes=sizes)
    assert sa.flops(chain, sizes=sizes) > 0


@given(st.randoms(use_true_random=False), st.integers(3, 6))
@settings(max_examples=20)
def test_never_dearer_than_the_optimum_of_opt_einsum(random, operands):
    names = "abcdefgh"
    terms = ["".join(random.sample(names, random.randint(1, 3))) for _ in range(operands)]
    used = sorted(set("".join(terms)))
    sizes = {n: random.randint(2, 9) for n in used}
    output = "".join(random.sample(used, min(2, len(used))))
    path, _ = opt_einsum.contract_path(
        ",".join(terms) + "->" + output, *([sizes[n] for n in t] for t in terms), shapes=True, optimize="optimal"
    )
    nodes = list(range(operands))
    for pair in path:
        picked = [nodes.pop(i) for i in sorted(pair, reverse=True)]
        nodes.append(picked[0] if len(picked) == 1 else tuple(picked))
    theirs = cost(nodes[0], terms, output, sizes)
    ours = sa.flops(written(terms, output), sizes=sizes, order="best")
    assert ours <= theirs


def test_choices_are_values():
    listed = sa.orders(CHAIN)
    for twin in (pickle.loads(pickle.dumps(listed)), copy.deepcopy(listed)):  # noqa: S301
        assert twin == listed
    with pytest.raises(AttributeError):
        listed[0].tree = 0
