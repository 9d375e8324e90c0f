"""Chains of stages: closed forms of equal ones, and the best cuts of unequal ones, against plans acted out."""

from __future__ import annotations

import math
import random

import pytest
import sympy

import symacct as sa
from symacct.errors import AxisConflictError, ConventionError, SizeError, UndefinedSizeError, UnitError
from verify.acting import Acted, as_plan, drawn, halves, plans

L, k, b, r = sympy.symbols("L k b r")
LAYER = sa.Stage(boundary=1, residual=1)


def bytes_of(plan: object) -> int:
    return plan.at().memory.value


@pytest.mark.claim("S67", "D10")
def test_equal_layers_hold_segments_and_one_segment() -> None:
    plan = sa.checkpoint(LAYER, every="k", layers="L")
    assert sympy.simplify(plan.memory - (L / k + k)) == 0
    assert [str(c) for c in plan.conditions] == ["k divides L"]
    assert plan.recomputed == plan.forward == L


@pytest.mark.claim("S67", "D10")
def test_the_optimum_follows_from_the_derivative() -> None:
    held = sa.checkpoint(LAYER, every="k", layers="L").memory
    positive = {symbol: sympy.Symbol(symbol.name, positive=True) for symbol in (L, k)}
    held = held.subs(positive)
    (root,) = [x for x in sympy.solve(sympy.diff(held, positive[k]), positive[k]) if x.is_positive]
    assert root == sympy.sqrt(positive[L])
    least = held.subs(positive[k], root)
    assert sympy.simplify(least - 2 * root) == 0
    assert sa.checkpoint(LAYER, "sqrt", layers="L").memory == sa.checkpoint(LAYER, "even", layers="L").memory
    assert sa.checkpoint(LAYER, "sqrt", layers="L").memory == 2 * sympy.sqrt(L)
    assert [float(2 * math.sqrt(n)) for n in (16, 64, 100)] == [8, 16, 20]


@pytest.mark.claim("S67")
def test_a_thousand_layers_in_whole_segments() -> None:
    slots = {k: -(-1000 // k) + k for k in range(1, 1001)}
    assert min(slots.values()) == 64 == slots[32]
    plan = sa.checkpoint(LAYER, "sqrt", layers=1000)
    assert plan.strategy == "segments of 32 blocks"
    assert "ceil(1000/32) + 32 = 64 tensors are held at most" in plan.assumptions[-1]
    # the last of 32 segments has 8 layers: at the fullest 31 are open, the 31st with its 32 residuals
    assert bytes_of(plan) == 63 == max(31 + 32, 32 + 8)
    assert bytes_of(sa.checkpoint(LAYER, "even", layers=1000)) == min(
        max(full + k * (full > 0), -(-1000 // k) + (1000 - full * k or k))
        for k in range(1, 1001)
        for full in [1000 // k]
    )
    # segments of 45, 44, ..., 1 need 45 tensors to start from and hold 46 bytes at most: 45*46/2 = 1035 layers
    assert bytes_of(sa.checkpoint(LAYER, "least", layers=1000)) == 46
    assert bytes_of(sa.checkpoint(LAYER, "least", layers=990)) == 45


def test_the_whole_k_next_to_the_root_is_as_good_as_any() -> None:
    for n in range(1, 300):
        plan = sa.checkpoint(LAYER, "sqrt", layers=n)
        (size,) = {int(word) for word in plan.strategy.split() if word.isdecimal()} or {1}
        assert -(-n // size) + size == min(-(-n // k) + k for k in range(1, n + 1)) == math.ceil(2 * math.sqrt(n))
    with pytest.raises(SizeError, match="give a name instead"):
        sa.checkpoint(LAYER, "recursive", layers=10**6)
    assert sa.checkpoint(LAYER, "sqrt", layers=10**12).memory == 2 * 10**6


@pytest.mark.claim("D10")
def test_the_real_optimum_depends_on_what_a_layer_keeps() -> None:
    block = sa.Stage(boundary="b", residual="r")
    plan = sa.checkpoint(block, "even", layers="L")
    assert plan.memory == 2 * sympy.sqrt(L) * sympy.sqrt(b) * sympy.sqrt(r)
    assert "sqrt(L)*sqrt(b)/sqrt(r) >= 1" in [str(c) for c in plan.conditions]
    # 32 blocks that take 80 MiB and keep 3651 MiB: sqrt(32*80/3651) = 0.84, so every block, not segments of 6
    mib = 2**20
    measured = sa.Stage(80 * mib, 3651 * mib)
    assert sa.checkpoint(measured, "even", layers=32).strategy == "every block is recomputed"
    assert bytes_of(sa.checkpoint(measured, "even", layers=32)) == (32 * 80 + 3651) * mib
    assert bytes_of(sa.checkpoint(measured, "sqrt", layers=32)) == max(5 * 80 + 6 * 3651, 6 * 80 + 2 * 3651) * mib


@pytest.mark.claim("S67")
def test_nested_halves_hold_a_tensor_a_level() -> None:
    plan = sa.checkpoint(LAYER, "recursive", layers="L")
    assert str(plan.conditions[0]) == "log2(L) is a whole number"
    for levels in range(1, 7):
        n = 2**levels
        acted = Acted(
            [
                drawn(0, 1)[1][0]._replace(
                    takes=1, inside=1, gives=1, flops=1, tail=0, keeps_input=False, keeps_output=False
                )
            ]
            * n,
            halves(0, n),
            early_stop=True,
        )
        assert acted.memory == levels + 2 == plan.at(L=n).memory.value
        assert acted.again == n * (levels - 1) // 2 + n == plan.at(L=n).recomputed.value
        whole = sa.checkpoint(LAYER, "recursive", layers="L", early_stop=False)
        assert whole.at(L=n).recomputed.value == n * levels
    with pytest.raises(SizeError, match="log2"):
        plan.at(L=12)


@pytest.mark.claim("S67")
def test_from_the_input_alone_the_work_is_quadratic() -> None:
    # to have what a layer takes, which is all that it keeps: L*(L - 1)/2 layer forwards
    only_input = sa.Stage(1, 0, flops=1, tail=1, keeps_input=True)
    plan = sa.checkpoint(only_input, "input", layers="L")
    assert sympy.expand(plan.recomputed - L * (L - 1) / 2) == 0
    assert plan.at(L=10).recomputed.value == sum(range(10))
    assert plan.memory == 2
    again = sum(sum(1 for _ in range(i + 1)) for i in range(10))
    assert sa.checkpoint([LAYER] * 10, "input").at().recomputed.value == again == 55


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("early_stop", [True, False])
def test_plans_hold_what_they_hold_when_acted_out(seed: int, *, early_stop: bool) -> None:
    count = 1 + seed % 8
    draw, layers = drawn(seed, count)
    stages, everything = [layer.stage for layer in layers], list(range(count))
    size = draw.randint(1, count)
    asked = [
        (everything, {"strategy": "none"}),
        ([everything[i : i + size] for i in range(0, count, size)], {"every": size}),
        (halves(0, count) if count > 1 else [[0]], {"strategy": "recursive"}),
        ([everything[:size], *everything[size:]], {"stages": [(0, size - 1)]}),
    ]
    for plan, options in asked:
        acted = Acted(layers, plan, early_stop=early_stop)
        totals = sa.checkpoint(stages, early_stop=early_stop, **options).at()
        assert (totals.held, totals.memory, totals.recomputed) == (acted.between, acted.memory, acted.again), options


@pytest.mark.claim("D10")
@pytest.mark.parametrize("seed", range(8))
def test_no_plan_is_better_than_the_best(seed: int) -> None:
    count = 3 + seed % 4
    _, layers = drawn(100 + seed, count)
    stages, early_stop = [layer.stage for layer in layers], bool(seed % 2)
    acted = [Acted(layers, plan, early_stop=early_stop) for plan in plans(0, count)]
    least = sa.checkpoint(stages, "least", early_stop=early_stop)
    assert bytes_of(least) == min(a.memory for a in acted)
    for budget in sorted({a.memory for a in acted}):
        best = sa.checkpoint(stages, budget=budget, early_stop=early_stop)
        fewest = min(a.again for a in acted if a.memory <= budget)
        again = Acted(layers, as_plan(best.segments), early_stop=early_stop)
        assert (best.recomputed, again.again, again.memory <= budget) == (fewest, fewest, True)
    with pytest.raises(SizeError, match="no cuts fit"):
        sa.checkpoint(stages, budget=bytes_of(least) - 1, early_stop=early_stop)


@pytest.mark.claim("D10")
def test_twelve_unequal_layers_cut_in_every_way() -> None:
    _, drawn_layers = drawn(7, 12)
    # each keeps more than what it takes, so that keeping a stage never holds less than recomputing it
    layers = [layer._replace(inside=layer.inside + layer.takes) for layer in drawn_layers]
    found = []
    for cuts in range(2**11):
        ends = [i + 1 for i in range(11) if cuts >> i & 1]
        segments = [list(range(a, z)) for a, z in zip([0, *ends], [*ends, 12], strict=True)]
        found.append(Acted(layers, segments, early_stop=True).memory)
    assert bytes_of(sa.checkpoint([layer.stage for layer in layers], "least")) == min(found)


def test_a_thousand_unequal_layers_get_an_answer_that_says_how_good_it_is() -> None:
    _, layers = drawn(1, 1000)
    stages = [layer.stage for layer in layers]
    least = sa.checkpoint(stages, "least")
    some = sa.checkpoint(stages, budget=5 * bytes_of(least))
    assert bytes_of(some) <= 5 * bytes_of(least)
    assert 0 < some.recomputed < least.recomputed
    assert "another choice of what to keep may execute fewer" in some.assumptions[-1]
    assert Acted(layers, as_plan(some.segments), early_stop=True).memory == bytes_of(some)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"strategy": "squirt"}, ConventionError, "Did you mean 'sqrt'"),
        ({"strategy": "sqrt", "every": 2}, ConventionError, "one of them"),
        ({"every": 0}, SizeError, "at least 1"),
        ({"every": 9}, SizeError, "at most 8"),
        ({"stages": [8]}, SizeError, "blocks 0 to 7"),
        ({"stages": [(2, 4), 3]}, SizeError, "each is in one segment"),
        ({"stages": ["a"]}, SizeError, "'a' names no stages"),
        ({"stages": [(1, 2, 3)]}, SizeError, "names no stages"),
        ({"stages": [True]}, SizeError, "True names no stages"),
        ({"stages": 1.5}, SizeError, "1.5 names no stages"),
        ({"strategy": ["sqrt"]}, ConventionError, "unknown strategy"),
        ({"budget": float("inf")}, SizeError, "finite"),
        ({"budget": "1 parsec"}, UnitError, "parsec"),
        ({"budget": 1}, SizeError, "no cuts fit in 1 bytes; the least .* is 5"),
        ({"strategy": "selective"}, SizeError, "only of an account"),
        ({"wrt": ["w"]}, ConventionError, "are of an account"),
        ({"device": "cuda"}, ConventionError, "are of an account"),
    ],
)
def test_what_cannot_be_is_refused(options: dict, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        sa.checkpoint(LAYER, layers=8, **options)


def test_several_tensors_cross_together_and_are_kept_each_by_itself() -> None:
    """Of 3 and 5 bytes the first is kept by who takes it, the second by who makes it."""
    stage = sa.Stage((3, 5), 2 + 5, keeps_input=(True, False), keeps_output=(False, True))
    four = [stage] * 4
    assert bytes_of(sa.checkpoint(four, "none")) == 4 * (3 + 7)
    assert bytes_of(sa.checkpoint(four, "block")) == 4 * (3 + 5) + 7
    # after a kept stage a segment holds 3 more; a kept stage after it keeps its 3
    plan = sa.checkpoint(four, stages=[1])
    assert (plan.held, bytes_of(plan)) == (3 + 7 + 3 + 3 + 7 + 3 + 7, 33)
    assert sa.checkpoint(four, stages=[(2, 3)]).held == 3 + 7 + 3 + 7 + 3


@pytest.mark.parametrize("seed", range(6))
def test_the_best_cuts_where_several_tensors_cross(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    stages = [
        sa.Stage(
            tuple(draw.randint(1, 9) for _ in range(3)),
            draw.randint(0, 30),
            draw.randint(1, 9),
            keeps_input=tuple(draw.random() < 0.5 for _ in range(3)),
            keeps_output=tuple(draw.random() < 0.5 for _ in range(3)),
        )
        for _ in range(5)
    ]
    found = []
    for plan in plans(0, 5):
        segments = [(item[0], item[-1]) for item in plan if isinstance(item, list)]
        answer = sa.checkpoint(stages, stages=segments)
        found.append((bytes_of(answer), answer.recomputed))
    assert bytes_of(sa.checkpoint(stages, "least")) == min(memory for memory, _ in found)
    for budget in {memory for memory, _ in found}:
        fewest = min(again for memory, again in found if memory <= budget)
        assert sa.checkpoint(stages, budget=budget).recomputed == fewest


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"boundary": 1.5}, "boundary of a stage is 1.5"),
        ({"residual": -1}, "negative"),
        ({"flops": "2*"}, "flops of a stage"),
        ({"flops": 1, "tail": 2}, "more than its 1 operations"),
        ({"boundary": True}, "True"),
        ({"boundary": (1, -1)}, "negative"),
        ({"keeps_output": "yes"}, "keeps_output of a stage is 'yes'"),
        ({"boundary": (1, 2), "keeps_input": (True,)}, "takes 2 tensors, and keeps_input tells of 1"),
    ],
)
def test_a_stage_has_exact_amounts(fields: dict, said: str) -> None:
    with pytest.raises(SizeError, match=said):
        sa.Stage(**{"boundary": 1, "residual": 1, **fields})


def test_what_is_no_chain_is_refused() -> None:
    for what in ("abc", [], [1], 7):
        with pytest.raises(SizeError, match="no chain"):
            sa.checkpoint(what)
    with pytest.raises(SizeError, match="layers= is for one stage"):
        sa.checkpoint([LAYER], layers=3)
    with pytest.raises(UndefinedSizeError, match="no number for b, r"):
        sa.checkpoint(sa.Stage("b", "b + r"), "least", layers=3)
    with pytest.raises(UndefinedSizeError, match="no number for L"):
        sa.checkpoint(LAYER, "least", layers="L")
    with pytest.raises(SizeError, match="give L"):
        sa.checkpoint(LAYER, stages=[0], layers="L")
    with pytest.raises(AxisConflictError):
        sa.checkpoint(LAYER, layers="L", sizes={"L": 3}, L=4)


def test_numbers_need_every_size_and_whole_segments() -> None:
    plan = sa.checkpoint(LAYER, "sqrt", layers="L")
    with pytest.raises(UndefinedSizeError, match="no number for L"):
        plan.at()
    with pytest.raises(SizeError, match="which then takes whole segments"):
        plan.at(L=10)
    assert plan.at(L=16).memory == 8


def test_the_answer_as_json_and_latex() -> None:
    plan = sa.checkpoint(LAYER, "sqrt", layers="L")
    data = plan.to_json()
    assert list(data) == [
        *("title", "strategy", "peaks", "held", "outside", "recomputed", "forward", "units", "parts"),
        *("segments", "conditions", "assumptions"),
    ]
    assert sa.loads(data)["peaks"][0]["bytes"] == plan.memory
    assert r"2 \sqrt{L}" in plan.latex()
    assert max(map(len, str(plan).splitlines())) <= 80
