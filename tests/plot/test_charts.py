"""Charts show the numbers that were worked out, in colours that are told apart without seeing them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

import symacct as sa
from symacct.errors import ConventionError, UndefinedSizeError
from symacct.plot.style import BOUNDS, SERIES, shortened

SIZES = {"b": 64, "d": 4096, "f": 16384}


def mlp(x: "b d", up: "d f", down: "f d"):
    return sa.gelu(x @ up) @ down


@pytest.fixture(scope="module")
def at() -> Any:
    return sa.account(mlp).roofline("h100").at(sizes=SIZES)


def texts(figure: Any) -> str:
    return "\n".join(t.get_text() for t in figure.findobj(Text))


@pytest.mark.claim("S51")
def test_points_lie_under_their_roofs(at: Any) -> None:
    axes = sa.draw(at).axes[0]
    points = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    assert len(points) == len(at.kernels)
    drawn = sorted((float(p.get_xdata()[0]), float(p.get_ydata()[0])) for p in points)
    expected = sorted((float(k.intensity), float(k.flops) / float(k.times.overlapped)) for k in at.kernels)
    assert drawn == [pytest.approx(pair) for pair in expected]
    for x, y in drawn:
        assert y <= min(989.5e12, x * 3.35e12) * 1.000001
    colours = {to_hex(p.get_markerfacecolor()) for p in points}
    assert colours <= {BOUNDS["memory"], BOUNDS["compute"]}


def test_the_ridges_are_marked(at: Any) -> None:
    figure = sa.draw(at)
    upright = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert sorted(upright) == pytest.approx([20, 989.5 / 3.35])
    assert "ridge 295.4" in texts(figure)


def test_what_computes_nothing_is_said() -> None:
    def embed(tokens: "b s", table: "v d"):
        return sa.relu(table[tokens])

    figure = sa.draw(sa.account(embed).roofline("h100").at(b=2, s=3, v=5, d=7))
    looked_up, relu = 6 * 8 + 6 * 7 * 2 + 6 * 7 * 2, 2 * 6 * 7 * 2
    share = f"{looked_up / (looked_up + relu):.1%}"
    assert f"left out is what computes nothing: {share} of the time" in texts(figure).replace("\n", " ")


def test_bars_are_the_times(at: Any) -> None:
    axes = sa.draw(at, of="time").axes[0]
    drawn = sorted(bar.get_width() for bar in axes.patches)
    assert drawn == pytest.approx(sorted(float(k.times.overlapped) for k in at.kernels))


def test_the_waterfall_ends_at_the_mfu() -> None:
    fall = sa.account(mlp).mfu_bound("h100", sizes=SIZES, communication=1e-5)
    axes = sa.draw(fall).axes[0]
    first, *losses, last = axes.patches
    assert first.get_width() == 1
    assert last.get_width() == pytest.approx(float(fall.mfu))
    assert sum(bar.get_width() for bar in losses) == pytest.approx(1 - float(fall.mfu))
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in losses]
    assert all(a[0] == pytest.approx(b[1]) for a, b in itertools.pairwise(ends))


def test_without_products_there_is_no_mfu_in_any_form() -> None:
    """To read and write n times 2 bytes at 3.35 TB/s takes 4 us, as long as the communication."""

    def pointwise(x: "n"):
        return sa.relu(x)

    fall = sa.account(pointwise).mfu_bound("h100", n=3_350_000, communication="4 us")
    assert fall.mfu is None
    assert fall.to_json()["mfu"] is None
    figure = sa.draw(fall)
    assert [bar.get_width() for bar in figure.axes[0].patches] == pytest.approx([0.5, 0.5])
    for told in (str(fall), texts(figure)):
        assert "there are no products, so there is no MFU" in " ".join(told.split())
    assert "predicted MFU" not in texts(figure)
    assert figure.axes[0].get_xlabel() == "share of the time"


def test_a_sweep_has_a_line_for_each_value_of_the_others() -> None:
    sweep = sa.account("b d, d k -> b k").sweep(b=[1, 2, 4, 8], d=[16, 32], k=64)
    axes = sa.draw(sweep, of="intensity").axes[0]
    assert [line.get_label() for line in axes.lines] == ["d = 16", "d = 32"]
    assert list(axes.lines[1].get_ydata()) == pytest.approx(list(sweep.intensity[:, 1, 0]))
    many = sa.account("b d, d k -> b k").sweep(b=list(range(1, 20)), d=list(range(1, 11)), k=64)
    with pytest.raises(ConventionError, match="10 lines"):
        sa.draw(many)
    pairs = sa.account("b d, d k -> b k").sweep(b=[1, 2], d=[3, 4], k=[5, 6], zip=True)
    assert list(sa.draw(pairs).axes[0].lines[0].get_ydata()) == [2 * 1 * 3 * 5, 2 * 2 * 4 * 6]


def test_crossings_are_marked_where_they_are() -> None:
    found = sa.account("b d, d k -> b k").regimes("b", d=1024, k=4096)
    axes = sa.draw(found).axes[0]
    marked = [line for line in axes.lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in marked] == pytest.approx([1024])
    assert float(marked[0].get_ydata()[0]) == pytest.approx(2 * 1024 * 4096)


def test_a_map_names_its_regions_and_borders() -> None:
    figure = sa.draw(sa.account("b d, d k -> b k").regimes("b", "d", k=4096))
    told = texts(figure).replace("\xa0", " ")
    for text in ("operand 1 read", "operand 2 read", "output written", "at d = b", "where k = 4096"):
        assert text in told
    alone = sa.draw(sa.account("n m, n m -> n m").regimes("n", "m", of="flops"))
    assert "n m, n m -> n m" in texts(alone)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_files(tmp_path: Path, at: Any, suffix: str) -> None:
    path = sa.draw(at, tmp_path / f"roof.{suffix}")
    assert path.stat().st_size > 1000
    if suffix == "svg":
        assert "arithmetic intensity" in path.read_text(encoding="utf-8")
        again = sa.draw(at, tmp_path / "again.svg")
        assert path.read_bytes() == again.read_bytes()


def test_a_roofline_in_names_takes_sizes(at: Any) -> None:
    roof = sa.account(mlp).roofline("h100")
    assert len(sa.draw(roof, sizes=SIZES).axes[0].lines) == len(sa.draw(at).axes[0].lines)
    with pytest.raises(UndefinedSizeError):
        sa.draw(roof)


@pytest.mark.parametrize("options", [{"of": "colour"}, {"ridge": 3}, {"sizes": {}}, {"path": "roof.txt"}])
def test_mistakes(at: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConventionError):
        sa.draw(at, **options)


@pytest.mark.parametrize("what", [3, "b d -> d", None])
def test_what_cannot_be_drawn(what: Any) -> None:
    with pytest.raises(ConventionError, match="cannot draw"):
        sa.draw(what)
    with pytest.raises(ConventionError):
        sa.draw(sa.account("b d -> d"), of="time")


def luminance(colour: str) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def test_bounds_differ_in_grey() -> None:
    light, dark = luminance(BOUNDS["memory"]), luminance(BOUNDS["compute"])
    assert (light + 0.05) / (dark + 0.05) > 3
    assert len(set(SERIES)) == 7


def test_long_names_are_cut() -> None:
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("abcde", 5) == "abcde"


def test_both_pictures_of_a_roofline_tell_the_same_shares():
    """A transposed copy computes nothing: it takes time, and has no place on the roofline."""

    def layer(x: "b d", w: "b k"):
        return sa.contiguous(x.transpose(0, 1)) @ w

    at = sa.account(layer, layout="torch").roofline("h100").at(b=64, d=64, k=64)
    assert any(not k.flops for k in at.kernels)
    roof, time = sa.draw(at).axes[0], sa.draw(at, of="time").axes[0]
    (share,) = [t.get_text().split()[0] for t in roof.get_legend().get_texts()]
    assert any(t.get_text().endswith(f", {share}") for t in time.texts)
    assert float(share.rstrip("%")) < 100


def test_small_losses_are_written_as_in_the_table() -> None:
    fall = sa.account(mlp).mfu_bound("h100", launch="1 ns", communication="1 ns", sizes=SIZES)
    drawn = texts(sa.draw(fall))
    assert "-0.0%" not in drawn
    for line in str(fall).splitlines()[3:-4]:
        assert line.split()[-2] in drawn


def test_times_have_a_unit_that_keeps_them_short(at: Any) -> None:
    figure = sa.draw(at, of="time")
    figure.canvas.draw()
    ticks = [t.get_text() for t in figure.axes[0].get_xticklabels()]
    assert ticks[0] == "0 s"
    assert all(t.endswith("\u00b5s") for t in ticks[1:])


def test_names_of_regions_stay_inside() -> None:
    """Products rule in a corner alone."""
    found = (
        sa.account("b d, d k -> b k", k=8192).roofline("h100").regimes("b", "d", span={"b": (1, 400), "d": (1, 20000)})
    )
    figure = sa.draw(found)
    figure.canvas.draw()
    box = figure.axes[0].get_window_extent()
    (name,) = (t for t in figure.axes[0].texts if t.get_text() == "products")
    assert box.x0 <= name.get_window_extent().x0
    assert name.get_window_extent().x1 <= box.x1


@pytest.mark.parametrize("when", [0.1, 0.5, 0.9])
def test_the_peak_is_told_within_the_picture(when: float) -> None:
    from symacct.plot.memory import memory_chart

    line = sa.account(mlp, params=["up", "down"]).training(optimizer="adamw").memory.timeline(sizes=SIZES)
    count = len(line.totals)
    peak = int(when * count)
    roles = {"activations": [2.0e9 if i == peak else 1.0e9 for i in range(count)]}
    figure = memory_chart(replace(line, roles=roles))
    figure.canvas.draw()
    (told,) = (t for t in figure.axes[0].texts if "peak" in t.get_text())
    assert told.get_window_extent().x0 >= figure.axes[0].get_window_extent().x0 - 1
