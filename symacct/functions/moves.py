"""The same elements in other memory, in another dtype, on another device; and what stands for an unknown operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.dtypes import as_plain_format
from symacct.errors import ShapeError, UnknownOpError
from symacct.rules.rule import sizes_of
from symacct.symbolic import Symbolic, apply, unwrap
from symacct.symbolic.builder import caller


def contiguous(x: Any) -> Any:
    """Return a tensor that lies contiguously in memory: itself, or a copy.

    Parameters
    ----------
    x
        A tensor of any shape.

    Returns
    -------
    A tensor of the same shape; x itself where it lies so already.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "s d"):
    ...     return sa.contiguous(sa.contiguous(x.T))
    >>> [op.kind for op in sa.account(layer).graph.ops]
    ['permute', 'copy']

    """
    if isinstance(x, Symbolic):
        if x.tensor.strides is not None:
            return apply("copy", x)
        # in a body a view, where turns that lay x out otherwise have a copy: these number their tensors alike
        return apply("reshape", x, shape=sizes_of(x)) if x.builder.is_body else x
    return x.contiguous()


def clone(x: Any) -> Any:
    """Return a contiguous copy: read once, written once.

    Parameters
    ----------
    x
        A tensor of any shape.

    Returns
    -------
    A tensor of the same shape.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.clone, x="b d").bytes
    4*b*d

    """
    return apply("copy", x)


def detach(x: Any) -> Any:
    """Return the same tensor, through which no gradient passes: a view, which moves nothing.

    Parameters
    ----------
    x
        A tensor of any shape.

    Returns
    -------
    A tensor of the same shape, in the same memory.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.detach, x="b d").bytes
    0

    """
    return apply("detach", x)


def cast(x: Any, dtype: str) -> Any:
    """Return a tensor in another dtype: read in the old one, written in the new; no operations.

    Parameters
    ----------
    x
        A tensor.
    dtype
        The name of a storage format.

    Returns
    -------
    A tensor of the same shape; x itself where it has that dtype.

    Raises
    ------
    DtypeError
        For an unknown format.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "n"):
    ...     return sa.cast(x, "fp32")
    >>> sa.account(layer, dtype="bf16").bytes
    6*n

    """
    name = as_plain_format(dtype).name
    if isinstance(x, Symbolic) and x.dtype == name:
        return x
    return apply("cast", x, dtype=name)


def transfer(x: Any, device: str) -> Any:
    """Return a tensor on another device: every element crosses the link once, and only that is counted.

    Parameters
    ----------
    x
        A tensor.
    device
        ``"cuda"``, ``"cpu"``, or another name; torch tensors are really sent there.

    Returns
    -------
    A tensor of the same shape.

    Examples
    --------
    >>> import symacct as sa
    >>> def load(x: "32 32"):
    ...     return sa.transfer(x, "cuda")
    >>> sa.account(load, dtype="fp32").bytes
    4096

    """
    return apply("transfer", x, device=device)


def opaque(name: str, inputs: Sequence[Any], shapes: Sequence[Sequence[Any]], dtype: str | None = None) -> Any:
    """Return what an operation without a rule yields: its traffic is counted, its work is listed as uncounted.

    Parameters
    ----------
    name
        What it is called where it is listed.
    inputs
        The symbolic tensors it reads.
    shapes
        The shape of each output: numbers, and sizes of the inputs.
    dtype
        The storage format of the outputs; None follows the account's.

    Returns
    -------
    A symbolic tensor, or a tuple of them where there are several shapes.

    Raises
    ------
    UnknownOpError
        On torch tensors: there is nothing to run.
    ShapeError
        For shapes that are not made of sizes.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", w: "d k"):
    ...     x = sa.opaque("my kernel", [x], [x.shape])
    ...     return x @ w
    >>> a = sa.account(layer)
    >>> a.bytes
    6*b*d + 2*b*k + 2*d*k

    """
    if not any(isinstance(x, Symbolic) for x in inputs):
        msg = f"{name!r} stands for an operation we have no rule for, so it cannot run; call the operation itself"
        raise UnknownOpError(msg)
    if not shapes or any(isinstance(shape, str) or any(isinstance(s, str) for s in shape) for shape in shapes):
        msg = f"opaque: {shapes!r}; give one shape an output, of numbers and sizes such as x.shape[0]{caller()}"
        raise ShapeError(msg)
    sizes = tuple(tuple(unwrap(s) for s in shape) for shape in shapes)
    kept = None if dtype is None else as_plain_format(dtype).name
    return apply("opaque", *inputs, name=name, shapes=sizes, dtype=kept)
