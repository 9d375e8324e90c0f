"""A pattern as operations: counted by executing them in plain loops on numbers that count."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ConventionError
from symacct.expr import evaluate


class Counter:
    """How many multiplies and adds were executed, and which elements were read and written."""

    def __init__(self):
        self.multiplies = 0
        self.adds = 0
        self.touched = 0

    def sum(self, terms):
        self.adds += len(terms) - 1
        return sum(terms)

    def multiply(self, a, b):
        self.multiplies += 1
        return a * b


def points(axes, sizes):
    distinct = list(dict.fromkeys(axes))
    for values in itertools.product(*(range(sizes[a]) for a in distinct)):
        yield dict(zip(distinct, values, strict=True))


def element(array, axes, at):
    return int(array[tuple(at[a] for a in axes)])


def reduced(count, array, axes, kept, sizes):
    """Sum the axes that are not kept; a repeated axis is its diagonal."""
    kept = [a for a in dict.fromkeys(axes) if a in kept]
    summed = [a for a in dict.fromkeys(axes) if a not in kept]
    out = np.zeros([sizes[a] for a in kept], dtype=object)
    for at in points(kept, sizes):
        terms = [element(array, axes, at | more) for more in points(summed, sizes)]
        out[tuple(at.values())] = count.sum(terms)
    return out, kept


def pair(count, a, b, out, sizes):
    """Multiply two operands as torch does: axes of one alone are summed first."""
    (first, axes_a), (second, axes_b) = a, b
    count.touched += math.prod(sizes[n] for n in set(axes_a)) + math.prod(sizes[n] for n in set(axes_b))
    first, axes_a = reduced(count, first, axes_a, set(axes_b) | set(out), sizes)
    second, axes_b = reduced(count, second, axes_b, set(axes_a) | set(out), sizes)
    summed = [n for n in dict.fromkeys((*axes_a, *axes_b)) if n not in out]
    result = np.zeros([sizes[n] for n in out], dtype=object)
    for at in points(out, sizes):
        terms = [
            count.multiply(element(first, axes_a, at | more), element(second, axes_b, at | more))
            for more in points(summed, sizes)
        ]
        result[tuple(at[n] for n in out)] = count.sum(terms)
    count.touched += result.size
    return result, out


def executed(operands, output, sizes, arrays):
    """Run a pattern pairwise from the left and count."""
    count = Counter()
    if len(operands) == 1:
        count.touched += math.prod(sizes[n] for n in set(operands[0])) + math.prod(sizes[n] for n in output)
        result, kept = reduced(count, arrays[0], operands[0], set(output), sizes)
        return count, result.transpose([kept.index(n) for n in output])
    result = arrays[0], operands[0]
    for i in range(1, len(operands)):
        later = {n for operand in operands[i + 1 :] for n in operand} | set(output)
        both = dict.fromkeys((*result[1], *operands[i]))
        out = list(output) if i == len(operands) - 1 else [n for n in both if n in later]
        result = pair(count, result, (arrays[i], operands[i]), out, sizes)
    return count, result[0]


@st.composite
def problems(draw):
    names = "abcd"[: draw(st.integers(1, 4))]
    operands = draw(st.lists(st.lists(st.sampled_from(names), max_size=3), min_size=1, max_size=3))
    used = sorted({n for operand in operands for n in operand})
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    return operands, output, {n: draw(st.integers(1, 4)) for n in used}


@given(problems(), st.randoms(use_true_random=False))
def test_operations_and_elements_are_those_that_loops_execute(problem, random):
    operands, output, sizes = problem
    arrays = [np.array([random.randint(-9, 9) for _ in range(math.prod(sizes[n] for n in o))]) for o in operands]
    arrays = [a.reshape([sizes[n] for n in o]) for a, o in zip(arrays, operands, strict=True)]
    count, result = executed(operands, output, sizes, arrays)
    text = ",".join("".join(o) for o in operands) + "->" + "".join(output)
    assert np.array_equal(result, np.einsum(text, *arrays))
    account = sa.account(text, notation="numpy", convention="exact", dtype="fp32")
    assert evaluate(account.total("flops"), sizes) == count.multiplies + count.adds
    assert evaluate(account.total("bytes"), sizes) == 4 * count.touched


def nest_operations(operands, output, sizes):
    """Run one loop nest: at each point all operands are multiplied, and added to its output."""
    axes = sorted({n for operand in operands for n in operand})
    seen = set()
    multiplies = adds = 0
    for at in points(axes, sizes):
        multiplies += len(operands) - 1
        where = tuple(at[n] for n in output)
        adds += where in seen
        seen.add(where)
    return multiplies + adds


@given(problems())
@settings(max_examples=60)
def test_the_naive_order_is_the_loop_nest(problem):
    operands, output, sizes = problem
    text = ",".join("".join(o) for o in operands) + "->" + "".join(output)
    exact = sa.account(text, notation="numpy", order="naive", convention="exact", sizes=sizes)
    assert exact.flops == nest_operations(operands, output, sizes)


@given(problems())
@settings(max_examples=60)
def test_a_batch_of_n_costs_n_times_one(problem):
    operands, output, sizes = problem
    text = ", ".join(" ".join(["batch_axis", *o]) for o in operands) + " -> " + " ".join(["batch_axis", *output])
    one = ", ".join(map(" ".join, operands)) + " -> " + " ".join(output)
    for convention in ("2n", "exact"):
        batched = sa.account(text, convention=convention, sizes={**sizes, "batch_axis": 7})
        single = sa.account(one, convention=convention, sizes=sizes)
        assert batched.flops == 7 * single.flops
        assert batched.bytes == 7 * single.bytes


@given(problems())
@settings(max_examples=60)
def test_the_order_of_two_operands_and_the_names_do_not_matter(problem):
    operands, output, sizes = problem
    operands = (operands * 2)[:2]
    sizes = {n: s for n, s in sizes.items() if any(n in o for o in operands)}
    output = [n for n in output if n in sizes]
    new = {n: f"axis_{i}" for i, n in enumerate("dcba")}

    def account(left, right, rename=lambda n: n):
        text = ", ".join(" ".join(map(rename, o)) for o in (left, right))
        return sa.account(
            f"{text} -> {' '.join(map(rename, output))}",
            convention="exact",
            sizes={rename(n): s for n, s in sizes.items()},
        )

    plain = account(*operands)
    for other in (account(*reversed(operands)), account(*operands, rename=new.get)):
        assert other.flops == plain.flops
        assert other.bytes == plain.bytes


def test_steps_of_a_chain():
    account = sa.account("i j, j k, k l -> i l", dtype="fp32")
    first, second = account.steps
    assert first.label == "i j, j k -> i k"
    assert second.label == "i k, k l -> i l"
    assert sa.same(str(first.bytes), "4*(i*j + j*k + i*k)")
    assert sa.same(str(second.bytes), "4*(i*k + k*l + i*l)")


def test_the_intermediate_of_an_order_is_written_and_read():
    chain = "i j, j k, k l -> i l"
    assert sa.same(sa.bytes(chain, dtype="fp32"), "4*(i*j + j*k + k*l + i*l + 2*i*k)")
    assert sa.same(sa.bytes(chain, dtype="fp32", traffic="compulsory"), "4*(i*j + j*k + k*l + i*l)")
    assert sa.same(sa.bytes(chain, dtype="fp32", order="naive"), "4*(i*j + j*k + k*l + i*l)")


def test_a_pattern_by_itself_is_one_operation_also_when_it_only_copies():
    assert sa.same(sa.bytes("b d -> d b", dtype="fp32"), "8*b*d")
    assert sa.same(sa.bytes("b (h d) -> b h d", dtype="fp32"), "8*b*h*d")


def test_a_repeated_name_reads_its_diagonal_only():
    assert sa.same(sa.bytes("i i -> i", dtype="fp32"), "8*i")
    assert sa.same(sa.bytes("i i j, j -> i", dtype="fp32"), "4*(i*j + j + i)")


def test_an_operand_read_twice_is_read_twice():
    assert sa.same(sa.bytes("i, i -> i", dtype="fp32"), "12*i")


@pytest.mark.parametrize("order", ["right", "", None, "LEFT", 3])
def test_unknown_orders(order):
    with pytest.raises(ConventionError, match=r"unknown order .*; known: left, best, naive"):
        sa.flops("i j, j k, k l -> i l", order=order)
