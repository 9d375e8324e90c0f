"""The command `symacct`: patterns and sizes in, closed forms out."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence

from symacct.errors import SymacctError

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Run one command; what was asked wrongly gets one message and exit code 2, never a traceback.

    Parameters
    ----------
    words
        What follows `symacct` on the command line; by default what the process was started with.

    Raises
    ------
    SystemExit
        Always: 0 after an answer, 2 after a mistake in what was asked, 130 after Ctrl-C.

    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding lacks
    try:
        # a Ctrl-C while the commands load must not show a traceback either
        from symacct.cli.commands import app

        app(words, prog_name="symacct")
    except SymacctError as error:
        fail(str(error))
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        fail(f"a number in the answer has more than {sys.get_int_max_str_digits():,} digits, the most that are printed")
    except KeyboardInterrupt:
        sys.exit(130)


def fail(message: str) -> None:
    """Print a message for a person at a terminal and exit with code 2."""
    # errors speak of Python's options: order='left' is --order left here
    spoken = re.sub(r"\b(convention|dtype|memory|notation|of|order)='(\w+)'", r"--\1 \2", message)
    sys.stderr.write(f"symacct: {spoken}\n")
    sys.exit(2)
