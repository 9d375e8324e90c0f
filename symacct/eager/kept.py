"""What a torch optimizer keeps for a parameter, tensor by tensor, where shapes and dtypes tell how much that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class UnreadableError(Exception):
    """Says why a state cannot be told by shapes and dtypes."""


class Seen(NamedTuple):
    """A tensor that an optimizer keeps for a parameter: where it stands in the state, its shape, torch's dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str


def read_state(made: Any, params: list[Any]) -> tuple[Seen, ...]:
    """Return what is kept for each of some parameters that are alike.

    Raises
    ------
    UnreadableError
        Where they do not keep the same, or share it; for tensors that do not own plain memory; for state that belongs
        to no parameter, or that is in other objects.

    """
    known = {id(p) for p in params}
    if strange := [key for key in made.state if id(key) not in known and any(True for _ in _tensors(made.state[key]))]:
        msg = f"it keeps tensors under {strange[0]!r:.60}, which is no parameter"
        raise UnreadableError(msg)
    taken = {t.untyped_storage()._cdata for p in params for t in (p, p.grad)}  # noqa: SLF001 # what tells two storages apart
    every = []
    for p in params:
        kept = list(_tensors(made.state.get(p, {})))
        for name, t in kept:
            _check(name, t, taken)
        every.append(tuple(sorted(Seen(name, tuple(t.shape), str(t.dtype)) for name, t in kept)))
    if any(other != every[0] for other in every):
        raise UnreadableError("of two parameters that are alike it does not keep the same")
    return every[0]


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a state with their names, also in lists and mappings inside it."""
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _tensors(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple | set | frozenset):
        for i, part in enumerate(value):
            yield from _tensors(part, f"{name}.{i}")
    elif value is not None and not isinstance(value, int | float | complex | str | bytes) and not callable(value):
        msg = f"what {name!r} keeps is in a {type(value).__name__}, of which only Python knows how large it is"
        raise UnreadableError(msg)


def _check(name: str, t: Any, taken: set[int]) -> None:
    """Check that a tensor is all of a plain piece of memory that nothing else lies in."""
    import torch

    if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout is not torch.strided:
        kind = str(t.layout) if type(t) in (torch.Tensor, torch.nn.Parameter) else type(t).__name__
        msg = f"{name!r} is a tensor of the kind {kind}, whose memory its shape and dtype do not tell"
        raise UnreadableError(msg)
    storage = t.untyped_storage()
    if storage._cdata in taken or storage.nbytes() != t.numel() * t.element_size():  # noqa: SLF001 # likewise
        msg = f"{name!r} does not have memory of its own: it lies in another tensor, or is a part of one"
        raise UnreadableError(msg)
    taken.add(storage._cdata)  # noqa: SLF001 # likewise
