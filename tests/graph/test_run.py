"""A graph runs on random tensors, each freed at its last use; bytes, shapes and values against other ways to them."""

from __future__ import annotations

import math

import pytest

import symacct as sa
from symacct.errors import GraphError, SizeError, UndefinedSizeError, UnknownOpError
from symacct.expr import evaluate
from symacct.graph import Graph, Op
from tests.graph.examples import GRAPHS, all_graphs, choosing, function_graphs, nested

torch = pytest.importorskip("torch")

from symacct.eager import KINDS  # noqa: E402
from symacct.eager import inputs as eager_inputs  # noqa: E402
from symacct.eager.run import run  # noqa: E402

SMALL = {"b": 2, "s": 6, "d": 12, "h": 4, "k": 3, "n": 5, "L": 3, "m": 2, "t": 2, "v": 7}
BYTES = {None: 4, "fp32": 4, "fp64": 8, "int64": 8, "bool": 1, "int32": 4}


def tiny(name: str) -> dict[str, int]:
    worked = {path.stem: path for path in GRAPHS}
    return dict(sa.load_worked(worked[name]).tiny) if name in worked else SMALL


class Simulation:
    """What is alive when, from the graph alone: an independent reading of free-at-last-use.

    A memory is a name; a graph inside takes over what its operation was the last to use.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes, self.peak, self.fresh = sizes, 0, 0

    def bytes_of(self, tensor) -> int:
        return math.prod(evaluate(s, self.sizes) for s in tensor.shape) * BYTES[tensor.dtype]

    def memory(self, tensor) -> tuple[int, int]:
        self.fresh += 1
        return self.fresh, self.bytes_of(tensor)

    def look(self, *alive) -> None:
        self.peak = max(self.peak, sum(dict(m for memories in alive for m in memories).values()))

    def run(self, graph: Graph, given: list, outside: list) -> list:
        """Return the memories of the outputs; `given` are those of the inputs, `outside` those that stay alive."""
        where = dict(zip(graph.inputs, given, strict=True))
        self.look(where.values(), outside)
        needed = [
            {*graph.outputs, *(i for op in graph.ops[at + 1 :] for i in op.inputs)} for at in range(len(graph.ops))
        ]
        first = {*graph.outputs, *(i for op in graph.ops for i in op.inputs)}
        where = {i: m for i, m in where.items() if i in first}
        for at, op in enumerate(graph.ops):
            taken = [where[i] for i in op.inputs]
            if op.kind in ("repeat", "cond"):
                where = {i: m for i, m in where.items() if i in needed[at]}
                made = self.inside(op, taken, [*outside, *where.values()])
            else:
                made = [self.made(graph, i, where) for i in op.outputs]
            where |= dict(zip(op.outputs, made, strict=True))
            self.look(where.values(), outside)
            where = {i: m for i, m in where.items() if i in needed[at]}
        return [where[i] for i in graph.outputs]

    def made(self, graph: Graph, i: int, where: dict) -> tuple[int, int]:
        tensor = graph.tensors[i]
        if tensor.storage is None:
            return self.memory(tensor)
        alike = [j for j in where if graph.tensors[j].storage == tensor.storage or j == tensor.storage]
        return where[alike[0]]

    def inside(self, op: Op, taken: list, outside: list) -> list:
        if op.kind == "cond":
            return self.run(op.attrs["branches"][self.branch], taken[1:], outside)
        body, carries, times = op.attrs["body"], op.attrs["carry"], evaluate(op.attrs["n"], self.sizes)
        carry, rest = taken[:carries], [*taken[carries:]]
        collected: list = []
        for _ in range(times):
            made = self.run(body, [*carry, *taken[carries:]], [*outside, *rest])
            if len(made) > carries and not collected:
                rows = [self.memory(body.tensors[i]) for i in body.outputs[carries:]]
                collected = [(i, times * size) for i, size in rows]
                rest += collected
                self.look(outside, rest, made)
            carry = made[:carries]
        return [*carry, *collected]

    branch = 0


RUNNABLE = {name: g for name, g in all_graphs().items() if name not in ("unknown", "choosing")}


@pytest.mark.parametrize(("name", "graph"), RUNNABLE.items(), ids=RUNNABLE)
def test_the_peak_is_that_of_a_simulation(name, graph):
    sizes = tiny(name)
    simulated = Simulation(sizes)
    simulated.run(graph, [simulated.memory(graph.tensors[i]) for i in graph.inputs], [])
    assert graph.run(sizes).peak_bytes == simulated.peak


@pytest.mark.parametrize("side", [0, 1])
def test_the_peak_of_a_branch_is_its_own(side):
    graph = sa.account(choosing).graph
    simulated = Simulation(SMALL)
    simulated.branch = side
    given = [torch.ones(()) * (1 - 2 * side), torch.randn(5, 5), torch.rand(5)]
    inner = graph.ops[-1].attrs["branches"][1].ops[-1].attrs["branches"]
    if side == 1:  # y.sum() > 0 takes the first branch inside
        assert len(inner) == 2
        simulated.inside = lambda op, taken, outside, up=simulated: Simulation.run(
            up, op.attrs["branches"][1 if taken[0] is first else 0], taken[1:], outside
        )
    memories = [simulated.memory(graph.tensors[i]) for i in graph.inputs]
    first = simulated.made(graph, graph.ops[0].outputs[0], {})
    simulated.made = lambda g, i, where: (
        first if g is graph and i == graph.ops[0].outputs[0] else Simulation.made(simulated, g, i, where)
    )
    simulated.run(graph, memories, [])
    assert run(graph, SMALL, inputs=given).peak_bytes == simulated.peak


def test_what_is_not_used_leaves_at_once():
    def layer(x: "n n", unused: "n n n"):  # noqa: ARG001
        return sa.top_k(x, 2)[0] @ x[:2]

    graph = sa.account(layer).graph
    made = graph.run({"n": 5})
    everything = 4 * (25 + 125)
    assert made.peak_bytes == everything, "the most is alive before anything runs"
    top = graph.ops[0].outputs
    assert [i for i in top if all(i not in op.inputs for op in graph.ops)] == [top[1]]
    without = sa.account(lambda x: sa.top_k(x, 2)[0] @ x[:2], x="n n").graph.run({"n": 5}).peak_bytes
    values, places, product = 4 * 10, 8 * 10, 4 * 25
    assert without == max(100 + values + places, 100 + values + product), "places are gone for the product"


def test_inputs_are_not_held():
    graph = sa.account(lambda x: sa.relu(x) + 1, x="n").graph
    given = [torch.randn(1000)]
    made = run(graph, {"n": 1000}, inputs=given)
    assert len(given) == 1, "the caller's list is left alone"
    assert torch.equal(made.outputs[0], torch.relu(given[0]) + 1)
    assert made.peak_bytes == 8000, "x is gone when relu is added to"


@pytest.mark.parametrize(("name", "graph"), RUNNABLE.items(), ids=RUNNABLE)
def test_shapes_come_out_as_said_and_runs_repeat(name, graph):
    sizes = tiny(name)
    first, second, other = (graph.run(sizes, seed=seed) for seed in (0, 0, 1))
    for i, a, b in zip(graph.outputs, first.outputs, second.outputs, strict=True):
        assert tuple(a.shape) == tuple(evaluate(s, sizes) for s in graph.tensors[i].shape)
        assert (
            torch.equal(
                a,
                b,
            )
            or not torch.isfinite(a).all()
        )
    assert other.peak_bytes == first.peak_bytes


def test_the_function_itself_on_torch_is_the_graphs_run():
    sizes = SMALL

    def choosing(p: "", x: "n n", y: "n"):
        def deep(x, y):
            return {"x": sa.repeat(2, lambda h: h @ h, x), "y": y + y}

        def shallow(x, y):
            return {"y": y * 2, "x": sa.cond(y.sum() > 0, lambda x: x, lambda x: x @ x, x)}

        return sa.cond(p > 0, deep, shallow, x, y)

    for fn in (nested, choosing):
        graph = sa.account(fn).graph
        generator = torch.Generator().manual_seed(3)
        given = [
            torch.randn([evaluate(s, sizes) for s in graph.tensors[i].shape], generator=generator).double()
            for i in graph.inputs
        ]
        for sign in (1, -1):
            if fn is choosing:
                given[0] = torch.tensor(float(sign))
            mine = run(graph, sizes, inputs=given).outputs
            theirs = fn(*given)
            theirs = [theirs["x"], theirs["y"]] if isinstance(theirs, dict) else [theirs]
            for a, b in zip(mine, theirs, strict=True):
                torch.testing.assert_close(a, b)


def test_a_wrong_shape_names_the_operation(monkeypatch):
    graph = sa.account(sa.relu, x="n").graph
    monkeypatch.setitem(KINDS, "relu", lambda x: x[:1])
    with pytest.raises(GraphError, match=r"operation 0 \(relu\) gives the shape \(1,\), the graph says \(3,\)"):
        graph.run({"n": 3})
    with pytest.raises(GraphError, match=r"the input x gives the shape \(2,\), the graph says \(3,\)"):
        run(graph, {"n": 3}, inputs=[torch.ones(2)])
    with pytest.raises(GraphError, match="0 inputs are given, the graph takes 1"):
        run(graph, {"n": 3}, inputs=[])
    monkeypatch.setitem(KINDS, "relu", lambda x: (x, x))
    with pytest.raises(GraphError, match=r"operation 0 \(relu\) gives 2 tensors, the graph says 1"):
        graph.run({"n": 3})


def test_what_cannot_run_says_so():
    graph = function_graphs()["unknown"]
    with pytest.raises(UnknownOpError, match="opaque does not run on torch tensors; these do: abs, absent, ad"):
        graph.run(SMALL)
    with pytest.raises(UnknownOpError, match="unknown backend 'jax'; known: torch"):
        graph.run(SMALL, backend="jax")
    with pytest.raises(UndefinedSizeError, match="no number for d"):
        function_graphs()["square"].run({"b": 2})
    with pytest.raises(SizeError, match=r"the size s/2 is 5/2 at these sizes; it must be a whole number"):
        function_graphs()["slices"].run({**SMALL, "s": 5})
    for bad in (0, -1):
        with pytest.raises(SizeError, match="whole number of at least 1"):
            function_graphs()["square"].run({"b": bad, "d": 2})
    with pytest.raises(UnknownOpError, match="no random tensors of nvfp4; known: "):
        function_graphs()["square"].run(SMALL, dtype="nvfp4")


LOOKUPS = {
    "embedding": (lambda x, i: sa.embedding(i, x), 3),
    "through views": (lambda x, i: sa.embedding(i.reshape(2, 2)[1:].reshape(-1), x), 3),
    "one axis": (lambda x, i: sa.gather(x, i.reshape(2, 2), 0), 3),
    "another axis": (lambda x, i: sa.gather(x, i.reshape(2, 2), 1), 2),
    "one hot": (lambda x, i: sa.one_hot(i, 7) * x.sum(), 7),
    "added": (lambda x, i: sa.scatter_add(x, i.reshape(2, 2), x[:2], 1), 2),
    "targets": (lambda x, i: sa.cross_entropy(sa.concat([x, x[:1]], 0), i), 2),
    "both": (lambda x, i: (sa.embedding(i, x), sa.one_hot(i, 7)), 3),
    "inside": (lambda x, i: sa.repeat(2, lambda h, i: h + sa.embedding(i, h)[:3], x, consts=i[:3]), 3),
    "in a branch": (lambda x, i: sa.cond(x.sum() > 0, lambda x, i: x[i], lambda x, i: sa.embedding(i, x), x, i), 3),
}


@pytest.mark.parametrize(("what", "below"), LOOKUPS.values(), ids=LOOKUPS)
def test_indices_lie_inside_what_they_look_up(what, below):
    def layer(x: "3 2", i: "4"):
        return what(x, i)

    from jaxtyping import Int

    layer.__annotations__["i"] = Int[torch.Tensor, "4"]
    graph = sa.account(layer).graph
    seen = set()
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)
        drawn = eager_inputs.random_input(graph, graph.inputs[1], {}, "fp32", generator)
        assert drawn.dtype == torch.int64
        seen |= set(drawn.tolist())
        graph.run({}, seed=seed)
    assert seen == set(range(below)), "all of them are drawn, and none beyond"


def test_masks_and_pinned_dtypes_are_drawn_as_said():
    from jaxtyping import Bool, Float16, Int32  # noqa: TC002

    def layer(m: Bool[torch.Tensor, "n"], x: Float16[torch.Tensor, "n"], i: Int32[torch.Tensor, "n"], y: "n"):
        return sa.where(m, x, 0), i, y

    made = sa.account(layer).graph.run({"n": 50}, dtype="fp64").outputs
    assert [t.dtype for t in made] == [torch.float16, torch.int32, torch.float64]


def test_storages_are_told_apart_on_meta():
    graph = sa.account(lambda x, y: x + y, x="n", y="n").graph
    given = [torch.empty(10, device="meta"), torch.empty(10, device="meta")]
    assert run(graph, {"n": 10}, inputs=given).peak_bytes == 3 * 40
