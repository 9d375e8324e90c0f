"""einops' own functions on symbolic tensors: what it asks of a backend."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from einops._backends import AbstractBackend  # einops has no other door for a new tensor type

from symacct.errors import ShapeError, SizeError, UnknownOpError, one_of
from symacct.rules.rule import check_sizes
from symacct.symbolic.builder import caller
from symacct.symbolic.products import einsum
from symacct.symbolic.size import unwrap, wrap
from symacct.symbolic.tensor import Symbolic, record, size_in

REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def _check_lengths(x: Symbolic, pattern: str, lengths: Mapping[str, Any]) -> None:
    """Check sizes that are no `int`: einops passes over these, whatever they are, and calculates with them as written.

    Raises
    ------
    ShapeError
        For another size than an axis has that stands alone.
    SizeError
        For what is no size, and for a name in text for which a number is put in.

    """
    lengths = {n: length for n, length in lengths.items() if not isinstance(length, int)}
    for n, length in lengths.items():
        if size_in(x, length) != unwrap(length):
            msg = f"{n}={length!r} in {pattern!r}: sizes are put in for that; make it an argument, {n}: int{caller()}"
            raise SizeError(msg)
    left = re.sub(r"\(.*?\)", "()", pattern.partition("->")[0]).split()
    dots = left.index("...") if "..." in left else len(left)
    for place, axis in enumerate(left):
        at = place if place < dots else place - len(left)
        wrong = axis in lengths and -x.ndim <= at < x.ndim and unwrap(lengths[axis]) != x.tensor.shape[at]
        if wrong:
            told = f"is {x.tensor.shape[at]}, and {lengths[axis]} is given"
            msg = f"{pattern!r}: the axis {axis} of {x!r} {told}{caller()}"
            raise ShapeError(msg)


class SymbolicBackend(AbstractBackend):
    """einops finds it as a subclass once this module is loaded."""

    framework_name = "symacct"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether this backend handles a tensor."""
        return isinstance(tensor, Symbolic)

    def shape(self, x: Symbolic) -> tuple[Any, ...]:
        """Return sizes that state nothing when einops divides them: the shapes that it makes say it."""
        asked = sys._getframe(1).f_locals  # noqa: SLF001 # einops tells a backend no sizes
        if "axes_lengths" in asked and "pattern" in asked:
            _check_lengths(x, asked["pattern"], asked["axes_lengths"])
        return tuple(wrap(s, lambda: lambda _: None) for s in x.tensor.shape)

    def reshape(self, x: Symbolic, shape: Sequence[Any]) -> Any:
        """Split or merge axes."""
        return x.reshape(tuple(shape))

    def transpose(self, x: Symbolic, axes: Sequence[int]) -> Any:
        """Permute axes."""
        return x.permute(*axes)

    def reduce(self, x: Symbolic, operation: str, axes: Sequence[int]) -> Any:
        """Reduce over axes."""
        if operation not in REDUCTIONS:
            msg = f"reduce: {operation!r} is not known; known: {one_of(REDUCTIONS)}{caller()}"
            raise UnknownOpError(msg)
        return record(operation, (x,), {"axes": tuple(sorted(axes)), "keepdims": False})

    def add_axes(self, x: Symbolic, n_axes: int, pos2len: dict[int, Any]) -> Any:
        """Add repeated axes: views, as torch's expand."""
        try:
            check_sizes([size_in(x, s) for s in pos2len.values()])
        except ShapeError as error:
            msg = f"repeat: {error}{caller()}"
            raise ShapeError(msg) from None
        rest = iter(x.shape)
        shape = [1 if i in pos2len else next(rest) for i in range(n_axes)]
        wide = [size_in(x, pos2len.get(i, s)) for i, s in enumerate(shape)]
        return record("expand", (x.reshape(*shape),), {"shape": tuple(wide)})

    def stack_on_zeroth_dimension(self, tensors: Sequence[Symbolic]) -> Any:
        """Stack tensors of one shape."""
        return record("concat", [t.unsqueeze(0) for t in tensors], {"axis": 0})

    def concat(self, tensors: Sequence[Symbolic], axis: int) -> Any:
        """Concatenate along an axis."""
        return record("concat", tensors, {"axis": axis})

    def is_float_type(self, x: Symbolic) -> bool:
        """Whether a mean makes sense."""
        return x.dtype is None or x.dtype.startswith(("fp", "bf", "tf"))

    def einsum(self, pattern: str, *tensors: Symbolic) -> Any:
        """Contract, from letters."""
        return einsum(pattern, tensors)
