"""What all charts share: colours that print and that the colour-blind tell apart, axes without clutter, files."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symacct.errors import ConventionError, FileError, MissingPackageError, one_of

SUFFIXES = (".pdf", ".png", ".svg")
INK, FAINT, GRID = "#202020", "#6e6e6e", "#d4d4d4"
BOUNDS: Mapping[str, str] = {"memory": "#f5c870", "compute": "#2f6ea5", "launch": "#d9d9d9"}
HATCHES: Mapping[str, str] = {"memory": "", "compute": "", "launch": "////"}
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#666666")
"""Okabe and Ito's colours; lines differ in dashes besides."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
FONT, SMALL = 9.0, 7.5


def check_path(path: str | Path | None) -> None:
    """Check that a picture can be written under this name, before it is made.

    Raises
    ------
    ConventionError
        For another kind of file.

    """
    if not isinstance(path, str | Path | None):
        msg = f"{path!r} is no path to write to; sizes and ridge are given by name"  # type: ignore[unreachable]
        raise ConventionError(msg)
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        msg = f"cannot write {str(path)!r}; a picture is one of {one_of(SUFFIXES)}"
        raise ConventionError(msg)


def need_matplotlib() -> None:
    """Load matplotlib.

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    """
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        msg = "drawing needs matplotlib: pip install 'symacct[plot]'"
        raise MissingPackageError(msg) from None


def chart(title: str, under: str, *, width: float = 7.2, height: float = 4.6) -> tuple[Any, Any]:
    """Return a figure and axes, with a title above and what it holds for below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(shortened(title, 70), fontsize=FONT + 1, weight="bold", color=INK, loc="left", parse_math=False)
    kept = under.replace(" = ", "\u00a0=\u00a0")  # a size stays with its name
    wrapped = "\n".join(part for line in kept.splitlines() for part in textwrap.wrap(line, 112))
    figure.supxlabel(wrapped, fontsize=SMALL, color=FAINT, x=0.01, ha="left", parse_math=False)
    axes.tick_params(labelsize=SMALL + 0.5, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes


def shortened(text: str, longest: int) -> str:
    """Cut a text that is too long for its place."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def save(figure: Any, path: str | Path | None) -> Any:
    """Write a figure and return the path, or return the figure where there is no path; text stays text in SVG.

    Raises
    ------
    FileError
        Where it cannot be written.

    """
    if path is None:
        return figure
    import matplotlib as mpl

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(Path(path).suffix.lower())
    rc: Any = {"svg.fonttype": "none", "svg.hashsalt": "symacct", "pdf.fonttype": 42, "hatch.linewidth": 0.4}
    try:
        with mpl.rc_context(rc):
            figure.savefig(path, dpi=200, metadata=undated)
    except OSError as error:
        msg = f"the picture {str(path)!r} cannot be written: {error.strerror}"
        raise FileError(msg) from None
    return Path(path)
