"""Print files and functions over their size budget; fail on those over the hard limit.

A file should stay near 150 lines and must not pass 300. A function of symacct must not pass 40 lines of code:
docstrings, comments and blank lines are not counted.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("symacct", "graphs", "verify", "tests", "tools", "bench")
FILE_SOFT, FILE_HARD, FUNCTION_HARD = 150, 300, 40
NO_CODE = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_with_code(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = ((t.start[0], t.end[0]) for t in tokens if tokenize.tok_name[t.type] not in NO_CODE)
    return {line for first, last in spans for line in range(first, last + 1)}


def docstring_lines(function: Function) -> set[int]:
    first = function.body[0]
    if ast.get_docstring(function) is None or first.end_lineno is None:
        return set()
    return set(range(first.lineno, first.end_lineno + 1))


def function_sizes(text: str) -> Iterator[tuple[int, str, int]]:
    """Line, name and lines of code of each function, inner functions counted with the outer one as well."""
    code = lines_with_code(text)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)]
    docs = set().union(*(docstring_lines(function) for function in functions))
    for function in functions:
        body = set(range(function.lineno, (function.end_lineno or function.lineno) + 1))
        yield function.lineno, function.name, len(body & code - docs)


def over_budget(path: Path) -> Iterator[tuple[str, bool]]:
    """What is over budget in a file, each with whether that is an error."""
    text, place = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
    length = len(text.splitlines())
    if length > FILE_SOFT:
        yield f"{place}: {length} lines", length > FILE_HARD
    for line, name, size in function_sizes(text):
        if size > FUNCTION_HARD:
            yield f"{place}:{line} {name}: {size} lines of code", place.parts[0] == "symacct"


def main() -> int:
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    found = [finding for path in files for finding in over_budget(path)]
    for finding, hard in found:
        print("FAIL" if hard else "soft", finding)
    errors = sum(hard for _, hard in found)
    print(f"{len(files)} files: {errors} over a hard limit, {len(found) - errors} over a soft one")
    return int(errors > 0 or not files)


if __name__ == "__main__":
    sys.exit(main())
