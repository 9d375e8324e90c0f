"""One function, two worlds: on symbolic tensors an operation is written down, on real ones it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symacct.errors import UnknownOpError
from symacct.symbolic.size import Dim, plain
from symacct.symbolic.tensor import Symbolic, record


def apply(kind: str, *tensors: Any, **attrs: Any) -> Any:
    """Apply an operation to tensors of one world.

    Parameters
    ----------
    kind
        The name of the operation, as in `symacct.rules`.
    *tensors
        Symbolic tensors, or torch tensors.
    **attrs
        What the operation needs besides tensors.

    Returns
    -------
    A tensor, or a tuple where the operation has several outputs.

    Raises
    ------
    GraphError
        For a mixture of symbolic and real tensors.
    UnknownOpError
        For tensors of a library that cannot run here.

    """
    if any(isinstance(t, Symbolic) for t in tensors):
        return record(kind, tensors, attrs)
    return run(kind, tensors, attrs)


def create(kind: str, like: Any, **attrs: Any) -> Any:
    """Make a tensor from nothing but attributes, in the world of another one.

    Parameters
    ----------
    kind
        The name of the operation, as in `symacct.rules`.
    like
        Any tensor of the graph that the new one is to be in (it is not read), or a torch tensor, whose device is taken.
    **attrs
        What the operation needs.

    Raises
    ------
    UnknownOpError
        For anything else.

    """
    if isinstance(like, Symbolic):
        (made,) = like.builder.op(kind, (), {name: plain(value) for name, value in attrs.items()})
        return Symbolic(like.builder, made)
    return _on_torch(kind, (like,))(**attrs, device=like.device)


def run(kind: str, tensors: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Run an operation on real tensors."""
    return _on_torch(kind, tensors)(*tensors, **attrs)


def _on_torch(kind: str, tensors: Sequence[Any]) -> Callable[..., Any]:
    """Return what an operation is in torch, for tensors of torch."""
    if tensors and type(tensors[0]).__module__.partition(".")[0] == "torch":
        from symacct.eager import KINDS

        if kind not in KINDS:
            msg = f"{kind} cannot run on torch tensors; it can be {', '.join(sorted(KINDS))}"
            raise UnknownOpError(msg)
        return KINDS[kind]
    if any(type(t) is Dim for t in tensors):
        msg = f"{kind} of a size; its root is a power beside a tensor: x / x.shape[-1] ** 0.5, or ** -0.5"
        raise UnknownOpError(msg)
    kinds = ", ".join(sorted({type(t).__name__ for t in tensors})) or "nothing"
    msg = f"{kind} takes symbolic or torch tensors, not {kinds}"
    raise UnknownOpError(msg)
