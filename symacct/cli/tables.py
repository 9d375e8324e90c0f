"""Orders, bounds, comparisons and formats as tables, LaTeX and JSON with stable keys."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symacct.accounting import Account
from symacct.accounting.comparison import Comparison
from symacct.bounds import LowerBound
from symacct.cli.output import total_json
from symacct.conventions import convention_of
from symacct.dtypes import Row
from symacct.expr import add, to_json, to_latex, to_text
from symacct.ordering import OrderChoice
from symacct.show import aligned, table


def orders_text(found: Sequence[OrderChoice]) -> str:
    """Return contraction orders as a table, one inequality a line."""
    rows = [[o.name, to_text(o.cost), o.condition.replace(" and ", "\nand ")] for o in found]
    return table(["order", "flops", "cheapest when (sizes >= 2)"], rows)


def orders_latex(found: Sequence[OrderChoice]) -> str:
    """Return the cost of each order as a LaTeX `aligned` block."""
    return aligned([(o.name, to_latex(o.cost)) for o in found])


def orders_json(pattern: str, found: Sequence[OrderChoice], convention: str) -> dict[str, Any]:
    """Return contraction orders with costs and conditions; each condition is ``smaller < larger``."""
    return {
        "pattern": pattern,
        "convention": convention_of(convention).to_json(),
        "unit": "FLOP",
        "orders": [
            {
                "order": o.name,
                "flops": to_json(o.cost),
                "condition": o.condition,
                "conditions": [{"smaller": to_json(a), "larger": to_json(b)} for a, b in o.conditions],
                "witness": None if o.witness is None else dict(o.witness),
            }
            for o in found
        ],
    }


def bound_latex(bound: LowerBound) -> str:
    """Return what is known of a lower bound as a LaTeX `aligned` block."""
    known = ("order", bound.order_form) if bound.constant is None else ("proved", bound.proved)
    return aligned([("compulsory", to_latex(bound.compulsory)), (known[0], to_latex(known[1]))])


def bound_json(bound: LowerBound) -> dict[str, Any]:
    """Return a lower bound in elements; `proved` is null where only the order is known."""
    return {
        "pattern": bound.pattern,
        "unit": "elements",
        "memory": to_json(bound.memory),
        "exponent": str(bound.exponent),
        "points": to_json(bound.points),
        "compulsory": to_json(bound.compulsory),
        "order": to_json(bound.order_form),
        "proved": None if bound.constant is None else to_json(bound.proved),
        "tile": {axis: str(exponent) for axis, exponent in bound.tile.items()},
    }


def comparison_json(first: Account, second: Account, found: Comparison) -> dict[str, Any]:
    """Return two totals, their difference and where the first is cheaper (`cheaper` is null where it depends)."""
    return {
        "of": found.of,
        "a": total_json(first, found.of),
        "b": total_json(second, found.of),
        "difference": to_json(add((found.b, -found.a))),
        "cheaper": found.cheaper,
        "a_is_cheaper": found.region,
    }


def dtypes_text(rows: Sequence[Row]) -> str:
    """Return storage formats as tables of at most 80 columns: floating point, whole numbers, blocks."""
    floats = [r for r in rows if r.epsilon is not None]
    blocks = [r for r in rows if r.max is None]
    whole = [r for r in rows if r.epsilon is None and r.max is not None]
    tables = []
    if floats:
        headers = ["format", "bits", "s/e/m", "max", "normal", "subnormal", "epsilon", "1e-8 is"]
        tables.append(_columns(headers, [_float_row(r) for r in floats]))
    if whole:
        cells = [[r.name, _short(r.stored_bits), r.fields, _short(r.min), _short(r.max)] for r in whole]
        tables.append(_columns(["format", "bits", "s/e/m", "min", "max"], cells))
    if blocks:
        cells = [[r.name, _short(r.bits), f"{r.encoding} {r.fields}"] for r in blocks]
        tables.append(_columns(["format", "bits a value", "stored as"], cells))
    return "\n\n".join(tables)


def _float_row(row: Row) -> list[str]:
    fields = row.fields.replace(" ", "") + ("" if row.encoding == "ieee" else f" {row.encoding}")
    numbers = [_short(n) for n in (row.max, row.smallest_normal, row.smallest_subnormal)]
    epsilon = Fraction(row.epsilon or 1)
    power = "1" if epsilon == 1 else f"2^-{epsilon.denominator.bit_length() - 1}"
    return [row.name, _short(row.stored_bits), fields, *numbers, power, _short(row.small_becomes, 4)]


def _short(number: Fraction | float | None, digits: int = 3) -> str:
    """Write a number in few columns: whole when small, else with so many digits; `-` for none."""
    if number is None:
        return "-"
    if -(10**6) < number < 10**6 and number == int(number):
        return str(int(number))
    return f"{float(number):.{digits}g}".replace("e+", "e").replace("e-0", "e-").replace("e0", "e")


def _columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align names and fields to the left and numbers to the right; formats would not fit into `show.table`."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    first = max(len(name) + 1 + len(bits) for name, bits, *_ in (headers, *rows))
    lines = []
    for name, bits, fields, *numbers in (headers, *rows):
        cells = [name + bits.rjust(first - len(name)), fields.ljust(widths[2])]
        cells += [n.rjust(width) for n, width in zip(numbers, widths[3:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def dtypes_json(rows: Sequence[Row]) -> list[dict[str, str | None]]:
    """Return storage formats with exact numbers as text, null where a format has none."""
    return [{key: None if value is None else str(value) for key, value in r._asdict().items()} for r in rows]
