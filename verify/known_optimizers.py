"""Optimizers as data, as programs that count, and as torch has them, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from symacct.optimizers import Optimizer, compressed, elementwise, matrices
from verify import optimizer_programs as programs


class Known(NamedTuple):
    """An optimizer as data, as a program, and as torch has it (None where torch does not)."""

    data: Optimizer
    program: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    ranks: tuple[int, ...] = (1, 2, 3)
    near: float = 1e-9


def _torch(name: str, **options: Any) -> Callable[..., Any]:
    def make(params: Any, **more: Any) -> Any:
        import torch

        return getattr(torch.optim, name)(params, lr=programs.LR, **options, **more)

    return make


_WD = {"weight_decay": programs.WD}
_SMALL = partial(compressed.adam8bit, block=4)
KNOWN: Mapping[str, Known] = {
    "sgd": Known(elementwise.sgd(), programs.sgd, _torch("SGD")),
    "sgd, decayed": Known(
        elementwise.sgd(weight_decay=True), partial(programs.sgd, weight_decay=True), _torch("SGD", **_WD)
    ),
    "momentum": Known(
        elementwise.sgd(momentum=True), partial(programs.sgd, momentum=True), _torch("SGD", momentum=0.9)
    ),
    "nesterov": Known(
        elementwise.sgd(momentum=True, nesterov=True),
        partial(programs.sgd, momentum=True, nesterov=True),
        _torch("SGD", momentum=0.9, nesterov=True),
    ),
    "adagrad": Known(elementwise.adagrad(), programs.adagrad, _torch("Adagrad", eps=programs.EPS)),
    "rmsprop": Known(elementwise.rmsprop(), programs.rmsprop, _torch("RMSprop")),
    "rmsprop, centered": Known(
        elementwise.rmsprop(centered=True), partial(programs.rmsprop, centered=True), _torch("RMSprop", centered=True)
    ),
    "rmsprop, momentum": Known(
        elementwise.rmsprop(momentum=True), partial(programs.rmsprop, momentum=True), _torch("RMSprop", momentum=0.9)
    ),
    "adam": Known(elementwise.adam(), programs.adam, _torch("Adam")),
    "adam, decayed": Known(
        elementwise.adam(weight_decay=True), partial(programs.adam, weight_decay=True), _torch("Adam", **_WD)
    ),
    "amsgrad": Known(
        elementwise.adam(amsgrad=True), partial(programs.adam, amsgrad=True), _torch("Adam", amsgrad=True)
    ),
    "adamw": Known(elementwise.adamw(), programs.adamw, _torch("AdamW", **_WD)),
    "lion": Known(elementwise.lion(), programs.lion),
    "adafactor": Known(compressed.adafactor(), programs.adafactor, _torch("Adafactor", eps=(1e-7, 1e-3))),
    # torch's products run in bf16, with 8 bits: a step is near, not equal
    "muon": Known(matrices.muon(), programs.muon, _torch("Muon", **_WD), (2,), 0.03),
    "shampoo": Known(matrices.shampoo(every=1, iterations=9), partial(programs.shampoo, iterations=9), None, (2,)),
    "soap": Known(matrices.soap(every=1), programs.soap, None, (2,)),
    "adam8bit": Known(_SMALL(), partial(programs.adam8bit, block=4, inside=programs.adam)),
    "adamw8bit": Known(_SMALL(decoupled=True), partial(programs.adam8bit, block=4, inside=programs.adamw)),
}
