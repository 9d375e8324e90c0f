"""The process in which a student's file runs: limits first, then the file, then one call a line of JSON.

`symacct.testing.students` starts this file as a script of its own, so it uses the standard library alone; it runs
`products.py`, which needs torch, only where a module is to be counted.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import numbers
import operator
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

MAX_BITS = 100_000
MAX_DEPTH = 10_000
"""Calls within calls: a function that calls itself for each of its sizes is a formula too."""
MAPPED = 4
"""How much address space there is for what is allocated: the libraries of torch lie there too."""
MAX_WRITTEN = 2**20
"""Bytes of a file that is written: torch needs a folder in which it can write a little."""
REFUSED = {
    **dict.fromkeys(
        ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system", "subprocess.Popen"), "start processes"
    ),
    **dict.fromkeys(("socket.__new__", "socket.getaddrinfo", "socket.gethostbyname"), "reach the network"),
}
"""What a formula needs not, by the interpreter's own name of the event."""


def main() -> None:
    """Run the file that the first line of standard input names, and answer what the following lines ask."""
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what the student prints or asks goes nowhere
        os.dup2(silent, stream)
    order = json.loads(questions.readline())
    set_limits(order["cpu_seconds"], order["memory"])
    sys.addaudithook(refuse)

    def answer(compute: Callable[[], Any]) -> None:
        try:
            said = {"answer": compute()}
        except BaseException as error:  # noqa: BLE001 - students' code may raise anything, SystemExit too
            said = {"error": described(error, order["file"])}
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    loaded: list[ModuleType] = []
    answer(lambda: loaded.append(load(order["file"])))
    for line in questions:
        asked = json.loads(line)
        answer(lambda asked=asked: respond(loaded[0], asked))  # type: ignore[misc]


def set_limits(cpu_seconds: int, memory: int) -> None:
    """Limit processor time, memory, address space, the size of files that are written, and depth; no core, no process.

    To the superuser the system does not refuse processes; `refuse` does.
    """
    import resource  # only POSIX systems have it

    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_AS, (MAPPED * memory, MAPPED * memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    sys.setrecursionlimit(MAX_DEPTH)


def refuse(event: str, _: tuple[Any, ...]) -> None:
    """Refuse what `REFUSED` names; code that means harm finds ways around an audit hook."""
    if event in REFUSED:
        msg = f"a formula must not {REFUSED[event]}"
        raise PermissionError(msg)


def load(file: str) -> ModuleType:
    """Execute the file."""
    spec = importlib.util.spec_from_file_location("student", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["student"] = module
    spec.loader.exec_module(module)
    return module


def respond(module: ModuleType, asked: Mapping[str, Any]) -> Any:
    """Answer one question: the parameters of a function, its value, or what a module of torch executes."""
    function = getattr(module, asked["function"], None)
    if not callable(function):
        defined = [n for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == "student"]
        msg = f"the file defines no function {asked['function']!r}; it defines {', '.join(defined[:20]) or 'none'}"
        raise LookupError(msg)  # noqa: TRY004 - it is the name that is wrong
    if asked["ask"] == "parameters":
        return parameters(function)
    if asked["ask"] == "value":
        return packed(function(**asked["arguments"]))
    counting = runpy.run_path(str(Path(__file__).with_name("products.py")))
    return counting["count_module"](function, asked["arguments"], asked["inputs"])


def parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """Return the parameters by name, and whether each must be given; one that takes all others reads ``**``."""
    out = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind == p.VAR_POSITIONAL:
            continue
        if p.kind == p.POSITIONAL_ONLY:
            msg = f"the parameter {p.name!r} cannot be given by name"
            raise TypeError(msg)
        out["**" if p.kind == p.VAR_KEYWORD else p.name] = p.kind != p.VAR_KEYWORD and p.default is p.empty
    return out


def packed(value: Any) -> list[str]:
    """Return a number as text without loss: ``["int", "0x30"]``, ``["fraction", "0x1", "0x3"]``, ``["float", "0.5"]``.

    Raises
    ------
    TypeError
        For what is no real number, and for an integer of more than `MAX_BITS` bits.

    """
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        msg = f"returned {value}, not a number"
        raise TypeError(msg)
    if isinstance(value, numbers.Rational):
        return _exact(value.numerator, value.denominator)
    try:
        return _exact(operator.index(value), 1)  # such as a whole number in an array of no axes
    except TypeError:
        pass
    try:
        return ["float", repr(type(value).__float__(value))]
    except (AttributeError, TypeError, ValueError, RuntimeError):
        msg = f"returned {type(value).__name__}, not a number"
        raise TypeError(msg) from None


def _exact(above: Any, below: Any) -> list[str]:
    pair = [int(above), int(below)]
    if max(n.bit_length() for n in pair) > MAX_BITS:
        msg = f"returned a number of more than {MAX_BITS:,} bits"
        raise ValueError(msg)
    return ["int", hex(pair[0])] if pair[1] == 1 else ["fraction", *map(hex, pair)]


def described(error: BaseException, file: str) -> str:
    """Say in one line what was raised, and at which line of the student's file."""
    line, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = at.tb_lineno
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    try:
        text = " ".join(str(error).split())[:200]
    except Exception:  # noqa: BLE001 - a student's own error may raise too
        text = ""
    where = f" (line {line} of {Path(file).name})" if line else ""
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"


if __name__ == "__main__":
    main()
