"""Students' files, run in a process of their own with limits; what is limited and what is not is said at `Student`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from symacct.errors import StudentEndedError, StudentError, SymacctError

Number: TypeAlias = int | Fraction | float
Read = TypeVar("Read")

MAX_FILE = 1_000_000
MAX_ANSWER = 1_000_000
MEBIBYTE = 2**20


class Limits(NamedTuple):
    """Limits of one process: seconds for the file to load, for a call, and of processor time in all; MiB of memory."""

    load_seconds: float = 60
    call_seconds: float = 5
    cpu_seconds: int = 120
    memory_mib: int = 2048


class Student:
    """A student's file in a process of its own; each function is reached as `student["name"]`.

    Parameters
    ----------
    file
        A file of Python. It is executed in the process, never here.
    limits
        `Limits`.

    Raises
    ------
    StudentError
        If the file is not there, is too large, does not load, or runs over a limit.
    SymacctError
        On a system that cannot limit a process (one without POSIX limits).

    Notes
    -----
    Limited: the time to load and of each call (the process group is killed), processor time, memory (where the
    system holds to it: Linux does, macOS does not), the size of each file that is written (1 MiB), and the length of
    an answer. The process starts in an empty folder that is removed, without the environment of this one. Starting
    processes and reaching the network is refused by Python, and processes by the system too where this user is not
    the superuser. Not limited: reading, deleting and making files where this user can, so also reading the tests.
    Against code that means harm, run the tests in a container without a network.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "alice.py"
    >>> _ = file.write_text("def flops(B, D, K): return B*D*K")
    >>> with Student(file) as student:
    ...     student["flops"].call({"B": 2, "D": 3, "K": 5})
    30

    """

    def __init__(self, file: str | Path, limits: Limits | None = None) -> None:
        """Start the process and load the file."""
        self.file = Path(file).resolve()
        self.limits = limits or Limits()
        self.lost = ""
        if not self.file.is_file():
            msg = f"there is no file {str(file)!r} to test"
            raise StudentError(msg)
        if self.file.stat().st_size > MAX_FILE:
            msg = f"{self.file.name} has {self.file.stat().st_size:,} bytes; at most {MAX_FILE:,} are run"
            raise StudentError(msg)
        if os.name != "posix":
            msg = "students' code is run only where a process can be limited: on Linux or macOS"
            raise SymacctError(msg)
        self._folder = tempfile.TemporaryDirectory(prefix="symacct-student-")
        self._process = subprocess.Popen(  # noqa: S603 - what runs is our own script, within limits
            [sys.executable, "-I", "-B", str(Path(__file__).with_name("student_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={"PATH": os.defpath, "HOME": self._folder.name, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self._unread = b""
        order = {
            "file": str(self.file),
            "cpu_seconds": self.limits.cpu_seconds,
            "memory": self.limits.memory_mib * MEBIBYTE,
        }
        try:
            self._ask(order, self.limits.load_seconds, "loading")
        except StudentError:
            self.close()
            raise

    def __getitem__(self, name: str) -> StudentFunction:
        """Return a function of the file, or a class of modules."""
        return StudentFunction(self, name)

    def __enter__(self) -> Self:
        """Use the process in a with-statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process and what it started in its group, and remove its folder."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._folder.cleanup()

    def ask(self, question: Mapping[str, Any]) -> Any:
        """Ask the process one question and wait for the answer, no longer than the limit."""
        return self._ask(question, self.limits.call_seconds, f"{question['function']}")

    def _ask(self, question: Mapping[str, Any], seconds: float, doing: str) -> Any:
        assert self._process.stdin is not None
        if self.lost:
            raise StudentEndedError(self.lost)
        if self._unread:
            raise self._end(doing, "the process wrote what is no answer")
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._end(doing, "") from None
        said = self._line(time.monotonic() + seconds, seconds, doing)
        try:
            answer = json.loads(said)
            problem = answer.get("error")
            answer = answer["answer"] if problem is None else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self._end(doing, "the process wrote what is no answer") from None
        if problem is not None:
            raise StudentError(f"{self.file.name}, {doing}: {str(problem)[:400]}")
        return answer

    def _line(self, until: float, seconds: float, doing: str) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise self._end(doing, f"took more than {seconds:g} s and was ended")
            part = os.read(self._process.stdout.fileno(), 65536)
            self._unread += part
            if not part:
                raise self._end(doing, "")
            if len(self._unread) > MAX_ANSWER:
                raise self._end(doing, f"an answer of more than {MAX_ANSWER:,} bytes")
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _end(self, doing: str, why: str) -> StudentEndedError:
        """End the process; without a reason, say why it ended by itself."""
        if not why:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        self.close()
        if not why and self._process.returncode == -signal.SIGXCPU:
            why = f"used {self.limits.cpu_seconds} s of processor time and was ended"
        self.lost = f"{self.file.name}, {doing}: {why or 'the process ended by itself, perhaps at a limit of memory'}"
        return StudentEndedError(self.lost)


@dataclass(frozen=True, slots=True)
class StudentFunction:
    """One function of a student's file; what it computes is computed in the student's process."""

    student: Student
    name: str

    def parameters(self) -> dict[str, bool]:
        """Return its parameters by name, and whether each must be given."""
        asked = {"ask": "parameters", "function": self.name}
        return self._of(asked, lambda told: {str(name): bool(needed) for name, needed in told.items()})

    def call(self, arguments: Mapping[str, int]) -> Number:
        """Return its value for arguments by name."""
        asked = {"ask": "value", "function": self.name, "arguments": dict(arguments)}
        return self._of(asked, unpacked)

    def count(self, arguments: Mapping[str, int], inputs: Mapping[str, Any]) -> dict[str, int]:
        """Return what the module that it makes executes: see `products.count_module`."""
        asked = {"ask": "count", "function": self.name, "arguments": dict(arguments), "inputs": dict(inputs)}
        return self._of(asked, lambda told: {name: int(told[name]) for name in ("matmul_flops", "params")})

    def _of(self, asked: Mapping[str, Any], read: Callable[[Any], Read]) -> Read:
        """Ask, and read the answer; what the process writes may be anything."""
        told = self.student.ask(asked)
        try:
            return read(told)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            msg = f"{self.student.file.name}, {self.name}: the process wrote what is no answer"
            raise StudentError(msg) from None


def unpacked(packed: list[str]) -> Number:
    """Return the number that `student_process.packed` wrote.

    Examples
    --------
    >>> unpacked(["int", "0x1e"]), unpacked(["fraction", "0x1", "0x3"]), unpacked(["float", "0.5"])
    (30, Fraction(1, 3), 0.5)

    """
    kind, *parts = packed
    if kind == "float":
        return float(parts[0])
    whole = [int(p, 16) for p in parts]
    return whole[0] if kind == "int" else Fraction(*whole)
