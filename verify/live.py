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
        self.groups = dict.fromkeys(names, names)
        for name in ("symacct.conventions", "symacct.bounds"):
            self.groups[name] = [name]
        self.trees = {
            name: ast.parse(Path(sys.modules[name].__file__ or "").read_text("utf-8")) for name in self.groups
        }

    @contextmanager
    def replaced(self, name: str, tree: ast.Module) -> Iterator[None]:
        """Run a changed module, and anew those of its package that are made from it, in place of the real ones."""
        group = self._in_order(self.groups[name])
        before = {n: dict(vars(sys.modules[n])) for n in group}
        try:
            for n in group:
                code = compile(tree if n == name else self.trees[n], sys.modules[n].__file__ or n, "exec")
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

    def _in_order(self, names: list[str]) -> list[str]:
        """Put modules after those that they import from."""
        out: list[str] = []

        def visit(name: str) -> None:
            if name in out:
                return
            for node in ast.walk(self.trees[name]):
                if isinstance(node, ast.ImportFrom) and node.module:
                    for found in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
                        if found in names and found not in (name, RULES):
                            visit(found)
            out.append(name)

        for name in names:
            visit(name)
        return out


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
