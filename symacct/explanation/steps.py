"""How a number comes about, in sentences: one block an operation, from its rule's work and traffic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from symacct.accounting import Account
from symacct.conventions import Key, Work, convention_of, tally
from symacct.dtypes import AnyFormat, BlockFormat
from symacct.expr import Expr, add, multiply, product, to_text
from symacct.graph import Einsum, Op
from symacct.rules import rule_of, work_of

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
    """Write amounts with their units, side by side."""
    return " and ".join(f"{to_text(amount)} {unit}" for amount, unit in amounts)


def work_block(account: Account, op: Op) -> Block:
    """Explain the operations of one einsum: what is summed, how many products, what each convention counts."""
    e = op.einsum
    assert e is not None
    work = work_of(op, account.graph)
    lone = _lone(e)
    first = [("first", _summed_first(lone, work))] if lone else []
    early = {a for _, axes in lone for a in axes}
    lines = [("axes", _axes(e)), *first, *_products(e, work, early), *_counts(e, work)]
    return Block(_title(account, op), tuple(lines))


def _title(account: Account, op: Op) -> str:
    return op.label if len(account.graph.ops) == 1 else f"step {op.id + 1}: {op.label}"


def _axes(e: Einsum) -> str:
    shown = ", ".join(n if to_text(s) == n else f"{n} = {to_text(s)}" for n, s in e.sizes.items())
    gone = [n for n in e.sizes if n not in e.output]
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
    adds = to_text(add((work[TERMS], -work[SUMS])))
    return (
        f"sum {whose}, which nothing else has: {to_text(work[TERMS])} terms into "
        f"{to_text(work[SUMS])} sums, {adds} adds"
    )


def _products(e: Einsum, work: Work, early: set[str]) -> list[tuple[str, str]]:
    """Say what is multiplied, and over how much is summed; all amounts are the work vector's."""
    axes = [a for a in e.sizes if a not in early]
    kept = [a for a in axes if a in e.output]
    length = e.size(a for a in axes if a not in e.output)
    operands = len(e.operands)
    if POINTS in work:
        multiplies = to_text(multiply(operands - 1, length))
        of_many = f" of {operands} operands" if operands > 2 else ""
        each = (
            f"output is a sum of {to_text(length)} products{of_many}: {multiplies} multiplies and {_less(length)} adds"
        )
        points = f"{_named(axes, work[POINTS])}, the product of all axes{' that are left' if early else ''}"
        return [("points", points), ("outputs", _named(kept, work[OUTPUTS])), ("each", each)]
    if MULTIPLIES in work:
        each = f"output is one product of {operands} operands; nothing is summed over it"
        return [("outputs", _named(kept, e.size(kept))), ("each", each)]
    if TERMS in work:
        each = f"output is a sum of {to_text(length)} terms: {_less(length)} adds"
        return [("terms", _named(axes, work[TERMS])), ("outputs", _named(kept, work[SUMS])), ("each", each)]
    return [("each", "output is an element of the operand: nothing is multiplied or summed")]


def _named(axes: list[str], amount: Expr) -> str:
    """Write a product of axes by their names, and what it comes to where sizes were given."""
    names, text = "*".join(axes) or "1", to_text(amount)
    return names if names == text else f"{names} = {text}"


def _less(length: Expr) -> str:
    text = to_text(add((length, -1)))
    return f"({text})" if " " in text else text


def _counts(e: Einsum, work: Work) -> list[tuple[str, str]]:
    """Say how each convention comes to its number."""
    if not work:
        return [("count", "0 FLOP in every convention; what is moved is in of='bytes'")]
    more = len(e.operands) - 2
    others = (
        [f"{more} multipl{'ies' if more > 1 else 'y'} more a point"] if POINTS in work and more else ["1 a multiply"]
    )
    rest = (others if MULTIPLIES in work else []) + (["1 a term of a plain sum"] if TERMS in work else [])
    multiplies = add((work.get(POINTS, 0), work.get(MULTIPLIES, 0)))
    adds = add((work.get(POINTS, 0), -work.get(OUTPUTS, 0), work.get(TERMS, 0), -work.get(SUMS, 0)))
    products = POINTS in work
    return [
        ("exact", f"{to_text(multiplies)} multiplies and {to_text(adds)} adds: {counted(work, 'exact')}"),
        ("2n", f"{', '.join((['2 a point'] if products else []) + rest)}: {counted(work, '2n')}"),
        ("mac", f"{', '.join((['1 MAC a point'] if products else []) + rest)}: {counted(work, 'mac')}"),
    ]


def counted(work: Work, convention: str) -> str:
    """Return the amounts of a work vector under a convention, with units."""
    return amounts_text((x, unit) for unit, x in tally(work, convention_of(convention)).items())


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
            what = f"{to_text(elements)} elements{'' if whole else ' (the diagonal)'}"
            lines.append((f"{name}, {verb}", f"{what}, {_format(account.formats[part.tensor])}: {to_text(amount)} B"))
    return Block(_title(account, op), (*lines, ("together", f"{to_text(step.bytes)} B")))


def _format(fmt: AnyFormat) -> str:
    if isinstance(fmt, BlockFormat):
        bits = fmt.effective_bits
        text = str(bits.numerator) if bits.denominator == 1 else f"{float(bits):g}"
        return f"{fmt.name} of {text} bits each with the scales of full blocks"
    whole, rest = divmod(fmt.stored_bits, 8)
    return f"{fmt.name} of {fmt.stored_bits} bits each, packed" if rest else f"{fmt.name} of {whole} B each"


def quotient_block(account: Account, rows: Iterable[tuple[str, Expr, Expr]]) -> Block:
    """Explain intensities: `rows` are a convention, its operations and their quotient by the bytes."""
    moved = to_text(account.total("bytes"))
    moved = f"({moved})" if not moved.isalnum() else moved
    lines = [(name, f"({to_text(work)}) / {moved} = {to_text(ratio)}") for name, work, ratio in rows]
    return Block("operations / bytes", tuple(lines))
