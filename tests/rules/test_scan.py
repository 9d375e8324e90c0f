"""Scans: values against plain loops, combinations counted, gradients against autograd, errors."""

from __future__ import annotations

import itertools
import operator
from collections import Counter

import pytest

import symacct as sa
from symacct.conventions import convention_of, tally
from symacct.errors import ConventionError, ShapeError, UnknownOpError
from symacct.expr import evaluate, name
from symacct.graph import Graph
from symacct.rules import RULES, rule_of
from symacct.rules.rule import Backward
from symacct.rules.scan import combinations
from symacct.symbolic import Builder, Symbolic, apply
from symacct.testing.counting import Counted

torch = pytest.importorskip("torch")

from verify.autograd import gradients_agree, symbolic_gradients  # noqa: E402

B, S, D = name("b"), name("s"), name("d")
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33)


def graph_of(kind: str, *shapes: tuple, **attrs) -> Graph:
    builder = Builder()
    made = apply(kind, *(Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)), **attrs)
    return builder.graph([made.id])


def calls_of(graph: Graph, **sizes: int) -> dict[str, int]:
    (op,) = graph.ops
    return {key[0]: evaluate(n, sizes) for key, n in rule_of(op).work(op, graph).items()}


def scan(combine, row: list) -> list:
    """Combine neighbours, scan the half that results, combine every other result with its neighbour."""
    if len(row) < 2:
        return row
    odd = scan(combine, [combine(row[i], row[i + 1]) for i in range(0, len(row) - 1, 2)])
    out = row[:1]
    for i in range(1, len(row)):
        out.append(odd[i // 2] if i % 2 else combine(odd[i // 2 - 1], row[i]))
    return out


def step(first: tuple, second: tuple) -> tuple:
    return first[0] * second[0], second[0] * first[1] + second[1]


@pytest.mark.parametrize("n", LENGTHS)
def test_combinations_are_those_of_a_program(n):
    calls: Counter[str] = Counter()
    out = scan(operator.add, [Counted(i, calls) for i in range(n)])
    assert [x.value for x in out] == list(itertools.accumulate(range(n)))
    assert combinations(n) == calls["add"]
    assert calls_of(graph_of("associative_scan", (B, n), combine="add", axis=1, reverse=False), b=3) == {
        "add": 3 * calls["add"]
    }
    if n & (n - 1) == 0:
        named = graph_of("associative_scan", (B, S), combine="mul", axis=-1, reverse=True)
        assert calls_of(named, b=3, s=n) == {"mul": 3 * calls["add"]}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("initial", [False, True])
def test_a_recurrence_executes_what_a_loop_does(n, initial):
    """2 operations a step, all but the first without an initial state; 3 a combination in parallel."""
    calls: Counter[str] = Counter()
    a, b = ([Counted(v + 2 + i, calls) for i in range(n)] for v in (0, 3))
    first = [a[0] * Counted(5, calls) + b[0]] if initial else b[:1]
    states = list(first)
    for i in range(1, n):
        states.append(a[i] * states[-1] + b[i])
    shapes = [(1, n), (1, n), (1,)][: 3 if initial else 2]
    graph = graph_of("linear_recurrence", *shapes, axis=1, method="sequential", reverse=False)
    assert calls_of(graph) == {"mul": calls["mul"], "add": calls["add"]}
    assert calls["mul"] == calls["add"] == n - 1 + initial

    calls.clear()
    first = [a[0] * Counted(5, calls) + b[0]] if initial else b[:1]
    pairs = list(zip(a, first + b[1:], strict=True))
    assert [s.value for _, s in scan(step, pairs)] == [s.value for s in states]
    graph = graph_of("linear_recurrence", *shapes, axis=1, method="parallel", reverse=False)
    assert calls_of(graph) == {"mul": calls["mul"], "add": calls["add"]}


def test_every_row_is_a_recurrence_under_every_convention():
    for method, initial in itertools.product(("sequential", "parallel"), (False, True)):
        shapes = [(B, S, D), (B, S, D), (B, D)][: 3 if initial else 2]
        graph = graph_of("linear_recurrence", *shapes, axis=1, method=method, reverse=False)
        one = graph_of("linear_recurrence", *[(8,), (8,), ()][: len(shapes)], axis=0, method=method, reverse=False)
        for preset in ("2n", "exact", "mac", "unit"):
            whole, row = (
                tally(rule_of(g.ops[0]).work(g.ops[0], g), convention_of(preset))["FLOP"] for g in (graph, one)
            )
            assert evaluate(whole, {"b": 3, "s": 8, "d": 5}) == 15 * row


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_torch_runs_them(n, reverse):
    x = torch.randn(2, n, 3, dtype=torch.float64)
    flipped = x.flip(1) if reverse else x
    for combine, theirs in (("add", torch.cumsum), ("mul", torch.cumprod), ("max", lambda t, d: t.cummax(d)[0])):
        expected = theirs(flipped, 1)
        ours = sa.associative_scan(x, combine, axis=1, reverse=reverse)
        torch.testing.assert_close(ours, expected.flip(1) if reverse else expected)
    a, h0 = torch.rand(2, n, 1, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    for initial in (None, h0):
        state, states = torch.zeros(2, 3, dtype=torch.float64) if initial is None else initial, {}
        for t in reversed(range(n)) if reverse else range(n):
            state = states[t] = a[:, t] * state + x[:, t]
        expected = torch.stack([states[t] for t in range(n)], dim=1)
        for method in ("sequential", "parallel"):
            ours = sa.linear_recurrence(a, x, 1, initial=initial, method=method, reverse=reverse)
            torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("method", ["sequential", "parallel"])
@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("width", [1, 3])
def test_gradients_are_autograds(n, width, method, reverse):
    a, b, h0 = torch.rand(2, n, width), torch.randn(2, n, 3), torch.randn(2, 3)
    attrs = {"axis": 1, "method": method, "reverse": reverse}
    gradients_agree("linear_recurrence", [a, b, h0], **attrs)
    gradients_agree("linear_recurrence", [a, b, h0], needs=(False, True, False), **attrs)
    if n > 1:
        gradients_agree("linear_recurrence", [a, b], **attrs)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_gradient_of_a_scan_of_sums(reverse):
    gradients_agree("associative_scan", [torch.randn(2, 5)], axis=1, combine="add", reverse=reverse)
    x = Symbolic(builder := Builder(), builder.input((B, S), "x"))
    b = Backward(apply, {"combine": "max", "axis": 1, "reverse": reverse}, (x,), (x,), (x,), (True,))
    with pytest.raises(UnknownOpError, match="gradient of an associative scan by 'max'"):
        RULES["associative_scan"].gradient(b)


def test_symbolic_gradients_and_what_is_kept():
    attrs = {"axis": 1, "method": "sequential", "reverse": False}
    graph = symbolic_gradients("linear_recurrence", [(B, S, 1), (B, S, D), (B, D)], **attrs)
    op = graph.ops[0]
    kept = rule_of(op).residuals(op, graph, (True, True, True))
    assert [(r.kind, r.which) for r in kept] == [("input", 0), ("output", 0), ("input", 2)]
    assert [(r.kind, r.which) for r in rule_of(op).residuals(op, graph, (False, True, False))] == [("input", 0)]
    assert rule_of(op).residuals(op, graph, (False, False, False)) == ()


def test_a_length_with_a_name_is_a_power_of_two():
    def told(kind, *shapes, **attrs):
        graph = graph_of(kind, *shapes, **attrs)
        return [str(c) for c in rule_of(graph.ops[0]).conditions(graph.ops[0], graph)]

    scanned = {"axis": 1, "reverse": False}
    assert told("associative_scan", (B, S), combine="add", **scanned) == ["s is a power of two"]
    assert told("associative_scan", (B, 7), combine="add", **scanned) == []
    assert told("linear_recurrence", (B, S), (B, S), method="sequential", **scanned) == []
    assert told("linear_recurrence", (B, S), (B, S), method="parallel", **scanned) == ["s is a power of two"]


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda a, x: sa.linear_recurrence(a, x, 2), ShapeError, r"the coefficients \(b, s, 1\) for \(b, s, d\)"),
        (lambda a, x: sa.linear_recurrence(x, a, 1), ShapeError, r"the coefficients \(b, s, d\) for \(b, s, 1\)"),
        (lambda a, x: sa.linear_recurrence(a[0], x, 1), ShapeError, r"the coefficients \(s, 1\)"),
        (lambda a, x: sa.linear_recurrence(a, x, 1, initial=x), ShapeError, r"state of the shape \(b, s, d\)"),
        (lambda a, x: sa.linear_recurrence(a, x, 1, method="fast"), ConventionError, "known: sequential, parallel"),
        (lambda a, x: sa.linear_recurrence(a, x, 3), ShapeError, "no axis 3"),
        (lambda _, x: sa.associative_scan(x, "sub", 1), ConventionError, "known: add, mul, max"),
        (lambda _, x: sa.associative_scan(x, "add", 3), ShapeError, "no axis 3"),
    ],
)
def test_errors_name_shapes_and_the_line(wrong, error, said):
    builder = Builder()
    tensors = (Symbolic(builder, builder.input(shape, "x")) for shape in ((B, S, 1), (B, S, D)))
    with pytest.raises(error, match=said) as caught:
        wrong(*tensors)
    assert "test_scan.py:" in str(caught.value)
