"""Print which tests and worked graphs cover which claim of the lecture, from the source without running it.

A test names its claims with `@pytest.mark.claim("S18", "S19")`, on itself, its class, as `pytestmark` or in
the `marks` of a parameter; a worked graph names them with `claims=("S48",)`. With `--json` it prints JSON.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests", "verify", "graphs")
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def claim_ids(node: ast.AST) -> list[ast.expr]:
    """The expressions that state ids, if this node is a claim mark or a `claims=` argument."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.mark.claim", "mark.claim"}:
        return node.args
    if isinstance(node, ast.keyword) and node.arg == "claims":
        if any(isinstance(n, ast.Name) and n.id == "claims" for n in ast.walk(node.value)):
            return []  # passed on: the literals stand where they come from
        if isinstance(node.value, ast.Dict):
            return [ident for value in node.value.values for ident in getattr(value, "elts", [value])]
        return node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else [node.value]
    return []


def claims_in(node: ast.AST, place: str) -> Iterator[tuple[str, str]]:
    """Pairs of a claim and the test, class or file that names it, for everything below a node."""
    for child in ast.iter_child_nodes(node):
        here = f"{place}::{child.name}" if isinstance(child, Named) else place
        for ident in claim_ids(child):
            if not (isinstance(ident, ast.Constant) and isinstance(ident.value, str)):
                raise SystemExit(f"{here}: a claim must be a literal string, not {ast.unparse(ident)}")
            yield ident.value, here
        yield from claims_in(child, here)


def natural(ident: str) -> list[tuple[int, str]]:
    """Order S9 before S10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", ident)]


def record() -> dict[str, list[str]]:
    covered: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for ident, place in claims_in(tree, str(path.relative_to(ROOT))):
            covered[ident].add(place)
    return {ident: sorted(covered[ident]) for ident in sorted(covered, key=natural)}


def main() -> None:
    claims = record()
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(claims, indent=2))
        return
    for ident, places in claims.items():
        print(f"{ident:<6}{places[0]}", *(f"{'':<6}{place}" for place in places[1:]), sep="\n")
    print(f"{len(claims)} claims covered in {len({p for places in claims.values() for p in places})} places")


if __name__ == "__main__":
    main()
