"""Read a key: the questions of an assignment in TOML, with the line of whatever is wrong in it."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from symacct.answers.mistakes import MISTAKES
from symacct.answers.question import MODES
from symacct.answers.text.units import read_unit
from symacct.api import account
from symacct.conventions import PRESETS
from symacct.errors import SymacctError, nearest, one_of
from symacct.grading.fields import Fields
from symacct.grading.files import read_text
from symacct.grading.layouts import RESERVED
from symacct.grading.lines import places
from symacct.grading.submissions import folded
from symacct.grading.tables import read_toml
from symacct.grading.truths import judged_by
from symacct.grading.types import Key, Question, Truth

TRUTHS = ("formula", "pattern", "graph")
OPTIONS = ("sizes", "convention", "dtype", "traffic", "order", "fuse", "layout")
KNOWN = (
    *("id", "prompt", "symbols", *TRUTHS, "of", *OPTIONS, "mode", "tolerance", "var", "at", "unit", "points"),
    *("conventions", "accept", "partial", "hints", "right", "wrong"),
)
ID_LENGTH = 60
MOST_POINTS = 10**6


def read_key(path: str | Path) -> Key:
    """Read a key from a file of TOML.

    Parameters
    ----------
    path
        A file with a `title` and an array of tables `question`; ``examples/README.md`` says what a question has. A
        worked graph (``graph = "mlp.py"``) that it names is executed.

    Returns
    -------
    Key

    Raises
    ------
    FileError
        For a file that does not read as TOML.
    KeyFileError
        With the line: for an unknown, missing or second name, a value of another kind, a truth that does not read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "key.toml"
    >>> _ = file.write_text('''[[question]]
    ... id = "matmul"
    ... prompt = "FLOPs of x @ w?"
    ... symbols = { B = "rows", D = "width", K = "outputs" }
    ... formula = "2*B*D*K"
    ... ''')
    >>> read_key(file).questions[0].truth.text
    '2*B*D*K'

    """
    file = Path(path)
    text = read_text(file)
    table = read_toml(text, file.name, Decimal)
    top_lines, lines = places(text, "question")
    top = Fields(file.name, table, top_lines)
    top.only(("title", "question"))
    tables = table.get("question")
    if not isinstance(tables, list) or not tables or len(lines) != len(tables):
        top.fail("question", "a key has its questions in tables that begin with [[question]], one each")
    parts = [Fields(file.name, part, where) for part, where in zip(tables, lines, strict=True)]
    questions = tuple(_question(part, file.parent) for part in parts)
    taken: dict[str, int] = {}
    for question, part in zip(questions, parts, strict=True):
        name = folded(question.id)  # as answers name it
        if name in taken:
            part.fail("id", f"the id {question.id!r} is taken by the question of line {taken[name]}")
        taken[name] = question.line
    return Key(top.texts("title") if "title" in table else {"": file.stem}, questions, str(file))


def _question(fields: Fields, folder: Path) -> Question:
    fields.only(KNOWN)
    for name in ("id", "prompt"):
        if name not in fields.table:
            fields.fail("", f"this question has no {name!r}")
    name = fields.text("id").strip()
    if not name or len(name) > ID_LENGTH or not name.isprintable():
        fields.fail("id", f"an id has 1 to {ID_LENGTH} printable characters")
    if name.casefold() in RESERVED:
        fields.fail(
            "id", f"{name!r} is no id: in files of answers it means something else, as do {', '.join(sorted(RESERVED))}"
        )
    mode = fields.text("mode", "exact")
    if mode not in MODES:
        fields.fail("mode", f"unknown mode {mode[:60]!r}; known: {one_of(MODES)}.{nearest(mode, MODES)}")
    question = Question(
        id=name,
        prompt=fields.texts("prompt"),
        truth=_truth(fields, folder),
        symbols=fields.names("symbols"),
        mode=mode,
        rtol=fields.number("tolerance", low=0, high=0.5),
        var=fields.list("var"),
        at=fields.words("at"),
        unit=fields.text("unit"),
        points=cast("float", fields.number("points", low=0, high=MOST_POINTS, default=1)),
        conventions=fields.words("conventions"),
        accept=fields.list("accept"),
        partial=fields.numbers("partial", low=0, high=1),
        hints=fields.listed_texts("hints"),
        right=fields.list("right"),
        wrong=fields.words("wrong"),
        line=fields.lines.get("", 1),
    )
    _check(question, fields)
    return question


def _truth(fields: Fields, folder: Path) -> Truth:
    given = [kind for kind in TRUTHS if kind in fields.table]
    if len(given) != 1:
        found = f"has {one_of(given)}" if given else "has none"
        fields.fail(given[1] if given else "", f"a question has one truth, {' or '.join(TRUTHS)}; this one {found}")
    kind = given[0]
    options: dict[str, Any] = {name: fields.text(name) for name in OPTIONS if name in fields.table and name != "sizes"}
    if "sizes" in fields.table:
        options["sizes"] = fields.words("sizes")
    if kind == "formula" and (foreign := [*options, *(n for n in ("of",) if n in fields.table)]):
        fields.fail(foreign[0], f"{foreign[0]!r} belongs to a pattern or a graph; this truth is a formula")
    text = fields.text(kind)
    if kind == "graph":
        if not re.search(r"\.(py(:\w+)?|json)$", text):
            fields.fail(kind, f"a graph is a file that ends in .py or .json, or file.py:function; not {text[:60]!r}")
        text = str(folder / text)
    return Truth(cast("Any", kind), text, fields.text("of", "flops"), options)


def _check(question: Question, fields: Fields) -> None:
    """Try whether the truth reads and the names are known; whether the truth is true is for the lint to say."""
    for name, names in (("var", question.var), ("at", question.at)):
        for n in names:
            if question.symbols and n not in question.symbols:
                fields.fail(name, f"{n[:60]!r} is none of the symbols, {one_of(question.symbols)}")
    conventions = (*PRESETS, *question.conventions)
    named = [("wrong", code, (*MISTAKES, *conventions)) for code in question.wrong.values() if code]
    named += [("partial", code, (*MISTAKES, *conventions)) for code in question.partial]
    named += [("accept", name, conventions) for name in question.accept]
    for field, code, known in named:
        if code not in known:
            what = "convention" if field == "accept" else "mistake or convention"
            made = f"; a form of one's own has a name: conventions = {{ name = {code[:60]!r} }}, {field} = ['name']"
            hint = made if field == "accept" and not code.isidentifier() else "." + nearest(code, known)
            fields.fail(field, f"no {what} is called {code[:60]!r}; known: {', '.join(known)}{hint}")
    if question.unit and read_unit(question.unit) is None:
        fields.fail("unit", f"the unit {question.unit[:60]!r} is not known")
    _check_sizes_of_pattern(question, fields)
    try:
        judged_by(question)
    except SymacctError as error:
        fields.fail(question.truth.kind, f"the truth does not read: {error}")


def _check_sizes_of_pattern(question: Question, fields: Fields) -> None:
    """Complain about a pattern whose sizes have other names than the symbols: answers could not be held against it."""
    if question.truth.kind != "pattern" or not question.symbols:
        return
    try:
        names = account(question.truth.text, **question.truth.options).names
    except SymacctError as error:
        fields.fail("pattern", f"the truth does not read: {error}")
    if strange := [n for n in names if n not in question.symbols]:
        given = f"sizes = {{ {strange[0]} = '{next(iter(question.symbols))}' }}"
        which = f"its sizes {one_of(strange)} are none of the symbols, {one_of(question.symbols)}"
        fields.fail("pattern", f"the truth does not read: {which}; rename them, or give {given}")
