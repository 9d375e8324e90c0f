"""The plugin of pytest: a student's file as a fixture, run in a process of its own with limits.

It is loaded into every run of pytest where symacct is installed, so it loads nothing but pytest itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from symacct.testing.students import Student

OPTION = "--symacct-student"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file to test."""
    group = parser.getgroup("symacct", "formulas that students write as code")
    group.addoption(OPTION, metavar="FILE", help="the student's file that the fixture symacct_student gives")


@pytest.fixture
def symacct_student(request: pytest.FixtureRequest) -> Iterator[Callable[..., Student]]:
    """Give a function that starts a student's file in a process with limits: see `symacct.testing.Student`.

    ``symacct_student()`` takes the file of ``--symacct-student``, and skips the test without one;
    ``symacct_student("alice.py", limits=...)`` takes that file, looked for beside the test.
    """
    from symacct.testing.students import Student

    running: list[Student] = []

    def start(file: str | Path | None = None, **options: Any) -> Student:
        if file is not None:
            path = request.path.parent / file
        else:
            given = request.config.getoption(OPTION)
            if not given:
                pytest.skip(f"no student's file: give {OPTION}=FILE")
            path = request.config.invocation_params.dir / given
        running.append(Student(path, **options))
        return running[-1]

    yield start
    for student in running:
        student.close()
