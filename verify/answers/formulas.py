"""Formulas as Python's own parser reads them: a second way to their values, apart from symacct's reader."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction

FUNCTIONS = {
    "sqrt": math.sqrt,
    "log": math.log,
    "Min": min,
    "Max": max,
    "floor": math.floor,
    "ceil": math.ceil,
}


def parsed(form: str) -> ast.expr:
    return ast.parse(form, mode="eval").body


def value(node: ast.expr, sizes: Mapping[str, float | Fraction]) -> float | Fraction:
    """Work out a formula by walking over Python's tree of it; nothing is evaluated as code."""
    match node:
        case ast.Constant(value=v):
            return Fraction(str(v))
        case ast.Name(id=name):
            return Fraction(sizes[name])
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return -value(x, sizes)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(value(a, sizes) for a in args))
        case ast.BinOp(left=a, op=op, right=b):
            x, y = value(a, sizes), value(b, sizes)
            return _binary(op, x, y)
    msg = f"no formula: {ast.dump(node)[:80]}"
    raise ValueError(msg)


def _binary(op: ast.operator, x: float | Fraction, y: float | Fraction) -> float | Fraction:
    match op:
        case ast.Add():
            return x + y
        case ast.Sub():
            return x - y
        case ast.Mult():
            return x * y
        case ast.Div():
            return x / y
        case ast.Pow():
            return x ** (int(y) if y == int(y) else float(y))
    msg = f"no operator of a formula: {op}"
    raise ValueError(msg)


def names(node: ast.expr) -> set[str]:
    calls = {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - calls


def differ(a: ast.expr, b: ast.expr, points: list[dict[str, int]]) -> bool:
    """Whether two formulas have different values at some point."""
    return any(not math.isclose(value(a, p), value(b, p), rel_tol=1e-9) for p in points)
