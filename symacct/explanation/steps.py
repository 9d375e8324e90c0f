"""How a number comes about, in sentences: one block an operation, from its rule's work and traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from symacct.accounting import Account
from symacct.conventions import Key, Unit, Work, convention_of, tally
from symacct.dtypes import AnyFormat, BlockFormat
from symacct.expr import Expr, add, multiply, product, to_text
from symacct.graph import Einsum, Op
from symacct.rules import rule_of

POINTS: Key = ("contract", "points")
OUTPUTS: Key = ("contract", "outputs")
MULTIPLIES: Key = ("mul", "points")
TERMS: Key = ("reduce", "points")
SUMS: Key = ("reduce", "outputs")


class Block(NamedTuple):
    """What is said about one operation: a title, and sentences with a label each."""

    title: str
    lines: tuple[tuple[str, str], ...]


def amounts_text(amounts: Iterable[tuple[Expr, str]]) -> str:
    """Write amounts with their units, side by side; a bound in elements term by term, the leading one first."""
    return " and ".join(f"{to_text(amount, factored=unit != 'elements')} {unit}" for amount, unit in amounts)


def amounts_of(counts: Mapping[Unit, Expr]) -> tuple[tuple[Expr, str], ...]:
    """Return amounts and units, MACs first."""
    return tuple((counts[unit], unit) for unit in sorted(counts, reverse=True))


def axes_of(e: Einsum) -> list[str]:
    """Return the axes that one operation has, each once."""
    return list(dict.fromkeys(a for operand in e.operands for a in operand))


def work_block(account: Account, op: Op) -> Block:
    """Explain the operations of one einsum: what is summed, how many products, what each convention counts."""
    e = op.einsum
    assert e is not None
    work = account.steps[op.id].work
    lone = _lone(e)
    first = [("first", _summed_first(lone, work))] if lone else []
    early = {a for _, axes in lone for a in axes}
    lines = [("axes", _axes(e)), *first, *_products(e, work, early), *_counts(e, work)]
    return Block(_title("operations", account, op), tuple(lines))


def _title(what: str, account: Account, op: Op) -> str:
    step = f"step {op.id + 1}, " if len(account.graph.ops) > 1 else ""
    return f"{what} of {step}{op.label}"


def _axes(e: Einsum) -> str:
    sizes = {a: to_text(e.sizes[a]) for a in axes_of(e)}
    shown = ", ".join(a if size == a else f"{a} = {size}" for a, size in sizes.items())
    gone = [a for a in sizes if a not in e.output]
    if not gone:
        return f"{shown or 'none, these are scalars'}; nothing is summed"
    return f"{shown}; summed: {', '.join(gone)}, which the output lacks"


def _lone(e: Einsum) -> list[tuple[int, list[str]]]:
    """Return the axes that are summed before the product, by the number of their operand."""
    if e.nest or len(e.operands) != 2:
        return []
    first, second = e.operands
    sides = ((1, first, second), (2, second, first))
    found = [(i, [a for a in dict.fromkeys(mine) if a not in other and a not in e.output]) for i, mine, other in sides]
    return [(i, axes) for i, axes in found if axes]


def _summed_first(lone: list[tuple[int, list[str]]], work: Work) -> str:
    whose = " and ".join(f"{', '.join(axes)} of operand {i}" for i, axes in lone)
    adds = _many(add((work[TERMS], -work[SUMS])), "add")
    return f"sum {whose}, which nothing else has: {_many(work[TERMS], 'term')} into {_many(work[SUMS], 'sum')}, {adds}"


def _products(e: Einsum, work: Work, early: set[str]) -> list[tuple[str, str]]:
    """Say what is multiplied, and over how much is summed; all amounts are the work vector's."""
    axes = [a for a in axes_of(e) if a not in early]
    kept = [a for a in axes if a in e.output]
    length = e.size(a for a in axes if a not in e.output)
    adds = _many(add((length, -1)), "add")
    operands = len(e.operands)
    if POINTS in work:
        of_many = f" of {operands} operands" if operands > 2 else ""
        multiplies = _many(multiply(operands - 1, length), "multiply")
        each = f"output is a sum of {_many(length, 'product')}{of_many}: {multiplies} and {adds}"
        points = f"{_named(axes, work[POINTS])}, the product of all axes{' that are left' if early else ''}"
        return [("points", points), ("outputs", _named(kept, work[OUTPUTS])), ("each", each)]
    if MULTIPLIES in work:
        each = f"output is one product of {operands} operands; nothing is summed over it"
        return [("outputs", _named(kept, e.size(kept))), ("each", each)]
    if TERMS in work:
        each = f"output is a sum of {_many(length, 'term')}: {adds}"
        return [("terms", _named(axes, work[TERMS])), ("outputs", _named(kept, work[SUMS])), ("each", each)]
    return [("each", "output is an element of the operand: nothing is multiplied or summed")]


def _named(axes: list[str], amount: Expr) -> str:
    """Write a product of axes by their names, and what it comes to where sizes were given."""
    names, text = "*".join(axes) or "1", to_text(amount)
    return names if names == text else f"{names} = {text}"


def _many(amount: Expr, noun: str) -> str:
    plural = {"multiply": "multiplies"}.get(noun, noun + "s")
    return f"{to_text(amount)} {noun if amount == 1 else plural}"


def _counts(e: Einsum, work: Work) -> list[tuple[str, str]]:
    """Say how each convention comes to its number."""
    if not work:
        return [("count", "0 FLOP in every convention")]
    more = _many(len(e.operands) - 2, "multiply")
    rest = []
    if MULTIPLIES in work:
        rest.append(f"{more} more a point" if POINTS in work else "1 a multiply")
    if TERMS in work:
        rest.append("1 a term of a plain sum")
    multiplies = add((work.get(POINTS, 0), work.get(MULTIPLIES, 0)))
    adds = add((work.get(POINTS, 0), -work.get(OUTPUTS, 0), work.get(TERMS, 0), -work.get(SUMS, 0)))
    double, single = (["2 a point"], ["1 MAC a point"]) if POINTS in work else ([], [])
    return [
        ("exact", f"{_many(multiplies, 'multiply')} and {_many(adds, 'add')}: {_counted(work, 'exact')}"),
        ("2n", f"{', '.join(double + rest)}: {_counted(work, '2n')}"),
        ("mac", f"{', '.join(single + rest)}: {_counted(work, 'mac')}"),
    ]


def _counted(work: Work, convention: str) -> str:
    return amounts_text(amounts_of(tally(work, convention_of(convention))))


def bytes_block(account: Account, op: Op) -> Block:
    """Explain the bytes of one operation: elements of each tensor, times what its format takes."""
    rule, graph = rule_of(op), account.graph
    step = account.steps[op.id]
    lines = []
    for verb, touched, moved in (
        ("read", rule.reads(op, graph), step.reads),
        ("written", rule.writes(op, graph), step.writes),
    ):
        for part, (name, amount) in zip(touched, moved, strict=True):
            elements = product(part.shape)
            whole = elements == graph.tensors[part.tensor].numel
            what = _many(elements, "element") + ("" if whole else " (the diagonal)")
            lines.append((f"{name}, {verb}", f"{what}, {_format(account.formats[part.tensor])}: {to_text(amount)} B"))
    return Block(_title("bytes", account, op), (*lines, ("together", f"{to_text(step.bytes)} B")))


def _format(fmt: AnyFormat) -> str:
    if isinstance(fmt, BlockFormat):
        bits = fmt.effective_bits
        text = str(bits.numerator) if bits.denominator == 1 else f"{float(bits):g}"
        return f"{fmt.name} of {text} bits each with the scales of full blocks"
    whole, rest = divmod(fmt.stored_bits, 8)
    return f"{fmt.name} of {fmt.stored_bits} bits each, packed" if rest else f"{fmt.name} of {whole} B each"


def quotient_block(account: Account, rows: Iterable[tuple[str, Expr, Expr]]) -> Block:
    """Explain intensities: `rows` are a convention, its operations and their quotient by the bytes."""
    moved = _factor(account.total("bytes"))
    lines = [(name, f"{_factor(work)} / {moved} = {to_text(ratio)}") for name, work, ratio in rows]
    return Block("operations / bytes", tuple(lines))


def _factor(amount: Expr) -> str:
    text = to_text(amount)
    return text if text.isalnum() else f"({text})"
