"""What students handed in: files of a folder, one a student or one with many, each read for itself."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from symacct.errors import FileError, SymacctError, nearest, one_of
from symacct.grading.files import read_text
from symacct.grading.layouts import Handed, Refused, from_csv, from_json, from_toml
from symacct.grading.markdown import from_markdown
from symacct.grading.types import Submission

READERS: Mapping[str, Callable[[str, str, tuple[str, ...]], list[Handed]]] = {
    ".csv": from_csv,
    ".json": from_json,
    ".markdown": from_markdown,
    ".md": from_markdown,
    ".toml": from_toml,
}
MOST_FILES = 20_000
MOST_NOTES = 5
SHOWN = 200


def read_submissions(
    paths: Iterable[str | Path], questions: tuple[str, ...], *, key: str | Path | None = None
) -> list[Submission]:
    """Return what was handed in, by student; one file that does not read takes nothing from the others.

    Parameters
    ----------
    paths
        Files, and folders of files (not the folders in them). By the end of its name a file is CSV, JSON, Markdown or
        TOML; of a folder other files are left out, and a README without answers, and `left_out` names them.
    questions
        The ids of the key.
    key
        The key's own file, which is left out of a folder.

    Returns
    -------
    list of Submission
        Sorted by student. What cannot be graded has a `problem`; a student that two files name has one too, and none
        of the two counts.

    Raises
    ------
    FileError
        If there is nothing at a path, a file of another kind, or nothing to read in a folder.

    """
    apart = None if key is None else os.path.realpath(key)
    paths = [Path(path) for path in paths]
    found = [s for file in _files(paths, apart) for s in _submissions(file, questions, alone=file in paths)]
    if not found:
        msg = f"{one_of(str(path) for path in paths)} holds no answers"
        raise FileError(msg)
    by_student: dict[str, list[Submission]] = {}
    for submission in found:
        by_student.setdefault(submission.student, []).append(submission)
    return [_one(several) for _, several in sorted(by_student.items())]


def left_out(paths: Iterable[str | Path], found: Iterable[Submission] = ()) -> list[str]:
    """Return a line a folder that holds something which is not read, so that nobody's answers are lost in silence.

    A README is named too, unless answers were found in it.
    """
    read = {s.source for s in found}
    folders = [(path, _inside(path)) for path in map(Path, paths) if _is_folder(path)]
    others = [(path, [f.name for f in inside if _not_read(f, read)]) for path, inside in folders]
    return [f"in {str(path)!r} these are not read: {one_of(names)}" for path, names in others if names]


def _not_read(file: Path, read: Container[str]) -> bool:
    return file.suffix.lower() not in READERS or (_is_readme(file) and file.name not in read)


def _is_readme(file: Path) -> bool:
    return file.stem.casefold() == "readme"


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if not f.name.startswith("."))
    except OSError as error:
        msg = f"the folder {str(folder)!r} cannot be read: {error.strerror}"
        raise FileError(msg) from None


def _files(paths: Iterable[str | Path], apart: str | None) -> Iterator[Path]:
    for path in map(Path, paths):
        if not os.path.lexists(path):
            msg = f"there is nothing at {str(path)[:200]!r}"
            raise FileError(msg)
        if not _is_folder(path):
            if path.suffix.lower() not in READERS:
                msg = f"{path.name} ends in none of {one_of(READERS)}"
                raise FileError(msg)
            yield path
            continue
        inside = [f for f in _inside(path) if f.suffix.lower() in READERS]
        inside = [f for f in inside if os.path.realpath(f) != apart]  # never raises, not for a loop of links
        if not inside:
            msg = f"no answers in {str(path)!r}: its files end in {one_of(READERS)}"
            raise FileError(msg)
        if len(inside) > MOST_FILES:
            msg = f"{len(inside):,} files in {str(path)!r}; at most {MOST_FILES:,} are graded at a time"
            raise FileError(msg)
        yield from inside


def _submissions(file: Path, questions: tuple[str, ...], *, alone: bool) -> list[Submission]:
    """Return what a file holds; a README without answers in a folder is nobody's, `alone` it is a hand-in."""
    found = _read(file, questions)
    return [] if _is_readme(file) and not alone and not any(s.answers or s.refused for s in found) else found


def _read(file: Path, questions: tuple[str, ...]) -> list[Submission]:
    own_name = file.stem or file.name
    try:
        handed = READERS[file.suffix.lower()](read_text(file), file.name, questions)
    except SymacctError as error:
        return [Submission(own_name, {}, file.name, str(error))]
    if not handed:
        return [Submission(own_name, {}, file.name, f"{file.name} holds no answers")]
    return [_known(h, _plain_name(h.student) or own_name, file.name, questions) for h in handed]


def _plain_name(name: str) -> str:
    """Return a name with single blanks, and its letters in one of their two spellings."""
    return unicodedata.normalize("NFC", " ".join(name.split()))[:SHOWN]


def _known(handed: Handed, student: str, source: str, questions: tuple[str, ...]) -> Submission:
    """Keep the answers to the key's questions, and note the others; ids may differ in case and blanks."""
    ids = {folded(q): q for q in questions}
    answers: dict[str, str] = {}
    refused: dict[str, str] = {}
    strange: list[str] = []
    for name, answer in handed.answers:
        question = ids.get(folded(name))
        if question is None:
            strange.append(name)
        elif isinstance(answer, Refused):
            refused.setdefault(question, answer.why)
        elif answer.strip() and question in answers:
            refused.setdefault(question, f"the question {question!r} is answered twice")
        elif answer.strip():
            answers[question] = answer
    for question in refused:
        answers.pop(question, None)
    problem = handed.problem or ("" if answers else next(iter(refused.values()), ""))
    if not answers and not problem:
        problem = f"none of the key's questions is answered; they are {one_of(questions)}"
    if problem and not problem.startswith(source):
        problem = f"{source}: {problem}"
    said = (*handed.notes[:MOST_NOTES], *_unknown(strange, questions))
    if problem:
        return Submission(student, {}, source, problem, said)
    return Submission(student, answers, source, "", said, refused)


def _unknown(names: list[str], questions: tuple[str, ...]) -> list[str]:
    """Name what the key lacks; the first few with what was perhaps meant, which takes a while to find."""
    said = [f"the key has no question {name[:60]!r}.{_meant(name, questions)}" for name in names[:MOST_NOTES]]
    return [*said, f"nor {len(names) - MOST_NOTES:,} others"] if len(names) > MOST_NOTES else said


@lru_cache(maxsize=1024)
def _meant(name: str, questions: tuple[str, ...]) -> str:
    return nearest(name, questions)


def folded(name: str) -> str:
    """Return an id as ids are compared: case and blanks do not count."""
    return "".join(name.split()).casefold()


def _one(several: list[Submission]) -> Submission:
    if len(several) == 1:
        return several[0]
    sources = ", ".join(dict.fromkeys(s.source for s in several))
    first = several[0]
    return first._replace(
        answers={}, refused={}, problem=f"{first.student[:60]!r} handed in {len(several)} times ({sources}); leave one"
    )
