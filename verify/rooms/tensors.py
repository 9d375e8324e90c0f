"""Bytes against real tensors: every dtype that torch has, shapes of results as torch and einops make them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.errors import DtypeError
from symacct.testing.spec import Spec, spec_of
from symacct.testing.strategies import ELLIPSIS, patterns, sizes_for
from verify.check import Check, DisagreementError, agree, number

REFUSED = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
    *("qint8", "qint32", "quint8", "quint4x2", "quint2x4"),
    *("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"),
}
"""Placeholders and quantised types of torch, which symacct refuses by name rather than guess at."""


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]
    batch: tuple[int, int]
    """The axes that `...` stands for; their product is the size of `batch`."""

    def shape(self, axes: tuple[tuple[str, ...], ...]) -> tuple[int, ...]:
        """The shape of a tensor, batch axes spelt out where they stand alone."""
        out: list[int] = []
        for axis in axes:
            if axis == (ELLIPSIS,):
                out.extend(self.batch)
            else:
                length = 1
                for n in axis:
                    length *= self.sizes[n]
                out.append(length)
        return tuple(out)


@st.composite
def cases(draw: st.DrawFn, *, einops: bool) -> Case:
    """Einops has neither composite axes in an einsum nor repeated names; repeated names move less than the tensor."""
    names = ("b", "d", "k", "i", "E", "N", "pi", "x2", "seq1", "head_size", "β")
    spec = draw(patterns(diagonals=False, composites=not einops, units=not einops, ellipsis=einops, names=names))
    sizes = draw(sizes_for(spec))
    batch = draw(st.sampled_from(((2, 3), (1, 5), (7, 2))))
    if ELLIPSIS in sizes:
        sizes[ELLIPSIS] = batch[0] * batch[1]
    return Case(spec, sizes, batch)


def _einops(case: Case, operands: list[Any]) -> Any:
    import einops

    return einops.einsum(*operands, case.spec.text)


def _torch(case: Case, operands: list[Any]) -> Any:
    """Letters for names; composite axes split before and merged after."""
    import torch

    letter = dict(zip(case.spec.names, "abcdefghijklmnop", strict=False))
    flat = [[n for axis in axes for n in axis] for axes in (*case.spec.operands, case.spec.output)]
    inputs, output = (",".join("".join(letter[n] for n in f) for f in part) for part in (flat[:-1], flat[-1:]))
    split = [x.reshape([case.sizes[n] for n in names]) for x, names in zip(operands, flat[:-1], strict=True)]
    return torch.einsum(f"{inputs}->{output}", *split).reshape(case.shape(case.spec.output))


def bytes_agree(case: Case, einsum: Callable[[Case, list[Any]], Any]) -> None:
    """Run it in every dtype; where torch cannot compute in one, hold a result of that shape in it."""
    import torch

    operands = [torch.ones(case.shape(axes), dtype=torch.int64) for axes in case.spec.operands]
    result = einsum(case, operands)
    for name, dtype in _dtypes().items():
        cast = [_empty(x.shape, dtype) for x in operands]
        try:
            out = einsum(case, cast)
        except (RuntimeError, NotImplementedError):
            out = _empty(result.shape, dtype)
        # torch sums whole numbers in int64, so the output may have a dtype of its own
        form = sa.account(case.spec.text, dtype=[*[dtype] * len(cast), out.dtype], traffic="compulsory")
        held = sum(map(_bytes, [*cast, out]))
        agree(number(form.total("bytes"), case.sizes), held, f"{name} bytes of {case.spec.text!r} at {case.sizes}")


def _empty(shape: Any, dtype: Any) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex32 is experimental, and says so
        return torch.empty(shape, dtype=dtype)


def _bytes(x: Any) -> int:
    return x.element_size() * x.numel()


def einops_agrees(case: Case) -> None:
    bytes_agree(case, _einops)


def torch_agrees(case: Case) -> None:
    bytes_agree(case, _torch)


def _dtypes(*, refused: bool = False) -> dict[str, Any]:
    import torch

    found = {str(d).removeprefix("torch."): d for d in vars(torch).values() if isinstance(d, torch.dtype)}
    return {name: d for name, d in sorted(found.items()) if (name in REFUSED) == refused}


def mixed_agrees(case: Case) -> None:
    """One dtype an operand and one for the output."""
    dtypes = list(_dtypes().values())
    tensors = [case.shape(axes) for axes in (*case.spec.operands, case.spec.output)]
    chosen = [dtypes[(5 * i + len(case.spec.text)) % len(dtypes)] for i in range(len(tensors))]
    held = sum(_bytes(_empty(s, d)) for s, d in zip(tensors, chosen, strict=True))
    form = sa.account(case.spec.text, dtype=chosen, traffic="compulsory")
    agree(number(form.total("bytes"), case.sizes), held, f"bytes of {case.spec.text!r} as {chosen}")


def refused_agree(name: str) -> None:
    """What symacct does not know it refuses; nothing is ever taken as free."""
    dtypes = _dtypes(refused=True)
    if name not in dtypes:
        return  # an older torch has fewer
    try:
        sa.account("b d, d k -> b k", dtype=dtypes[name])
    except DtypeError:
        return
    msg = f"torch.{name} was taken for a plain dtype"
    raise DisagreementError(msg)


def storage_agrees(shape: tuple[int, ...]) -> None:
    """The bytes a tensor really holds are element_size * numel: this checks the oracle."""
    for name, dtype in _dtypes().items():
        x = _empty(shape, dtype)
        agree(x.untyped_storage().nbytes(), _bytes(x), f"storage of {name} {shape}")


_LINEAR = Case(spec_of("b s d, d k -> b s k"), {"b": 3, "s": 5, "d": 4, "k": 7}, (2, 3))
_BATCHED = Case(spec_of("... i k, ... k j -> ... i j"), {"batch": 6, "i": 5, "k": 4, "j": 7}, (2, 3))

CHECKS = (
    Check(
        "bytes of einops.einsum",
        'account(pattern, dtype=, traffic="compulsory").bytes',
        "operands and result of einops.einsum, held in every dtype of torch",
        einops_agrees,
        cases(einops=True),
        (_LINEAR, _BATCHED),
        claims=("S24",),
        needs=("torch",),
        share=0.15,
    ),
    Check(
        "bytes of torch.einsum",
        'account(pattern, dtype=, traffic="compulsory").bytes',
        "operands and result of torch.einsum, held in every dtype of torch",
        torch_agrees,
        cases(einops=False),
        (_LINEAR,),
        needs=("torch",),
        share=0.15,
    ),
    Check(
        "bytes of mixed dtypes",
        "account(pattern, dtype=[one each]).bytes",
        "tensors of torch",
        mixed_agrees,
        cases(einops=True),
        (_LINEAR, _BATCHED),
        needs=("torch",),
    ),
    Check(
        "bytes of a tensor's storage",
        "element_size * numel",
        "untyped_storage().nbytes() in every dtype of torch",
        storage_agrees,
        fixed=((), (3,), (3, 5, 4)),
        needs=("torch",),
    ),
    Check(
        "dtypes that are refused",
        "account(pattern, dtype=) raises DtypeError",
        "placeholders and quantised types of torch",
        refused_agree,
        fixed=tuple(sorted(REFUSED)),
        needs=("torch",),
    ),
)
