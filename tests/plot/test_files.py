"""Pictures as files, and what cannot be drawn."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import symacct as sa
from symacct.errors import (
    ConventionError,
    FileError,
    MissingPackageError,
    SizeError,
    UndefinedSizeError,
    UnknownAxisError,
)
from tests.graph.examples import GRAPHS, square

pytest.importorskip("matplotlib")

FILES = {path.stem: path for path in GRAPHS}


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".SVG"])
def test_files_are_written_by_suffix(suffix, tmp_path):
    path = tmp_path / f"picture{suffix}"
    account = sa.load_worked(FILES["mlp"]).account()
    assert sa.draw(account, path) == path
    first = path.read_bytes()
    start = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix.lower()]
    assert first.startswith(start)
    sa.draw(account, str(path))
    assert path.read_bytes() == first, "the same picture is the same file"


@pytest.mark.parametrize("which", ["multi_head_attention", "gated_mlp"])
def test_svg_has_labels_as_text(which, tmp_path):
    account = sa.load_worked(FILES[which]).account()
    path = tmp_path / "picture.svg"
    sa.draw(account, path)
    text = re.sub(r"&gt;", ">", path.read_text(encoding="utf-8"))
    for op in account.graph.ops:
        assert f">{op.label}</text>" in text
        assert f'id="op-0-{op.id}"' in text
    for i in account.graph.inputs:
        assert f">{account.graph.tensors[i].name}</text>" in text


REFUSED = {
    "another suffix": (
        {"path": "picture.jpg"},
        ConventionError,
        r"cannot write 'picture.jpg'; a picture is one of .pdf",
    ),
    "no suffix": ({"path": "picture"}, ConventionError, "cannot write 'picture'"),
    "a ridge of nothing": ({"ridge": 0}, SizeError, "a ridge of 0 FLOP/B; it is a positive number"),
    "a ridge below": ({"ridge": -1}, SizeError, "a ridge of -1"),
    "no ridge": ({"ridge": float("nan")}, SizeError, "a ridge of nan"),
    "no end": ({"ridge": float("inf")}, SizeError, "a ridge of inf"),
    "a size too few": ({"sizes": {"b": 2}}, UndefinedSizeError, "no number for d, f, s"),
    "a size too many": ({"sizes": {"b": 2, "s": 2, "d": 2, "f": 2, "q": 2}}, UnknownAxisError, "no axis 'q' to size"),
    "no sizes": ({"sizes": {}}, UndefinedSizeError, "no number for b"),
}


@pytest.mark.parametrize(("options", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_drawn_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        sa.draw(sa.load_worked(FILES["mlp"]).account(), **options)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"drawing needs matplotlib: pip install 'symacct\[plot\]'"):
        sa.draw(sa.account(square))


def test_matplotlib_is_loaded_by_drawing_alone():
    script = (
        "import sys, symacct as sa\n"
        "sa.draw\n"
        "a = sa.account(lambda x: x + 1, x='n'); str(a); a.graph.to_text('dot')\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sa.draw(a)\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_names_with_dollars_are_no_formulas(tmp_path):
    def layer(x: "n"):
        return sa.opaque("costs $x^{ and $2", [x], [(3,)])

    path = tmp_path / "picture.svg"
    sa.draw(sa.account(layer), path)
    assert ">costs $x^{ and $2</text>" in path.read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    fall = sa.account("i k, k j -> i j", i=8, k=8, j=8).mfu_bound("h100")
    curve = sa.checkpoint_curve([sa.Stage(2, 1, 3)] * 4)
    (tmp_path / "folder.svg").mkdir()
    for path in (tmp_path / "none" / "x.png", tmp_path / "folder.svg"):
        with pytest.raises(FileError, match=f"'{path}' cannot be written: "):
            sa.draw(fall, path)
        with pytest.raises(FileError, match=f"'{path}' cannot be written: "):
            curve.draw(path)


def test_a_long_formula_is_cut_and_not_left_out(tmp_path):
    path = tmp_path / "picture.svg"
    sa.draw(sa.account("a b c d e f g, a b c d e f h -> g h", convention="exact"), path)
    assert "g*h*(2*a*b*c*d*e*f - 1) FLOP" in path.read_text(encoding="utf-8")
    sa.draw(sa.account("aaa bbb ccc ddd eee fff ggg, aaa bbb ccc ddd eee fff hhh -> ggg hhh"), path)
    assert re.search(r">2\*aaa\*bbb\*ccc[^<]*\.\.\. FLOP<", path.read_text(encoding="utf-8"))
