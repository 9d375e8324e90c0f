"""Inputs to measure with: random, and so many copies in turn that no cache holds what the next call reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from symacct.eager.dtypes import torch_dtype
from symacct.errors import ShapeError, SizeError
from symacct.measuring.clock import import_torch

COPIES = 32
"""The most copies that take turns."""


def device_of(inputs: Sequence[Any]) -> str | None:
    """Return the device that tensors are on, None where there are none.

    Raises
    ------
    ShapeError
        For tensors on several devices.

    """
    found = {str(t.device) for t in inputs if hasattr(t, "device")}
    if len(found) > 1:
        msg = f"the inputs are on several devices: {', '.join(sorted(found))}; put them on one"
        raise ShapeError(msg)
    return found.pop() if found else None


def tensors(inputs: Sequence[Any], dtype: str, device: str, seed: int) -> list[Any]:
    """Return tensors as they are, and random normal ones for shapes.

    Raises
    ------
    ShapeError
        For what is neither.
    SizeError
        For a size below 1.

    """
    if not inputs:
        return []
    torch = import_torch()
    generator = torch.Generator(device).manual_seed(seed)
    out = []
    for given in inputs:
        if isinstance(given, torch.Tensor):
            out.append(given)
            continue
        if not isinstance(given, tuple | list) or not all(type(n) is int for n in given):
            msg = f"an input is a tensor or a shape such as (1024, 1024), not {given!r}"
            raise ShapeError(msg)
        if any(n < 1 for n in given):
            msg = f"the shape {tuple(given)} has a size below 1"
            raise SizeError(msg)
        numbers = torch.randn(tuple(given), generator=generator, device=device, dtype=torch.float32)
        out.append(numbers.to(torch_dtype(dtype)))
    return out


def turns(given: Sequence[Any], cache: int) -> Iterator[list[Any]]:
    """Yield copies of the inputs in turn, without end; together they are four times the cache, in few copies less."""
    size = sum(t.numel() * t.element_size() for t in given)
    count = min(COPIES, math.ceil(4 * cache / size) + 1) if size else 1
    copies = [list(given), *([_copy(t) for t in given] for _ in range(count - 1))]
    return cycle(copies)


def _copy(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def constants(given: Sequence[Any]) -> tuple[str, ...]:
    """Say which inputs hold one value all over: a GPU runs those faster, since fewer bits change."""
    found = [str(i) for i, t in enumerate(given, 1) if t.numel() > 1 and bool((t == t.flatten()[0]).all())]
    return (f"input {', '.join(found)} is constant: random data draw more power and can run slower",) if found else ()
