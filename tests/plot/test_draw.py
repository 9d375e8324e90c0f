"""Pictures: as many boxes as operations, in colours of what bounds them, with their labels; and what is refused."""

from __future__ import annotations

import itertools
import re

import pytest

import symacct as sa
from symacct.expr import evaluate
from symacct.graph import Graph
from tests.graph.examples import GRAPHS, all_graphs

matplotlib = pytest.importorskip("matplotlib")

from symacct.plot.bounds import figures, short  # noqa: E402
from symacct.plot.picture import COLOURS  # noqa: E402

FILES = {path.stem: path for path in GRAPHS}
ALL = all_graphs()


def boxes(figure, kind="op"):
    """The boxes of a kind, by panel and id."""
    (axes,) = figure.axes
    found = [p for p in axes.patches if (p.get_gid() or "").startswith(f"{kind}-")]
    return {tuple(map(int, p.get_gid().split("-")[1:])): p for p in found}


def graphs_inside(graph: Graph) -> list[Graph]:
    """A graph and those inside it, in the order of panels."""
    out = [graph]
    for op in graph.ops:
        for inner in (op.attrs["body"],) if op.kind == "repeat" else op.attrs.get("branches", ()):
            out += graphs_inside(inner)
    return out


def colour_of(box) -> str:
    return matplotlib.colors.to_hex(box.get_facecolor())


@pytest.mark.parametrize("graph", ALL.values(), ids=ALL)
def test_every_operation_of_every_graph_is_a_box(graph):
    panels = graphs_inside(graph)
    figure = sa.draw(graph)
    assert set(boxes(figure)) == {(at, op.id) for at, g in enumerate(panels) for op in g.ops}
    assert set(boxes(figure, "out")) == {(at, i) for at, g in enumerate(panels) for i in g.outputs}
    used = {(at, i) for at, g in enumerate(panels) for i in g.inputs}
    assert set(boxes(figure, "in")) <= used


@pytest.mark.parametrize("graph", ALL.values(), ids=ALL)
def test_no_two_boxes_overlap_and_lines_go_down(graph):
    figure = sa.draw(graph)
    everything = [p.get_extents() for kind in ("op", "in", "out") for p in boxes(figure, kind).values()]
    for i, a in enumerate(everything):
        assert not any(a.overlaps(b) for b in everything[i + 1 :])
    width, height = figure.get_size_inches() * figure.dpi
    for box in everything:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    (axes,) = figure.axes
    arrows = [p for p in axes.patches if isinstance(p, matplotlib.patches.FancyArrowPatch)]
    links = sum(
        len({(i, op.id) for op in g.ops for i in op.inputs}) + len(set(g.outputs)) for g in graphs_inside(graph)
    )
    assert len(arrows) <= links
    for arrow in arrows:
        ys = [y for _, y in arrow._path_original.vertices]  # what it was told; the drawn path is clipped
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(ys))


def texts(figure) -> list[str]:
    (axes,) = figure.axes
    return [t.get_text() for t in axes.texts]


SIZES = {"b": 4, "s": 512, "d": 1024, "f": 4096, "h": 16, "k": 64}


@pytest.mark.parametrize("which", ["mlp", "multi_head_attention", "transformer"])
@pytest.mark.parametrize("ridge", [0.2, 20, 295, 10**9])
def test_colours_say_what_bounds_at_these_sizes(which, ridge):
    account = sa.load_worked(FILES[which]).account()
    sizes = {n: SIZES[n] for n in account.names}
    found = boxes(sa.draw(account, sizes=sizes, ridge=ridge))
    assert len(found) == len(account.steps)
    for (_, i), step in zip(sorted(found), account.steps, strict=True):
        work = sum(evaluate(n, sizes) for n in step_flops(account, step))
        moved = evaluate(step.bytes, sizes)
        expected = "free" if work == moved == 0 else "compute" if work >= ridge * moved else "memory"
        assert colour_of(found[0, i]) == COLOURS[expected], step.label


def step_flops(account, step):
    from symacct.accounting.steps import counts_of

    return counts_of([step.work], account.convention).values()


def test_without_sizes_only_what_is_sure_has_a_colour():
    account = sa.load_worked(FILES["mlp"]).account()
    for ridge, expected in (
        (295, ["unknown", "memory", "unknown"]),
        (1, ["unknown", "compute", "unknown"]),
        (None, 3 * ["unknown"]),
    ):
        found = boxes(sa.draw(account, ridge=ridge))
        assert [colour_of(found[0, i]) for i in range(3)] == [COLOURS[e] for e in expected]
    known = sa.account(lambda x: x @ x, x="64 64").graph
    assert colour_of(boxes(sa.draw(known, ridge=10))[0, 0]) == COLOURS["compute"]
    assert colour_of(boxes(sa.draw(known, ridge=64))[0, 0]) == COLOURS["memory"]


def test_multiply_accumulates_are_two_operations_to_a_ridge():
    def layer(x: "64 64"):
        return x @ x

    for convention in ("2n", "mac"):
        account = sa.account(layer, convention=convention)
        assert colour_of(boxes(sa.draw(account, ridge=21))[0, 0]) == COLOURS["compute"]
        assert colour_of(boxes(sa.draw(account, ridge=22))[0, 0]) == COLOURS["memory"]


def test_fused_operations_are_bound_as_their_kernel():
    def layer(x: "n"):
        for _ in range(40):
            x = sa.relu(x)
        return x

    alone, together = (boxes(sa.draw(sa.account(layer, fuse=fuse), ridge=5)) for fuse in ("none", "pointwise"))
    assert {colour_of(b) for b in alone.values()} == {COLOURS["memory"]}
    assert {colour_of(b) for b in together.values()} == {COLOURS["compute"]}


def test_graphs_inside_and_opaque_operations_are_unknown_and_views_are_free():
    kinds = {
        "nested": ("repeat", "unknown"),
        "unknown": ("opaque", "unknown"),
        "choosing": ("cond", "unknown"),
        "views": ("permute", "free"),
    }
    for which, (kind, bound) in kinds.items():
        found = boxes(sa.draw(ALL[which], ridge=10))
        (box,) = [found[0, op.id] for op in ALL[which].ops if op.kind == kind][:1]
        assert colour_of(box) == COLOURS[bound]
        assert box.get_linestyle() == ("dashed" if bound == "free" else "solid")


def test_colours_differ_in_print_too():
    """By lightness, each from the next, of what is coloured."""

    def lightness(colour):
        r, g, b = matplotlib.colors.to_rgb(colour)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    sorted_ = sorted(lightness(COLOURS[c]) for c in ("memory", "compute", "free"))
    assert all(b - a > 0.15 for a, b in itertools.pairwise(sorted_))


def test_text_says_what_each_costs_and_under_what():
    account = sa.load_worked(FILES["mlp"]).account(convention="exact")
    told = texts(sa.draw(account, sizes={"b": 8, "s": 1024, "d": 4096, "f": 16384}, ridge=295))
    assert "b = 8, d = 4096, f = 16384, s = 1024; exact; bf16" in told
    assert sum(re.fullmatch(r"23\d\d FLOP/B", t) is not None for t in told) == 2
    assert "1.1 TFLOP, 470 MB" in told
    assert {"x", "b s d", "up", "d f", "gelu", "output", "5 FLOP/B", "b s f"} <= set(told)
    symbolic = texts(sa.draw(account))
    assert "20*b*f*s FLOP" in symbolic
    assert "b*f*s*(2*d - 1) FLOP" in symbolic


def test_a_repeat_is_drawn_with_its_body_and_many_parameters_as_one():
    told = texts(sa.draw(sa.load_worked(FILES["gpt2"]).account()))
    assert {"repeat L times", "body of: repeat L times", "12 parameters"} <= set(told)
    assert texts(sa.draw(ALL["choosing"])).count("repeat m times") == 1
    assert {"branch 1 of: cond", "branch 2 of: cond"} <= set(texts(sa.draw(ALL["choosing"])))


def test_the_legend_names_what_appears():
    def legend(**options):
        figure = sa.draw(sa.load_worked(FILES["multi_head_attention"]).account(), **options)
        return [t.get_text() for t in figure.axes[0].get_legend().get_texts()]

    sizes = {n: SIZES[n] for n in "bsdhk"}
    assert legend(sizes=sizes, ridge=295) == [
        "memory-bound: below the ridge of 295 FLOP/B",
        "compute-bound: from 295 FLOP/B on",
    ]
    assert legend() == ["not known: no ridge is given"]
    assert legend(ridge=295)[-1] == "not known: depends on sizes, or on what is inside"


def test_numbers_are_written_in_three_digits():
    assert [short(n) for n in (0.25, 999, 1000, 1638400, 8.59e12, 10**21)] == [
        "0.25 ",
        "999 ",
        "1 k",
        "1.64 M",
        "8.59 T",
        "1000000 P",
    ]


def test_figures_of_an_operation():
    account = sa.account(lambda x, y: (x @ y).T, x="b d", y="d k")
    assert figures(account, account.graph, None, None) == {
        0: ("unknown", ("2*b*d*k FLOP",)),
        1: ("free", ()),
    }
    at = figures(account, account.graph, {"b": 8, "d": 16, "k": 4}, 2.5)
    assert at[0] == ("compute", ("1.02 kFLOP, 448 B", "2.29 FLOP/B")) or at[0].bound == "memory"
    assert at[0].bound == "memory"


@pytest.mark.parametrize("pattern", ["b d, d k -> b k", "i j, j k, k l -> i l", "b (h d), d k -> b h k", "->"])
def test_patterns_are_drawn_too(pattern):
    account = sa.account(pattern)
    assert len(boxes(sa.draw(account))) == len(account.steps)
