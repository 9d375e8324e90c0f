"""Visits, repeats, names and conditions of a graph: against a walk in Python that writes every iteration out."""

from __future__ import annotations

import random

import einops
import pytest

import symacct as sa
from symacct.accounting.costs import gathered
from symacct.accounting.steps import flops_of, steps_of
from symacct.accounting.walk import conditionals, conditions_of, dearest, graphs, names_of, visits
from symacct.conventions import convention_of
from symacct.errors import InconclusiveError, SizeError
from symacct.expr import add, evaluate, multiply, name
from symacct.rules import rule_of
from tests.graph.examples import GRAPHS, function_graphs

CONVENTION = convention_of("2n")
FILES = {path.stem: path for path in GRAPHS}


def tiny_account(which, **options):
    worked = sa.load_worked(FILES[which])
    return worked.account(**options), dict(worked.tiny)


def written_out(graph, sizes, scope=""):
    """Every operation that runs, one by one, with its scope; branches are not decided here."""
    for op in graph.ops:
        here = "/".join(part for part in (scope, op.scope) if part)
        if op.kind == "repeat":
            for _ in range(evaluate(op.attrs["n"], sizes)):
                yield from written_out(op.attrs["body"], sizes, here)
        if op.kind not in ("repeat", "cond") or len(op.outputs) > op.attrs.get("carry", len(op.outputs)):
            yield op, graph, here  # of a repeat what it collects


@pytest.mark.parametrize("which", FILES)
@pytest.mark.parametrize("layout", ["ideal", "torch"])
def test_totals_are_sums_over_every_run_of_every_operation(which, layout):
    """Rules are asked for each operation by itself, bytes at two an element; no likes are gathered."""
    account, sizes = tiny_account(which, layout=layout)
    work, moved, count = {}, 0, 0
    for op, graph, _ in written_out(account.graph, sizes):
        rule = rule_of(op)
        for key, amount in rule.work(op, graph).items():
            work[key] = work.get(key, 0) + evaluate(amount, sizes)
        touched = [] if rule.implicit_copy and layout == "ideal" else [*rule.reads(op, graph), *rule.writes(op, graph)]
        for part in [*touched, *(2 * rule.copies(op, graph) if layout == "torch" else ())]:
            format_ = account.dtypes.of(graph.tensors[part.tensor], graph)
            elements = 1
            for size in part.shape:
                elements *= evaluate(size, sizes)
            moved += elements * format_.stored_bits // 8
        for spill in rule.spills(op, graph):
            elements = 1
            for size in spill.shape:
                elements *= evaluate(size, sizes)
            moved += 2 * elements * (spill.writes + spill.reads)
        count += 1
    ours = {}
    for key, amount in (item for w in account.works for item in w.items()):
        ours[key] = ours.get(key, 0) + evaluate(amount, sizes)
    assert {k: n for k, n in ours.items() if n} == {k: n for k, n in work.items() if n}
    assert evaluate(account.total("bytes"), sizes) == moved
    assert evaluate(add(v.times for v in account.runs), sizes) == count
    assert evaluate(add(v.times for v in account.alike), sizes) == count


@pytest.mark.parametrize("which", FILES)
@pytest.mark.parametrize("options", [{}, {"layout": "torch"}, {"fuse": "pointwise"}, {"convention": "exact"}])
def test_steps_add_up_to_totals(which, options):
    account, _ = tiny_account(which, **options)
    assert add(s.bytes for s in account.steps) == account.total("bytes")
    summed = {}
    for step in account.steps:
        for key, amount in step.work.items():
            summed[key] = add((summed.get(key, 0), amount))
    again = {}
    for key, amount in (item for w in account.works for item in w.items()):
        again[key] = add((again.get(key, 0), amount))
    assert {k: v for k, v in summed.items() if v != 0} == {k: v for k, v in again.items() if v != 0}


def alternating(x: "b d", w: "d d", v: "d k"):
    for i in range(7):
        x = sa.relu(x @ w) if i % 2 else x + 1
    return x @ v


def test_formats_by_argument_and_role_are_told_apart_where_operations_are_alike():
    """Two products of one shape, in formats that differ by the weight's name."""

    def layer(x: "b d", w: "d d", v: "d d", u: "d d"):
        return x @ w + x @ v + x @ u

    b, d = name("b"), name("d")
    made = sa.account(layer, params=["w", "v", "u"], dtype={"w": "fp32", "v": "int8", "act": "bf16"})
    expected = 4 * d * d + d * d + 2 * d * d + 3 * (2 * b * d + 2 * b * d) + 2 * 6 * b * d
    assert made.total("bytes") == expected
    assert add(s.bytes for s in made.steps) == expected
    by_role = sa.account(layer, params=["w"], dtype={"param": "fp32", "act": "bf16"})
    assert by_role.total("bytes") == 4 * d * d + 2 * (2 * d * d) + 3 * (4 * b * d) + 12 * b * d


def test_what_is_gathered_runs_as_often_together():
    account = sa.account(alternating)
    assert len(account.runs) == 4 + 2 * 3 + 1
    assert sorted(v.times for v in account.alike) == [1, 3, 3, 4]
    assert {(v.op.kind, v.times) for v in gathered(account.runs)} == {
        ("add", 4),
        ("einsum", 3),
        ("relu", 3),
        ("einsum", 1),
    }


def test_scopes_times_and_bodies_of_visits():
    graph = function_graphs()["nested"]
    found = list(visits(graph, lambda g: flops_of(g, CONVENTION), scope="model"))
    L = name("L")
    assert [(v.op.kind, v.times, v.scope) for v in found] == [
        ("einsum", 3 * L, "model"),
        ("relu", 3 * L, "model"),
        ("einsum", L, "model"),
    ]
    assert len(list(graphs(graph))) == 3
    assert list(conditionals(graph)) == []


def test_the_dearest_branch_is_proved_or_refused():
    n, m = name("n"), name("m")
    branches = tuple(sa.account(lambda x, k=k: sa.tile(x, (k,)), x="n").graph for k in (1, 2, 3))

    def by(*costs):
        table = {id(b): c for b, c in zip(branches, costs, strict=True)}
        return dearest(branches, lambda g: table[id(g)])

    assert by(n, 2 * n, n) is branches[1]
    assert by(3, 2, 3) is branches[0], "the first of equals"
    assert by(n, n, n) is branches[0]
    assert by(n * n, n, 1) is branches[0], "equal at 1, and never below"
    assert by(n + m, n, m) is branches[0]
    for costs in ((n, m, 1), (2 * n, n * n, 1), (n, 5, 1)):
        with pytest.raises(
            InconclusiveError, match=r"branch 1: .*; branch 2: .*; branch 3: 1\); give sizes that decide"
        ):
            by(*costs)


def test_names_stand_in_shapes_counts_and_places():
    def layer(x: "b d", t: int, w: int):
        y = sa.repeat("L", lambda h: h * 2, x[t : t + 2])
        return sa.repeat(w, lambda h: h + 1, y)

    assert names_of(sa.account(layer).graph) == ("L", "b", "d", "t", "w")
    assert names_of(function_graphs()["choosing"]) == ("m", "n")


SPLITS = {
    "heads": (lambda x: einops.rearrange(x, "b (h k) -> b h k", h=4), ["4 divides d"], {"d": (8, 9)}),
    "two levels": (
        lambda x: einops.rearrange(x, "(a b) (h k) -> a b h k", a=2, h=3),
        ["2 divides b", "3 divides d"],
        {"b": (4, 5), "d": (9, 8)},
    ),
    "a slice to": (lambda x: x[:3], ["b >= 3"], {"b": (3, 2)}),
    "a slice from": (lambda x: x[:, 2:] + 0, ["d - 2 >= 1"], {"d": (3, 2)}),
    "the last three": (lambda x: x[:, -3:], ["d - 3 >= 0"], {"d": (3, 2)}),
    "a half": (lambda x: x[:, : x.shape[1] // 2], ["2 divides d"], {"d": (4, 3)}),
    "in a body": (
        lambda x: sa.repeat("L", lambda h: einops.rearrange(h, "b (h k) -> b (k h)", h=5), x),
        ["5 divides d"],
        {"d": (10, 9)},
    ),
}


@pytest.mark.parametrize(("fn", "conditions", "sizes"), SPLITS.values(), ids=SPLITS)
def test_splits_and_slices_are_conditions_that_are_checked(fn, conditions, sizes):
    account = sa.account(fn, x="b d")
    assert [str(c) for c in conditions_of(account.graph)] == conditions
    assert [str(c) for c in account.conditions] == conditions
    good = {n: sizes.get(n, (60,))[0] for n in account.names}
    account.at(**good)
    for n, (_, bad) in sizes.items():
        with pytest.raises(SizeError, match="these sizes break a condition"):
            account.at(**{**good, n: bad})


def test_conditions_of_branches_that_do_not_count_hold_too():
    def layer(p: "", x: "b d"):
        return sa.cond(p > 0, lambda x: (x @ x.T).sum(), lambda x: x[:3].sum(), x)

    assert [str(c) for c in sa.account(layer).conditions] == ["b >= 3"]


def test_steps_of_random_graphs_do_not_depend_on_what_is_gathered():
    rng = random.Random(4)  # noqa: S311

    def layer(x: "b d", y: "d d"):
        for _ in range(40):
            x = rng.choice([lambda x: x @ y, lambda x: x + 1, lambda x: x * x, lambda x: sa.softmax(x)])(x)  # noqa: PLW0108
        return x

    account = sa.account(layer, dtype={"input": "fp32", "act": "fp16", "output": "fp64"})
    one_by_one = [step for v in account.runs for step in steps_of([v], account.dtypes, "ideal", "none")]
    assert one_by_one == list(account.steps)
    assert add(s.bytes for s in one_by_one) == account.total("bytes")
    assert multiply(1, account.total("flops")) == add(evaluate_flops(s, account.convention) for s in one_by_one)


def evaluate_flops(step, convention):
    from symacct.accounting.steps import counts_of

    return add(counts_of([step.work], convention).values())
