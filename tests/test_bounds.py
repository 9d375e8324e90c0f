"""Lower bounds: exponents against the vertices of the linear program, constants against simulated caches."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
import time
from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import (
    AxisConflictError,
    InconclusiveError,
    SizeError,
    SymacctError,
    UndefinedSizeError,
    UnknownAxisError,
)
from symacct.simplex import cover

MATMUL = "i k, k j -> i j"


def cycle(n):
    return ", ".join(f"x{i} x{(i + 1) % n}" for i in range(n)) + " ->"


EXPONENTS = {
    MATMUL: Fraction(1, 2),
    "b i k, b k j -> b i j": Fraction(1, 2),
    "b h s d, b h t d -> b h s t": Fraction(1, 2),
    "... d, d k -> ... k": Fraction(1, 2),
    "d k, k -> d": 0,
    "n, n ->": 0,
    "i, j -> i j": 0,
    "i j -> j i": 0,
    "->": 0,
    "i j k, j r, k r -> i r": Fraction(2, 3),  # MTTKRP
    "i j k l, j r, k r, l r -> i r": Fraction(3, 4),  # of order 4
    "i j, i k, i l -> j k l": Fraction(2, 3),  # the same four arrays, another of them written
    cycle(3): Fraction(1, 2),
    cycle(5): Fraction(3, 2),
    cycle(7): Fraction(5, 2),
    cycle(4): 1,
    "i k, k j ->": 1,
    "i k, k j, j l -> i l": 1,
}


@pytest.mark.parametrize(("pattern", "exponent"), EXPONENTS.items(), ids=list(EXPONENTS))
def test_exponent(pattern, exponent):
    bound = sa.lower_bound(pattern)
    assert bound.exponent == exponent
    assert type(bound.exponent) is Fraction
    points = sympy.prod(sympy.Symbol(n) for n in set(pattern.replace(",", " ").replace("->", " ").split()) - {"..."})
    points *= sympy.Symbol("batch") if "..." in pattern else 1
    power = sympy.Rational(exponent.numerator, exponent.denominator) if exponent else 0
    assert bound.order == points / sympy.Symbol("M") ** power


def vertices(arrays, axes):
    """Every vertex of ``x >= 0, sum of x over each array <= 1``, by solving each choice of equations."""
    rows = [[Fraction(a in array) for a in axes] + [Fraction(1)] for array in arrays]
    rows += [[Fraction(a == b) for b in axes] + [Fraction(0)] for a in axes]
    for chosen in itertools.combinations(rows, len(axes)):
        matrix = sympy.Matrix([row[:-1] for row in chosen])
        if matrix.det():
            x = list(matrix.LUsolve(sympy.Matrix([row[-1] for row in chosen])))
            if min(x) >= 0 and all(sum(v for v, a in zip(x, axes, strict=True) if a in array) <= 1 for array in arrays):
                yield x


@given(st.lists(st.frozensets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=3))
@settings(max_examples=25)
def test_the_cover_is_the_optimum_over_all_vertices(arrays):
    axes = sorted(frozenset().union(*arrays))
    total, tile = cover(axes, arrays)
    assert total == max(sum(x) for x in vertices(arrays, axes))
    assert sum(tile.values()) == total
    assert all(sum(tile[a] for a in array) <= 1 for array in arrays)
    assert min(tile.values()) >= 0


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1), min_size=1, max_size=9))
@settings(max_examples=50)
def test_a_tile_fits_each_array_and_does_the_work_of_the_exponent(arrays):
    axes = sorted(frozenset().union(*arrays))
    total, tile = cover(axes, arrays)
    assert sum(tile.values()) == total
    assert all(0 <= x <= 1 for x in tile.values())
    assert all(sum(tile[a] for a in array) <= 1 for array in arrays)
    renamed, _ = cover([a.upper() for a in reversed(axes)], [frozenset(a.upper() for a in s) for s in reversed(arrays)])
    assert renamed == total
    more, _ = cover(axes, [*arrays, frozenset(axes)])
    assert more == 1  # an array with every axis covers all alone


def test_the_constant_of_matrix_multiplication():
    bound = sa.lower_bound(MATMUL)
    i, j, k, M = sympy.symbols("i j k M")
    assert bound.constant == 2
    assert bound.order == i * j * k / sympy.sqrt(M)
    assert sympy.expand(bound.expr - (2 * i * j * k / sympy.sqrt(M) - 2 * M)) == 0
    first, second, *rest = str(bound).split("\n")
    assert (first, second) == ("i k, k j -> i j", "as one loop nest; in elements, M of them in fast memory")
    assert rest == ["  compulsory  i*j + i*k + j*k", "  proved      2*i*j*k/sqrt(M) - 2*M"]


def test_at_takes_the_larger_of_the_proved_bounds():
    bound = sa.lower_bound(MATMUL)
    assert bound.at(i=4096, j=4096, k=4096, M=65536) == 2 * 4096**3 // 256 - 2 * 65536
    assert bound.at(i=4096, j=4096, k=4096, M=10**9) == 3 * 4096**2  # everything fits: compulsory
    assert bound.at(i=10**10, j=10**10, k=10**10, M=10**10) == 2 * 10**25 - 2 * 10**10
    assert bound.at(i=100, j=100, k=100, M=1000) == pytest.approx(2e6 / math.sqrt(1000) - 2000)


def moved(accesses, memory):
    """Elements moved by the best replacement: evict what is needed last, written back if it was changed."""
    next_use, needed = {}, [{}] * len(accesses)
    for t in range(len(accesses) - 1, -1, -1):
        needed[t] = next_use
        next_use = {**next_use, **dict.fromkeys(accesses[t][0], t)}
    cache, dirty, made, traffic = set(), set(), set(), 0
    for t, (elements, result) in enumerate(accesses):
        for e in elements:
            if e not in cache:
                traffic += e != result or result in made  # a result is made in fast memory, not read
                while len(cache) >= memory:
                    victim = max(cache - set(elements), key=lambda c: needed[t].get(c, math.inf))
                    cache.discard(victim)
                    traffic += victim in dirty
                    dirty.discard(victim)
                cache.add(e)
        dirty.add(result)
        made.add(result)
    return traffic + len(dirty)


def matmul_accesses(n, order, tiles):
    """The elements of a, b and c that each product needs, and its result, in blocks and within each in `order`."""
    starts = [range(0, n, tiles[axis]) for axis in order]
    for block in itertools.product(*starts):
        for inner in itertools.product(*(range(tiles[axis]) for axis in order)):
            at = dict(zip(order, (b + x for b, x in zip(block, inner, strict=True)), strict=True))
            if max(at.values()) < n:
                i, j, k = (at[axis] for axis in "ijk")
                yield (("a", i, k), ("b", k, j), ("c", i, j)), ("c", i, j)


@pytest.mark.parametrize(
    ("n", "tile", "memory"), [(6, 1, 3), (6, 2, 5), (6, 2, 12), (6, 3, 16), (5, 5, 8), (4, 4, 100)]
)
def test_no_simulated_schedule_moves_less_than_the_bound(n, tile, memory):
    least = sa.lower_bound(MATMUL).at(i=n, j=n, k=n, M=memory)
    for order in itertools.permutations("ijk"):
        for thin in ("", *"ijk"):
            tiles = {axis: 1 if axis == thin else tile for axis in "ijk"}
            assert moved(list(matmul_accesses(n, order, tiles)), memory) >= least


def test_the_bound_is_near_what_a_blocked_schedule_moves():
    """Tiles of 3 by 3 of the output stay, and of each operand three elements a step come: 12 * 6 + 9 a tile."""
    n, memory = 12, 13
    schedule = sorted(matmul_accesses(n, "ijk", {"i": 3, "j": 3, "k": 12}), key=by_column)
    assert moved(schedule, memory) == 16 * (12 * 6 + 9)
    assert sa.lower_bound(MATMUL).at(i=n, j=n, k=n, M=memory) <= 16 * 81 <= 1.4 * (2 * n**3 / math.sqrt(memory) - 26)


def by_column(access):
    (_, i, k), (_, _, j), _ = access[0]
    return i // 3, j // 3, k, i, j


def test_matrix_vector_products_are_bound_by_compulsory_traffic():
    bound = sa.lower_bound("d k, k -> d")
    assert bound.exponent == 0
    assert bound.at(d=64, k=32, M=16) == 64 * 32 + 64 + 32
    assert "no more than the order of compulsory traffic is forced" in str(bound)


@pytest.mark.parametrize("pattern", ["i j k, j r, k r -> i r", cycle(5), "i k, k j ->", "i k, k j, j l -> i l"])
def test_where_only_the_order_is_known_no_number_is_given(pattern):
    bound = sa.lower_bound(pattern)
    assert bound.constant is None
    sizes = dict.fromkeys(set(pattern.replace(",", " ").replace("->", " ").split()), 9)
    with pytest.raises(InconclusiveError, match=r"only the order .* is known, its constant is not"):
        bound.at(sizes={**sizes, "M": 4})
    with pytest.raises(InconclusiveError):
        bound.expr  # noqa: B018
    assert "the constant is not known" in str(bound)


def test_repeated_names_count_once():
    assert sa.lower_bound("i i k, k j -> i j").exponent == Fraction(1, 2)
    assert sa.same(sa.lower_bound("i i k, k j -> i j").order, sa.lower_bound(MATMUL).order)
    assert str(sa.lower_bound("i i -> i").compulsory) == "2*i"


@pytest.mark.parametrize("sizes", [{}, {"k": "4*b"}, {"d": 64}])
def test_the_memory_may_not_be_called_like_a_size(sizes):
    pattern = "b d, d k -> b k"
    for memory in ("b", "2*b"):
        with pytest.raises(AxisConflictError, match="b is a size of the pattern and the fast memory too"):
            sa.lower_bound(pattern, memory=memory, **sizes)
    assert sa.lower_bound(pattern, memory="Z", **sizes).exponent == Fraction(1, 2)


@pytest.mark.parametrize("memory", [0, -4, True, 4.0, None, "", "0"])
def test_the_memory_is_a_size(memory):
    with pytest.raises(SizeError, match="the size of 'memory'"):
        sa.lower_bound(MATMUL, memory=memory)


def test_memory_as_a_number_or_an_expression():
    assert sa.same(sa.lower_bound(MATMUL, memory=1024).expr, "i*j*k/16 - 2048")
    assert sa.same(sa.lower_bound(MATMUL, memory="4*Z").expr, "i*j*k/sqrt(Z) - 8*Z")
    assert sa.lower_bound(MATMUL, memory=1024).at(i=64, j=64, k=64) == max(64**3 // 16 - 2048, 3 * 64**2)


def test_sizes_are_put_in():
    bound = sa.lower_bound(MATMUL, i="n", j="n", k="n")
    assert sa.same(bound.expr, "2*n**3/sqrt(M) - 2*M")
    assert bound.at(n=4096, M=65536) == sa.lower_bound(MATMUL).at(i=4096, j=4096, k=4096, M=65536)


def test_at_says_what_is_wrong_with_sizes():
    bound = sa.lower_bound(MATMUL)
    with pytest.raises(UndefinedSizeError, match=r"no number for M; give a size to each of M, i, j, k"):
        bound.at(i=1, j=1, k=1)
    with pytest.raises(UnknownAxisError, match="no axis 'z'"):
        bound.at(i=1, j=1, k=1, M=1, z=1)
    with pytest.raises(AxisConflictError):
        bound.at(sizes={"i": 2}, i=1, j=1, k=1, M=1)
    for wrong in ("x", 0, True, 2.0):
        with pytest.raises((SizeError, UndefinedSizeError)):
            bound.at(i=wrong, j=1, k=1, M=1)


def test_with_an_order_each_step_has_its_bound():
    chain = "i k, k j, j l -> i l"
    first, second = sa.lower_bound(chain, order="left")
    assert sa.same(first.expr, "2*i*j*k/sqrt(M) - 2*M")
    assert sa.same(second.expr, "2*i*j*l/sqrt(M) - 2*M")
    assert [b.pattern for b in sa.lower_bound(chain, order="best", i=2, k=30, j=4, l=5)] == [
        "i k, k j -> i j",
        "i j, j l -> i l",
    ]
    assert sa.lower_bound(chain, order="naive").exponent == sa.lower_bound(chain).exponent == 1
    with pytest.raises(SymacctError, match="depends on the sizes"):
        sa.lower_bound(chain, order="best")


def test_compulsory_is_the_traffic_of_the_account():
    for pattern in (MATMUL, "b i k, k j -> b i j", "i i, i -> i", "i k, k j, j l -> i l"):
        traffic = sa.bytes(pattern, dtype="int8", traffic="compulsory")
        assert sa.same(str(sa.lower_bound(pattern).compulsory), traffic)


def test_sixteen_operands_are_fast_and_seventeen_refused():
    draw = random.Random(1)  # noqa: S311
    names = [f"n{i}" for i in range(24)]
    started = time.process_time()
    for _ in range(3):
        operands = [draw.sample(names, 7) for _ in range(16)]
        bound = sa.lower_bound(", ".join(map(" ".join, operands)) + f" -> {operands[0][0]}")
        assert 0 < bound.exponent < 15
    assert time.process_time() - started < 2
    with pytest.raises(InconclusiveError, match="17 operands; lower bounds are derived for up to 16"):
        sa.lower_bound(cycle(17))


@given(st.integers(2, 30), st.integers(2, 30), st.integers(2, 30), st.integers(1, 400))
@settings(max_examples=50)
def test_never_below_compulsory_and_falling_in_memory(i, j, k, memory):
    assume(memory > 1)
    bound = sa.lower_bound(MATMUL)
    sizes = {"i": i, "j": j, "k": k}
    assert bound.at(sizes={**sizes, "M": memory}) >= i * j + i * k + j * k
    assert bound.at(sizes={**sizes, "M": memory}) <= bound.at(sizes={**sizes, "M": memory - 1})


def test_a_bound_is_a_frozen_value():
    bound = sa.lower_bound(MATMUL)
    for twin in (pickle.loads(pickle.dumps(bound)), copy.deepcopy(bound)):  # noqa: S301
        assert twin == bound
        assert twin.expr == bound.expr
    with pytest.raises(AttributeError):
        bound.constant = 3
