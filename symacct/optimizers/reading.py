"""A person's torch optimizer as data: run on small tensors of several shapes, its state explained by their sizes.

Each run takes a few steps, one of each number of axes more than a hundred: state that comes later is not seen.

Each size of a state tensor must be one thing in all runs: an axis of the parameter, a product of axes that stand side
by side (all of them for a flattened tensor), or the same number. One of the shapes is large, so that a state that is
kept by blocks, or in fewer bits from some size on, does not pass for a number. What is not explained is refused.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from symacct.dtypes import as_format
from symacct.errors import InconclusiveError
from symacct.optimizers.value import Buffer, Optimizer, Shape, numel

SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    0: ((),),
    1: ((37,), (53,), (9001,)),
    2: ((37, 53), (61, 41), (131, 71)),
    3: ((11, 13, 17), (23, 19, 7), (29, 31, 37)),
    4: ((3, 5, 7, 11), (13, 11, 5, 2), (17, 13, 7, 11)),
    5: ((3, 5, 2, 7, 11), (11, 7, 5, 3, 2), (7, 11, 5, 13, 3)),
}
"""Small sizes by number of axes, all different primes within a shape; the last has more than 4096 elements."""


class _Unlike(Exception):  # noqa: N818 # says that the runs of one number of axes have no common explanation
    pass


class _Span(NamedTuple):
    """A size of a state: the product of the axes from `first` up to `last`, or the number `constant`."""

    first: int
    last: int
    constant: int = 1

    def of(self, shape: Sequence[Any]) -> Any:
        return numel(tuple(shape[self.first : self.last])) * self.constant


Kept = tuple[tuple[str, tuple[_Span, ...], str], ...]
"""What is kept for a parameter of some number of axes: names, sizes, dtype."""


def read_optimizer(spec: Any) -> Optimizer:
    """Return what a torch optimizer keeps for a parameter, as data; what a step executes is not known.

    Parameters
    ----------
    spec
        The class, an instance, or a function that makes one from a list of parameters. An instance stays as it was.

    Raises
    ------
    InconclusiveError
        Where the state is not explained by the sizes of the parameter, differs from group to group, or grows.

    Examples
    --------
    >>> class Plain:
    ...     "Steps, and keeps nothing."
    ...     def __init__(self, params):
    ...         self.param_groups, self.state = [{"params": params}], {}
    ...     def step(self):
    ...         pass
    >>> read_optimizer(Plain).state
    ()

    """
    from symacct.eager.optimizers import groups_of

    name = getattr(spec, "__name__", type(spec).__name__)
    found = [_layouts(spec, group, name) for group in range(groups_of(spec))]
    if any(other != found[0] for other in found[1:]):
        msg = f"the groups of {name} do not keep the same tensors; read them one by one, as functions that make each"
        raise InconclusiveError(msg)
    kept, refused = found[0]
    names = list(dict.fromkeys(buffer for rank in kept for buffer, _, _ in kept[rank]))
    names += ["state"] if refused and not names else []  # asked for its shape, it says why it is not known
    state = [Buffer(buffer, _rule(buffer, kept, refused, name), _dtype(buffer, kept, name)) for buffer in names]
    return Optimizer(name, tuple(state), None, {}, "its state is read from runs on small tensors")


def _layouts(spec: Any, group: int, name: str) -> tuple[dict[int, Kept], dict[int, str]]:
    """Return what is kept, and why a parameter was refused, by number of axes."""
    kept: dict[int, Kept] = {}
    refused: dict[int, str] = {}
    for rank in SHAPES:
        try:
            kept[rank] = _layout(spec, group, rank)
        except _Unlike as why:
            refused[rank] = str(why)
    if not set(kept) - {0}:
        how = (
            f"a function that makes it, as in lambda params: {name}(params, lr=0.1), or "
            if isinstance(spec, type)
            else ""
        )
        msg = f"what {name} keeps cannot be read: {next(iter(refused.values()))}; give {how}one of the known names"
        raise InconclusiveError(msg)
    return kept, refused


def _layout(spec: Any, group: int, rank: int) -> Kept:
    """Explain what is kept for parameters of some number of axes."""
    from symacct.eager.optimizers import MANY_STEPS, try_optimizer

    first, *others = SHAPES[rank]
    trials = [try_optimizer(spec, group, first, "fp32", MANY_STEPS)]
    trials += [try_optimizer(spec, group, shape, "fp32") for shape in others]
    every = [*trials, try_optimizer(spec, group, SHAPES[rank][0], "bf16")]
    if failed := [trial for trial in every if trial.failure]:
        msg = f"with a parameter of shape {failed[0].shape}, {failed[0].failure}"
        raise _Unlike(msg)
    if len({tuple(seen.name for seen in trial.kept) for trial in every}) > 1:
        msg = f"what it keeps depends on the size of a parameter of {rank} axes"
        raise _Unlike(msg)
    out = []
    for place, seen in enumerate(every[0].kept):
        dtypes = {trial.kept[place].dtype for trial in trials}, {every[-1].kept[place].dtype}
        shapes = [trial.kept[place].shape for trial in every]
        out.append((seen.name, _explained(seen.name, shapes, every), _format(seen.name, dtypes)))
    return tuple(out)


def _explained(name: str, shapes: Sequence[tuple[int, ...]], trials: Sequence[Any]) -> tuple[_Span, ...]:
    """Return what each size of a state tensor is, in all runs."""
    given = [trial.shape for trial in trials]
    if len({len(shape) for shape in shapes}) > 1:
        msg = f"{name!r} has {one_of_numbers(map(len, shapes))} axes, depending on the size of the parameter"
        raise _Unlike(msg)
    spans = []
    for axis in range(len(shapes[0])):
        sizes = [shape[axis] for shape in shapes]
        rank = len(given[0])
        found = [
            _Span(i, j)
            for i, j in itertools.combinations(range(rank + 1), 2)
            if all(size == math.prod(shape[i:j]) for size, shape in zip(sizes, given, strict=True))
        ]
        if not found and len(set(sizes)) > 1:
            told = ", ".join(f"{size} for {shape}" for size, shape in zip(sizes[:3], given, strict=False))
            msg = f"axis {axis} of {name!r} is no product of sizes of the parameter: {told}"
            raise _Unlike(msg)
        spans.append(found[0] if found else _Span(0, 0, sizes[0]))
    return tuple(spans)


def one_of_numbers(numbers: Any) -> str:
    """List numbers for a message, each once."""
    return " or ".join(str(n) for n in sorted(set(numbers)))


def _format(name: str, dtypes: tuple[set[str], set[str]]) -> str:
    """Return ``"param"`` where a tensor has the parameter's dtype, or the one it always has."""
    if dtypes == ({"torch.float32"}, {"torch.bfloat16"}):
        return "param"
    if len(dtypes[0] | dtypes[1]) == 1:
        return as_format(next(iter(dtypes[0]))).name
    msg = f"the dtype of {name!r} is {' or '.join(sorted(dtypes[0] | dtypes[1]))}, depending on the parameter"
    raise _Unlike(msg)


def _rule(
    buffer: str, kept: Mapping[int, Kept], refused: Mapping[int, str], name: str
) -> Callable[[Shape], Shape | None]:
    """Return the shape rule of a buffer, from what was seen."""

    def shaped(shape: Shape) -> Shape | None:
        rank = len(shape)
        if rank not in kept:
            why = refused.get(rank, f"parameters of {rank} axes were not tried")
            msg = f"what {name} keeps for a parameter of {rank} axes cannot be told: {why}"
            raise InconclusiveError(msg)
        spans = next((spans for found, spans, _ in kept[rank] if found == buffer), None)
        return None if spans is None else tuple(span.of(shape) for span in spans)

    return shaped


def _dtype(buffer: str, kept: Mapping[int, Kept], name: str) -> str:
    dtypes = {dtype for rank in kept.values() for found, _, dtype in rank if found == buffer}
    if len(dtypes) > 1:
        msg = f"the dtype of {buffer!r} of {name} depends on the number of axes: {' or '.join(sorted(dtypes))}"
        raise InconclusiveError(msg)
    return dtypes.pop() if dtypes else "param"
