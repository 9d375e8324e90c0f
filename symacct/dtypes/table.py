"""The formats side by side, as plain rows."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from symacct.dtypes.catalogue import FORMATS, as_format
from symacct.dtypes.formats import AnyFormat, BlockFormat
from symacct.dtypes.rounding import round_to

_SMALL = Fraction(1, 10**8)


class Row(NamedTuple):
    """One format; numbers exact, None where a format has no such number (blocks scale theirs)."""

    name: str
    bits: Fraction
    stored_bits: Fraction
    fields: str
    encoding: str
    max: Fraction | None
    min: Fraction | None
    smallest_normal: Fraction | None
    smallest_subnormal: Fraction | None
    epsilon: Fraction | None
    small_becomes: Fraction | float | None


def table(*dtypes: object) -> list[Row]:
    """Return a row per format: bits, fields, range, precision, and what 1e-8 becomes (`small_becomes`).

    Parameters
    ----------
    *dtypes : Format, BlockFormat, str or dtype object
        As in `as_format`; all known formats when none is given.

    Returns
    -------
    list of Row
        Bits of block formats include their scales (full blocks).

    Raises
    ------
    DtypeError
        If a dtype is unknown.

    Examples
    --------
    >>> row, = table("fp16")
    >>> row.fields, float(row.max), float(row.smallest_normal), row.small_becomes
    ('1/5/10', 65504.0, 6.103515625e-05, Fraction(0, 1))

    """
    return [_row(as_format(dtype)) for dtype in dtypes or FORMATS]


def _row(fmt: AnyFormat) -> Row:
    if isinstance(fmt, BlockFormat):
        scales = fmt.scale.name + (f", {fmt.tensor_scale.name} a tensor" if fmt.tensor_scale else "")
        fields = f"{fmt.element.name}, scale {scales}"
        bits = fmt.effective_bits
        return Row(fmt.name, bits, bits, fields, f"blocks of {fmt.block}", None, None, None, None, None, None)
    fields = f"{fmt.sign_bits}/{fmt.exponent_bits}/{fmt.mantissa_bits}"
    return Row(
        name=fmt.name,
        bits=Fraction(fmt.bits),
        stored_bits=Fraction(fmt.stored_bits),
        fields=fields if fmt.parts == 1 else f"{fmt.parts} x {fields}",
        encoding=fmt.encoding,
        max=fmt.max,
        min=fmt.min,
        smallest_normal=fmt.smallest_normal,
        smallest_subnormal=fmt.smallest_subnormal,
        epsilon=fmt.epsilon,
        small_becomes=round_to(fmt, _SMALL),
    )
