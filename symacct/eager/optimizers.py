"""A person's torch optimizer, run on small tensors: what it keeps for a parameter. Their object stays as it was."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from symacct.eager.dtypes import torch_dtype
from symacct.eager.kept import Seen, UnreadableError, read_state

STEPS = 3
"""Enough for state that is made when it is first needed; the last step must add none."""
MANY_STEPS = 105
"""Some state is made every 10 or 100 steps."""


class Trial(NamedTuple):
    """What an optimizer kept for a parameter of a shape; or why it did not run."""

    shape: tuple[int, ...]
    kept: tuple[Seen, ...]
    failure: str = ""


def groups_of(spec: Any) -> int:
    """Return how many groups of parameters an optimizer has; what only makes one has one."""
    return len(spec.param_groups) if hasattr(spec, "param_groups") else 1


def try_optimizer(spec: Any, group: int, shape: tuple[int, ...], dtype: str, steps: int = STEPS) -> Trial:
    """Take some steps on two parameters of a shape, with random gradients; torch's random state is put back."""
    import torch

    with torch.random.fork_rng(devices=()), torch.enable_grad(), _one_thread():
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(shape).to(torch_dtype(dtype))) for _ in range(2)]
        try:
            made = _made(spec, group, params)
            for _ in range(STEPS - 1):
                _step(made, params)
            before = read_state(made, params)
            for _ in range(steps - STEPS + 1):
                _step(made, params)
            kept = read_state(made, params)
        except UnreadableError as error:
            return Trial(shape, (), str(error))
        except Exception as error:  # noqa: BLE001 # a person's code may raise anything; the message is kept
            return Trial(shape, (), f"{type(error).__name__}: {error}")
    if kept != before:
        return Trial(
            shape, (), f"its state still grew in step {STEPS}" + (f" or up to {steps}" if steps > STEPS else "")
        )
    if outside := _outside(made):
        return Trial(shape, (), f"it keeps tensors outside its state, in {outside!r}")
    return Trial(shape, kept)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread, which is faster for small tensors."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _made(spec: Any, group: int, params: list[Any]) -> Any:
    """Make an optimizer of some parameters; of an instance a twin that shares nothing with it."""
    if not hasattr(spec, "param_groups"):
        return spec(params)
    own = {name: value for name, value in vars(spec).items() if name not in ("param_groups", "state", "defaults")}
    hooks = {name: type(value)() for name, value in own.items() if name.endswith("_hooks")}
    theirs = [p for g in spec.param_groups for p in g["params"]]
    memo = {id(p): params[i % 2] for i, p in enumerate(theirs)}
    twin = object.__new__(type(spec))
    rates = {name: value for name, value in spec.param_groups[group].items() if name not in ("params", "param_names")}
    vars(twin).update(copy.deepcopy({**own, **hooks, "defaults": spec.defaults}, memo))
    twin.state = defaultdict(dict)
    twin.param_groups = [{**copy.deepcopy(rates, memo), "params": params}]
    return twin


def _step(made: Any, params: list[Any]) -> None:
    import torch

    for p in params:
        p.grad = torch.randn(p.shape).to(p.dtype)
    made.step()


def _outside(made: Any) -> str:
    """Return the name of an attribute that holds tensors of more than one number, besides the parameters."""
    rates = [{name: value for name, value in g.items() if name != "params"} for g in made.param_groups]
    seen = {id(p) for g in made.param_groups for p in (*g["params"], *(p.grad for p in g["params"]))}
    seen |= {id(made), id(made.param_groups), id(made.state)}
    places = {name: value for name, value in vars(made).items() if name not in ("param_groups", "state")}
    return next((str(n) for n, value in {**places, "param_groups": rates}.items() if _keeps(value, seen)), "")


def _keeps(value: Any, seen: set[int]) -> bool:
    """Whether something holds a tensor of more than one number that is not known, inside other objects too."""
    import torch

    if id(value) in seen or isinstance(value, type | ModuleType) or callable(value):
        return False
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        return value.numel() > 1
    if isinstance(value, Mapping):
        return any(_keeps(part, seen) for part in (*value.keys(), *value.values()))
    if isinstance(value, list | tuple | set):
        return any(_keeps(part, seen) for part in value)
    return hasattr(value, "__dict__") and any(_keeps(part, seen) for part in vars(value).values())
