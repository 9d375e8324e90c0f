"""The gradient graph against autograd: worked graphs, and what decides who gets a gradient."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import symacct as sa
from symacct.backward import backward
from symacct.errors import GraphError, UnknownOpError

torch = pytest.importorskip("torch")

from tests.backward.autograd import floats, gradients_agree  # noqa: E402

WORKED = {path.stem: sa.load_worked(path) for path in sorted(Path(__file__).parents[2].glob("graphs/*.py"))}
CONSTANTS = {"mean", "var", "cos", "sin"}
"""Running statistics and angles: torch refuses the former a gradient, our rotary the latter."""


def on_tensors(worked: sa.Worked) -> Any:
    """Return the function of a worked graph with its values filled in."""
    values = {n: worked.tiny.get(v, v) if isinstance(v, str) else v for n, v in worked.values.items()}
    names = [n for n, p in inspect.signature(worked.build).parameters.items() if isinstance(p.annotation, str)]
    names = [n for n in names if n not in values and worked.build.__annotations__[n] not in ("int", "float")]
    return lambda *tensors: worked.build(**dict(zip(names, tensors, strict=True)), **values)


@pytest.mark.parametrize("name", WORKED)
def test_gradients_of_worked_graphs_are_autograds(name):
    """Those of the parameters, or where there are none of everything; `verify` tries both of all."""
    worked = WORKED[name]
    graph = worked.account().graph
    wanted = worked.params or [n for n in floats(graph) if n not in CONSTANTS]
    sizes = {n: min(size, 3) if n == "L" else size for n, size in worked.tiny.items()}
    assert gradients_agree(graph, sizes, on_tensors(worked), wanted) == len(wanted)


def ops(fn, wrt=None, **options):
    graph = backward(sa.account(fn, **options).graph, wrt)
    return [op.label for op in graph.ops if op.phase == "bwd"]


def two(x: "b d", w: "d k", v: "k m"):
    return (x @ w) @ v


def looked_up(tokens: "b s", table: "v d"):
    return sa.embedding(tokens, table)


def test_only_what_is_needed_is_made():
    everything = ["b m, k m -> b k", "b k, b m -> k m", "b k, d k -> b d", "b d, b k -> d k"]
    assert ops(two) == ops(two, ["x", "w", "v"]) == everything
    assert ops(two, params=["w", "v"]) == [everything[0], everything[1], everything[3]]
    assert ops(two, ["v"]) == [everything[1]]
    assert ops(two, ["x"]) == [everything[0], everything[2]]


def test_what_is_yielded_twice_gets_both_gradients():
    """Their sum is of the backward pass: 2 + 2 products, and an addition."""
    for fn, adds in ((lambda x, w: (x @ w,) * 2, "b*k"), (lambda x, w: (x, x, x @ w), "2*b*d")):
        account = sa.account(fn, x="b d", w="d k")
        assert sa.same(account.backward().flops, f"4*b*d*k + {adds}")


def test_what_cannot_have_a_gradient_is_refused():
    graph = sa.account(two).graph
    with pytest.raises(GraphError, match="'y' is no input, so it has no gradient; inputs that can: x, w, v"):
        backward(graph, ["y"])
    with pytest.raises(GraphError, match=r"'tokens' holds no floating-point numbers.*inputs that can: table"):
        backward(sa.account(looked_up).graph, ["tokens"])
    with pytest.raises(GraphError, match="no gradient arrives at x: what is yielded does not depend on it"):
        backward(sa.account(lambda x: sa.detach(x) * 2, x="n").graph)
    with pytest.raises(GraphError, match="no gradient arrives at v"):
        backward(sa.account(lambda x, v: x @ sa.detach(v), x="b d", v="d k").graph, "x v")
    with pytest.raises(UnknownOpError, match=r"the gradient of fft: the gradient of the opaque operation 'fft'"):
        backward(sa.account(lambda x: sa.opaque("fft", [x], [x.shape]), x="n").graph)
    with pytest.raises(GraphError, match="the gradient of a gradient is not known"):
        backward(backward(graph))
