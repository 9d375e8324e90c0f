"""`import symacct` is light, and every public name can be had."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import symacct

HEAVY = {"einops", "hypothesis", "matplotlib", "networkx", "numpy", "rich", "sympy", "torch", "typer"}


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after a statement."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps([name.split('.')[0] for name in sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def test_importing_symacct_loads_nothing_heavy() -> None:
    loaded = loaded_by("import symacct")
    assert "symacct" in loaded
    assert not HEAVY & loaded


def test_the_probe_sees_what_is_loaded() -> None:
    assert "sympy" in loaded_by("import sympy")


@pytest.mark.parametrize("name", symacct.__all__)
def test_public_name(name: str) -> None:
    assert getattr(symacct, name) is not None
    assert name in dir(symacct)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        symacct.no_such_name  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse(Path(symacct.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }
    assert seen == symacct._WHERE | dict.fromkeys(symacct._MODULES, "symacct")


def test_no_verb_is_called_like_a_module() -> None:
    modules = {m.name for m in pkgutil.iter_modules(symacct.__path__)}
    assert not modules & set(symacct._WHERE)
