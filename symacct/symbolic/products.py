"""Products of symbolic tensors: matrix multiplication with Python's operator, and einsum from einops' letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Size, bare_name, to_text
from symacct.graph import Einsum
from symacct.rules.rule import broadcast, show_shape
from symacct.symbolic.builder import caller
from symacct.symbolic.tensor import Symbolic, record

Axes = tuple[str, ...]


def matmul(left: Any, right: Any) -> Any:
    """Return ``left @ right`` as torch means it: vectors, matrices, and batches of them that broadcast.

    Two batches of different shapes are expanded to one first, as torch does; one matrix against a batch is not.
    """
    if not isinstance(left, Symbolic) or not isinstance(right, Symbolic):
        return record("einsum", (left, right), {})
    a, b = left.tensor.shape, right.tensor.shape
    if not a or not b or a[-1] != b[max(len(b) - 2, 0)]:
        _refuse(a, b)
    if len(a) > 2 and len(b) > 2 and a[:-2] != b[:-2]:
        try:
            batch = broadcast([a[:-2], b[:-2]])
        except ShapeError:
            _refuse(a, b)
        left, right = _expanded(left, (*batch, *a[-2:])), _expanded(right, (*batch, *b[-2:]))
        a, b = left.tensor.shape, right.tensor.shape
    return record("einsum", (left, right), {"einsum": _multiplied(a, b)})


@lru_cache(maxsize=1024)
def _multiplied(a: tuple[Size, ...], b: tuple[Size, ...]) -> Einsum:
    """Return the product of vectors, matrices or batches of them, of shapes that fit."""
    batches = [f"batch {i}" for i in range(max(len(a), len(b)) - 2)]
    rows = ["row"] if len(a) > 1 else []
    columns = ["column"] if len(b) > 1 else []
    first = (*(batches if len(a) > 2 else ()), *rows, "inner")
    second = (*(batches if len(b) > 2 else ()), "inner", *columns)
    sizes = dict(zip(first, a, strict=True)) | dict(zip(second, b, strict=True))
    return _called((first, second), (*batches, *rows, *columns), sizes)


def _refuse(a: tuple[Size, ...], b: tuple[Size, ...]) -> None:
    msg = f"matmul: the shapes {show_shape(a)} and {show_shape(b)} do not fit{caller()}"
    raise ShapeError(msg)


def _expanded(x: Symbolic, shape: tuple[Size, ...]) -> Any:
    return x if x.tensor.shape == shape else x.expand(shape)


def einsum(pattern: str, tensors: Sequence[Symbolic]) -> Any:
    """Return an einsum of symbolic tensors from letters, ``abc,cd->abd``; pairwise from the left, as torch runs it."""
    if not all(isinstance(t, Symbolic) for t in tensors):
        return record("einsum", tensors, {})
    left, _, right = pattern.partition("->")
    letters = left.split(",")
    batch = _batch(letters, tensors)
    operands = [_operand(term, t, batch) for term, t in zip(letters, tensors, strict=True)]
    sizes = _sizes(operands)
    result = _spelt(right, batch, len(batch))
    # the order in which torch lays out axes, also those of what lies between
    order = {n: sizes[n] for n in (*result, *(n for n in sizes if n not in result))}
    made, axes = operands[0]
    if len(operands) == 1:
        return product((made,), (axes,), result, order)
    for i, (tensor, term) in enumerate(operands[1:], 2):
        later = set(result).union(*(t for _, t in operands[i:]))
        kept = tuple(n for n in order if n in later and (n in axes or n in term))
        made, axes = product((made, tensor), (axes, term), kept, order), kept
    return made


def _batch(letters: Sequence[str], tensors: Sequence[Symbolic]) -> tuple[Size, ...]:
    """Return what `...` stands for: the broadcast of the axes that it has in each operand.

    Raises
    ------
    ShapeError
        For another number of axes than the letters say, or batches that do not fit.

    """
    batches = []
    for term, t in zip(letters, tensors, strict=True):
        head, dots, tail = term.partition("...")
        extra = t.ndim - len(head) - len(tail)
        if extra < 0 or (extra and not dots):
            msg = f"einsum: {t!r} has {t.ndim} axes, the pattern {term!r} another number{caller()}"
            raise ShapeError(msg)
        batches.append(t.tensor.shape[len(head) : len(head) + extra])
    try:
        return broadcast(batches)
    except ShapeError as error:
        msg = f"einsum: the axes of '...' differ: {error}{caller()}"
        raise ShapeError(msg) from None


def _operand(term: str, tensor: Symbolic, batch: tuple[Size, ...]) -> tuple[Any, Axes]:
    """Return a tensor and a name for each of its axes; an axis of size 1 that broadcasts is taken off."""
    head, _, tail = term.partition("...")
    names = _spelt(term, batch, tensor.ndim - len(head) - len(tail))
    full = {f"batch {i}": size for i, size in enumerate(batch)}
    axes = list(zip(names, tensor.tensor.shape, strict=True))
    kept = [(n, size) for n, size in axes if size != 1 or full.get(n, 1) == 1]
    if len(kept) < len(axes):
        tensor = tensor.reshape(tuple(size for _, size in kept))
    return tensor, tuple(n for n, _ in kept)


def _spelt(term: str, batch: tuple[Size, ...], count: int) -> Axes:
    """Return the names of a term, `...` spelt out as the last `count` batch axes."""
    head, dots, tail = term.partition("...")
    middle = [f"batch {i}" for i in range(len(batch) - count, len(batch))] if dots else []
    return (*head, *middle, *tail)


def _sizes(operands: Sequence[tuple[Any, Axes]]) -> dict[str, Size]:
    """Return the size of each axis, in order of appearance.

    Raises
    ------
    ShapeError
        For an axis of two sizes; names all shapes.

    """
    sizes: dict[str, Size] = {}
    for tensor, axes in operands:
        for n, size in zip(axes, tensor.tensor.shape, strict=True):
            if sizes.setdefault(n, size) != size:
                shapes = " and ".join(show_shape(t.tensor.shape) for t, _ in operands)
                msg = f"einsum: the shapes {shapes} do not fit: one axis is {sizes[n]} and {size}{caller()}"
                raise ShapeError(msg)
    return sizes


def product(tensors: Sequence[Any], operands: Sequence[Axes], output: Axes, sizes: Mapping[str, Size]) -> Any:
    """Write down one product of one or two tensors as torch runs it.

    Axes that one operand alone has are summed first, and one operand alone is then only permuted. `sizes` are those of
    all axes in the order in which torch lays them out; in the graph an axis is called by its size, to be read.
    """
    ready = []
    for i, (tensor, axes) in enumerate(zip(tensors, operands, strict=True)):
        needed = set(output).union(*operands[:i], *operands[i + 1 :])
        ready.append(_summed(tensor, axes, [n for n in sizes if n in axes and n in needed]))
    tensors, operands = [t for t, _ in ready], [axes for _, axes in ready]
    if len(tensors) == 1 and len(set(operands[0])) == len(operands[0]):
        return _permuted(tensors[0], operands[0], output)
    return record("einsum", tensors, {"einsum": _called(operands, output, sizes)})


def _called(operands: Sequence[Axes], output: Axes, sizes: Mapping[str, Size]) -> Einsum:
    """Return an einsum whose axes are called by their sizes, to be read."""
    told = _told(sizes)
    return Einsum(
        tuple([tuple([told[n] for n in axes]) for axes in operands]),
        tuple([told[n] for n in output]),
        {told[n]: size for n, size in sizes.items()},
    )


def _summed(tensor: Any, axes: Axes, kept: Sequence[str]) -> tuple[Any, Axes]:
    """Return an operand with only the axes to keep, in that order; a diagonal is left as it is."""
    lone = [n for n in axes if n not in kept]
    if not lone or len(set(axes)) < len(axes):
        return tensor, axes
    ordered = _permuted(tensor, axes, (*kept, *lone))
    shape = ordered.tensor.shape
    if any(size != 1 for size in shape[len(kept) :]):
        return record("sum", (ordered,), {"axes": tuple(range(len(kept), len(axes))), "keepdims": False}), tuple(kept)
    return ordered.reshape(shape[: len(kept)]), tuple(kept)


def _permuted(tensor: Any, axes: Axes, order: Axes) -> Any:
    if axes == order:
        return tensor
    return record("permute", (tensor,), {"axes": tuple(axes.index(n) for n in order)})


_LONGEST = 20
"""A size longer than that is not printed where an axis stands; its letter is."""


def _shown(size: Size) -> str:
    """Return a size that is no name as it can stand for an axis: ``3``, ``(4*d)``; nothing where it is long."""
    text = to_text(size)
    return text if text.isdigit() else f"({text})" if len(text) < _LONGEST else ""


def _told(sizes: Mapping[str, Size]) -> dict[str, str]:
    """Return a name to print for every axis: its size where that is a name, primed where it is taken."""
    out: dict[str, str] = {}
    for n, size in sorted(sizes.items(), key=lambda axis: not bare_name(axis[1])):
        told = bare_name(size) or _shown(size) or n.replace(" ", "")
        while told in out.values():
            told += "'"
        out[n] = told
    return out
