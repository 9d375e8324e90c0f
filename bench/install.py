"""A compiled install: what users have, and what a checkout is not."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
PROBE = """
import json, sys
from importlib.metadata import version
from importlib.util import cache_from_source, find_spec
from pathlib import Path
where = {n: Path(found.origin) for n in json.loads(sys.argv[1]) if (found := find_spec(n))}
assert where["symacct"].is_relative_to(sys.prefix), where
compiled = {
    n: all(Path(cache_from_source(f)).exists() for f in (p.parent.rglob("*.py") if n == "symacct" else [p]))
    for n, p in where.items()
}
print(json.dumps([{n: version(n) for n in where}, compiled]))
"""
PEERS = ("torch", "fvcore", "deepspeed", "sympy", "opt_einsum", "numpy", "typer")


def environment() -> dict[str, str]:
    """Return the variables that measured processes run with."""
    return {name: value for name, value in os.environ.items() if name not in UNSET}


def install(root: Path, folder: Path) -> Path:
    """Install the checkout into a fresh virtual environment, compiled, beside the peers of this one; return its Python.

    Peers that are here for the bench alone (`peers.txt`) are installed there too; where they cannot be, the bench runs
    without and tells so. The others are found through a `.pth` file, so that nothing else is installed again; an
    editable symacct among them stays out of sight, since a `.pth` file is not read below another.
    """
    venv.create(folder, symlinks=os.name != "nt")
    at = {"base": str(folder), "platbase": str(folder)}
    python = Path(sysconfig.get_path("scripts", "venv", at)) / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--compile"]
    subprocess.run([*pip, str(root)], check=True, env=environment())
    subprocess.run([*pip, "-r", str(root / "bench" / "peers.txt")], check=False, env=environment())
    peers = Path(sysconfig.get_path("purelib", "venv", at)) / "peers.pth"
    peers.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python
