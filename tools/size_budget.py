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
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_with_code(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = ((t.start[0], t.end[0]) for t in tokens if t.type not in LAYOUT)
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


def main() -> int:
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    failed = False
    for path in files:
        text, place = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        length = len(text.splitlines())
        if length > FILE_SOFT:
            over = length > FILE_HARD
            failed |= over
            print(f"{'FAIL' if over else 'soft'}  {place}: {length} lines ({FILE_HARD if over else FILE_SOFT})")
        for line, name, size in function_sizes(text):
            if size > FUNCTION_HARD:
                over = place.parts[0] == "symacct"
                failed |= over
                print(f"{'FAIL' if over else 'soft'}  {place}:{line} {name}: {size} lines of code ({FUNCTION_HARD})")
    print(f"{len(files)} files looked at: {'over a hard limit' if failed else 'none over a hard limit'}")
    return int(failed or not files)


if __name__ == "__main__":
    sys.exit(main())
