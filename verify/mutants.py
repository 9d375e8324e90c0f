"""Small mistakes, made one at a time: coefficients doubled and halved, terms and entries dropped."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.ClassDef
UNTOUCHED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""What a person reads, and what is no formula."""


@dataclass(frozen=True)
class Mutant:
    """A module with one mistake: in which file and definition, what was changed, and the changed tree.

    `near` are the words of the key under which it stands in a table: the checks that prove them will notice first.
    """

    file: str
    where: str
    change: str
    tree: ast.Module
    near: frozenset[str]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.where, self.change


def mutants(file: str, source: str, wanted: Collection[str]) -> Iterator[Mutant]:
    """Yield every mutant of the wanted functions (``LowerBound.proved``, ``work``) and tables (``RULES``)."""
    tree = ast.parse(source)
    seen: Counter[tuple[str, str]] = Counter()
    for where, node in _definitions(tree):
        if where not in wanted:
            continue
        for place, near in _places(node):
            for before, after in _changes(place):
                text = f"{_shown(before)} -> {_shown(after)}"
                seen[where, text] += 1
                again = f" ({seen[where, text]})" if seen[where, text] > 1 else ""
                yield Mutant(file, where, text + again, _replaced(tree, before, after), near)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Functions, methods and tables by name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, node


def _places(node: ast.AST, near: frozenset[str] = frozenset()) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node below, but for annotations, decorators, messages and docstrings, with the key it stands under."""
    yield node, near
    if isinstance(node, ast.Dict) and not near:
        for key, value in zip(node.keys, node.values, strict=True):
            words = _words(key) if key else frozenset()
            yield from _places(value, words)
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, UNTOUCHED):
                yield from _places(child, near)


def _words(key: ast.AST) -> frozenset[str]:
    constants = [n.value for n in ast.walk(key) if isinstance(n, ast.Constant)]
    return frozenset(value for value in constants if isinstance(value, str))


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each way to spoil one node; none changes a key of strings such as ("reduce", "points")."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value:
        yield node, ast.Constant(2 * node.value)
        yield node, _half(node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.BitOr):
        yield node, node.left
        yield node, node.right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield node, node.left
        yield node, ast.UnaryOp(ast.USub(), node.right)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.BitOr):
        yield node, ast.Pass()
    elif isinstance(node, ast.Dict):
        for i in range(len(node.keys)):
            yield node, ast.Dict(node.keys[:i] + node.keys[i + 1 :], node.values[:i] + node.values[i + 1 :])
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and not _is_key(node):
        for i in range(len(node.elts)):
            rest = node.elts[:i] + node.elts[i + 1 :]
            if isinstance(node, ast.Set):
                yield node, ast.Set([ast.Starred(ast.Tuple(rest, ast.Load()), ast.Load())])  # {*()}: {} is a dict
            else:
                yield node, type(node)(rest, node.ctx)


def _is_key(node: ast.List | ast.Tuple | ast.Set) -> bool:
    """A target of an assignment, or a pair of strings."""
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return True
    texts = [isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts]
    return isinstance(node, ast.Tuple) and len(texts) == 2 and all(texts)


def _half(value: int) -> ast.expr:
    """Half of a coefficient, exactly."""
    if value % 2 == 0:
        return ast.Constant(value // 2)
    return ast.parse(f"__import__('fractions').Fraction({value}, 2)", mode="eval").body


def _shown(node: ast.AST) -> str:
    text = "nothing" if isinstance(node, ast.Pass) else ast.unparse(node)
    return text.replace("__import__('fractions').", "")


def _replaced(tree: ast.AST, before: ast.AST, after: ast.AST) -> ast.Module:
    """A copy of a tree with one node replaced."""

    def copy(node: ast.AST) -> ast.AST:
        if node is before:
            return after
        fields = {name: copied(value) for name, value in ast.iter_fields(node)}
        return ast.copy_location(type(node)(**fields), node)

    def copied(value: object) -> object:
        if isinstance(value, list):
            return [copied(v) for v in value]
        return copy(value) if isinstance(value, ast.AST) else value

    return ast.fix_missing_locations(copy(tree))
