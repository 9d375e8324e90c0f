"""The process in which a student's file runs: limits first, then the file, then one call a line of JSON.

`symacct.testing.students` starts this file as a script of its own, so it uses the standard library alone; torch is
loaded only where a module is to be counted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import json
import math
import numbers
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

MAX_BITS = 100_000
MAX_WRITTEN = 2**20
"""Bytes of a file that is written: torch needs a folder in which it can write a little."""


def main() -> None:
    """Run the file that the first line of standard input names, and answer what the following lines ask."""
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what the student prints or asks goes nowhere
        os.dup2(silent, stream)
    order = json.loads(questions.readline())
    set_limits(order["cpu_seconds"], order["memory"])

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
    """Limit processor time, address space, and the size of files that are written; no core dumps."""
    import resource  # only POSIX systems have it

    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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
    defined = [n for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == "student"]
    if asked["function"] not in defined:
        msg = f"the file defines no function {asked['function']!r}; it defines {', '.join(defined[:20]) or 'none'}"
        raise LookupError(msg)
    function = getattr(module, asked["function"])
    if asked["ask"] == "parameters":
        return parameters(function)
    if asked["ask"] == "value":
        return packed(function(**asked["arguments"]))
    return count_module(function, asked["arguments"], asked["inputs"])


def parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """Return the parameters by name, and whether each must be given; one that takes all others reads ``**``."""
    out = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL):
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
    if hasattr(value, "__index__") and not isinstance(value, numbers.Integral):
        value = value.__index__()
    if isinstance(value, numbers.Rational):
        pair = [int(value.numerator), int(value.denominator)]
        if max(n.bit_length() for n in pair) > MAX_BITS:
            msg = f"returned a number of more than {MAX_BITS:,} bits"
            raise TypeError(msg)
        return ["int", hex(pair[0])] if pair[1] == 1 else ["fraction", *map(hex, pair)]
    if isinstance(value, numbers.Real) or type(value).__name__ == "Float":
        return ["float", repr(float(value))]
    msg = f"returned {type(value).__name__}, not a number"
    raise TypeError(msg)


def count_module(build: Callable[..., Any], arguments: Mapping[str, int], inputs: Mapping[str, Any]) -> dict[str, int]:
    """Build a module of torch, run it on random tensors, and return its parameters and the FLOPs of its products.

    Parameters
    ----------
    build
        The class, or a function that returns a module.
    arguments
        Its arguments: sizes by name.
    inputs
        For each tensor its shape; and a number below which integers are drawn, or None for normal floats.

    """
    import torch

    module = build(**arguments)
    if not isinstance(module, torch.nn.Module):
        msg = f"made {type(module).__name__}, not a torch.nn.Module"
        raise TypeError(msg)
    tensors = [torch.randn(shape) if below is None else torch.randint(below, shape) for shape, below in inputs.values()]
    counted = count_products(module, *tensors)
    return {"matmul_flops": counted, "params": sum(math.prod(p.shape) for p in module.parameters())}


def count_products(function: Callable[..., Any], *arguments: Any) -> int:
    """Run a function in torch and return the FLOPs of its matrix products, convolutions and attention.

    torch's ``FlopCounterMode`` counts, 2 a multiply-accumulate; ``mv`` and ``dot``, which it does not know, are added
    to it, and attention runs as plain products, since it does not know every kernel.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    def twice_first(first: tuple[int, ...], *_: Any, out_shape: Any = None) -> int:  # noqa: ARG001 - the counter passes it
        return 2 * math.prod(first)

    known: Any = dict.fromkeys((torch.ops.aten.mv, torch.ops.aten.dot), twice_first)
    off = torch.backends.opt_einsum.flags(enabled=False) if torch.backends.opt_einsum.is_available() else None
    counter = FlopCounterMode(display=False, custom_mapping=known)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), off or contextlib.nullcontext(), counter:
        function(*arguments)
    return int(counter.get_total_flops())


def described(error: BaseException, file: str) -> str:
    """Say in one line what was raised, and at which line of the student's file."""
    line, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = at.tb_lineno
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    text = " ".join(str(error).split())[:200]
    where = f" (line {line} of {Path(file).name})" if line else ""
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"


if __name__ == "__main__":
    main()
