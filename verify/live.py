"""Put a changed module in the place of the real one, in this process, and put the real one back."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

RULES = "symacct.rules"


def _modules(prefixes: tuple[str, ...]) -> dict[str, ModuleType]:
    """The loaded modules of some packages."""
    return {n: m for n, m in list(sys.modules.items()) if n.split(".")[0] in prefixes and m is not None}


class LiveModules:
    """The modules that mutants replace, and their sources as they are."""

    def __init__(self) -> None:
        names = [n for n in _modules(("symacct",)) if n == RULES or n.startswith(f"{RULES}.")]
        paths = {n: Path(sys.modules[n].__file__ or "") for n in (*names, "symacct.conventions", "symacct.bounds")}
        self.trees = {n: ast.parse(path.read_text(encoding="utf-8")) for n, path in paths.items()}
        self.codes = {n: compile(tree, str(paths[n]), "exec") for n, tree in self.trees.items()}
        self.groups = {n: self._made_from(n, names) if n in names else [n] for n in paths}

    @contextmanager
    def replaced(self, name: str, tree: ast.Module) -> Iterator[None]:
        """Run a changed module, and anew those of its package that are made from it, in place of the real ones."""
        group = self.groups[name]
        before = {n: dict(vars(sys.modules[n])) for n in group}
        try:
            for n in group:
                code = compile(tree, n, "exec") if n == name else self.codes[n]
                exec(code, vars(sys.modules[n]))  # noqa: S102  # our own source with one change
            _rebind(before, {n: vars(sys.modules[n]) for n in group})
            forget()
            yield
        finally:
            after = {n: dict(vars(sys.modules[n])) for n in group}
            for n in group:
                vars(sys.modules[n]).clear()
                vars(sys.modules[n]).update(before[n])
            _rebind(after, before)
            forget()

    def _made_from(self, name: str, names: list[str]) -> list[str]:
        """A module and those that import from it, at first or second hand, each after what it imports from."""
        imports = {n: self._imports(n, names) for n in names}
        out: list[str] = []

        def visit(n: str) -> None:
            if n not in out:
                for other in sorted(imports[n]):
                    visit(other)
                out.append(n)

        for n in names:
            visit(n)
        found = {name}
        for n in out:
            if imports[n] & found:
                found.add(n)
        return [n for n in out if n in found]

    def _imports(self, name: str, names: list[str]) -> set[str]:
        lines = [node for node in ast.walk(self.trees[name]) if isinstance(node, ast.ImportFrom) and node.module]
        found = {m for line in lines for m in (line.module, *(f"{line.module}.{a.name}" for a in line.names))}
        return (found & set(names)) - {name, RULES}


def _rebind(old: dict[str, dict[str, object]], new: dict[str, dict[str, object]]) -> None:
    """Where a module holds an object of the old modules under some name, give it the new one."""
    plain = (int, str, tuple, type(None), ModuleType, bool)
    swaps = {
        id(value): new[n][key]
        for n, names in old.items()
        for key, value in names.items()
        if not key.startswith("__") and not isinstance(value, plain) and key in new[n] and new[n][key] is not value
    }
    kept = [value for names in old.values() for value in names.values()]  # ids stay taken while these live
    for module in _modules(("symacct", "verify")).values():
        for key, value in list(vars(module).items()):
            if id(value) in swaps:
                setattr(module, key, swaps[id(value)])
    del kept


def forget() -> None:
    """Clear every cache of symacct."""
    for module in _modules(("symacct",)).values():
        for value in list(vars(module).values()):
            clear = getattr(value, "cache_clear", None)
            if callable(clear):
                clear()
