"""The same elements elsewhere, in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symacct.eager.dtypes import torch_dtype

Ranges = Sequence[tuple[int, int, int]]


def pad(x: Any, *, widths: Sequence[tuple[int, int]], value: float) -> Any:
    """Run a padding; torch names widths from the last axis on."""
    import torch

    return torch.nn.functional.pad(x, [w for pair in reversed(widths) for w in pair], value=value)


def flip(x: Any, *, axes: Sequence[int]) -> Any:
    """Run a flip."""
    return x.flip(tuple(axes))


def roll(x: Any, *, axes: Sequence[int], shifts: Sequence[int]) -> Any:
    """Run a roll."""
    return x.roll(tuple(shifts), tuple(axes))


def tril(x: Any, *, diagonal: int) -> Any:
    """Keep what is on and below a diagonal."""
    return x.tril(diagonal)


def triu(x: Any, *, diagonal: int) -> Any:
    """Keep what is on and above a diagonal."""
    return x.triu(diagonal)


def copy(x: Any) -> Any:
    """Copy, contiguously."""
    import torch

    return x.clone(memory_format=torch.contiguous_format)


def cast(x: Any, *, dtype: Any, source: Any = None) -> Any:
    """Run a cast; None leaves the dtype to the tensor."""
    del source  # which gradients are cast back to
    return x if dtype is None else x.to(torch_dtype(dtype))


def transfer(x: Any, *, device: Any) -> Any:
    """Send to a device."""
    return x.to(device)


def slice_backward(x: Any, *, ranges: Ranges, shape: Sequence[int]) -> Any:
    """Put a slice among zeros."""
    out = x.new_zeros(tuple(shape))
    out[tuple(slice(*r) for r in ranges)] = x
    return out


KINDS: dict[str, Callable[..., Any]] = {
    "cast": cast,
    "copy": copy,
    "flip": flip,
    "pad": pad,
    "roll": roll,
    "slice_backward": slice_backward,
    "transfer": transfer,
    "tril": tril,
    "triu": triu,
}
