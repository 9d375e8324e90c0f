"""A tiny autograd on NumPy arrays of numbers that count: what is executed forward and backward, scalar by scalar.

It knows no formula of the engine. A step writes down how it goes back; a gradient that nobody needs is not computed,
and where a value is used twice its gradients are added. Sums start from their first term.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symacct.testing.counting import call
from verify.counted_arrays import Array, Machine


class Var:
    """A value on a tape, and its gradient once the tape has gone back."""

    def __init__(self, values: Array, *, needs: bool) -> None:
        self.values = values
        self.needs = needs
        self.grad: Array | None = None

    def give(self, grad: Callable[[], Array]) -> None:
        """Add a gradient, which is computed only where one is needed."""
        if self.needs:
            self.grad = grad() if self.grad is None else self.grad + grad()


class Tape:
    """Runs functions on values and remembers how to go back."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.steps: list[tuple[Var, Callable[[Array], None]]] = []

    def _made(self, values: Array, parents: tuple[Var, ...], back: Callable[[Array], None]) -> Var:
        out = Var(values, needs=any(p.needs for p in parents))
        if out.needs:
            self.steps.append((out, back))
        return out

    def back(self, out: Var, seed: Array) -> None:
        """Go back from what was made, given its gradient."""
        out.grad = seed
        for made, back in reversed(self.steps):
            if made.grad is not None:
                back(made.grad)

    def view(self, x: Var, turn: Callable[[Array], Array], turn_back: Callable[[Array], Array]) -> Var:
        return self._made(turn(x.values), (x,), lambda g: x.give(lambda: turn_back(g)))

    def matmul(self, x: Var, w: Var) -> Var:
        """A batch of matrices with one another, or rows of x with one matrix."""

        def back(g: Array) -> None:
            x.give(lambda: g @ w.values.swapaxes(-1, -2))
            if w.values.ndim == x.values.ndim:
                w.give(lambda: x.values.swapaxes(-1, -2) @ g)
            else:
                rows, grads = (a.reshape(-1, a.shape[-1]) for a in (x.values, g))
                w.give(lambda: rows.T @ grads)

        return self._made(x.values @ w.values, (x, w), back)

    def add(self, x: Var, y: Var) -> Var:
        """The same shapes, or y a bias along the last axis."""

        def back(g: Array) -> None:
            x.give(lambda: g)
            if y.values.ndim == x.values.ndim:
                y.give(lambda: g)
            else:
                axes = tuple(range(g.ndim - 1))
                y.give(lambda: self.machine.sums(g, axes).reshape(-1))

        return self._made(x.values + y.values, (x, y), back)

    def mul(self, x: Var, y: Var) -> Var:
        def back(g: Array) -> None:
            x.give(lambda: g * y.values)
            y.give(lambda: g * x.values)

        return self._made(x.values * y.values, (x, y), back)

    def scale(self, x: Var, number: float) -> Var:
        return self._made(x.values * number, (x,), lambda g: x.give(lambda: g * number))

    def relu(self, x: Var) -> Var:
        y = _each("max", x.values, 0)
        choose = np.frompyfunc(lambda g, v: g if call("gt", v, 0).value else type(g)(0, g.calls), 2, 1)
        return self._made(y, (x,), lambda g: x.give(lambda: choose(g, y)))

    def tanh(self, x: Var) -> Var:
        y = _each("tanh", x.values)
        return self._made(y, (x,), lambda g: x.give(lambda: g * (1 - y * y)))

    def sigmoid(self, x: Var) -> Var:
        y = _each("sigmoid", x.values)
        return self._made(y, (x,), lambda g: x.give(lambda: g * (1 - y) * y))

    def silu(self, x: Var) -> Var:
        """x*s, and back g*s*(1 + x*(1 - s)) with the sigmoid s computed once more, as torch's kernel does."""

        def back(g: Array) -> Array:
            s = _each("sigmoid", x.values)
            return g * s * (1 + x.values * (1 - s))

        return self._made(x.values * _each("sigmoid", x.values), (x,), lambda g: x.give(lambda: back(g)))

    def softmax(self, x: Var) -> Var:
        """Of rows; back y*g - y*sum(y*g)."""
        powers = _each("exp", x.values - self.machine.largest(x.values, (-1,)))
        y = powers / self.machine.sums(powers, (-1,))

        def back(g: Array) -> Array:
            both = y * g
            return both - y * self.machine.sums(both, (-1,))

        return self._made(y, (x,), lambda g: x.give(lambda: back(g)))


def _each(function: str, *arrays: Any) -> Array:
    return np.frompyfunc(lambda *values: call(function, *values), len(arrays), 1)(*arrays)


def deep_network(tape: Tape, x: Var, *layers: Var) -> Var:
    for w in layers:
        x = tape.relu(tape.matmul(x, w))
    return x


def recurrent(tape: Tape, x: Var, w: Var) -> Var:
    for _ in range(3):
        x = tape.tanh(tape.matmul(x, w))
    return x


def lora(tape: Tape, x: Var, w: Var, down: Var, up: Var) -> Var:
    return tape.add(tape.matmul(x, w), tape.matmul(tape.scale(tape.matmul(x, down), 0.5), up))


def gated_mlp(tape: Tape, x: Var, gate: Var, up: Var, down: Var) -> Var:
    return tape.matmul(tape.mul(tape.silu(tape.matmul(x, gate)), tape.matmul(x, up)), down)


def linear(tape: Tape, x: Var, w: Var, bias: Var) -> Var:
    return tape.add(tape.matmul(x, w), bias)


def attention(tape: Tape, x: Var, *weights: Var) -> Var:
    """Every head of every sequence; weights are d by h by k, and h by k by d behind."""
    wq, wk, wv, wo = weights
    d, h, k = wq.values.shape

    def heads(w: Var) -> Var:
        flat = tape.view(w, lambda a: a.reshape(d, h * k), lambda g: g.reshape(d, h, k))
        rows = tape.matmul(x, flat)
        return tape.view(
            rows,
            lambda a: a.reshape(*a.shape[:2], h, k).transpose(0, 2, 1, 3),
            lambda g: g.transpose(0, 2, 1, 3).reshape(g.shape[0], g.shape[2], h * k),
        )

    q, key, v = heads(wq), heads(wk), heads(wv)
    turned = tape.view(key, lambda a: a.swapaxes(-1, -2), lambda g: g.swapaxes(-1, -2))
    weights = tape.softmax(tape.scale(tape.matmul(q, turned), k**-0.5))
    mixed = tape.view(
        tape.matmul(weights, v),
        lambda a: a.transpose(0, 2, 1, 3).reshape(a.shape[0], a.shape[2], h * k),
        lambda g: g.reshape(*g.shape[:2], h, k).transpose(0, 2, 1, 3),
    )
    return tape.matmul(mixed, tape.view(wo, lambda a: a.reshape(h * k, d), lambda g: g.reshape(h, k, d)))


PROGRAMS: dict[str, Callable[..., Var]] = {
    "matmul": lambda tape, x, w: tape.matmul(x, w),
    "linear": linear,
    "lora_linear": lora,
    "gated_mlp": gated_mlp,
    "multi_head_attention": attention,
    "deep_network": deep_network,
    "recurrent": recurrent,
}
