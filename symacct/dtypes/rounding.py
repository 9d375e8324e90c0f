"""What a value becomes in a format, and which values a format has; exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, TypeAlias

from symacct.dtypes.catalogue import as_plain_format
from symacct.dtypes.formats import Format, power_of_two
from symacct.errors import DtypeError

Overflow: TypeAlias = Literal["inf", "nan", "saturate"]
_MAX_LISTED_BITS = 8
_DEFAULT: dict[str, Overflow] = {"ieee": "inf", "fnuz": "nan", "e8m0": "nan"}


def round_to(dtype: object, x: float | Fraction, overflow: Overflow | None = None) -> Fraction | float:
    """Round to nearest, ties to even: ``round(x / u) * u`` with ``u = 2**(floor(log2|x|) - mantissa)``.

    Below the smallest normal u stays at the smallest subnormal: fp16 loses x exactly when ``|x| <= 2**-25``.
    e8m0 has no odd mantissas: its ties go up, and its smallest value stands for all below it, zero too. A
    bool is 1 for any x but 0. Integers round as a quantizer does; torch's cast truncates and wraps around.

    Parameters
    ----------
    dtype : Format, str or dtype object
        A plain format, as in `as_format`.
    x : int, float or Fraction
        The value; infinities are out of range, and NaN stays NaN where the format has one.
    overflow : {"inf", "nan", "saturate"}, optional
        What a value out of range becomes. Default: as torch 2.13 casts, ``inf`` for ``ieee``, ``saturate``
        for ``fn`` (older torch and ml_dtypes: NaN), ``nan`` for ``fnuz`` and ``e8m0``; the rest saturates.

    Returns
    -------
    Fraction or float
        Exact; a float only for infinity and NaN. The sign of zero is not kept.

    Raises
    ------
    DtypeError
        If the dtype is unknown or a block format, or has no pattern for the infinity or NaN needed.

    Examples
    --------
    >>> round_to("fp16", 1e-8), float(round_to("bf16", 1e-8)), round_to("fp16", 65520)
    (Fraction(0, 1), 1.0011717677116394e-08, inf)
    >>> int(round_to("fp8", 1e9)), round_to("fp8", 1e9, overflow="nan")
    (448, nan)

    """
    fmt = as_plain_format(dtype)
    overflow = overflow or _DEFAULT.get(fmt.encoding, "saturate")
    if overflow not in ("inf", "nan", "saturate"):
        raise DtypeError(f"overflow={overflow!r} is not known; say 'inf', 'nan' or 'saturate'")
    _check_has(fmt, overflow)
    if isinstance(x, float) and not math.isfinite(x):
        if math.isnan(x):
            _check_has(fmt, "nan")
            return math.nan
        return _out_of_range(fmt, overflow, positive=x > 0)
    value = _nearest(fmt, Fraction(x))
    if fmt.encoding == "e8m0" and x >= 0:
        value = max(value, fmt.min)
    return value if fmt.min <= value <= fmt.max else _out_of_range(fmt, overflow, positive=x > 0)


def decode(dtype: object, pattern: int) -> Fraction | float:
    """Return the value of a bit pattern: ``1.m * 2**(e - bias)``, or ``0.m * 2**(1 - bias)`` where e is 0.

    Parameters
    ----------
    dtype : Format, str or dtype object
        A plain format; of complex and packed formats one part.
    pattern : int
        The bits of one part, sign first, as an integer >= 0.

    Returns
    -------
    Fraction or float
        Exact; a float only for infinity and NaN. Negative zero is 0.

    Raises
    ------
    DtypeError
        If the dtype is unknown or a block format, or the pattern does not fit its bits.

    Examples
    --------
    >>> decode("e4m3fn", 0b0_1111_110), decode("e4m3fn", 0b0_1111_111)
    (Fraction(448, 1), nan)

    """
    fmt = as_plain_format(dtype)
    bits = fmt.bits // fmt.parts
    if not 0 <= pattern < 2**bits:
        raise DtypeError(f"pattern {pattern} does not fit the {bits} bits of {fmt.name}; give 0 to {2**bits - 1}")
    if not fmt.is_float:
        wrapped = 2**bits if fmt.sign_bits and pattern >= 2 ** (bits - 1) else 0
        return Fraction(pattern - wrapped) / power_of_two(fmt.bias)
    magnitude = pattern % 2 ** (fmt.exponent_bits + fmt.mantissa_bits)
    exponent, mantissa = divmod(magnitude, 2**fmt.mantissa_bits)
    sign = -1 if magnitude != pattern else 1
    if _is_nan(fmt, sign, exponent, mantissa):
        return math.nan
    if fmt.has_infinity and exponent == 2**fmt.exponent_bits - 1:
        return sign * math.inf
    hidden = 1 if exponent or fmt.encoding == "e8m0" else 0
    significand = hidden + Fraction(mantissa, 2**fmt.mantissa_bits)
    return sign * significand * power_of_two(max(exponent - fmt.bias, fmt.min_exponent))


def representable(dtype: object) -> list[Fraction]:
    """Return every finite value of a format of at most 8 bits, in order, zero once.

    Parameters
    ----------
    dtype : Format, str or dtype object
        A plain format; of complex and packed formats one part.

    Returns
    -------
    list of Fraction

    Raises
    ------
    DtypeError
        If the dtype is unknown, a block format, or has more than 8 bits a part.

    Examples
    --------
    >>> [float(v) for v in representable("fp4") if v >= 0]
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]

    """
    fmt = as_plain_format(dtype)
    bits = fmt.bits // fmt.parts
    if bits > _MAX_LISTED_BITS:
        raise DtypeError(f"{fmt.name} has 2**{bits} patterns; values are listed up to {_MAX_LISTED_BITS} bits")
    values = (decode(fmt, pattern) for pattern in range(2**bits))
    return sorted({v for v in values if isinstance(v, Fraction)})


def _is_nan(fmt: Format, sign: int, exponent: int, mantissa: int) -> bool:
    """Whether these fields are a NaN in the encoding."""
    ones = exponent == 2**fmt.exponent_bits - 1
    if fmt.encoding == "ieee":
        return ones and mantissa != 0
    if fmt.encoding == "fnuz":
        return sign < 0 and exponent == mantissa == 0
    return fmt.has_nan and ones and mantissa == 2**fmt.mantissa_bits - 1


def _nearest(fmt: Format, x: Fraction) -> Fraction:
    """Round as if the exponent had no upper end."""
    if fmt.encoding == "bool" or not x:
        return Fraction(x != 0)
    exponent = max(_floor_log2(abs(x)), fmt.min_exponent) - fmt.mantissa_bits if fmt.is_float else -fmt.bias
    unit = power_of_two(exponent)
    return round(x / unit) * unit


def _floor_log2(x: Fraction) -> int:
    """``floor(log2(x))`` of a positive x, exact."""
    estimate = x.numerator.bit_length() - x.denominator.bit_length()
    return estimate if power_of_two(estimate) <= x else estimate - 1


def _out_of_range(fmt: Format, overflow: Overflow, *, positive: bool) -> Fraction | float:
    if overflow == "saturate":
        return fmt.max if positive else fmt.min
    return math.nan if overflow == "nan" else math.copysign(math.inf, 1 if positive else -1)


def _check_has(fmt: Format, needed: Overflow) -> None:
    """Refuse an infinity or a NaN that the format has no pattern for."""
    if (needed == "inf" and not fmt.has_infinity) or (needed == "nan" and not fmt.has_nan):
        what = "infinity" if needed == "inf" else "NaN"
        raise DtypeError(f"{fmt.name} (encoding {fmt.encoding!r}) has no {what}; give a number, or overflow='saturate'")
