"""What torch holds for a backward pass, and runs again in it: live storages and calls seen at its dispatcher."""

from __future__ import annotations

import inspect
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

import symacct as sa
from symacct.eager.inputs import random_input

Layer = Callable[..., torch.Tensor]
UNSEEN = ("detach", "t", "transpose", "view", "_unsafe_view", "expand", "permute", "unsqueeze", "squeeze")
"""Operations of the backward pass that may run while a forward pass that is cut short still holds its temporaries."""

PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
"""Products of matrices, of which the first factor is the last argument but one."""


class Seen(NamedTuple):
    """Bytes held between the passes, and at most; how often each operation ran again, and products' FLOPs in it."""

    held: int
    memory: int
    again: Counter[str]
    matmul: int


class Watch(TorchDispatchMode):
    """Adds up the live storages that were made while gradients were recorded: forward, and recomputed.

    Backward operations run unrecorded; what they make are gradients, and not counted. Whenever one of them runs, the
    temporaries of the forward pass are gone.
    """

    def __init__(self, given: Sequence[torch.Tensor], params: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.params = {p.untyped_storage()._cdata for p in params}
        self.live: dict[int, int] = {}
        self.most = 0
        self.is_backward = False
        self.again: Counter[str] = Counter()
        self.matmul = 0
        for t in given:
            self.note(t)

    def note(self, t: torch.Tensor) -> None:
        storage = t.untyped_storage()
        key = storage._cdata
        if key not in self.live and key not in self.params:
            self.live[key] = storage.nbytes()
            weakref.finalize(storage, self.live.pop, key, None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if torch.is_grad_enabled():
            out = func(*args, **(kwargs or {}))
            for t in out if isinstance(out, tuple | list) else (out,):
                if isinstance(t, torch.Tensor):
                    self.note(t)
            if self.is_backward:
                self.again[name] += 1
                self.matmul += 2 * out.numel() * args[-2].shape[-1] if name in PRODUCTS else 0
            return out
        if self.is_backward and name not in UNSEEN:
            self.most = max(self.most, sum(self.live.values()))
        return func(*args, **(kwargs or {}))


def watched(run: Layer, shape: Sequence[int], params: Sequence[torch.Tensor], *, early_stop: bool) -> Seen:
    """Run forward from random numbers, sum, and backward; parameters and the sum are not counted."""
    given, start = [torch.randn(*shape)], torch.ones(())
    watch = Watch(given, params)
    with set_checkpoint_early_stop(early_stop), watch:
        loss = run(given.pop()).sum()  # which nothing else holds
        del watch.live[loss.untyped_storage()._cdata]
        held = sum(watch.live.values())
        watch.is_backward = True
        loss.backward(start)
    return Seen(held, watch.most, watch.again, watch.matmul)


def in_segments(layers: Sequence[Layer], cuts: Sequence[tuple[int, int, bool]]) -> Layer:
    """Return a network of layers, of which stretches are recomputed."""

    def stretch(x: torch.Tensor, first: int, last: int) -> torch.Tensor:
        for layer in layers[first:last]:
            x = layer(x)
        return x

    def network(x: torch.Tensor) -> torch.Tensor:
        for first, last, recomputed in cuts:
            x = checkpoint(stretch, x, first, last, use_reentrant=False) if recomputed else stretch(x, first, last)
        return x

    return network


def in_halves(layers: Sequence[Layer]) -> Layer:
    """Return a network of layers of which halves are recomputed, and halves of them."""

    def region(x: torch.Tensor, first: int, last: int) -> torch.Tensor:
        if last - first == 1:
            return layers[first](x)
        middle = (first + last) // 2
        x = checkpoint(region, x, first, middle, use_reentrant=False)
        return checkpoint(region, x, middle, last, use_reentrant=False)

    if len(layers) == 1:
        return lambda x: checkpoint(region, x, 0, 1, use_reentrant=False)
    return lambda x: region(x, 0, len(layers))


def watched_graph(worked: Any, graph: Any, sizes: Mapping[str, int], k: int, *, early_stop: bool) -> Seen:
    """Run a worked graph on random tensors, the turns of its repeats recomputed k at a time (0: none)."""
    draw = torch.Generator().manual_seed(0)
    made = {graph.tensors[i].name: random_input(graph, i, sizes, "fp32", draw) for i in graph.inputs}
    params = [made[name].requires_grad_() for name in worked.params]
    given = [t for t in made.values() if not t.requires_grad]
    arguments = {name: made.get(name, worked.values.get(name)) for name in inspect.signature(worked.build).parameters}
    watch, start = Watch(given, params), torch.ones(())
    del made, given
    usual = sa.repeat
    sa.repeat = partial(_repeat, k, usual)
    try:
        with set_checkpoint_early_stop(early_stop), watch:
            loss = _emptied(worked.build, arguments).sum()  # which nothing else holds
            del watch.live[loss.untyped_storage()._cdata]
            held = sum(watch.live.values())
            watch.is_backward = True
            loss.backward(start)
    finally:
        sa.repeat = usual
    return Seen(held, watch.most, watch.again, watch.matmul)


def _emptied(build: Callable[..., torch.Tensor], arguments: dict[str, Any]) -> torch.Tensor:
    given = dict(arguments)
    arguments.clear()
    return build(**given)


def _repeat(  # noqa: PLR0917 # the last five are those of a repeat
    k: int, usual: Any, _n: Any, body: Callable[..., Any], carry: Any, xs: Any = (), consts: Any = ()
) -> Any:
    """Run a repeat on tensors, k turns together; repeats inside its body run as `usual`. `xs` is one, or a tuple."""
    rows = xs if isinstance(xs, tuple) else (xs,)
    shared = [consts] if isinstance(consts, torch.Tensor) or consts else []

    def stretch(x: Any, first: int, last: int) -> Any:
        with mock.patch.object(sa, "repeat", usual):
            for i in range(first, last):
                turn = tuple(row[i] for row in rows)
                x = body(x, turn if isinstance(xs, tuple) else turn[0], *shared)
        return x

    count = len(rows[0])
    if not k:
        return stretch(carry, 0, count)
    for first in range(0, count, k):
        carry = checkpoint(stretch, carry, first, min(first + k, count), use_reentrant=False)
    return carry
