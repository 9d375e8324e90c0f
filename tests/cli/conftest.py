"""The command run in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from symacct.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def command(*words: str) -> Ran:
        code = 0
        try:
            main(words)
        except SystemExit as end:
            code = end.code
        return Ran(code, *capsys.readouterr())

    return command
