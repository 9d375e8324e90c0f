"""Optimizers that treat every element alike. In each formula all letters but the rates are tensors of n elements.

Work is counted as the formula is written, once an operator; `a + t*(b - a)` (torch's lerp) is 3. What is worked out
once a step (bias corrections, products of rates) is a scalar on the host and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from symacct.conventions import Work
from symacct.optimizers.value import STEP, Buffer, Kernel, Optimizer, Shape, each, like, numel


def _per_element(**calls: int) -> Callable[[Shape], Work]:
    return lambda shape: each(numel(shape), **calls)


def _makes(**numbers: int) -> dict[Kernel, tuple[tuple[Buffer, ...], ...]]:
    """Return so many tensors of the parameter's shape, by kernel.

    In a loop what is left of one tensor's update is alive while the next one begins, so these are the tensors that are
    alive where two tensors of one size follow each other, and at most that many otherwise.
    """
    made = Buffer("temporary", like, "param")
    return {"fused": ((),), **{cast("Kernel", kernel): ((made,) * number,) for kernel, number in numbers.items()}}


def _decay(decays: bool) -> dict[str, int]:  # noqa: FBT001 # the one thing it is told
    """``g + wd*p``: a multiply and an add."""
    return {"mul": 1, "add": 1} if decays else {}


def _sum(*counts: dict[str, int]) -> dict[str, int]:
    return {name: sum(c.get(name, 0) for c in counts) for name in sorted({n for c in counts for n in c})}


def sgd(*, momentum: bool = False, nesterov: bool = False, weight_decay: bool = False) -> Optimizer:
    """``p -= lr*g``: 2 operations an element; with momentum ``b = mu*b + g; p -= lr*b``: 4, with Nesterov's 6.

    Nesterov's step is ``p -= lr*(g + mu*b)``; weight decay first adds ``wd*p`` to g, 2 more.
    """
    counted = _sum({"mul": 1, "sub": 1}, _decay(weight_decay))
    if momentum:
        counted = _sum(counted, {"mul": 1, "add": 1}, {"mul": 1, "add": 1} if nesterov else {})
    state = (Buffer("momentum_buffer", like),) if momentum else ()
    name = "nesterov" if nesterov else "momentum" if momentum else "sgd"
    makes = _makes(foreach=int(weight_decay), forloop=int(nesterov) + int(weight_decay))
    return Optimizer(name, state, _per_element(**counted), makes)


def adagrad() -> Optimizer:
    """``s += g*g; p -= lr*g/(sqrt(s) + eps)``: 2 + 5 = 7 operations an element, one tensor of state.

    With ``sqrt(s + eps)``, as the lecture writes it, the count is the same.
    """
    work = _per_element(mul=2, add=2, sqrt=1, div=1, sub=1)
    return Optimizer("adagrad", (Buffer("sum", like), STEP), work, _makes(foreach=2, forloop=2))


def rmsprop(*, centered: bool = False, momentum: bool = False) -> Optimizer:
    """``v = a*v + (1 - a)*g*g; p -= lr*g/(sqrt(v) + eps)``: 4 + 5 = 9 operations an element.

    Centered takes ``v - m*m`` with ``m += (1 - a)*(g - m)``, 5 more. With momentum the step is
    ``b = mu*b + g/(sqrt(v) + eps); p -= lr*b``, 2 more.
    """
    counted = {"mul": 4, "add": 2, "sqrt": 1, "div": 1, "sub": 1}
    state = [Buffer("square_avg", like)]
    if centered:
        counted = _sum(counted, {"mul": 2, "add": 1, "sub": 2})
        state.append(Buffer("grad_avg", like))
    if momentum:
        counted = _sum(counted, {"mul": 1, "add": 1})
        state.append(Buffer("momentum_buffer", like))
    work = _per_element(**counted)
    return Optimizer("rmsprop", (*state, STEP), work, _makes(foreach=1, forloop=2))


_ADAM = {"mul": 5, "add": 3, "sub": 2, "sqrt": 1, "div": 2}


def adam(*, amsgrad: bool = False, weight_decay: bool = False) -> Optimizer:
    """``m += (1 - b1)*(g - m); v = b2*v + (1 - b2)*g*g; p -= a*m/(sqrt(v)/c + eps)``: 3 + 4 + 6 = 13 an element.

    `a` and `c` are scalars with the bias corrections. AMSGrad keeps the largest v, a comparison more; weight decay
    first adds ``wd*p`` to g, 2 more.
    """
    counted = _sum(_ADAM, _decay(weight_decay), {"max": 1} if amsgrad else {})
    state = [Buffer("exp_avg", like), Buffer("exp_avg_sq", like)]
    if amsgrad:
        state.append(Buffer("max_exp_avg_sq", like))
    makes = _makes(foreach=1, forloop=3 + int(weight_decay))
    return Optimizer("adam", (*state, STEP), _per_element(**counted), makes)


def adamw() -> Optimizer:
    """``p *= 1 - lr*wd``, then Adam: 1 + 13 = 14 operations an element, two tensors of state."""
    state = (Buffer("exp_avg", like), Buffer("exp_avg_sq", like), STEP)
    return Optimizer("adamw", state, _per_element(**_sum(_ADAM, {"mul": 1})), _makes(foreach=1, forloop=3))


def lion() -> Optimizer:
    """``p *= 1 - lr*wd; p -= lr*sign(m + (1 - b1)*(g - m)); m += (1 - b2)*(g - m)``: 1 + 6 + 3 = 10 an element.

    A sign is one comparison. The order is that of the paper: the step is taken with the old m.
    """
    work = _per_element(mul=4, add=2, sub=3, compare=1)
    return Optimizer("lion", (Buffer("exp_avg", like),), work, _makes(forloop=2))
