"""Storage formats as frozen values: bit fields and an encoding tag, everything else derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from symacct.errors import DtypeError

Encoding: TypeAlias = Literal["ieee", "fn", "fnuz", "finite", "e8m0", "int", "bool"]


@dataclass(frozen=True, slots=True)
class Format:
    """``(-1)**sign * 1.mantissa * 2**(exponent - bias)``: the bit fields of a number and how they are read.

    What the largest exponent and the negative zero stand for is not implied by the fields, so it is a tag:

    ====== ==================================================================================================
    ieee   the largest exponent is kept for infinities and NaN
    fn     no infinity; NaN is the one pattern of ones in exponent and mantissa (OCP's e4m3)
    fnuz   no infinity, no negative zero: its pattern is the only NaN, and the bias is one higher
    finite no infinity and no NaN (e2m1, e2m3, e3m2)
    e8m0   an exponent alone: no sign, no zero, no subnormals; all ones is NaN (the scale of MX blocks)
    int    two's complement in units of ``2**-bias`` (bias 0: integers)
    bool   0 or 1
    ====== ==================================================================================================

    Parameters
    ----------
    name : str
        The canonical name.
    sign_bits, exponent_bits, mantissa_bits : int
        Fields of one part, in bits. Integers keep their magnitude in the mantissa.
    encoding : str
        A tag of the table above.
    parts : int
        Numbers in one element: 2 for complex numbers and torch's packed pairs. Ranges are those of one part.
    own_bias : int, optional
        The exponent's bias where it is not the derived one.
    own_storage : int, optional
        Bits that an element takes in memory where it is not the sum of its fields (tf32: 32, bool: 8).

    Raises
    ------
    DtypeError
        If the fields do not fit the encoding.

    Examples
    --------
    >>> fp16 = Format("fp16", 1, 5, 10)
    >>> fp16.bits, fp16.bias, fp16.max, fp16.smallest_subnormal == Fraction(1, 2**24)
    (16, 15, Fraction(65504, 1), True)

    """

    name: str
    sign_bits: int
    exponent_bits: int
    mantissa_bits: int
    encoding: Encoding = "ieee"
    parts: int = 1
    own_bias: int | None = None
    own_storage: int | None = None

    def __post_init__(self) -> None:
        """Refuse fields that the encoding cannot be read from."""
        sign, exponent, mantissa = self.sign_bits, self.exponent_bits, self.mantissa_bits
        fits = {
            "ieee": exponent >= 2 and mantissa >= 1,
            "fn": exponent >= 1 and mantissa >= 1,
            "fnuz": exponent >= 1 and mantissa >= 1 and sign == 1,
            "finite": exponent >= 1 and mantissa >= 1,
            "e8m0": exponent >= 2 and mantissa == 0 and sign == 0,
            "int": exponent == 0 and mantissa >= 1,
            "bool": (sign, exponent, mantissa) == (0, 0, 1),
        }
        if self.encoding not in fits:
            known = ", ".join(get_args(Encoding))
            raise DtypeError(f"{self.name}: unknown encoding {self.encoding!r}; known: {known}")
        enough = (self.own_storage or self.bits) >= self.bits
        if sign not in (0, 1) or self.parts < 1 or not fits[self.encoding] or not enough:
            raise DtypeError(
                f"{self.name}: {sign}/{exponent}/{mantissa} sign/exponent/mantissa bits, {self.parts} parts, "
                f"stored in {self.stored_bits}: no format of encoding {self.encoding!r}; see help(Format)"
            )

    @property
    def is_float(self) -> bool:
        """Whether there is an exponent field."""
        return self.encoding not in ("int", "bool")

    @property
    def has_infinity(self) -> bool:
        """Whether a pattern stands for infinity: in ``ieee`` alone."""
        return self.encoding == "ieee"

    @property
    def has_nan(self) -> bool:
        """Whether a pattern stands for NaN."""
        return self.encoding in ("ieee", "fn", "fnuz", "e8m0")

    @property
    def bits(self) -> int:
        """``parts * (sign + exponent + mantissa)``: the bits that carry information."""
        return self.parts * (self.sign_bits + self.exponent_bits + self.mantissa_bits)

    @property
    def stored_bits(self) -> int:
        """Bits an element takes in memory, packed tightly."""
        return self.own_storage or self.bits

    @property
    def itemsize(self) -> Fraction:
        """``stored_bits / 8`` bytes an element; a fraction for formats that share a byte."""
        return Fraction(self.stored_bits, 8)

    @property
    def bias(self) -> int:
        """``2**(exponent - 1) - 1``, one more for ``fnuz``, 0 for integers, unless stated."""
        if self.own_bias is not None:
            return self.own_bias
        if not self.is_float:
            return 0
        middle: int = 2 ** (self.exponent_bits - 1)
        return middle if self.encoding == "fnuz" else middle - 1

    @property
    def min_exponent(self) -> int:
        """``1 - bias``, the smallest normal's exponent: field 0 is for subnormals, except in ``e8m0``."""
        return (0 if self.encoding == "e8m0" else 1) - self.bias

    @property
    def max(self) -> Fraction:
        """Largest finite value, ``(2 - 2**-mantissa) * 2**(largest exponent)`` for floats."""
        if not self.is_float:
            return power_of_two(self.mantissa_bits - self.bias) - power_of_two(-self.bias)
        reserved = 1 if self.encoding in ("ieee", "e8m0") else 0
        exponent = 2**self.exponent_bits - 1 - reserved - self.bias
        steps_below_2 = 2 if self.encoding == "fn" else 1
        return (2 - steps_below_2 * power_of_two(-self.mantissa_bits)) * power_of_two(exponent)

    @property
    def min(self) -> Fraction:
        """Lowest finite value: ``-max`` for floats with a sign, two's complement for integers."""
        if self.encoding == "e8m0":
            return power_of_two(self.min_exponent)
        if not self.sign_bits:
            return Fraction(0)
        return -self.max if self.is_float else -power_of_two(self.mantissa_bits - self.bias)

    @property
    def smallest_normal(self) -> Fraction | None:
        """``2**(1 - bias)``; None for integers."""
        return power_of_two(self.min_exponent) if self.is_float else None

    @property
    def smallest_subnormal(self) -> Fraction | None:
        """``2**(1 - bias - mantissa)``; None where there are no subnormals."""
        has_any = self.is_float and self.mantissa_bits > 0
        return power_of_two(self.min_exponent - self.mantissa_bits) if has_any else None

    @property
    def epsilon(self) -> Fraction | None:
        """``2**-mantissa``, from 1 to the next value; None for integers."""
        return power_of_two(-self.mantissa_bits) if self.is_float else None


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """``element + scale/block`` bits a value: elements in blocks that share one scale.

    Parameters
    ----------
    name : str
        The canonical name.
    element : Format
        Format of the values.
    block : int
        Values that share a scale.
    scale : Format
        Format of a block's scale.
    tensor_scale : Format, optional
        Format of the second scale, one a tensor (nvfp4: fp32).
    flat : bool
        Whether blocks run over all values of a tensor at once, instead of along one axis.

    Raises
    ------
    DtypeError
        If the block is empty.

    Examples
    --------
    >>> fp4, e8m0 = Format("fp4", 1, 2, 1, "finite"), Format("e8m0", 0, 8, 0, "e8m0")
    >>> BlockFormat("mxfp4", fp4, 32, e8m0).effective_bits
    Fraction(17, 4)

    """

    name: str
    element: Format
    block: int
    scale: Format
    tensor_scale: Format | None = None
    flat: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty block."""
        if self.block < 1:
            raise DtypeError(f"{self.name}: a block of {self.block} values; a block holds at least 1")

    @property
    def effective_bits(self) -> Fraction:
        """``element + scale/block`` bits a value in full blocks; the scale of the tensor comes on top."""
        return self.element.stored_bits + Fraction(self.scale.stored_bits, self.block)


AnyFormat: TypeAlias = Format | BlockFormat


def power_of_two(exponent: int) -> Fraction:
    """``2**exponent``, exact for negative exponents too."""
    return Fraction(2) ** exponent
