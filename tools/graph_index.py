"""Write graphs/README.md, the index of the worked graphs with their formulas: `python tools/graph_index.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import symacct as sa

GRAPHS = Path(__file__).resolve().parents[1] / "graphs"
QUANTITIES = ("flops", "matmul_flops", "params", "bytes", "flash_bytes")
HEAD = """\
# Worked graphs

One layer or model a file, written with einops and symacct, with its closed forms derived by hand and the torch code
that it agrees with. Copy one to start a layer of your own; a file of yours needs no more than the function.

    symacct account graphs/llama.py
    symacct account graphs/llama.py b=1 L=32 d=4096 g=8 r=4 k=128 f=14336 v=128256
    symacct memory mine.py --params w,v --optimizer adamw

An optimizer must know which arguments are parameters: by `--params`, or by `worked = sa.Worked(layer, params=("w",))`
in the file, as below.

`python -m verify --room worked` holds every form against the engine, torch's counter, and programs that count. Forms
are forward, under the convention `2n` with the lecture's weights; bytes are unfused, in bf16, and flash bytes those
under `fuse="flash"`.

Letters: b batch, s queries, t keys, d model width, f hidden width, h heads, g heads of keys and values, r heads of
queries for each of these, k width of a head, v vocabulary, L layers; what else a file needs it says.

`tools/graph_index.py` writes this page from the files.
"""


def entry(path: Path) -> Iterator[str]:
    """Yield the lines on one graph."""
    worked = sa.load_worked(path)
    about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    yield f"\n## [{path.stem}]({path.name})\n"
    yield f"{_prose(about)}\n"
    yield f"| | {_prose(worked.note)} |\n|---|---|"
    yield from (f"| {q} | `{worked.formulas[q]}` |" for q in QUANTITIES if q in worked.formulas)
    if worked.claims:
        yield f"| claims of the lecture | {', '.join(worked.claims)} |"


def _prose(text: str) -> str:
    """Return text in which a product is no emphasis."""
    return text.replace("*", r"\*")


def index() -> str:
    """Return the page."""
    return "\n".join([HEAD.rstrip(), *(line for path in sorted(GRAPHS.glob("*.py")) for line in entry(path)), ""])


def main() -> None:
    (GRAPHS / "README.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main()
