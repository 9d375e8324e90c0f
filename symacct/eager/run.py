"""Run a graph on real tensors, each freed at its last use; shapes are checked as they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symacct.eager import KINDS
from symacct.eager.inputs import random_input, whole
from symacct.eager.stacked import Stacked, joined, once, taken, tensors_in
from symacct.errors import GraphError, MissingPackageError, SizeError, UnknownOpError, one_of
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
    MissingPackageError
        Without torch.

    """
    if backend != "torch":
        msg = f"unknown backend {backend!r}; known: torch"
        raise UnknownOpError(msg)
    try:
        import torch
    except ImportError:
        msg = "running a graph needs torch: pip install 'symacct[torch]'"
        raise MissingPackageError(msg) from None

    for size in {size for tensor in graph.tensors for size in tensor.shape}:
        whole(size, sizes)
    generator = torch.Generator().manual_seed(seed)
    given = [random_input(graph, i, sizes, dtype, generator) for i in graph.inputs] if inputs is None else list(inputs)
    meter = _Meter()
    outputs = _execute(graph, sizes, given, meter)
    return Run(tuple(joined(t) for t in outputs), meter.peak)


class _Meter:
    """Counts the bytes of storages that are alive: those of the graph that runs, and of the graphs around it."""

    def __init__(self) -> None:
        self.peak = 0
        self.alive: list[dict[int, Any]] = []

    def look(self, more: Iterable[Any] = ()) -> None:
        alive = [value for values in self.alive for value in values.values()]
        storages = [t.untyped_storage() for value in (*alive, *more) for t in tensors_in(value)]
        sizes = {s._cdata: s.nbytes() for s in storages}  # noqa: SLF001 # what tells two storages apart, empty or on meta
        self.peak = max(self.peak, sum(sizes.values()))


def _execute(graph: Any, sizes: Mapping[str, int], given: list[Any], meter: _Meter) -> list[Any]:
    """Run the operations in order; a tensor leaves at its last use, at once where it has none. Empties `given`."""
    if len(given) != len(graph.inputs):
        msg = f"{len(given)} inputs are given, the graph takes {len(graph.inputs)}"
        raise GraphError(msg)
    leaving = graph.leaving()
    values: dict[int, Any] = {}
    meter.alive.append(values)
    for i in graph.inputs:
        values[i] = given.pop(0)
        _check(graph, i, values[i], sizes, f"the input {graph.tensors[i].name}")
    meter.look()
    for at, op in enumerate(graph.ops):
        _drop(values, leaving.get(at - 1, ()))
        tensors = [values[i] for i in op.inputs]
        if op.kind in ("repeat", "cond"):
            _drop(values, leaving.get(at, ()))  # they live on inside, as long as they are used there
        made = _run_op(op, tensors, sizes, meter)
        if op.einsum and "einsum" not in op.attrs:  # a pattern's own product, whose output may have merged axes
            made = [made[0].reshape([whole(s, sizes) for s in graph.tensors[op.outputs[0]].shape])]
        for i in reversed(op.outputs):
            values[i] = made.pop()
            _check(graph, i, values[i], sizes, f"operation {op.id} ({op.label})")
        meter.look()
    meter.alive.pop()
    return [values[i] for i in graph.outputs]


def _drop(values: dict[int, Any], leaving: Iterable[int]) -> None:
    for i in leaving:
        values.pop(i, None)


def _run_op(op: Any, tensors: list[Any], sizes: Mapping[str, int], meter: _Meter) -> list[Any]:
    if op.kind == "repeat":
        return _repeat(op, tensors, sizes, meter)
    if op.kind == "cond":
        return _execute(op.attrs["branches"][0 if bool(tensors[0]) else 1], sizes, tensors[1:], meter)
    if op.kind not in KINDS:
        msg = f"{op.kind} does not run on torch tensors; these do: {one_of(sorted(KINDS))}"
        raise UnknownOpError(msg)
    attrs = {**op.attrs, "einsum": op.einsum} if op.einsum else op.attrs
    made = KINDS[op.kind](*map(joined, tensors), **{name: _numbers(value, sizes) for name, value in attrs.items()})
    made = list(made) if isinstance(made, tuple | list) else [made]
    if len(made) != len(op.outputs):
        msg = f"operation {op.id} ({op.label}) gives {len(made)} tensors, the graph says {len(op.outputs)}"
        raise GraphError(msg)
    return made


def _repeat(op: Any, tensors: list[Any], sizes: Mapping[str, int], meter: _Meter) -> list[Any]:
    """Run the bodies; what is collected is put in its place, among `alive`, as soon as it is made."""
    carries, stacked = op.attrs["carry"], op.attrs["xs"]
    carry, xs, consts = tensors[:carries], tensors[carries : carries + stacked], tensors[carries + stacked :]
    alive = dict(enumerate(xs := [once(x) for x in xs])) | dict(enumerate(consts, len(xs)))
    collected: list[Any] = []
    kept: list[Stacked] = []
    meter.alive.append(alive)
    bodies = [body for body, turns in op.bodies for _ in range(_numbers(turns, sizes))]
    times = whole(op.attrs["n"], sizes)
    if times != len(bodies):
        msg = f"{op.label}: {len(op.parts) - 1} turns differ from the others, and there is {times}"
        raise SizeError(msg)
    for turn, body in enumerate(bodies):
        i = times - 1 - turn if op.attrs.get("reverse") else turn
        made = _execute(body, sizes, [*carry, *(taken(x, i) for x in xs), *consts], meter)
        last = carries + op.collected
        carry, rows = made[:carries], made[carries:last]
        if not turn:
            collected = [row.new_empty((times, *row.shape)) for row in map(joined, rows)]
            kept = [Stacked([None] * times) for _ in made[last:]]
            alive |= dict(enumerate([*collected, *kept], len(alive)))
            meter.look(made)
        for place, row in zip(collected, rows, strict=True):
            place[i] = joined(row)
        for slices, t in zip(kept, made[last:], strict=True):
            slices.slices[i] = t
    meter.alive.pop()
    return [*carry, *collected, *kept]


def _numbers(value: Any, sizes: Mapping[str, int]) -> Any:
    """Put numbers for names in an attribute; torch takes no fractions, so 1/sqrt(k) is a float."""
    if isinstance(value, Poly | Fraction):
        number = evaluate(value, sizes)
        return float(number) if isinstance(number, Fraction) else number
    if hasattr(value, "_replace") and hasattr(value, "sizes"):
        return value._replace(sizes={n: _numbers(s, sizes) for n, s in value.sizes.items()})
    if isinstance(value, tuple | list):
        return type(value)(_numbers(v, sizes) for v in value)
    return value


def _check(graph: Any, i: int, value: Any, sizes: Mapping[str, int], where: str) -> None:
    wanted = tuple(whole(s, sizes) for s in graph.tensors[i].shape)
    if tuple(value.shape) != wanted:
        msg = f"{where} gives the shape {tuple(value.shape)}, the graph says {wanted}"
        raise GraphError(msg)
