"""Text -> `Reading`: characters, tokens, the statement, words, the grammar and units, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from symacct.answers.chains import refuse_unequal
from symacct.answers.evaluate import close, evaluate
from symacct.answers.text.grammar import Reach, parse
from symacct.answers.text.names import Names, names_for
from symacct.answers.text.printing import written
from symacct.answers.text.quantities import added_up, in_unit_of, per_behind, settle
from symacct.answers.text.statement import FLIPPED, Statement, split
from symacct.answers.text.tokens import Token, tokens_of
from symacct.answers.text.units import Unit, read_unit, unit_of
from symacct.answers.text.words import Words, sort_words
from symacct.answers.trees import inverse, joined, names_in, negated, nodes, replaced
from symacct.answers.types import Reading, Warned
from symacct.errors import AnswerError
from symacct.expr.tree import Leaf, Node, Tree

SHARE = (("share", 1),)
MOST_APART = Fraction(1, 20)
"""How far a number may be from what it is said to be about."""
_DIVISIONS = ("ambiguous_division", "missing_parentheses")


class _Source(NamedTuple):
    """What is read: the text, its statement, and the question's symbols and unit."""

    text: str
    statement: Statement
    names: Names
    wanted: Unit | None
    noticed: tuple[Warned, ...]


class _Way(NamedTuple):
    """One way to read what is ambiguous."""

    reach: Reach = "print"
    whole: bool = False
    last: bool = False
    """Whether of a number and what it is about, ``1.24e7 s ≈ 144 days``, the latter is read."""
    sides: bool = False
    """Whether a slash divides all that is before it by all that is behind."""
    convert: bool = True
    ending: bool = False
    """Whether a letter at the end is the unit asked for rather than a symbol: ``4BTD B`` in bytes."""


def read_answer(text: str, symbols: Mapping[str, str] | Iterable[str] = (), *, unit: str = "") -> Reading:
    r"""Read what a person wrote as an answer: an expression, its mode, its unit and what had to be guessed.

    Nothing in the text is ever evaluated as code.

    Parameters
    ----------
    text
        The answer, as ``"2BTD^2"``, ``r"\frac{n}{3}"``, ``"~143 days"``, ``"O(√L)"``, ``"N_DP < 1 + BW/C"``.
    symbols
        The question's symbols: names, or ``{name: meaning}``; meanings let aliases be read (``vocab_size`` for V).
    unit
        The unit the question asks for; the expression then counts in it.

    Returns
    -------
    A `Reading`.

    Raises
    ------
    AnswerError
        For text that is no formula, with a caret under the culprit.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.read_answer("2BTD²", "B T D").formula
    '2*B*T*D**2'
    >>> sa.read_answer("T/8D", "T D").alternatives[0].formula
    'T*D/8'

    """
    if not isinstance(text, str):
        raise AnswerError(f"an answer is text, not {type(text).__name__}")
    names = names_for(symbols)
    wanted = read_unit(unit)
    tokens, noticed = tokens_of(text)
    if not tokens:
        raise AnswerError("cannot read the answer: there is nothing in it")
    source = _Source(text, split(tokens, names, text), names, wanted, noticed)
    main = _read(source, _Way())
    others = _alternatives(source, main)
    return replace(main, alternatives=others, warnings=_with_both(main, others))


def _with_both(main: Reading, others: tuple[Reading, ...]) -> tuple[Warned, ...]:
    """Return the warnings, those of a division with both readings."""
    missing = [w for o in others for w in o.warnings if w.code == "missing_parentheses"]
    out: list[Warned] = []
    for warned in (*missing, *main.warnings):
        other = next((o for o in others if warned in o.warnings), None)
        both = f"read as {main.formula}; may also mean {other.formula}: parentheses would tell" if other else ""
        out.append(warned._replace(text=both) if both and warned.code in _DIVISIONS else warned)
    return tuple(dict.fromkeys(out))


def _alternatives(source: _Source, main: Reading) -> tuple[Reading, ...]:
    """Read the text in each other way that gives another formula."""
    ways = [_Way(sides=True)] if _may_divide_sides(source) else []
    if _may_end_in_unit(source):
        ways.append(_Way(ending=True))
    if any(w.code == "two_readings" for w in main.warnings):
        ways.append(_Way(whole=True))
    if any(w.code == "ambiguous_division" for w in main.warnings):
        ways += [_Way(reach="letter"), _Way(reach="all")]
    if len(source.statement.formulas) > 1 and source.statement.formulas[-1][0] == "≈":
        ways.append(_Way(last=True))
    if main.unit and source.wanted is None and main.dims != SHARE:
        ways.append(_Way(convert=False))
    out: dict[str, Reading] = {}
    for way in ways:
        try:
            other = _read(source, way)
        except AnswerError:
            continue
        if other.formula != main.formula and not (way.last and _is_far(main, other)):
            out.setdefault(other.formula, other)
    return tuple(out.values())


def _is_far(exact: Reading, rounded: Reading) -> bool:
    """Whether what is said to be about the same is not: in ``6ND ≈ 2ND``, and where two numbers of a unit differ."""
    if names_in(rounded.tree) or names_in(exact.tree):
        return bool(names_in(rounded.tree))
    if exact.dims != rounded.dims:
        return False
    return not close(evaluate(rounded.tree, {}), evaluate(exact.tree, {}), MOST_APART)


def _may_end_in_unit(source: _Source) -> bool:
    """Whether the last word is letters of the question and also the unit asked for, apart or behind a number."""
    tokens = source.statement.formulas[-1][1]
    if len(tokens) < 2 or source.wanted is None or not source.names.is_product(tokens[-1].text):
        return False
    unit = unit_of(tokens[-1].text)
    factor = tokens[-2].kind == "number" and (len(tokens) < 3 or tokens[-3].text not in ("^", "/"))
    apart = not tokens[-1].glued or factor  # but T^2B and D/2B are products
    return apart and unit is not None and unit.dims == source.wanted.dims


def _may_divide_sides(source: _Source) -> bool:
    """Whether a formula has sums on both sides of its only slash, which stands no closer: ``2n-1/4n+2``."""
    tokens = source.statement.formulas[-1][1]
    signs = [t.text for t in tokens if t.kind == "sign"]
    if signs.count("/") != 1 or set(signs) - set("+-/^*"):
        return False
    slash = next(i for i, t in enumerate(tokens) if t.text == "/")
    if tokens[slash].glued and any(t.text in ("+", "-") and not t.glued for t in tokens[1:]):
        return False  # 2n - 1/4n + 2
    sides = tokens[1:slash], tokens[slash + 1 :]
    return all(any(t.text in ("+", "-") for t in side) for side in sides)


def _read(source: _Source, way: _Way) -> Reading:
    text, statement, names, wanted, noticed = source
    written_out = [t.text for _, tokens in statement.formulas for t in tokens if t.kind == "word"]
    used = names.own(written_out)
    words = Words(text, names, wanted, list(noticed), {}, used=used, whole=way.whole, ending=way.ending)
    trees = _trees(statement.formulas, words, way)
    if statement.is_cases:
        trees = [("", Node("if", tuple(tree for _, tree in trees), 0))]
    if not statement.condition:
        refuse_unequal(trees, names)
    relation, tree, limit = _judged(trees, names, last=way.last)
    if statement.flipped:
        relation = FLIPPED.get(relation, relation)
    tree = _under(statement.condition, tree, words, way)
    for passed in statement.passed:
        words.warn("passed_over", f"{text[passed.start : passed.end]!r} is not judged", passed)
    mode = "approximate" if statement.approximate else "exact"
    tree, mode, remainder = _order(tree, mode)
    settled = settle(tree, convert=way.convert)
    settled = in_unit_of(settled, wanted) if way.convert else settled
    unknown = tuple(dict.fromkeys(n for n in names_in(settled.tree) if n not in names.symbols))
    return Reading(
        text=text,
        formula=written(settled.tree),
        mode=mode,
        unit=settled.unit,
        relation=relation if relation in FLIPPED else "",
        warnings=tuple(dict.fromkeys(words.warnings)),
        unknown=unknown,
        tree=settled.tree,
        dims=settled.dims,
        per=settled.per,
        bare_bound=statement.bare,
        limit=limit,
        remainder=remainder,
    )


def _trees(formulas: list[tuple[str, list[Token]]], words: Words, way: _Way) -> list[tuple[str, Tree]]:
    """Return the formulas as trees; what does not read before a sign of equality was a label."""
    out = []
    for i, (relation, tokens) in enumerate(formulas):
        try:
            out.append((relation, _tree(tokens, words, way)))
        except AnswerError:
            last = i + 1 == len(formulas) or formulas[i + 1][0] not in ("=", "≈", ":")
            if last or any(t.text in (",", ";") for t in tokens):  # one of several answers is no label
                raise
    return out


def _tree(tokens: list[Token], words: Words, way: _Way) -> Tree:
    sorted_out = added_up(sort_words(per_behind(tokens), words))
    if way.sides:
        slash = next(i for i, t in enumerate(sorted_out) if t.text == "/")
        above, below = (parse(side, words.text).tree for side in (sorted_out[:slash], sorted_out[slash + 1 :]))
        start = sorted_out[slash].start
        what = "by the letter only the terms next to this slash are divided; parentheses would tell"
        words.warnings.append(Warned("missing_parentheses", what, start, start + 1))
        return joined("*", [above, inverse(below)])
    parsed = parse(sorted_out, words.text, reach=way.reach)
    for start in dict.fromkeys(parsed.ambiguous):
        words.warnings.append(
            Warned(
                "ambiguous_division",
                "how far this sign reaches reads two ways; parentheses would tell",
                start,
                start + 1,
            )
        )
    return parsed.tree


def _judged(trees: list[tuple[str, Tree]], names: Names, *, last: bool) -> tuple[str, Tree, Tree | None]:
    """Return which of several formulas is judged, the relation before it, and the limit that was added."""
    if len(trees) == 1:
        return (*trees[0], None)
    relation, final = trees[-1]
    gained = set(names_in(final)) - set(names_in(trees[-2][1]))
    if relation == "→" and not gained:  # a limit has no more names, what follows from something may
        return trees[-2][0], trees[-2][1], final
    if relation == "≈" and not last:
        return trees[-2][0], trees[-2][1], final if any(n in names.symbols for n in names_in(final)) else None
    first = trees[0][1]
    strange = [n for n in names_in(first) if n not in names.symbols]
    if len(set(strange)) == 1 and (solved := _solved(first, strange[0], final)):
        return relation, solved, None
    symbolic = [(r, t) for r, t in trees if any(n in names.symbols for n in names_in(t))]
    return (*(symbolic or trees)[-1], None)


def _solved(left: Tree, name: str, right: Tree) -> Tree | None:
    """Solve ``N - 1 = right`` or ``2*N = right`` for N."""
    if isinstance(left, Leaf):
        return right
    mine = [p for p in left.parts if isinstance(p, Leaf) and p.text == name]
    rest = [p for p in left.parts if not (isinstance(p, Leaf) and p.text == name)]
    if len(mine) != 1 or any(name in names_in(p) for p in rest) or left.operator not in ("+", "*"):
        return None
    undo = negated if left.operator == "+" else inverse
    return joined(left.operator, [right, *(undo(p) for p in rest)])


def _under(condition: list[Token], tree: Tree, words: Words, way: _Way) -> Tree:
    """Put in what a condition says about a name that the question lacks: ``6D when F=4D`` is 3F/2."""
    at = next((i for i, t in enumerate(condition) if t.text == "="), 0)
    if not at:
        return tree
    try:
        left, right = _tree(condition[:at], words, way), _tree(condition[at + 1 :], words, way)
    except AnswerError:
        return tree
    strange = {n for n in names_in(tree) if n not in words.names.symbols}
    for name in strange:
        for one, other in ((left, right), (right, left)):
            if name in names_in(one) and name not in names_in(other) and (value := _solved(one, name, other)):
                return replaced(tree, name, value)
    return tree


def _order(tree: Tree, mode: str) -> tuple[Tree, str, Tree | None]:
    """Take ``O(...)`` off a whole answer; in a sum it is the remainder, which is left out."""
    if isinstance(tree, Node) and tree.operator == "order":
        return tree.parts[0], "order", None
    if isinstance(tree, Node) and tree.operator == "+":
        kept = [p for p in tree.parts if not nodes(p, ("order",))]
        if kept and len(kept) < len(tree.parts):
            left_out = nodes(tree, ("order",))[0].parts[0]
            return joined("+", kept), "approximate", left_out
    return tree, mode, None
