"""Back through repeats and conditionals: as the loop written out, turn by turn, and by value as autograd."""

from __future__ import annotations

import inspect

import pytest

import symacct as sa
from symacct.backward import backward, joint
from symacct.errors import GraphError, SizeError
from symacct.expr import evaluate
from symacct.graph import Graph, check
from symacct.rules import check_shapes, rule_of

SIZES = {"b": 3, "d": 4}


def relu_layer(h, w):
    return sa.relu(h @ w)


def stack(x: "b d", w: "L d d"):
    return sa.repeat("L", relu_layer, x, xs=w)


def tied(x: "b d", scale: "L d", w: "d d"):
    return sa.repeat("L", lambda h, s, w: sa.tanh(h @ w) * s, x, xs=scale, consts=w)


def two_carries(h: "b d", m: "b d", w: "L d d", v: "d d"):
    """As in an LSTM, of which one state is yielded: at the last turn the other has no gradient yet."""

    def cell(carry, w, v):
        h, m = carry
        m = sa.sigmoid(h @ w) * m + sa.tanh(h @ v)
        return sa.tanh(m) * 2, m

    return sa.repeat("L", cell, (h, m), xs=w, consts=v)[0]


def late(a: "b d", c: "b d", w: "L d d"):
    """What w does reaches c a turn later than a: two first turns differ."""
    return sa.repeat("L", lambda carry, w: (sa.tanh(carry[0]) @ w, (carry[0] * carry[0]) @ w), (a, c), xs=w)[1]


def shift(a: "b d", c: "b d", w: "L d d"):
    """A pipeline of two stages: the second works on what the first made a turn before."""
    return sa.repeat("L", lambda s, w: (s[0] ** 2 * 2, s[0] @ w + s[1]), (a, c), xs=w)


def skipping(h: "b d", w: "L d d", bias: "L d"):
    """The carry alone is passed on, past a detach."""
    return sa.repeat("L", lambda h, layer: h + sa.relu(sa.detach(h) @ layer[0] + layer[1]), h, xs=(w, bias))


def collecting(x: "L b d", h: "b d", w: "d d"):
    def step(h, x, w):
        h = sa.tanh(x + h @ w)
        return h, h * x

    last, rows = sa.repeat("L", step, h, xs=x, consts=w, collect=True)
    return last, rows


def rows_alone(x: "L b d", h: "b d", w: "d d"):
    def step(h, x, w):
        h = sa.tanh(x + h @ w)
        return h, sa.relu(h)

    return sa.repeat("L", step, h, xs=x, consts=w, collect=True)[1]


def nested(x: "b d", w: "L M d d", v: "L d d", u: "d d"):
    def outer(h, layer, u):
        w, v = layer
        return sa.repeat("M", lambda h, w, u: sa.tanh(h @ w) @ u, h, xs=w, consts=u) @ v

    return sa.repeat("L", outer, x, xs=(w, v), consts=u)


def branching(p: "", x: "b d", w: "d d", v: "d d"):
    return sa.cond(p > 0, lambda x, w, _: sa.relu(x @ w) @ w, lambda x, w, v: sa.exp(x @ w) @ v, sa.tanh(x), w, v)


def branch_in_a_loop(p: "", x: "b d", w: "L d d"):
    def turn(h, w, p):
        return sa.cond(p > 0, lambda h, w: sa.relu(h @ w), lambda h, w: sa.exp(h) * sa.tanh(h @ w), h, w)

    return sa.repeat("L", turn, x, xs=w, consts=p)


LOOPS = {
    "stack": (stack, "w"),
    "stack, input too": (stack, "x w"),
    "stack, input alone": (stack, "x"),
    "tied": (tied, "w"),
    "tied, input too": (tied, "w x"),
    "two carries": (two_carries, "w v"),
    "two carries, one needs": (two_carries, "v m"),
    "late": (late, "w"),
    "late, all": (late, "w a"),
    "shift": (shift, "w"),
    "shift, one needs": (shift, "a"),
    "skipping": (skipping, "bias"),
    "skipping, all": (skipping, "h w bias"),
    "collecting": (collecting, "w"),
    "collecting, all": (collecting, "x h w"),
    "rows alone": (rows_alone, "w h"),
    "nested": (nested, "w v"),
    "nested, shared": (nested, "u"),
    "nested, all": (nested, "x w v u"),
    "branches": (branching, "w"),
    "branches, one used": (branching, "v x"),
    "branches in a loop": (branch_in_a_loop, "w"),
}
every_loop = pytest.mark.parametrize("name", LOOPS)
without_branches = pytest.mark.parametrize("name", [n for n in LOOPS if "branch" not in n])
"""Of a conditional the dearer branch counts, whichever runs."""


@every_loop
@pytest.mark.parametrize("turns", [1, 2, 5])
def test_values_are_autograds(name, turns):
    pytest.importorskip("torch")
    from tests.backward.autograd import gradients_agree

    function, wrt = LOOPS[name]
    graph = sa.account(function).graph
    sizes = {**SIZES, "L": turns, "M": 3}
    if turns < fewest(backward(graph, wrt)):
        with pytest.raises(SizeError, match="2 turns differ from the others, and there is 1"):
            backward(graph, wrt).run(sizes)
        return
    assert gradients_agree(graph, sizes, function, wrt) == len(wrt.split())


def fewest(graph):
    """The number of turns from which on a form holds: a first and a last turn that differ are two."""
    return 2 if "L >= 2" in {str(c) for op in graph.ops for c in rule_of(op).conditions(op, graph)} else 1


def written_out(function, turns):
    """The function with a loop in Python, and a tensor of its own for every turn."""
    tensors = inspect.signature(function).parameters.values()
    arguments = {}

    def spread(name, axes):
        for axis, count in (("L", turns), ("M", 3)):
            if axes.startswith(f"{axis} "):
                return [spread(f"{name}_{i}", axes[2:]) for i in range(count)]
        arguments[name] = axes
        return name

    places = {p.name: spread(p.name, p.annotation.strip("'\"")) for p in tensors}

    def wrapped(**given):
        return function(**{name: pick(place, given) for name, place in places.items()})

    def pick(place, given):
        return [pick(p, given) for p in place] if isinstance(place, list) else given[place]

    kind = inspect.Parameter.KEYWORD_ONLY
    wrapped.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kind, annotation=repr(axes)) for name, axes in arguments.items()]
    )
    return wrapped, list(arguments)


def loop(n, body, carry, xs, consts=(), *, collect=False):  # noqa: ARG001 # n is the length of xs
    """What `sa.repeat` does, on lists of tensors."""
    stacks, rows = xs if isinstance(xs, tuple) else (xs,), []
    for turn in zip(*stacks, strict=True):
        more = (consts,) if not isinstance(consts, tuple) or consts else ()
        carry = body(carry, turn if isinstance(xs, tuple) else turn[0], *more)
        if collect:
            carry, row = carry
            rows.append(row)
    return (carry, rows) if collect else carry


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
@without_branches
def test_costs_are_those_of_the_loop_written_out(name, turns, monkeypatch):
    function, wrt = LOOPS[name]
    ours = sa.account(function).training(wrt)
    if turns < fewest(ours.total.graph):
        ours = sa.account(function, sizes={"L": turns}).training(wrt)
    sizes = {**SIZES, "L": turns, "M": 3}
    monkeypatch.setattr(sa, "repeat", loop)
    same, arguments = written_out(function, turns)
    theirs = sa.account(same).training([a for a in arguments if a.split("_")[0] in wrt.split()])
    for phase, account in theirs.phases.items():
        for quantity in ("flops", "matmul_flops", "bytes"):
            told = (phase, quantity)
            assert evaluate(ours.phases[phase].total(quantity), sizes) == evaluate(account.total(quantity), sizes), told


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
@without_branches
def test_a_number_of_turns_is_as_its_name(name, turns):
    """The closed form in L at a number is the form worked out at that number."""
    function, wrt = LOOPS[name]
    form = sa.account(function).training(wrt).total
    if turns < fewest(form.graph):
        with pytest.raises(SizeError, match="these sizes break a condition: L >= 2"):
            form.at(**SIZES, L=turns, **({"M": 3} if "M" in form.names else {}))
        return
    number = sa.account(function, sizes={"L": turns}).training(wrt).total
    sizes = {**SIZES, "L": turns, "M": 3}
    for quantity in ("flops", "matmul_flops", "bytes"):
        assert evaluate(form.total(quantity), sizes) == evaluate(number.total(quantity), sizes)


@every_loop
def test_graphs_are_legal_and_as_rules_announce(name):
    function, wrt = LOOPS[name]
    both = joint(sa.account(function).graph, wrt)
    for graph in (both.graph, *both.passes()):
        check(graph)
        check_shapes(graph)
        assert Graph.from_json(graph.to_json()) == graph


def test_nothing_grows_with_the_number_of_turns():
    few, many = (backward(sa.account(stack, params=["w"], sizes={"L": n}).graph) for n in (3, 1000))
    assert len(few.ops) == len(many.ops) == 2
    assert [len(op.parts) for op in many.ops] == [1, 2]


def test_turns_that_never_settle_are_refused():
    def rotating(a: "b d", c: "b d", w: "d d"):
        return sa.repeat("L", lambda s, w: (s[1], s[0] @ w), (a, c), consts=w)[0]

    graph = sa.account(rotating).graph
    with pytest.raises(GraphError, match="which gradients there are changes from turn to turn"):
        backward(graph, ["a", "c"])
    with pytest.raises(GraphError, match="which carries need a gradient changes from turn to turn"):
        backward(graph, ["a"])
