"""Wrong answers made from right ones by the mistakes that people make; one whose values do not differ is dropped."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from verify.answers.formulas import FUNCTIONS, differ, names, parsed

PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def points(node: ast.expr) -> list[dict[str, int]]:
    every = sorted(names(node))
    return [{n: PRIMES[(i * 3 + k * 5) % len(PRIMES)] + 2 * k * i for i, n in enumerate(every)} for k in range(6)]


def wrong(form: str) -> Iterator[tuple[str, str]]:
    """Yield (mistake, form): each differs from the right form in value."""
    right = parsed(form)
    seen = {ast.unparse(right)}
    at = points(right)
    for mistake, node in _mutated(right):
        text = ast.unparse(ast.fix_missing_locations(node))
        if text in seen:
            continue
        seen.add(text)
        try:
            if differ(parsed(text), right, at):
                yield mistake, text
        except (ZeroDivisionError, ValueError, OverflowError):
            continue


def _mutated(right: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    number = ast.Constant
    yield "factor", _times(right, ast.Constant(2))
    yield "factor", ast.BinOp(copy.deepcopy(right), ast.Div(), number(2))
    yield "factor", _times(right, ast.Constant(3))
    for factor in (1.073741824, 1.024):
        yield "gb_gib", _times(right, number(factor))
    for i, node in enumerate(ast.walk(right)):
        yield from _of_node(right, i, node)


def _of_node(right: ast.expr, i: int, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.BinOp(left=a, op=op, right=b):
            for mistake, new in _of_operator(a, op, b):
                yield mistake, _with(right, i, new)
        case ast.Call(func=ast.Name(id=f), args=args):
            yield from _of_call(right, i, f, args)
        case ast.Name(id=name) if name not in FUNCTIONS:
            for other in sorted(names(right) - {name})[:2]:
                yield "axis_swapped", _with(right, i, ast.Name(other))
            yield "off_by_one", _with(right, i, ast.BinOp(ast.Name(name), ast.Sub(), ast.Constant(1)))
        case ast.Constant(value=v) if v in (2, 4, 8, 16):
            yield "factor", _with(right, i, ast.Constant(v // 2))
            yield "factor", _with(right, i, ast.Constant(v * 2))


def _of_operator(a: ast.expr, op: ast.operator, b: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match op:
        case ast.Add():
            yield "missing_term", a
            yield "missing_term", b
            yield "sum", ast.BinOp(a, ast.Sub(), b)
            yield "max_for_sum", _call("Max", a, b)
        case ast.Sub():
            yield "missing_term", a
        case ast.Mult() if not isinstance(b, ast.Constant):
            yield "axis_forgotten", a
            yield "axis_twice", _times(_times(a, b), b)
        case ast.Div():
            yield "inverted", ast.BinOp(b, ast.Div(), a)
            yield "division_forgotten", a
        case ast.Pow() if isinstance(b, ast.Constant) and isinstance(b.value, int):
            yield "wrong_exponent", ast.BinOp(a, ast.Pow(), ast.Constant(b.value + 1))
            yield "wrong_exponent", a


def _of_call(right: ast.expr, i: int, f: str, args: list[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    if f == "sqrt":
        yield "root_forgotten", _with(right, i, args[0])
    if f in ("Min", "Max") and len(args) == 2:
        yield "max_for_min", _with(right, i, _call("Max" if f == "Min" else "Min", *args))
        yield "sum_for_max", _with(right, i, ast.BinOp(args[0], ast.Add(), args[1]))
        yield "branch_only", _with(right, i, args[1])
    if f in ("floor", "ceil"):
        yield "rounding", _with(right, i, _call("ceil" if f == "floor" else "floor", *args))


def _times(a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.BinOp(copy.deepcopy(a), ast.Mult(), copy.deepcopy(b))


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name), [copy.deepcopy(a) for a in args], [])


def _with(tree: ast.expr, i: int, new: ast.expr) -> ast.expr:
    """Return a tree whose i-th node, in walking order, is another."""
    out = copy.deepcopy(tree)
    old = list(ast.walk(out))[i]
    new = copy.deepcopy(new)
    if old is out:
        return new

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    return Put().visit(out)
