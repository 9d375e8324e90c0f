"""Write reports where they were asked for, and nowhere else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from symacct.errors import FileError


def check_places(reports: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Check that no report would take the place of the key or of an answer, or stand among the answers.

    Raises
    ------
    FileError
        Names the report.

    """
    inputs = [Path(os.path.realpath(path)) for path in inputs]
    taken: set[Path] = set()
    for report in reports:
        place = Path(os.path.realpath(report))
        if place.is_dir() or not place.parent.is_dir():
            why = "is a folder" if place.is_dir() else f"lies in {str(report.parent)!r}, which is no folder"
            msg = f"the report {str(report)!r} {why}"
            raise FileError(msg)
        if place.exists() and not place.is_file():
            msg = f"the report {str(report)!r} would take the place of something that is no file"
            raise FileError(msg)
        same = any(place == i or (place.exists() and i.exists() and place.samefile(i)) for i in inputs)
        if same or any(i.is_dir() and place.is_relative_to(i) for i in inputs):
            msg = f"the report {str(report)!r} would overwrite what is graded, or stand among it; choose another place"
            raise FileError(msg)
        if place in taken:
            msg = f"two reports would be written to {str(report)!r}"
            raise FileError(msg)
        taken.add(place)


def write_all(reports: Mapping[Path, str]) -> None:
    """Write each report beside its place first, and move it there when it is whole.

    Raises
    ------
    FileError
        Where it cannot be written.

    """
    for path, text in reports.items():
        try:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".symacct-")
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except OSError as error:
            msg = f"the report {str(path)!r} cannot be written: {error.strerror}"
            raise FileError(msg) from None
