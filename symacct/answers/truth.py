"""What an answer is compared with: a formula, an einsum pattern, a graph, an account, or a worked file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from symacct.accounting import QUANTITIES, Account, Quantity
from symacct.answers.evaluate import evaluate
from symacct.answers.reading import SHARE, read_answer
from symacct.answers.text.names import Names, names_for
from symacct.answers.text.units import read_unit
from symacct.answers.text.vocabulary import FUNCTIONS
from symacct.api import account
from symacct.conventions import PRESETS, convention_of
from symacct.errors import AnswerError, ConventionError, ExpressionError, GraphError, SymacctError, one_of
from symacct.expr import Expr, terms_of, to_text
from symacct.expr.tree import Tree
from symacct.worked import account_of_file

_NAME = re.compile(r"[^\W\d]\w*(?!\w*\s*\()")
_FILE = re.compile(r"\.(py(:\w+)?|json)$")


@dataclass(frozen=True, slots=True)
class Truth:
    """The right answer as a tree, what it is under other conventions, its named parts, and how it comes about."""

    text: str
    tree: Tree
    names: Names
    unit: str = ""
    relation: str = ""
    others: Mapping[str, Tree] = field(default_factory=dict)
    parts: tuple[tuple[str, Tree], ...] = ()
    derivation: tuple[str, ...] = ()


def seem_flops(right: Expr | None, names: Names) -> bool:
    """Whether a formula without a unit counts FLOPs: twice products of three sizes or more, and nothing that is kept.

    Two bytes a value times the sizes of a cache look alike, so meanings that speak of those say no.
    """
    terms = {} if right is None else terms_of(right)
    kept = any(
        re.search(r"byte|bit|cache|kv|param|element", meaning, re.IGNORECASE) for meaning in names.symbols.values()
    )
    doubled = all(type(c) is int and c % 2 == 0 and sum(e for _, e in m if e > 0) >= 3 for m, c in terms.items())
    return bool(terms) and doubled and not kept


def truth_of(
    truth: Any,
    symbols: Mapping[str, str] | Iterable[str] = (),
    *,
    unit: str = "",
    quantity: str = "flops",
    convention: str = "2n",
    conventions: Mapping[str, str] | None = None,
) -> Truth:
    """Return the truth that a person stated.

    Raises
    ------
    SymacctError
        For a truth that does not read, or has names that are not among the symbols.

    """
    if unit and read_unit(unit) is None:
        raise ConventionError(
            f"no unit {unit!r}; there are bytes, FLOPs, seconds, days, tokens, % and the like, and ratios of them"
        )
    if isinstance(truth, Account):
        return _of_account(truth, symbols, unit, quantity, conventions)
    if isinstance(truth, str) and "->" in truth:
        made = account(truth, convention=convention)
        return _explained(_of_account(made, symbols, unit, quantity, conventions), truth, quantity)
    if isinstance(truth, str) and _FILE.search(truth.strip()):
        return _of_account(account_of_file(truth.strip(), convention=convention), symbols, unit, quantity, conventions)
    if hasattr(truth, "ops") and hasattr(truth, "tensors"):
        return _of_account(account(truth, convention=convention), symbols, unit, quantity, conventions)
    if quantity != "flops":
        raise ConventionError(
            f"{quantity!r} chooses among the totals of a pattern, a graph or a file; this truth is its own"
        )
    if isinstance(truth, Quantity):
        return _of_text(str(truth.value), symbols, unit or truth.unit, conventions)
    return _of_text(_text_of(truth), symbols, unit, conventions)


def _text_of(truth: Any) -> str:
    if isinstance(truth, float):
        return repr(truth)
    if callable(truth) or isinstance(truth, list | tuple | dict | bool) or truth is None:
        raise ExpressionError(
            f"a truth is a formula, a pattern, a graph, an account or a file, not {type(truth).__name__}"
        )
    return str(truth)


def _of_text(
    text: str, symbols: Mapping[str, str] | Iterable[str], unit: str, conventions: Mapping[str, str] | None
) -> Truth:
    names = names_for(symbols or _names_of_formula(text))
    try:
        reading = read_answer(text, _plain(names), unit=unit)
        if not unit and reading.dims != SHARE:  # answers are read in the unit of the truth, and so is it
            unit = reading.unit
            reading = read_answer(text, _plain(names), unit=unit) if unit else reading
    except AnswerError as error:
        raise ExpressionError(str(error).replace("the answer", "the truth", 1)) from None
    if reading.unknown:
        known = one_of(names.symbols)
        raise ExpressionError(
            f"the truth {text!r} has {one_of(reading.unknown)}, which is none of the symbols: {known}"
        )
    if reading.mode == "order":
        raise ExpressionError(f"the truth {text!r} is an order; state the formula, and mode='order'")
    if any(w.code == "ambiguous_division" for w in reading.warnings):
        raise ExpressionError(f"the truth {text!r} reads two ways; write the parentheses")
    others = {n: read_answer(t, _plain(names), unit=unit).tree for n, t in (conventions or {}).items()}
    if not any(n in text for n in names.symbols):
        evaluate(reading.tree, {})
    return Truth(text, reading.tree, names, unit, reading.relation, others)


def _plain(names: Names) -> dict[str, str]:
    """Return the symbols without their meanings: a truth is written in the symbols themselves."""
    return dict.fromkeys(names.symbols, "")


def _names_of_formula(text: str) -> list[str]:
    try:
        if not read_answer(text, {}).unknown:  # a number, with or without a unit
            return []
    except AnswerError:
        pass
    found = (n for n in _NAME.findall(re.sub(r"\b\d[\d_.]*([eE][+-]?\d+)?", " ", text)) if n not in FUNCTIONS)
    return list(dict.fromkeys(found))


def _explained(truth: Truth, pattern: str, quantity: str) -> Truth:
    """Add how the total of a pattern comes about, in sentences."""
    from symacct.explanation import explain

    if quantity not in ("flops", "bytes", "intensity"):
        return truth
    lines = [f"{label}: {text}" for block in explain(pattern, of=quantity).derivation for label, text in block.lines]
    return replace(truth, derivation=tuple(lines))


def _of_account(
    made: Account,
    symbols: Mapping[str, str] | Iterable[str],
    unit: str,
    quantity: str,
    conventions: Mapping[str, str] | None,
) -> Truth:
    if quantity not in QUANTITIES:
        raise ConventionError(f"no quantity {quantity!r}; there are {one_of(QUANTITIES)}")
    if made.uncounted:
        raise GraphError(f"a truth must count everything; not counted here: {one_of(made.uncounted)}")
    text = to_text(made.total(quantity))
    out = _of_text(text, symbols or made.names, unit or made.unit(quantity), conventions)
    others = {**_under_other_conventions(made, quantity, out), **out.others}
    parts = _parts(made, quantity, out)
    lines = (*(f"{name}: {to_text(x)}" for name, x in _steps(made, quantity)), f"together: {text}")
    return Truth(out.text, out.tree, out.names, out.unit, "", others, parts, lines)


def _under_other_conventions(made: Account, quantity: str, truth: Truth) -> dict[str, Tree]:
    if quantity == "bytes":
        return {}
    out: dict[str, Tree] = {}
    for name in PRESETS:
        try:
            text = to_text(replace(made, convention=convention_of(name)).total(quantity))
        except SymacctError:  # a convention in which this has no single number is no truth
            continue
        if text != truth.text:
            out[name] = read_answer(text, _plain(truth.names)).tree
    return out


def _steps(made: Account, quantity: str) -> list[tuple[str, Expr]]:
    """Return what each kind of operation adds to a total."""
    if quantity not in ("flops", "bytes") or len(made.graph.ops) < 2:
        return []
    if quantity == "bytes" and made.traffic == "compulsory":
        return made.traffic_terms()
    return [(part.name, getattr(part, quantity)) for part in made.by("kind").parts]


def _parts(made: Account, quantity: str, truth: Truth) -> tuple[tuple[str, Tree], ...]:
    return tuple(
        (name, read_answer(to_text(x), _plain(truth.names)).tree) for name, x in _steps(made, quantity) if x != 0
    )
