"""Tables as text and HTML, and LaTeX blocks; they know rows, not what the rows mean."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape

WIDTH = 80


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Return a plain table of at most 80 columns; long cells wrap.

    Examples
    --------
    >>> print(table(["quantity", "formula"], [["flops", "2*b*d*k"], ["bytes", "2*(b*d + b*k + d*k)"]]))
     quantity   formula
     flops      2*b*d*k
     bytes      2*(b*d + b*k + d*k)

    """
    from io import StringIO

    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    grid = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 3, 0, 0))
    for i, header in enumerate(headers):
        grid.add_column(header, overflow="fold", no_wrap=False, min_width=6 if i else None)
    for row in _fitted(headers, rows):
        grid.add_row(*(Text(cell) for cell in row))
    if title:
        console.print(Text(title))
    console.print(Padding(grid, (0, 0, 0, 1)))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _fitted(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Break cells that are too long for the table behind an operator or a comma, the widest column first."""
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    spare = WIDTH - 1 - 3 * len(widths)
    while sum(widths) > spare and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    for row in cells:
        row[:] = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    return cells


_NARROWEST = 12


def _broken(cell: str, width: int) -> str:
    if max(map(len, cell.split()), default=0) <= width:
        return cell  # words, which break at their spaces
    lines, line = [], ""
    for part in re.findall(r"[^*+/,\s-]*(?:\*\*|[*+/,\s-])*", cell):
        if line and len(line.rstrip()) + len(part.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += part
    return "\n".join([*lines, line])


def percent(share: float, sign: str = "") -> str:
    """Write a share with one decimal, a small one with two digits, so that only nothing is written as nothing.

    Examples
    --------
    >>> percent(0.4321), percent(0.000123), percent(0), percent(0.25, "+")
    ('43.2%', '0.012%', '0.0%', '+25.0%')

    """
    return f"{100 * share:{sign}.2g}%" if 0 < abs(share) < 0.001 else f"{share:{sign}.1%}"


def footnote(text: str) -> str:
    """Return a text below a table, one column in, broken at 80 columns; a name stays with its size.

    Examples
    --------
    >>> print(footnote("NVIDIA H100 SXM5; b = 64, d = 4096"))
     NVIDIA H100 SXM5; b = 64, d = 4096

    """
    kept = text.replace(" = ", "\0=\0")
    filled = textwrap.fill(kept, WIDTH, initial_indent=" ", subsequent_indent=" ", break_long_words=False)
    return filled.replace("\0", " ")


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Return an HTML table; cells that start with ``$`` are left for the notebook to typeset."""
    head = "".join(f"<th style='text-align:left'>{escape(h)}</th>" for h in headers)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in row) + "</tr>" for row in rows
    )
    caption = f"<caption style='text-align:left'><code>{escape(title)}</code></caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    r"""Return a LaTeX ``aligned`` block of equations.

    Examples
    --------
    >>> print(aligned([("flops", "2 b d k")]))
    \begin{aligned}
    \text{flops} &= 2 b d k
    \end{aligned}

    """
    lines = " \\\\\n".join(rf"\text{{{left.replace('_', chr(92) + '_')}}} &= {right}" for left, right in rows)
    return "\\begin{aligned}\n" + lines + "\n\\end{aligned}"
