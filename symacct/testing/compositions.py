"""Random functions of tensors: chains of operations that fit together, in symacct's words and in torch's.

One strategy draws what is computed, as data; `Composition.function` says it with symacct and einops, and
`Composition.in_torch` with torch alone, so that shapes, values and costs can be compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa


class Step(NamedTuple):
    """One operation on the tensor that the step before it made.

    `axis` is what it works along, `order` an order of axes, `operands` are the shapes of further tensors, and `axes`
    the sizes of what it makes.
    """

    kind: str
    axes: tuple[str, ...]
    axis: int = 0
    order: tuple[int, ...] = ()
    operands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """A chain of operations on a tensor of the axes `start`, and a number for each name in its sizes."""

    start: tuple[str, ...]
    steps: tuple[Step, ...]
    sizes: Mapping[str, int]

    @property
    def shapes(self) -> dict[str, str]:
        """The shapes of all tensors that it takes, by name and in order, as symacct reads them."""
        taken = [self.start, *(shape for step in self.steps for shape in step.operands)]
        return {f"x{i}": " ".join(shape) for i, shape in enumerate(taken)}

    def function(self) -> Callable[..., Any]:
        """Return it as a function of annotated tensors, symbolic or real."""

        def composed(*tensors: Any, **named: Any) -> Any:
            return self._chain(OURS, [*tensors, *named.values()])

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        given = [inspect.Parameter(n, kind, annotation=repr(shape)) for n, shape in self.shapes.items()]
        composed.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        return composed

    def in_torch(self, *tensors: Any) -> Any:
        """Run it on torch tensors, in torch's own words."""
        return self._chain(THEIRS, list(tensors))

    def _chain(self, words: Mapping[str, Callable[..., Any]], tensors: list[Any]) -> Any:
        x, *rest = tensors
        for step in self.steps:
            count = len(step.operands)
            x, rest = words[step.kind](x, step, *rest[:count]), rest[count:]
        return x


def _rearranged(x: Any, step: Step) -> Any:
    import einops

    names = [f"a{i}" for i in range(x.ndim)]
    return einops.rearrange(x, f"{' '.join(names)} -> {' '.join(names[i] for i in step.order)}")


def _merged(x: Any, step: Step) -> Any:
    import einops

    names = [f"a{i}" for i in range(x.ndim)]
    joined = [*names[: step.axis], f"({names[step.axis]} {names[step.axis + 1]})", *names[step.axis + 2 :]]
    return einops.rearrange(x, f"{' '.join(names)} -> {' '.join(joined)}")


def _contracted(x: Any, step: Step, w: Any) -> Any:
    import einops

    names = [f"a{i}" for i in range(x.ndim)]
    made = [n if i != step.axis else "new" for i, n in enumerate(names)]
    return einops.einsum(x, w, f"{' '.join(names)}, {names[step.axis]} new -> {' '.join(made)}")


def _reduced(how: str) -> Callable[..., Any]:
    def reduced(x: Any, step: Step) -> Any:
        import einops

        names = [f"a{i}" for i in range(x.ndim)]
        kept = [n for i, n in enumerate(names) if i != step.axis]
        return einops.reduce(x, f"{' '.join(names)} -> {' '.join(kept)}", how)

    return reduced


def _before_last(step: Step) -> tuple[Any, ...]:
    return (*[slice(None)] * step.axis, slice(None, -1))


OURS: dict[str, Callable[..., Any]] = {
    "relu": lambda x, _: sa.relu(x),
    "gelu": lambda x, _: sa.gelu(x),
    "tanh": lambda x, _: sa.tanh(x),
    "gate": lambda x, _: sa.sigmoid(x) * x,
    "choose": lambda x, _: sa.where(x > 0, x, 0.25),
    "scale": lambda x, _: 1 - x * 0.5,
    "add": lambda x, _, y: x + y,
    "multiply": lambda x, _, y: x * y,
    "maximum": lambda x, _, y: sa.maximum(x, y),
    "matmul": lambda x, _, w: x @ w,
    "scores": lambda x, _: x @ x.mT,
    "contract": _contracted,
    "softmax": lambda x, step: sa.softmax(x, dim=step.axis),
    "layer_norm": lambda x, _, w, v: sa.layer_norm(x, x.shape[-1:], w, v),
    "rms_norm": lambda x, _, w: sa.rms_norm(x, x.shape[-1], w, eps=1e-6),
    "sum": _reduced("sum"),
    "mean": _reduced("mean"),
    "max": _reduced("max"),
    "permute": _rearranged,
    "merge": _merged,
    "double": lambda x, step: sa.concat([x, x], axis=step.axis),
    "cut": lambda x, step: x[_before_last(step)],
}
"""What each step is in symacct and einops."""


def _torch() -> Any:
    import torch

    return torch


def _einsum(x: Any, step: Step, w: Any) -> Any:
    letters = "abcdefgh"[: x.ndim]
    equation = f"{letters},{letters[step.axis]}z->{letters.replace(letters[step.axis], 'z')}"
    return _torch().einsum(equation, x, w)


THEIRS: dict[str, Callable[..., Any]] = {
    "relu": lambda x, _: x.clamp(min=0),
    "gelu": lambda x, _: x * (1 + _torch().erf(x / 2**0.5)) / 2,
    "tanh": lambda x, _: 2 * _torch().sigmoid(2 * x) - 1,
    "gate": lambda x, _: _torch().nn.functional.silu(x),
    "choose": lambda x, _: x.masked_fill(x <= 0, 0.25),
    "scale": lambda x, _: 1 - x / 2,
    "add": lambda x, _, y: _torch().add(x, y),
    "multiply": lambda x, _, y: _torch().mul(x, y),
    "maximum": lambda x, _, y: _torch().where(x > y, x, y),
    "matmul": lambda x, _, w: _torch().nn.functional.linear(x, w.T),
    "scores": lambda x, _: _torch().matmul(x, x.transpose(-1, -2)),
    "contract": _einsum,
    "softmax": lambda x, step: (x - x.logsumexp(step.axis, keepdim=True)).exp(),
    "layer_norm": lambda x, _, w, v: _torch().nn.functional.layer_norm(x, x.shape[-1:], w, v),
    "rms_norm": lambda x, _, w: _torch().nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6),
    "sum": lambda x, step: x.sum(step.axis),
    "mean": lambda x, step: x.mean(step.axis),
    "max": lambda x, step: x.amax(step.axis),
    "permute": lambda x, step: x.permute(step.order),
    "merge": lambda x, step: x.flatten(step.axis, step.axis + 1),
    "double": lambda x, step: _torch().cat([x, x], dim=step.axis),
    "cut": lambda x, step: x.narrow(step.axis, 0, x.shape[step.axis] - 1),
}
"""What each step is in torch."""

NAMES = ("b", "s", "d", "h", "k", "f")
SIZES = (3, 4, 5, 6, 7, 8)
UNARY = ("relu", "gelu", "tanh", "gate", "choose", "scale")
BINARY = ("add", "multiply", "maximum")


@st.composite
def compositions(draw: st.DrawFn, *, max_steps: int = 6) -> Composition:
    """Draw a chain of operations that fit together, and different sizes for its names.

    Parameters
    ----------
    max_steps
        At most so many operations.

    Examples
    --------
    >>> from hypothesis import given
    >>> import symacct as sa
    >>> @given(compositions(max_steps=3))
    ... def ends_in_these_axes(composition):
    ...     account = sa.account(composition.function())
    ...     assert len(account.graph.tensors[account.graph.outputs[0]].shape) == len(composition.steps[-1].axes)
    >>> ends_in_these_axes()

    """
    start = draw(st.permutations(NAMES))[: draw(st.integers(1, 4))]
    axes, steps = tuple(start), []
    for _ in range(draw(st.integers(1, max_steps))):
        steps.append(_step(draw, axes))
        axes = steps[-1].axes
    sizes = dict(zip(NAMES, draw(st.permutations(SIZES)), strict=True))
    used = {n for shape in (start, *(o for s in steps for o in s.operands)) for a in shape for n in NAMES if n in a}
    return Composition(tuple(start), tuple(steps), {n: size for n, size in sizes.items() if n in used})


def _step(draw: st.DrawFn, axes: tuple[str, ...]) -> Step:
    """Draw a step that fits a tensor of these axes."""
    axis = draw(st.integers(0, len(axes) - 1))
    legal = [*UNARY, *BINARY, "matmul", "contract", "softmax", "layer_norm", "rms_norm", "double"]
    if len(axes) > 1:
        legal += ["scores", "sum", "mean", "max", "permute", "merge"]
    if axes[axis] in NAMES:
        legal.append("cut")
    return _drawn(draw, draw(st.sampled_from(legal)), axes, axis)


def _drawn(draw: st.DrawFn, kind: str, axes: tuple[str, ...], axis: int) -> Step:
    before, after = axes[:axis], axes[axis + 1 :]
    if kind in BINARY:
        return Step(kind, axes, operands=(_broadcast(draw, axes),))
    if kind in ("matmul", "contract"):
        new, at = draw(st.sampled_from(NAMES)), len(axes) - 1 if kind == "matmul" else axis
        return Step(kind, (*axes[:at], new, *axes[at + 1 :]), at, operands=((axes[at], new),))
    if kind in ("layer_norm", "rms_norm"):
        return Step(kind, axes, operands=((axes[-1],),) * (2 if kind == "layer_norm" else 1))
    if kind == "permute":
        order = tuple(draw(st.permutations(range(len(axes)))))
        return Step(kind, tuple(axes[i] for i in order), order=order)
    if kind == "merge":
        at = min(axis, len(axes) - 2)
        return Step(kind, (*axes[:at], f"({axes[at]})*({axes[at + 1]})", *axes[at + 2 :]), at)
    made = {
        "scores": (*axes[:-1], axes[-2]) if len(axes) > 1 else axes,
        "sum": before + after,
        "mean": before + after,
        "max": before + after,
        "double": (*before, f"2*({axes[axis]})", *after),
        "cut": (*before, f"{axes[axis]}-1", *after),
    }
    return Step(kind, made.get(kind, axes), axis)


def _broadcast(draw: st.DrawFn, axes: Sequence[str]) -> tuple[str, ...]:
    """Draw a shape that broadcasts to another: its last axes, some of size 1."""
    kept = axes[draw(st.integers(0, len(axes))) :]
    ones = draw(st.lists(st.booleans(), min_size=len(kept), max_size=len(kept)))
    return tuple("1" if one else axis for axis, one in zip(kept, ones, strict=True))
