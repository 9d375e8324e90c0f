"""What an answer means for its question: its unit against the unit asked for, its symbols against the question's."""

from __future__ import annotations

from typing import NamedTuple

from symacct.answers.algebra import expanded
from symacct.answers.reading import SHARE
from symacct.answers.text.names import Names
from symacct.answers.text.units import Unit, read_unit
from symacct.answers.trees import ONE, joined, names_in, nodes, replaced
from symacct.answers.truth import Truth, seem_flops
from symacct.answers.types import Finding, Reading, Warned
from symacct.errors import one_of
from symacct.expr import terms_of
from symacct.expr.tree import Leaf, Node, Tree

_BOUNDS = {"ceil": ">", "floor": "<"}
Dims = tuple[tuple[str, int], ...]


class Meant(NamedTuple):
    """The formula to compare, what is to be said, and why it cannot be right whatever its value."""

    tree: Tree
    warnings: tuple[Warned, ...] = ()
    refused: tuple[Finding, ...] = ()
    otherwise: Tree | None = None
    """What is compared if that is wrong: "per token" may only repeat what the question asks."""


def meant_by(reading: Reading, truth: Truth) -> Meant:
    """Fit an answer to its question."""
    if two := next((w for w in reading.warnings if w.code == "two_meanings"), None):
        return Meant(reading.tree, (), (Finding("symbol_with_two_meanings", two.text),))
    wanted = read_unit(truth.unit)
    if _is_bound(reading, truth):
        return Meant(reading.tree, (), (Finding("bound_for_value", reading.text.strip()),))
    if reading.unknown:
        if (coefficient := _coefficient(reading, wanted, truth)) is not None:
            return coefficient
        return Meant(reading.tree, (), (Finding("unknown_symbol", one_of(reading.unknown)),))
    if finding := _unit_mismatch(reading, wanted, truth):
        return Meant(reading.tree, (), (finding,))
    return _per_noun(reading, wanted, truth)


def _is_bound(reading: Reading, truth: Truth) -> bool:
    """Whether an answer is a bound on what is asked for; a threshold of sizes is one: ``N < 1 + BW/C``."""
    if not reading.relation or truth.relation:
        return False
    if isinstance(truth.tree, Node) and _BOUNDS.get(truth.tree.operator) == reading.relation:
        return False  # at least 3 devices is ceil(2.4) of them
    unit = read_unit(truth.unit)
    return reading.bare_bound or len(reading.dims) == 1 or (unit is not None and len(unit.dims) == 1)


def _coefficient(reading: Reading, wanted: Unit | None, truth: Truth) -> Meant | None:
    """Take ``12P`` for 12 where the question asks for an amount a parameter and has no symbols."""
    if not (wanted and wanted.per) or len(reading.unknown) != 1 or truth.names.symbols:
        return None
    tree = reading.tree
    factors = tree.parts if not isinstance(tree, Leaf) and tree.operator == "*" else (tree,)
    letter = reading.unknown[0]
    rest = [f for f in factors if not (isinstance(f, Leaf) and f.text == letter)]
    if len(rest) != len(factors) - 1 or letter in names_in(joined("*", rest)):
        if not all(letter in names_in(p) for p in getattr(tree, "parts", ())):
            return None
        rest = [replaced(tree, letter, ONE)]
    note = Warned("coefficient", f"the amount for one {letter} is compared", 0, len(reading.text))
    return Meant(joined("*", rest), (note,))


def _unit_mismatch(reading: Reading, wanted: Unit | None, truth: Truth) -> Finding | None:
    if not truth.unit and "MAC" in dict(reading.dims) and seem_flops(expanded(truth.tree), truth.names):
        return Finding("macs_for_flops", reading.unit)
    if wanted is None or not reading.unit or (reading.dims == SHARE and (not truth.unit or names_in(reading.tree))):
        return None
    wrong = Finding("wrong_unit", f"{reading.unit}, not {truth.unit}")
    alike = ("/" in reading.unit) == ("/" in truth.unit)
    if alike and reading.per and wanted.per and reading.per != wanted.per:
        return wrong
    if _is_per_other(reading, wanted, truth):
        return wrong
    given, asked = dict(reading.dims), dict(wanted.dims)
    if given == asked:
        return None
    if "MAC" in given and "FLOP" in asked:
        return Finding("macs_for_flops", reading.unit)
    if not given:  # per token alone says nothing of what is counted
        return None if "/" in reading.unit else wrong
    return None if asked in (_with_symbols(reading, truth), _above(given, reading)) else wrong


def _with_symbols(reading: Reading, truth: Truth) -> dict[str, int]:
    """Return the dimensions of an answer and of its symbols, as ``4BTD bytes / W`` with W in bytes/s is in seconds."""
    found = []
    value = expanded(reading.tree)
    for term in terms_of(value) if value is not None else ():
        dims = dict(reading.dims)
        for symbol, power in term:
            unit = read_unit(truth.names.symbols.get(symbol, ""))
            for name, count in unit.dims if unit else ():
                dims[name] = dims.get(name, 0) + count * int(power)
        found.append({name: count for name, count in dims.items() if count})
    return found[0] if found and all(dims == found[0] for dims in found) else dict(reading.dims)


def _above(given: dict[str, int], reading: Reading) -> dict[str, int]:
    """Return the dimensions above a fraction of sizes: n elements over bytes a second are seconds."""
    above = {name: power for name, power in given.items() if power > 0}
    return above if names_in(reading.tree) and list(above) == ["s"] else given


def _is_per_other(reading: Reading, wanted: Unit, truth: Truth) -> bool:
    """Whether an amount is that for one of something, where the question asks for all and does not say how many."""
    if "/" not in reading.unit or not reading.per or reading.per == wanted.per:
        return False
    if reading.per == "element" and not truth.names.symbols:  # bits per value are those of a format
        return False
    symbol = _counted(reading.per, truth.names)
    if not symbol:
        return True
    trails = reading.text.rstrip(" .").endswith(reading.unit.rpartition("/")[2])  # not in 16 bytes/param * P
    divided = any(symbol in names_in(below) for below in nodes(reading.tree, ("/",)))
    return trails and symbol in names_in(reading.tree) and not divided


def _per_noun(reading: Reading, wanted: Unit | None, truth: Truth) -> Meant:
    """Multiply an amount for one parameter by their number, where the question asks for all of them."""
    if not reading.per or (wanted and wanted.per == reading.per) or "/" not in reading.unit:
        return Meant(reading.tree)
    symbol = _counted(reading.per, truth.names)
    if not symbol or symbol in names_in(reading.tree):
        return Meant(reading.tree)
    note = Warned("per", f"the amount for one {reading.per} is taken times {symbol}", 0, len(reading.text))
    return Meant(joined("*", [reading.tree, Leaf("name", symbol, 0)]), (note,), otherwise=reading.tree)


def _counted(noun: str, names: Names) -> str:
    for spelled in (noun, noun + "s"):
        found = names.whole(spelled)
        if found and found.kind == "name":
            return found.name
    return ""
