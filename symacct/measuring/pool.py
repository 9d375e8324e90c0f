"""Inputs to measure with: random, and so many copies in turn that no cache holds what the next call reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from symacct.dtypes import as_format
from symacct.eager.dtypes import torch_dtype
from symacct.errors import ShapeError, SizeError
from symacct.measuring.clock import import_torch

COPIES = 32
"""The most copies that take turns."""


def device_of(inputs: Sequence[Any], asked: str | None) -> str | None:
    """Return the device that tensors are on, else the one that is asked for; None where there is neither.

    Raises
    ------
    ShapeError
        For tensors on several devices, or on another than the one asked for.

    """
    found = {str(t.device) for t in inputs if hasattr(t, "device")}
    if len(found) > 1:
        msg = f"the inputs are on several devices: {', '.join(sorted(found))}; put them on one"
        raise ShapeError(msg)
    place = found.pop() if found else None
    if asked and place and asked not in (place, place.partition(":")[0]):
        msg = f"the inputs are on {place}, to be timed on {asked}; move them there, or leave the device out"
        raise ShapeError(msg)
    return place or asked


def tensors(inputs: Sequence[Any], dtype: str, device: str, seed: int) -> list[Any]:
    """Return tensors as they are, and random normal ones for shapes.

    Raises
    ------
    ShapeError
        For what is neither, or a tensor without strides, such as a sparse one.
    SizeError
        For a size below 1, or more than fits into memory.

    """
    if not inputs:
        return []
    torch = import_torch()
    kind = torch_dtype(as_format(dtype).name)
    generator = torch.Generator(device).manual_seed(seed)
    out = []
    for given in inputs:
        if isinstance(given, torch.Tensor) and given.layout == torch.strided:
            out.append(given)
            continue
        if not isinstance(given, tuple | list) or not all(type(n) is int for n in given):
            found = " ".join(repr(given).split())[:60]
            msg = f"an input is a tensor with strides or a shape such as (1024, 1024), not {found}"
            raise ShapeError(msg)
        if any(n < 1 for n in given):
            msg = f"the shape {tuple(given)} has a size below 1"
            raise SizeError(msg)
        try:
            numbers = torch.randn(tuple(given), generator=generator, device=device, dtype=torch.float32)
        except RuntimeError as error:
            msg = f"no tensor of the shape {tuple(given)} here: {str(error).splitlines()[0][:200]}"
            raise SizeError(msg) from None
        out.append(numbers.to(kind))
    return out


def copies(given: Sequence[Any], cache: int) -> list[list[Any]]:
    """Return copies of the inputs to take in turn; together they are four times the cache, in few copies less.

    None is an input itself, which a function may change.
    """
    if not given:
        return [[]]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in given}
    size = sum(storage.nbytes() for storage in storages.values())
    count = min(COPIES, math.ceil(4 * cache / size) + 1) if size else 1
    return [_copy(given, storages) for _ in range(count)]


def _copy(given: Sequence[Any], storages: Mapping[int, Any]) -> list[Any]:
    """Return tensors with the same strides, over copies of their storages."""
    torch = import_torch()
    cloned = {place: storage.clone() for place, storage in storages.items()}
    out = []
    for t in given:
        bare = torch.empty(0, dtype=t.dtype, device=t.device)
        bare.set_(cloned[t.untyped_storage().data_ptr()], t.storage_offset(), t.size(), t.stride())
        out.append(bare.requires_grad_(t.requires_grad))
    return out


def changed(before: Sequence[int], after: Sequence[int]) -> tuple[str, ...]:
    """Say which inputs were changed, going by how often each was written to."""
    found = [str(i) for i, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
    return (f"input {', '.join(found)} is changed: a call takes what the one before it left",) if found else ()


def versions(given: Sequence[Any]) -> list[int]:
    """Return how often each tensor was written to."""
    return [t._version for t in given]  # noqa: SLF001


def constants(given: Sequence[Any]) -> tuple[str, ...]:
    """Say which inputs hold one value all over: a GPU runs those faster, since fewer bits change."""
    found = [str(i) for i, t in enumerate(given, 1) if t.numel() > 1 and bool((t == t.flatten()[0]).all())]
    return (f"input {', '.join(found)} is constant: random data draw more power and can run slower",) if found else ()
