"""The command `symacct`: patterns and sizes in, closed forms out."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from symacct.errors import SymacctError

__all__ = ["main"]

TOTALS = ("flops", "bytes", "intensity")


def main(words: Sequence[str] | None = None) -> None:
    """Run one command; what was asked wrongly gets one message and exit code 2, never a traceback.

    Parameters
    ----------
    words
        What follows `symacct` on the command line; by default what the process was started with.

    Raises
    ------
    SystemExit
        With 0 after help, 1 where the answer cannot be written or the reader of a pipe left, 2 after a mistake in what
        was asked, 130 after Ctrl-C.

    """
    _prepare_streams()
    try:
        _run(sys.argv[1:] if words is None else list(words))
    except SymacctError as error:
        _fail(str(error))
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        _fail(
            f"the answer has a number of more than {sys.get_int_max_str_digits():,} digits, the most that are printed"
        )
    except BrokenPipeError:
        _leave()
    except OSError as error:
        if error.filename is not None:  # of a file, not of what the answer goes to
            _fail(f"{str(error.filename)[:60]!r}: {error.strerror}")
        _leave(error)
    except KeyboardInterrupt:
        sys.exit(130)


def _run(words: list[str]) -> None:
    words = [f" {w}" if w.startswith("->") else w for w in words]  # a pattern of nothing, no option
    # heavy imports stand here, so that a Ctrl-C while they load shows no traceback either
    if len(words) > 1 and words[0] in TOTALS and not any(w.startswith("-") for w in words):
        # no options: the answer is there before typer, and what it needs for each option, would be loaded
        from symacct.cli.output import print_total

        print_total(words[0], words[1], words[2:])
        return
    from typer import Abort, BadParameter

    from symacct.cli.commands import app

    if not words:  # help
        app(words, prog_name="symacct")
    try:
        code = app(words, prog_name="symacct", standalone_mode=False)
    except BadParameter.__mro__[1] as error:  # type: ignore[misc] # UsageError of the click that typer has
        _fail(_told(error))
    except Abort:
        sys.stderr.write("Aborted.\n")
        sys.exit(1)
    sys.exit(code or 0)


def _told(error: Any) -> str:
    """Say in one line what a command lacks or does not know."""
    told = error.format_message().strip()
    wanted = getattr(getattr(error, "param", None), "help", None)
    path = error.ctx.command_path if error.ctx else "symacct"
    told = f"{told.rstrip('.')}: {wanted}" if wanted else told
    return f"{told}{'' if told[-1] in '.?' else '.'} See {path} --help"


def _prepare_streams() -> None:
    if sys.stderr is None:  # closed before the command began
        sys.stderr = io.StringIO()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks


def _leave(error: OSError | None = None) -> NoReturn:
    if error is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"symacct: the answer cannot be written: {error.strerror}\n")
    if sys.stdout is not None:
        # Python flushes once more at exit and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _fail(message: str) -> NoReturn:
    # errors speak of Python's options and sizes
    spoken = re.sub(r"\b(convention|dtype|engines|memory|notation|of|order)='(\w+)'", r"--\1 \2", message)
    spoken = re.sub(r"use sizes=\{'(\w+)': \.\.\.\}", r"write \1=SIZE", spoken)
    sys.stderr.write(f"symacct: {spoken}\n")
    sys.exit(2)
