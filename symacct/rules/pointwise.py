"""Element-wise operations: one call of a function an output element, whatever the operands broadcast from.

The result lies in memory as its operands do, so that a permuted tensor stays permuted.

Gradients and what is kept for them are torch's: a product keeps the factor that the other's gradient needs, `sqrt`
its output, `log` its input. A number may stand beside a tensor: ``attrs["scalar"]``, on the side ``attrs["side"]``.
Masks are combined without arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.errors import ShapeError
from symacct.graph import Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides
from symacct.rules.rule import (
    Attrs,
    Backward,
    Gradient,
    Out,
    Residual,
    Residuals,
    Rule,
    broadcast,
    keep_input,
    keep_nothing,
    keep_output,
    no_work,
    out_of,
    unbroadcast,
)

PRIMITIVES = {
    "abs": "abs",
    "add": "add",
    "div": "div",
    "erf": "erf",
    "exp": "exp",
    "log": "log",
    "maximum": "max",
    "minimum": "max",
    "mul": "mul",
    "neg": "sub",
    "rsqrt": "rsqrt",
    "sign": "compare",
    "sqrt": "sqrt",
    "square": "mul",
    "sub": "sub",
}
"""Which function each kind calls once an element: square is x*x, a sign one comparison."""

BINARY = ("add", "div", "maximum", "minimum", "mul", "sub")
UNARY = tuple(kind for kind in PRIMITIVES if kind not in BINARY)
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")

FORMULAS: Mapping[Key, Mapping[Key, int]] = {("pow", "points"): {("mul", "points"): 1}}
"""A power p is p - 1 multiplies, which its work counts as points."""


def shape_of_one(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape and dtype of the input."""
    (x,) = inputs
    return _broadcast(inputs, x.dtype)


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of two operands, in their dtype."""
    _check_operands(inputs, attrs)
    dtypes = {t.dtype for t in inputs}
    return _broadcast(inputs, dtypes.pop() if len(dtypes) == 1 else attrs.get("dtype"))


def shape_of_mask(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of two operands as a mask."""
    _check_operands(inputs, attrs)
    return _broadcast(inputs, "bool")


def shape_of_opposite(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of a mask."""
    (_mask,) = inputs
    return _broadcast(inputs, "bool")


def _check_operands(inputs: Sequence[Tensor], attrs: Attrs) -> None:
    """Check that there are two tensors, or one and a number on a side of it."""
    beside = ("scalar" in attrs) + (attrs.get("side") in ("left", "right"))
    if (len(inputs), beside) not in ((2, 0), (1, 2)):
        msg = f"{len(inputs)} tensors, {dict(attrs)}; it takes two, or one and a scalar on its left or right side"
        raise ShapeError(msg)


def shape_of_where(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of mask and values, in the values' dtype."""
    numbers = [side for side in ("x", "y") if attrs.get(side) is not None]
    if len(inputs) + len(numbers) != 3:
        msg = f"{len(inputs)} tensors and the numbers {dict(attrs)}; it takes a mask and two values"
        raise ShapeError(msg)
    return _broadcast(inputs, inputs[-1].dtype if len(inputs) > 1 else None)


def _broadcast(inputs: Sequence[Tensor], dtype: str | None) -> tuple[Out, ...]:
    shape = broadcast([t.shape for t in inputs])
    return (Out(shape, dtype, strides=elementwise_strides(shape, inputs)),)


def work(op: Op, graph: Graph) -> Work:
    """Return one call an output element."""
    return {(PRIMITIVES[op.kind], "points"): out_of(op, graph).numel}


def work_of_comparison(op: Op, graph: Graph) -> Work:
    """Return one comparison an output element."""
    return {("compare", "points"): out_of(op, graph).numel}


def work_of_power(op: Op, graph: Graph) -> Work:
    """Return ``p - 1`` multiplies an element for a natural power p; a square root for 0.5, its reciprocal for -0.5."""
    numel, p = out_of(op, graph).numel, op.attrs["exponent"]
    if type(p) is float:
        return {("sqrt" if p > 0 else "rsqrt", "points"): numel}
    return {("pow", "points"): (p - 1) * numel}


def keep_factors(op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep each factor of a product whose other factor needs a gradient; of a number times x nothing."""
    if len(op.inputs) == 1:
        return ()
    return tuple(Residual("input", i) for i in (0, 1) if needs[1 - i])


def keep_of_division(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the divisor; the dividend where the divisor needs a gradient; of a number by a tensor the reciprocal.

    In torch ``2 / x`` is ``x.reciprocal() * 2``, and what is kept is the result of the first.
    """
    if len(op.inputs) == 1:
        x = graph.tensors[op.inputs[0]]
        reciprocal = Residual("extra", 0, x.shape, x.dtype, "reciprocal")
        return (reciprocal,) if any(needs) and op.attrs["side"] == "left" else ()
    dividend = (Residual("input", 0),) if needs[1] else ()
    return (*dividend, Residual("input", 1)) if any(needs) else ()


def keep_inputs(op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep all inputs, as `maximum` does."""
    return tuple(Residual("input", i) for i in range(len(op.inputs))) if any(needs) else ()


def _each(b: Backward, *sides: Callable[[], Any]) -> tuple[Any, ...]:
    """Make the gradient of each input that needs one, summed to its shape; a number has none."""
    if len(b.inputs) < len(sides):
        sides = (sides[0 if b.attrs["side"] == "right" else 1],)
    grads = zip(sides, b.inputs, b.needs, strict=True)
    return tuple(unbroadcast(b, side(), x) if need else None for side, x, need in grads)


def _operands(b: Backward) -> tuple[Any, Any]:
    """Return left and right, one of which may be a number."""
    if len(b.inputs) == 2:
        return b.inputs[0], b.inputs[1]
    pair = (b.inputs[0], b.attrs["scalar"])
    return pair if b.attrs["side"] == "right" else pair[::-1]


def gradient_of_add(b: Backward) -> tuple[Any, ...]:
    """Pass the gradient on to both sides."""
    (g,) = b.grads
    return _each(b, lambda: g, lambda: g)


def gradient_of_sub(b: Backward) -> tuple[Any, ...]:
    """Pass the gradient on, negated to the right."""
    (g,) = b.grads
    return _each(b, lambda: g, lambda: -g)


def gradient_of_mul(b: Backward) -> tuple[Any, ...]:
    """Return ``g*y`` and ``g*x``."""
    (g,), (x, y) = b.grads, _operands(b)
    return _each(b, lambda: g * y, lambda: g * x)


def gradient_of_div(b: Backward) -> tuple[Any, ...]:
    """Return ``g/y`` and ``-g * ((x/y)/y)``."""
    (g,), (x, y) = b.grads, _operands(b)
    return _each(b, lambda: g / y, lambda: -g * ((x / y) / y))


def _choice(loses: str, wins: str) -> Gradient:
    """Make the gradient of maximum or minimum: to the side that wins, half to each where they are equal.

    Beside a number the tensor has all of it where they are equal, as torch's clamp does.
    """

    def gradient(b: Backward) -> tuple[Any, ...]:
        (g,), (x, y) = b.grads, _operands(b)
        if len(b.inputs) == 1:
            (tensor,) = b.inputs
            mask = b.apply(wins, tensor, scalar=b.attrs["scalar"], side="right")
            return _each(b, lambda: b.apply("where", mask, g, y=0))

        def side(mine: Any, other: Any) -> Any:
            shared = b.apply("where", b.apply("eq", mine, other), g / 2, g)
            return b.apply("where", b.apply(loses, mine, other), shared, x=0)

        return _each(b, lambda: side(x, y), lambda: side(y, x))

    return gradient


def gradient_of_where(b: Backward) -> tuple[Any, ...]:
    """Pass the gradient on to the value that was chosen; the mask has none."""
    (g,), mask = b.grads, b.inputs[0]
    chosen: list[Callable[[], Any]] = [lambda: None]
    if b.attrs.get("x") is None:
        chosen.append(lambda: b.apply("where", mask, g, y=0))
    if b.attrs.get("y") is None:
        chosen.append(lambda: b.apply("where", mask, g, x=0))
    return _each(b._replace(needs=(False, *b.needs[1:])), *chosen)


def gradient_of_power(b: Backward) -> tuple[Any, ...]:
    """Return ``g * (p * x**(p - 1))``; for half powers made of ``x**-0.5``."""
    (g,), (x,), p = b.grads, b.inputs, b.attrs["exponent"]
    if type(p) is float:
        root = b.apply("pow", x, exponent=-0.5)
        return _each(b, lambda: g * (p * (root if p > 0 else b.apply("pow", root, exponent=3))))
    below = x if p < 3 else b.apply("pow", x, exponent=p - 1)
    return _each(b, lambda: g if p == 1 else g * (p * below))


def _unary(formula: Callable[[Backward, Any, Any, Any], Any]) -> Gradient:
    """Make the gradient of a function of one tensor from ``formula(b, g, x, y)``."""
    return lambda b: _each(b, lambda: formula(b, b.grads[0], b.inputs[0], b.outputs[0]))


KEPT: Mapping[str, Residuals] = {
    **dict.fromkeys(("add", "neg", "sign", "sub"), keep_nothing),
    **dict.fromkeys(("abs", "erf", "log", "square"), keep_input),
    **dict.fromkeys(("exp", "rsqrt", "sqrt"), keep_output),
    **dict.fromkeys(("maximum", "minimum"), keep_inputs),
    "div": keep_of_division,
    "mul": keep_factors,
}
GRADIENTS: Mapping[str, Gradient] = {
    "abs": _unary(lambda b, g, x, _y: g * b.apply("sign", x)),
    "add": gradient_of_add,
    "div": gradient_of_div,
    "erf": _unary(lambda b, g, x, _y: 2 / math.sqrt(math.pi) * b.apply("exp", -b.apply("square", x)) * g),
    "exp": _unary(lambda _b, g, _x, y: g * y),
    "log": _unary(lambda _b, g, x, _y: g / x),
    "maximum": _choice("lt", "ge"),
    "minimum": _choice("gt", "le"),
    "mul": gradient_of_mul,
    "neg": _unary(lambda _b, g, _x, _y: -g),
    "rsqrt": _unary(lambda b, g, _x, y: -0.5 * g * b.apply("pow", y, exponent=3)),
    "sign": _unary(lambda _b, g, _x, _y: g * 0),
    "sqrt": _unary(lambda _b, g, _x, y: g / (2 * y)),
    "square": _unary(lambda _b, g, x, _y: g * (2 * x)),
    "sub": gradient_of_sub,
}

RULES = {
    **{kind: Rule("pointwise", shape, work, residuals=KEPT[kind], gradient=GRADIENTS[kind]) for kind in BINARY},
    **{kind: Rule("pointwise", shape_of_one, work, residuals=KEPT[kind], gradient=GRADIENTS[kind]) for kind in UNARY},
    **{kind: Rule("pointwise", shape_of_mask, work_of_comparison) for kind in COMPARISONS},
    **{kind: Rule("pointwise", shape_of_mask, no_work) for kind in ("logical_and", "logical_or")},
    "logical_not": Rule("pointwise", shape_of_opposite, no_work),
    "where": Rule("pointwise", shape_of_where, no_work, residuals=keep_input, gradient=gradient_of_where),
    "pow": Rule("pointwise", shape_of_one, work_of_power, residuals=keep_input, gradient=gradient_of_power),
}
