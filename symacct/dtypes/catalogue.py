"""The formats that symacct knows, by every name they go by."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from symacct.dtypes.formats import AnyFormat, BlockFormat, Format
from symacct.errors import DtypeError, nearest_format, one_of

_FP32 = Format("fp32", 1, 8, 23)
_E4M3FN = Format("fp8_e4m3fn", 1, 4, 3, "fn")
_E5M2 = Format("fp8_e5m2", 1, 5, 2)
_E8M0 = Format("e8m0", 0, 8, 0, "e8m0")
_E2M3 = Format("fp6_e2m3", 1, 2, 3, "finite")
_E3M2 = Format("fp6_e3m2", 1, 3, 2, "finite")
_E2M1 = Format("fp4_e2m1", 1, 2, 1, "finite")
# OCP's MX specification reads the integers of mxint8 in units of 2**-6: from -2 to 1 + 63/64.
_INT8_64THS = Format("int8_64ths", 1, 0, 7, "int", own_bias=6)

# Each format with its other spellings. Bare fp8, fp6, mxfp8 and mxfp6 have variants of one size and stand for
# the one with more mantissa, as weights and activations are kept. "float8_e4m3" is ml_dtypes' name of the
# IEEE variant (max 240); "e4m3" and "fp8_e4m3" are OCP's and the vendors' names of e4m3fn (max 448).
_KNOWN: tuple[tuple[AnyFormat, str], ...] = (
    (Format("fp64", 1, 11, 52), "float64 f64 double"),
    (_FP32, "float32 f32 single"),
    (Format("tf32", 1, 8, 10, own_storage=32), "tensorfloat32"),
    (Format("bf16", 1, 8, 7), "bfloat16"),
    (Format("fp16", 1, 5, 10), "float16 f16 half"),
    (_E4M3FN, "float8_e4m3fn fp8_e4m3 e4m3fn e4m3 fp8 float8"),
    (_E5M2, "float8_e5m2 e5m2"),
    (Format("fp8_e4m3fnuz", 1, 4, 3, "fnuz"), "float8_e4m3fnuz e4m3fnuz"),
    (Format("fp8_e5m2fnuz", 1, 5, 2, "fnuz"), "float8_e5m2fnuz e5m2fnuz"),
    (Format("fp8_e4m3ieee", 1, 4, 3), "float8_e4m3 e4m3ieee"),
    (Format("fp8_e3m4", 1, 3, 4), "float8_e3m4 e3m4"),
    (_E8M0, "float8_e8m0fnu fp8_e8m0 e8m0fnu ue8m0"),
    (_E2M3, "float6_e2m3fn e2m3 fp6 float6"),
    (_E3M2, "float6_e3m2fn e3m2"),
    (_E2M1, "float4_e2m1fn e2m1 fp4 float4"),
    (Format("fp4_e2m1x2", 1, 2, 1, "finite", parts=2), "float4_e2m1fn_x2"),
    (Format("int64", 1, 0, 63, "int"), "i64 long"),
    (Format("int32", 1, 0, 31, "int"), "i32"),
    (Format("int16", 1, 0, 15, "int"), "i16 short"),
    (Format("int8", 1, 0, 7, "int"), "i8"),
    (_INT8_64THS, ""),
    (Format("int4", 1, 0, 3, "int"), "i4"),
    (Format("uint64", 0, 0, 64, "int"), "u64"),
    (Format("uint32", 0, 0, 32, "int"), "u32"),
    (Format("uint16", 0, 0, 16, "int"), "u16"),
    (Format("uint8", 0, 0, 8, "int"), "u8 byte"),
    (Format("uint4", 0, 0, 4, "int"), "u4"),
    (Format("bool", 0, 0, 1, "bool", own_storage=8), "bool_"),
    (Format("complex128", 1, 11, 52, parts=2), "c128 cdouble"),
    (Format("complex64", 1, 8, 23, parts=2), "c64 cfloat"),
    (Format("complex32", 1, 5, 10, parts=2), "c32 chalf"),
    (BlockFormat("mxfp8_e4m3", _E4M3FN, 32, _E8M0), "mxfp8"),
    (BlockFormat("mxfp8_e5m2", _E5M2, 32, _E8M0), ""),
    (BlockFormat("mxfp6_e2m3", _E2M3, 32, _E8M0), "mxfp6"),
    (BlockFormat("mxfp6_e3m2", _E3M2, 32, _E8M0), ""),
    (BlockFormat("mxfp4", _E2M1, 32, _E8M0), "mxfp4_e2m1"),
    (BlockFormat("mxint8", _INT8_64THS, 32, _E8M0), ""),
    (BlockFormat("nvfp4", _E2M1, 16, _E4M3FN, _FP32), "nvfp4_e2m1"),
)
FORMATS: tuple[AnyFormat, ...] = tuple(fmt for fmt, _ in _KNOWN)
_BY_NAME: dict[str, AnyFormat] = {s: fmt for fmt, others in _KNOWN for s in (fmt.name, *others.split())}
_BY_NAME |= {
    f"{s}_flat": replace(fmt, name=f"{fmt.name}_flat", flat=True)
    for s, fmt in _BY_NAME.items()
    if isinstance(fmt, BlockFormat)
}


def as_format(spec: object) -> AnyFormat:
    """Return the storage format that a name, or a dtype of torch, NumPy, ml_dtypes or JAX, stands for.

    Upper case, ``-`` for ``_`` and a library's prefix (``torch.``) do not matter. ``fp8`` is e4m3fn and
    ``fp6`` e2m3: their variants take the same bytes, and the name that comes back says which one was taken.
    A block format is also known with ``_flat`` behind its name, its blocks then run over all values at once.

    Parameters
    ----------
    spec : Format, BlockFormat, str, or a dtype object (read by its name; no library is imported)

    Returns
    -------
    Format or BlockFormat

    Raises
    ------
    DtypeError
        If the name is not known.

    Examples
    --------
    >>> as_format("torch.bfloat16").name, as_format("half").name, as_format("fp8").name
    ('bf16', 'fp16', 'fp8_e4m3fn')

    """
    if isinstance(spec, (Format, BlockFormat)):
        return spec
    text = spec.__name__ if isinstance(spec, type) else str(spec)
    library, _, plain = text.strip().lower().replace("-", "_").rpartition(".")
    found = _BY_NAME.get(plain)
    if found is None:
        known = ", ".join(fmt.name for fmt in FORMATS)
        guess = nearest_format(plain, _BY_NAME)
        raise DtypeError(f"unknown dtype {one_of([text])!r}.{guess} Known, with the usual aliases: {known}")
    if library == "torch" and isinstance(found, Format) and plain in ("int4", "uint4"):
        raise DtypeError(
            f"torch.{plain} is a placeholder whose tensors take a whole byte a value: "
            f"say {plain!r} for two values a byte, or '{plain[:-1]}8' for one"
        )
    return found


def pin_of(fmt: AnyFormat) -> str:
    """Return what a tensor is pinned to in a format: its name; the format itself where the catalogue has it not."""
    return fmt.name if _BY_NAME.get(fmt.name) == fmt else cast("str", fmt)  # as_format takes both


def as_plain_format(spec: object) -> Format:
    """Return `as_format` of a format whose values stand alone; refuse block formats.

    Parameters
    ----------
    spec : Format, str or dtype object

    Returns
    -------
    Format

    Raises
    ------
    DtypeError
        If the name is not known or is a block format's.

    Examples
    --------
    >>> as_plain_format("e5m2").max
    Fraction(57344, 1)

    """
    fmt = as_format(spec)
    if isinstance(fmt, BlockFormat):
        raise DtypeError(
            f"{fmt.name} is a block format: a value depends on the scale of its block; "
            f"divide by the scale and ask for the element format {fmt.element.name!r}"
        )
    return fmt
