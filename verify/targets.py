"""What mutants break: the functions that say what an operation costs, and the tables they read."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType

import symacct.bounds
import symacct.conventions
from symacct.rules import RULES

PACKAGE = "symacct.rules"
FORWARD = ("work", "reads", "writes", "spills")
"""The parts of a rule that the checks of its kind prove."""
BACKWARD = ("residuals", "gradient")
"""The parts that those of its gradient prove."""
TABLES = ("_CONTRACTIONS", "LECTURE_WEIGHTS", "UNIT_WEIGHTS", "PRESETS")
NO_FORMULA = ("__str__", "__repr__", "__hash__")


@dataclass(frozen=True)
class Target:
    """A function, method or table that may be broken, and the names under which checks prove it."""

    module: str
    where: str
    proved_by: frozenset[str]

    @property
    def file(self) -> str:
        return (sys.modules[self.module].__file__ or "").rpartition("/symacct/")[2]

    @property
    def source(self) -> str:
        return inspect.getsource(sys.modules[self.module])


def targets() -> list[Target]:
    """Everything to break, rules first."""
    tables = [Target("symacct.conventions", name, frozenset({"conventions"})) for name in TABLES]
    return [*_rules(), *tables, *_bounds()]


def _bounds() -> Iterator[Target]:
    """Every function and method, and the limit on operands."""
    for node in ast.parse(inspect.getsource(symacct.bounds)).body:
        for where in _names(node):
            if where.rpartition(".")[2] not in NO_FORMULA:
                yield Target("symacct.bounds", where, frozenset({"bounds"}))


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)]
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return [node.targets[0].id]
    return []


def _rules() -> list[Target]:
    """The functions that work and traffic are made of, each with the kinds that depend on it."""
    kinds: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for kind, rule in RULES.items():
        for aspect in FORWARD + BACKWARD:
            for place in _reached(getattr(rule, aspect)):
                kinds[place].add(kind if aspect in FORWARD else f"gradient of {kind}")
        for family in _modules():
            if kind in getattr(family, "RULES", {}):
                kinds[family.__name__, "RULES"] |= {kind, f"gradient of {kind}"}
                if hasattr(family, "FORMULAS"):
                    kinds[family.__name__, "FORMULAS"].add(kind)
    return [Target(module, where, frozenset(k)) for (module, where), k in sorted(kinds.items())]


def _modules() -> list[ModuleType]:
    return [m for n, m in sys.modules.items() if n.startswith(f"{PACKAGE}.")]


def _reached(start: FunctionType) -> set[tuple[str, str]]:
    """The functions of the package that a function calls, itself included, and the tables of their modules."""
    found: set[tuple[str, str]] = set()
    waiting = [start]
    while waiting:
        function = waiting.pop()
        place = (function.__module__, function.__name__)
        if place in found or not function.__module__.startswith(PACKAGE):
            continue
        found.add(place)
        for name in _names_in(function):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType):
                waiting.append(value)
            elif isinstance(value, dict | tuple | list | set | frozenset) and name.isupper():
                found.add((function.__module__, name))
    return found


def _names_in(function: FunctionType) -> set[str]:
    """The global names that a function's code uses, inner functions and comprehensions too."""
    out: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        out |= {str(i.argval) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        codes += [c for c in code.co_consts if inspect.iscode(c)]
    return out
