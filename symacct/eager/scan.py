"""Scans in torch, as plain programs: what the rules count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Elements: TypeAlias = tuple[Any, ...]
Combine: TypeAlias = Callable[[Elements, Elements], Elements]

COMBINES: Mapping[str, str] = {"add": "add", "mul": "mul", "max": "maximum"}


def associative_scan(x: Any, *, combine: str, axis: int, reverse: bool) -> Any:
    """Combine every prefix, in parallel."""
    import torch

    function = getattr(torch, COMBINES[combine])
    (out,) = _turned((x,), axis, reverse, lambda xs: _scan(lambda p, q: (function(p[0], q[0]),), xs))
    return out


def linear_recurrence(a: Any, b: Any, *initial: Any, axis: int, method: str, reverse: bool) -> Any:
    """Run ``h_t = a_t*h_(t-1) + b_t``, one after the other or in parallel."""
    run = _in_sequence if method == "sequential" else _in_parallel
    (out,) = _turned((a.expand(b.shape), b), axis, reverse, lambda xs: (run(xs[0], xs[1], *initial),))
    return out


def _turned(tensors: Elements, axis: int, reverse: bool, run: Callable[[Elements], Elements]) -> Elements:  # noqa: FBT001
    """Run with time as the first axis, forwards."""
    given = tuple(t.movedim(axis, 0) for t in tensors)
    made = run(tuple(t.flip(0) for t in given) if reverse else given)
    return tuple((t.flip(0) if reverse else t).movedim(0, axis) for t in made)


def _in_sequence(a: Any, b: Any, *initial: Any) -> Any:
    import torch

    state = a[0] * initial[0] + b[0] if initial else b[0]
    states = [state]
    for coefficient, term in zip(a[1:], b[1:], strict=True):
        states.append(coefficient * states[-1] + term)
    return torch.stack(states)


def _in_parallel(a: Any, b: Any, *initial: Any) -> Any:
    import torch

    if initial:
        b = torch.cat([(a[:1] * initial[0] + b[:1]), b[1:]])
    return _scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]


def _scan(combine: Combine, elements: Elements) -> Elements:
    """Combine neighbours, scan the half that results, and combine every other result with its neighbour."""
    import torch

    n = elements[0].shape[0]
    if n == 1:
        return elements
    halved = combine(tuple(e[0 : n - 1 : 2] for e in elements), tuple(e[1::2] for e in elements))
    odd = _scan(combine, halved)
    later = tuple(e[2::2] for e in elements)
    even = combine(tuple(o[: len(later[0])] for o in odd), later) if n > 2 else tuple(e[:0] for e in elements)
    out = []
    for first, rest, between in zip(elements, even, odd, strict=True):
        whole = torch.empty_like(first)
        whole[0], whole[2::2], whole[1::2] = first[0], rest, between
        out.append(whole)
    return tuple(out)


KINDS: dict[str, Callable[..., Any]] = {"associative_scan": associative_scan, "linear_recurrence": linear_recurrence}
