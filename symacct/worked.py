"""Worked graphs: a layer with its closed forms and the torch code it must agree with, one a file."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from symacct.accounting import Account
from symacct.api import account
from symacct.errors import GraphError, SymacctError, one_of
from symacct.graph import Graph
from symacct.symbolic.signature import called

MAX_SAVED = 50_000_000
"""Bytes of a saved graph."""


@dataclass(frozen=True)
class Worked:
    """A layer as a function, with what it is known to cost.

    Parameters
    ----------
    build
        A function of annotated tensors, symbolic or real.
    params
        Which arguments are parameters.
    formulas
        What it costs, by quantity (``"flops"``, ``"matmul_flops"``, ``"bytes"``, ``"flash_bytes"``, ``"params"``),
        as text for our reader; bytes are unfused, flash bytes under ``fuse="flash"``.
    claims
        The claims of the lecture that it covers.
    reference
        Takes sizes and returns a torch function (or module) and its inputs, in the order of `build`'s arguments.
    values
        Arguments that are no tensors: sizes such as ``{"heads": "h"}``, or plain values.
    sizes
        Relations between sizes that hold by construction, such as ``{"d": "h*k"}``.
    tiny
        Small sizes, distinct and above 2 where they can be, at which it is run.
    note
        One line on what it shows.
    """

    build: Callable[..., Any]
    params: tuple[str, ...] = ()
    formulas: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    reference: Callable[[Mapping[str, int]], tuple[Any, tuple[Any, ...]]] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    tiny: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    def account(
        self, *, sizes: Mapping[str, Any] | None = None, params: Sequence[str] | None = None, **options: Any
    ) -> Account:
        """Return the account of the layer; options are those of `symacct.account`, `params` in place of its own."""
        arguments = inspect.signature(self.build).parameters
        given = {**self.sizes, **self.values, **(sizes or {})}
        values = {n: v for n, v in given.items() if n in arguments}
        values |= {n: _number(v) for n, v in values.items() if arguments[n].annotation is inspect.Parameter.empty}
        put_in = {n: v for n, v in given.items() if n not in arguments}
        named = self.params if params is None else params
        return account(self.build, params=named, sizes=put_in, **values, **options)


def _number(value: Any) -> Any:
    """Return a whole number that is written out as that number: of an argument without annotation it is no shape."""
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


def load_worked(path: str | Path) -> Worked:
    """Load a worked graph from a file of Python, which is executed.

    Parameters
    ----------
    path
        A file with one `worked`, or with a single annotated function; or ``file.py:function``.

    Raises
    ------
    GraphError
        If there is no such file, or not one function to take.

    """
    file, _, wanted = str(path).partition(".py:")
    source = Path(file + (".py" if wanted else ""))
    if not source.is_file():
        told = f"{str(source)!r} is a folder" if source.is_dir() else f"there is no file {str(source)!r}"
        msg = f"{told}; a worked graph is a file of Python with one annotated function"
        raise GraphError(msg)
    module = _execute(source)
    found = getattr(module, wanted or "worked", None)
    if isinstance(found, Worked):
        return found
    functions = _functions(module)
    if wanted:
        if wanted not in functions:
            msg = f"no function {wanted!r} in {source.name}; there are {one_of(functions)}"
            raise GraphError(msg)
        return Worked(functions[wanted])
    annotated = {n: f for n, f in functions.items() if inspect.signature(f).parameters and f.__annotations__}
    if not annotated:
        others = f"; it has {one_of(functions)}, without annotations" if functions else ""
        msg = (
            f"{source.name} holds no function of annotated tensors{others}; write a layer as one, as in "
            "def layer(x: 'b d', w: 'd k'): return x @ w"
        )
        raise GraphError(msg)
    if len(annotated) != 1:
        found_ones = one_of(annotated)
        msg = f"{source.name} has no 'worked' and not one annotated function, but {found_ones}; name one: {source}:NAME"
        raise GraphError(msg)
    return Worked(next(iter(annotated.values())))


def _execute(source: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"symacct_worked_{source.stem}", source)
    if spec is None or spec.loader is None:
        msg = f"{source.name} is not a file of Python"
        raise GraphError(msg)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise GraphError(_does_not_run(source.name, source, error)) from error
    return module


def _does_not_run(what: str, file: str | Path, error: BaseException) -> str:
    """Say what a person's code raised, and in which of its lines."""
    file = Path(file).resolve()
    places = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == file]
    where = f" at {file.name}:{places[-1]}" if places else ""
    return f"{what} does not run{where}: {type(error).__name__}: {error}"


def _saved(file: Path) -> Graph:
    try:
        if not file.is_file() or file.stat().st_size > MAX_SAVED:
            msg = f"it is no file, or has more than {MAX_SAVED:,} bytes"
            raise GraphError(msg)
        return Graph.from_json(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{file.name[:60]} holds no graph: {error}"
        raise GraphError(msg) from None


def _functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    return {
        n: f
        for n, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__ and n[0] != "_"
    }


def account_of_file(path: str | Path, **options: Any) -> Account:
    """Return the account of a worked file, or of a saved graph (``.json``); a mistake is one message with its line.

    What the file prints goes to stderr, since the answer goes to stdout.

    Raises
    ------
    GraphError
        For a file that does not load, or a layer that does not run.

    """
    if str(path).endswith(".json"):
        return account(_saved(Path(path)), **options)
    with redirect_stdout(sys.stderr):
        worked = load_worked(path)
        try:
            return worked.account(**options)
        except SymacctError:
            raise
        except (Exception, SystemExit) as error:
            file = str(path).partition(".py:")[0].removesuffix(".py") + ".py"
            raise GraphError(_does_not_run(called(worked.build), file, error)) from error
