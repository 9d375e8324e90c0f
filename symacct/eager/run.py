"""Run a graph on real tensors, each freed at its last use; shapes are checked as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symacct.eager import KINDS
from symacct.eager.dtypes import TORCH_DTYPES
from symacct.errors import GraphError, UnknownOpError, one_of
from symacct.expr import Poly, evaluate


@dataclass(frozen=True)
class Run:
    """What a run gave: the outputs, and the most bytes that were alive at once (storages counted once)."""

    outputs: tuple[Any, ...]
    peak_bytes: int


def run(
    graph: Any,
    sizes: Mapping[str, int],
    *,
    backend: str = "torch",
    inputs: Sequence[Any] | None = None,
    dtype: str = "fp32",
    seed: int = 0,
) -> Run:
    """Run a graph at given sizes.

    Parameters
    ----------
    graph
        The `Graph`.
    sizes
        A number for every name in its shapes.
    backend
        ``"torch"``.
    inputs
        Tensors for the graph's inputs; random ones of `dtype` where none are given.
    dtype, seed
        Of the random tensors.

    Raises
    ------
    GraphError
        If a tensor comes out in another shape than the graph says, naming the operation.
    UnknownOpError
        For an operation that does not run there.

    """
    if backend != "torch":
        msg = f"unknown backend {backend!r}; known: torch"
        raise UnknownOpError(msg)
    import torch

    generator = torch.Generator().manual_seed(seed)
    given = list(inputs) if inputs is not None else [_random(graph, i, sizes, dtype, generator) for i in graph.inputs]
    meter = _Meter()
    return Run(tuple(_execute(graph, sizes, given, meter)), meter.peak)


class _Meter:
    """Counts the bytes of storages that are alive."""

    def __init__(self) -> None:
        self.peak = 0

    def look(self, tensors: Mapping[int, Any]) -> None:
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors.values()}
        self.peak = max(self.peak, sum(storages.values()))


def _execute(graph: Any, sizes: Mapping[str, int], given: Sequence[Any], meter: _Meter) -> list[Any]:
    """Run the operations in order; a tensor leaves at its last use."""
    last = {i: at for at, op in enumerate(graph.ops) for i in op.inputs}
    values: dict[int, Any] = dict(zip(graph.inputs, given, strict=True))
    for i in graph.inputs:
        _check(graph, i, values[i], sizes, "input")
    meter.look(values)
    for at, op in enumerate(graph.ops):
        made = _run_op(op, [values[i] for i in op.inputs], sizes, meter)
        for i, value in zip(op.outputs, made, strict=True):
            _check(graph, i, value, sizes, f"operation {op.id} ({op.label})")
            values[i] = value
        meter.look(values)
        for i in dict.fromkeys(op.inputs):
            if last[i] == at and i not in graph.outputs:
                del values[i]
    return [values[i] for i in graph.outputs]


def _run_op(op: Any, tensors: list[Any], sizes: Mapping[str, int], meter: _Meter) -> Sequence[Any]:
    if op.kind == "repeat":
        return _repeat(op, tensors, sizes, meter)
    if op.kind == "cond":
        return _execute(op.attrs["branches"][0 if bool(tensors[0]) else 1], sizes, tensors[1:], meter)
    if op.kind not in KINDS:
        msg = f"{op.kind} does not run on torch tensors; these do: {one_of(sorted(KINDS))}"
        raise UnknownOpError(msg)
    made = KINDS[op.kind](*tensors, **{name: _numbers(value, sizes) for name, value in op.attrs.items()})
    return made if isinstance(made, tuple | list) else (made,)


def _repeat(op: Any, tensors: list[Any], sizes: Mapping[str, int], meter: _Meter) -> list[Any]:
    carries, stacked = op.attrs["carry"], op.attrs["xs"]
    carry, xs, consts = tensors[:carries], tensors[carries : carries + stacked], tensors[carries + stacked :]
    for i in range(int(_numbers(op.attrs["n"], sizes))):
        carry = _execute(op.attrs["body"], sizes, [*carry, *(x[i] for x in xs), *consts], meter)
    return carry


def _numbers(value: Any, sizes: Mapping[str, int]) -> Any:
    """Put numbers for names in an attribute; torch takes no fractions, so 1/sqrt(k) is a float."""
    if isinstance(value, Poly):
        number = evaluate(value, sizes)
        return float(number) if isinstance(number, Fraction) else number
    if hasattr(value, "_replace") and hasattr(value, "sizes"):
        return value._replace(sizes={n: _numbers(s, sizes) for n, s in value.sizes.items()})
    if isinstance(value, tuple | list):
        return type(value)(_numbers(v, sizes) for v in value)
    return value


def _check(graph: Any, i: int, value: Any, sizes: Mapping[str, int], where: str) -> None:
    wanted = tuple(evaluate(s, sizes) for s in graph.tensors[i].shape)
    if tuple(value.shape) != wanted:
        msg = f"{where} gives the shape {tuple(value.shape)}, the graph says {wanted}"
        raise GraphError(msg)


def _random(graph: Any, i: int, sizes: Mapping[str, int], dtype: str, generator: Any) -> Any:
    """Return a random tensor for an input; indices lie below the axis that they look up."""
    import torch

    tensor = graph.tensors[i]
    shape = tuple(int(evaluate(s, sizes)) for s in tensor.shape)
    name = tensor.dtype or dtype
    if name not in TORCH_DTYPES:
        msg = f"no random tensors of {name}; known: {one_of(TORCH_DTYPES)}"
        raise UnknownOpError(msg)
    kind = getattr(torch, TORCH_DTYPES[name])
    if kind == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if not kind.is_floating_point:
        return torch.randint(0, _below(graph, i, sizes), shape, generator=generator, dtype=kind)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(kind)


LOOKED_UP: Mapping[str, Callable[[Any, Any], Any]] = {
    "embedding": lambda op, graph: graph.tensors[op.inputs[0]].shape[0],
    "gather": lambda op, graph: graph.tensors[op.inputs[0]].shape[op.attrs["axis"]],
    "scatter_add": lambda op, graph: graph.tensors[op.inputs[0]].shape[op.attrs["axis"]],
    "one_hot": lambda op, _graph: op.attrs["classes"],
    "cross_entropy": lambda op, graph: graph.tensors[op.inputs[0]].shape[op.attrs.get("axis", -1)],
}
"""The size below which the indices of an operation lie."""


def _below(graph: Any, i: int, sizes: Mapping[str, int]) -> int:
    uses = [op for op in graph.ops if i in op.inputs and op.kind in LOOKED_UP]
    bounds = [int(evaluate(LOOKED_UP[op.kind](op, graph), sizes)) for op in uses]
    return min(bounds, default=2)
