"""Tensors with symbolic shapes: Python's operators and the methods that torch's tensors have too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

from symacct.errors import GraphError, ShapeError
from symacct.expr import Poly, Size
from symacct.graph import Tensor
from symacct.rules.rule import axis_of
from symacct.symbolic.builder import Builder, caller
from symacct.symbolic.operators import comparison, of_masks, operator, reflected, unknown
from symacct.symbolic.size import Dim, plain, unwrap, wrap

WRITTEN = {
    "var": "((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)",
    "std": "symacct.sqrt(((x - x.mean(-1, keepdim=True)) ** 2).mean(-1))",
    "norm": "symacct.sqrt((x ** 2).sum(-1))",
    "clamp": "symacct.minimum(symacct.maximum(x, low), high)",
}
"""Methods of torch's tensors that are made of others here: how."""


class Symbolic:
    """A tensor of a graph that is being built; only its shape and dtype are known.

    Functions of symacct, Python's operators and the real einops functions accept it. It lives as long as the function
    that was given it: what it records ends up in the graph.
    """

    __slots__ = ("builder", "id")

    def __init__(self, builder: Builder, id: int) -> None:
        """Stand for tensor `id` of a graph under construction."""
        self.builder = builder
        self.id = id

    @property
    def tensor(self) -> Tensor:
        """The tensor of the graph."""
        return self.builder.tensors[self.id]

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints, or size objects that einops and arithmetic accept."""
        return tuple(wrap(s, self.builder.states) for s in self.tensor.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.tensor.shape)

    @property
    def dtype(self) -> str | None:
        """The storage format it is pinned to, None where the account decides."""
        return self.tensor.dtype

    def size(self, axis: int | None = None) -> Any:
        """Return the size of one axis; of all where none is named."""
        return self.shape if axis is None else self.shape[axis]

    def __repr__(self) -> str:
        shape = ", ".join(str(s) for s in self.tensor.shape)
        return f"Symbolic({self.tensor.name}: {shape})"

    def __bool__(self) -> Any:
        self._no_data("its truth value")

    def __len__(self) -> int:
        return index(self.shape[0])

    def __iter__(self) -> Any:
        self._no_data("its elements, one by one")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        msg = (
            f"a symbolic tensor has no {name!r}; torch's methods are functions here, for tensors of both worlds: "
            "symacct.softmax(x), and sum, mean, amax, amin, reshape, view, permute, transpose, expand are methods too"
        )
        raise AttributeError(f"{msg}; write {WRITTEN[name]}" if name in WRITTEN else msg)

    def __setitem__(self, at: Any, value: Any) -> None:
        msg = f"{self!r} does not change in place; make another: symacct.where, symacct.pad or symacct.concat{caller()}"
        raise GraphError(msg)

    def __float__(self) -> float:
        msg = f"{self!r} has no data, so math's functions do not take it; symacct.exp, log, sqrt, tanh do{caller()}"
        raise GraphError(msg)

    def item(self) -> Any:  # noqa: D102 # refuses
        self._no_data("its value")

    def _no_data(self, what: str) -> None:
        hint = "for choices use symacct.where or symacct.cond, and where a list is expected, write [x]"
        msg = f"{self!r} has no data, so {what} cannot be known; {hint}{caller()}"
        raise GraphError(msg)

    __add__, __radd__ = operator("add"), reflected("add")
    __sub__, __rsub__ = operator("sub"), reflected("sub")
    __mul__, __rmul__ = operator("mul"), reflected("mul")
    __truediv__, __rtruediv__ = operator("div"), reflected("div")
    __eq__, __ne__ = comparison("eq"), comparison("ne")
    __gt__, __ge__, __lt__, __le__ = operator("gt"), operator("ge"), operator("lt"), operator("le")
    __and__, __or__ = of_masks("logical_and"), of_masks("logical_or")
    __rand__, __ror__ = __and__, __or__
    __mod__ = __rmod__ = unknown("%")
    __floordiv__ = __rfloordiv__ = unknown("//")
    __xor__ = __rxor__ = unknown("^")

    def __invert__(self) -> Any:
        from symacct.symbolic.pinning import as_mask

        return record("logical_not", (as_mask(self),), {})

    def __abs__(self) -> Any:
        return record("abs", (self,), {})

    def __pos__(self) -> Any:
        return self

    def __neg__(self) -> Any:
        return record("neg", (self,), {})

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is float and exponent in (0.5, -0.5):
            return record("pow", (self,), {"exponent": exponent})
        if type(exponent) is float and exponent.is_integer():
            exponent = int(exponent)
        if type(exponent) is not int or exponent < 1:
            msg = f"{self!r} to the power {exponent!r}; natural numbers, 0.5 and -0.5 are known{caller()}"
            raise GraphError(msg)
        return record("square", (self,), {}) if exponent == 2 else record("pow", (self,), {"exponent": exponent})

    def __rpow__(self, base: Any) -> Any:
        msg = f"{base!r} to the power {self!r}; symacct.exp is known{caller()}"
        raise GraphError(msg)

    __hash__ = object.__hash__
    __array_ufunc__ = None
    """numpy leaves operators to us."""

    @classmethod
    def __torch_function__(cls, func: Any, *_args: Any, **_kwargs: Any) -> Any:
        """Refuse what is given to a function of torch."""
        name = getattr(func, "__name__", str(func))
        msg = (
            f"torch's {name} of a symbolic tensor, or of one beside a torch tensor; "
            f"symacct's functions and einops run on tensors of either world{caller()}"
        )
        raise GraphError(msg)

    def __matmul__(self, other: Any) -> Any:
        from symacct.symbolic.products import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from symacct.symbolic.products import matmul

        return matmul(other, self)

    def __getitem__(self, index: Any) -> Any:
        from symacct.symbolic.indexing import take

        return take(self, index)

    def reshape(self, *shape: Any) -> Any:
        """Return the same elements in another shape; one size may be -1."""
        from symacct.symbolic.indexing import full_shape

        return record("reshape", (self,), {"shape": full_shape(self, _flat(shape))})

    def view(self, *shape: Any) -> Any:
        """Return the same memory in another shape; a ShapeError where that needs a copy, as in torch."""
        out = self.reshape(*shape)
        if out.tensor.storage is None:
            msg = f"view: {self!r} does not lie in memory so that it is a view; reshape copies{caller()}"
            raise ShapeError(msg)
        return out

    def permute(self, *axes: Any) -> Any:
        """Return the axes in another order: a view."""
        return record("permute", (self,), {"axes": tuple(self._axis(a) for a in _flat(axes))})

    def transpose(self, first: int, second: int) -> Any:
        """Return two axes exchanged: a view."""
        axes = list(range(self.ndim))
        first, second = self._axis(first), self._axis(second)
        axes[first], axes[second] = second, first
        return self.permute(*axes)

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return self.transpose(-2, -1)

    @property
    def T(self) -> Any:
        """A matrix transposed."""
        return self.permute(*reversed(range(self.ndim)))

    def expand(self, *shape: Any) -> Any:
        """Return axes of size 1 repeated without copying: a view."""
        sizes = tuple(s if s == -1 else size_in(self, s) for s in _flat(shape))
        return record("expand", (self,), {"shape": sizes})

    def unsqueeze(self, axis: int) -> Any:
        """Return the tensor with a new axis of size 1."""
        shape = list(self.shape)
        shape.insert(self._axis(axis, self.ndim + 1), 1)
        return self.reshape(*shape)

    def squeeze(self, axis: int) -> Any:
        """Return the tensor without an axis of size 1."""
        at = self._axis(axis)
        if self.shape[at] != 1:
            msg = f"squeeze: axis {axis} of {self!r} is not of size 1{caller()}"
            raise ShapeError(msg)
        return self.reshape(*self.shape[:at], *self.shape[at + 1 :])

    def _axis(self, axis: int, rank: int | None = None) -> int:
        """Return an axis counted from the front; of the result where that has another number of axes."""
        try:
            return axis_of(axis, self.ndim if rank is None else rank)
        except ShapeError as error:
            msg = f"{self!r}: {error}{caller()}"
            raise ShapeError(msg) from None

    def sum(self, dim: Any = None, *, keepdim: bool = False) -> Any:
        """Return the sum over axes, all by default."""
        return self._reduce("sum", dim, keepdim)

    def mean(self, dim: Any = None, *, keepdim: bool = False) -> Any:
        """Return the mean over axes, all by default."""
        return self._reduce("mean", dim, keepdim)

    def amax(self, dim: Any = None, *, keepdim: bool = False) -> Any:
        """Return the largest element over axes."""
        return self._reduce("max", dim, keepdim)

    def amin(self, dim: Any = None, *, keepdim: bool = False) -> Any:
        """Return the smallest element over axes."""
        return self._reduce("min", dim, keepdim)

    def _reduce(self, kind: str, dim: Any, keepdim: bool) -> Any:  # noqa: FBT001
        axes = range(self.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        axes = tuple(sorted(self._axis(a) for a in axes))
        return record(kind, (self,), {"axes": axes, "keepdims": keepdim})


def _flat(given: Sequence[Any]) -> tuple[Any, ...]:
    """Accept ``f(a, b)`` and ``f((a, b))``, as torch does."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], tuple | list) else tuple(given)


def size_in(x: Any, written: Any) -> Size:
    """Return a size that is written beside a tensor; of a name in text, what is put in for it in the tensor's graph."""
    if not isinstance(x, Symbolic) or type(written) in (int, Dim, Poly):
        return unwrap(written)
    return x.builder.size(written, "an axis")


def record(kind: str, tensors: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Write an operation down; return its output, or a tuple of them.

    Raises
    ------
    GraphError
        For a mixture of symbolic and real tensors, or tensors of two graphs.

    """
    builder = next(t.builder for t in tensors if isinstance(t, Symbolic))
    for t in tensors:
        if not isinstance(t, Symbolic):
            msg = f"{kind}: {type(t).__name__} beside symbolic tensors; make it an argument of the function{caller()}"
            raise GraphError(msg)
        if t.builder is not builder:
            msg = f"{kind}: {t.builder.refusal or builder.refusal or 'symbolic tensors of two graphs'}{caller()}"
            raise GraphError(msg)
    attrs = {name: plain(value) for name, value in attrs.items()}
    out = tuple(Symbolic(builder, i) for i in builder.op(kind, [t.id for t in tensors], attrs))
    return out[0] if len(out) == 1 else out
