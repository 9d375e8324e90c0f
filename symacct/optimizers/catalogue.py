"""The optimizers by name, and whatever else a person may give for one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from symacct.errors import ConventionError, InconclusiveError, nearest, one_of
from symacct.optimizers import compressed, elementwise, matrices
from symacct.optimizers.value import Optimizer

NAMED: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "sgd": (elementwise.sgd, {}),
    "momentum": (elementwise.sgd, {"momentum": True}),
    "nesterov": (elementwise.sgd, {"momentum": True, "nesterov": True}),
    "adagrad": (elementwise.adagrad, {}),
    "rmsprop": (elementwise.rmsprop, {}),
    "adam": (elementwise.adam, {}),
    "adamw": (elementwise.adamw, {}),
    "lion": (elementwise.lion, {}),
    "adafactor": (compressed.adafactor, {}),
    "shampoo": (matrices.shampoo, {}),
    "soap": (matrices.soap, {}),
    "muon": (matrices.muon, {}),
    "adam8bit": (compressed.adam8bit, {}),
    "adamw8bit": (compressed.adam8bit, {"decoupled": True}),
}


@lru_cache(maxsize=64)
def _named(name: str) -> Optimizer:
    make, options = NAMED[name]
    made: Optimizer = make(**options)
    return made


def _check_steps(spec: Any) -> None:
    """Check that a class, or an instance, takes steps, and takes them by itself."""
    if not isinstance(spec, type) and not hasattr(spec, "param_groups"):
        return
    name = getattr(spec, "__name__", type(spec).__name__)
    if not hasattr(spec, "step"):
        msg = f"{name} is no optimizer, it takes no steps; give a name ({one_of(NAMED)}), or a torch.optim.Optimizer"
        raise ConventionError(msg)
    closure = inspect.signature(spec.step).parameters.get("closure")
    if closure is not None and closure.default is closure.empty:
        msg = f"a step of {name} runs the model itself, as often as it likes (its closure): what it costs is not known"
        raise InconclusiveError(msg)


def optimizer(spec: Any) -> Optimizer:
    """Return an optimizer as data: the tensors it keeps for a parameter, and what a step executes.

    Parameters
    ----------
    spec
        A name (``"sgd"``, ``"momentum"``, ``"nesterov"``, ``"adagrad"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``,
        ``"lion"``, ``"adafactor"``, ``"shampoo"``, ``"soap"``, ``"muon"``, ``"adam8bit"``, ``"adamw8bit"``); an
        `Optimizer`; or torch's or a person's own ``torch.optim.Optimizer``: the class, an instance, or a function that
        makes one from a list of parameters. Those are run on small tensors, see `symacct.optimizers.reading`.

    Returns
    -------
    Optimizer

    Raises
    ------
    ConventionError
        For a name that is not known, or what is no optimizer.
    InconclusiveError
        For code whose state cannot be told from runs on small tensors.

    Examples
    --------
    >>> import symacct as sa
    >>> [buffer.name for buffer in sa.optimizer("momentum").state]
    ['momentum_buffer']

    """
    if isinstance(spec, Optimizer):
        return spec
    if isinstance(spec, str):
        name = spec.strip().lower().replace("-", "").replace("_", "")
        if name not in NAMED:
            msg = f"unknown optimizer {spec[:60]!r}; known: {one_of(NAMED)}.{nearest(name, NAMED)}"
            raise ConventionError(msg)
        return _named(name)
    if not callable(spec) and not hasattr(spec, "param_groups"):
        msg = f"{spec!r} is no optimizer; give a name ({one_of(NAMED)}), or a torch.optim.Optimizer"
        raise ConventionError(msg)
    from symacct.optimizers.reading import read_optimizer

    _check_steps(spec)
    return read_optimizer(spec)
