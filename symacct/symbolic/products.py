"""Products of symbolic tensors: matrix multiplication with Python's operator, and einsum from einops' letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.einsum import left_tree, pairs
from symacct.errors import ShapeError
from symacct.expr import Size, bare_name
from symacct.graph import Einsum
from symacct.rules.rule import broadcast, show_shape
from symacct.symbolic.builder import caller
from symacct.symbolic.tensor import Symbolic, record


def matmul(left: Symbolic, right: Any) -> Any:
    """Return ``left @ right`` as torch means it: vectors, matrices, and batches of them that broadcast."""
    if not isinstance(right, Symbolic):
        return record("einsum", (left, right), {})
    a, b = left.tensor.shape, right.tensor.shape
    if not a or not b or a[-1] != b[max(len(b) - 2, 0)]:
        msg = f"matmul: the shapes {show_shape(a)} and {show_shape(b)} do not fit{caller()}"
        raise ShapeError(msg)
    batch = broadcast([a[:-2], b[:-2]])
    axes = [f"batch {i}" for i in range(len(batch))]
    # a size of 1 broadcasts: that operand has no such axis
    left_batch = [n for n, size in zip(axes[len(axes) - len(a[:-2]) :], a[:-2], strict=True) if size != 1]
    right_batch = [n for n, size in zip(axes[len(axes) - len(b[:-2]) :], b[:-2], strict=True) if size != 1]
    rows = ["row"] if len(a) > 1 else []
    columns = ["column"] if len(b) > 1 else []
    sizes: dict[str, Size] = dict(zip(axes, batch, strict=True)) | {"inner": a[-1]}
    sizes |= {"row": a[-2]} if rows else {}
    sizes |= {"column": b[-1]} if columns else {}
    operands = ((*left_batch, *rows, "inner"), (*right_batch, "inner", *columns))
    return product((left, right), operands, (*axes, *rows, *columns), sizes)


def einsum(pattern: str, tensors: Sequence[Symbolic]) -> Any:
    """Return an einsum of symbolic tensors from letters, ``abc,cd->abd``; pairwise from the left, as torch runs it."""
    terms, result, sizes = _bound(pattern, tensors)
    if len(tensors) < 3:
        return product(tensors, terms, result, sizes)
    made = list(tensors)
    for inputs, e in pairs(terms, result, sizes, left_tree(len(tensors))):
        made.append(product([made[i] for i in inputs], e.operands, e.output, sizes))
    return made[-1]


def _bound(
    pattern: str, tensors: Sequence[Symbolic]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], dict[str, Size]]:
    """Match letters with the sizes of the tensors; `...` becomes as many axes as it stands for."""
    left, _, right = pattern.partition("->")
    sizes: dict[str, Size] = {}
    terms = []
    widest = 0
    for letters, tensor in zip(left.split(","), tensors, strict=True):
        extra = tensor.ndim - len(letters.replace("...", ""))
        widest = max(widest, extra if "..." in letters else 0)
        if extra < 0 or (extra and "..." not in letters):
            msg = f"einsum: {tensor!r} has {tensor.ndim} axes, the pattern {letters!r} another number{caller()}"
            raise ShapeError(msg)
    for letters, tensor in zip(left.split(","), tensors, strict=True):
        head, dots, tail = letters.partition("...")
        count = tensor.ndim - len(head) - len(tail)
        middle = [f"batch {i}" for i in range(widest - count, widest)] if dots else []
        names = [*head, *middle, *tail]
        kept = []
        for n, size in zip(names, tensor.tensor.shape, strict=True):
            if n.startswith("batch") and size == 1 and len(n) > 1:
                sizes.setdefault(n, 1)
                continue
            kept.append(n)
            if sizes.get(n, 1) == 1 and n.startswith("batch") and len(n) > 1:
                sizes[n] = size
            elif sizes.setdefault(n, size) != size:
                shapes = ", ".join(show_shape(t.tensor.shape) for t in tensors)
                msg = f"einsum: one axis is {sizes[n]} and {size} in the shapes {shapes}{caller()}"
                raise ShapeError(msg)
        terms.append(tuple(kept))
    head, dots, tail = right.partition("...")
    batch = [f"batch {i}" for i in range(widest)] if dots else []
    return tuple(terms), (*head, *batch, *tail), sizes


def product(
    tensors: Sequence[Symbolic],
    operands: tuple[tuple[str, ...], ...],
    output: tuple[str, ...],
    sizes: dict[str, Size],
) -> Any:
    """Write down one einsum; its axes are called by their sizes, so that reports can be read."""
    used = {n for o in operands for n in o}
    told = _told({n: s for n, s in sizes.items() if n in used or n in output})
    e = Einsum(
        tuple(tuple(told[n] for n in o) for o in operands),
        tuple(told[n] for n in output),
        {told[n]: s for n, s in sizes.items() if n in told},
    )
    return record("einsum", tensors, {"einsum": e})


def _told(sizes: dict[str, Size]) -> dict[str, str]:
    """Return a name to print for every axis: its size where that is a name, primed where it is taken."""
    out: dict[str, str] = {}
    for n, size in sizes.items():
        told = bare_name(size) or n.replace(" ", "")
        while told in out.values():
            told += "'"
        out[n] = told
    return out
