"""A graded class as data: JSON, CSV for a gradebook, and the results format of Gradescope."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from symacct.grading.display import cell, number, visible
from symacct.grading.remarks import outcome, remarks
from symacct.grading.types import Graded, Key, in_language
from symacct.grading.words import spoken


def to_json(key: Key, graded: Sequence[Graded], language: str = "en") -> dict[str, Any]:
    """Return everything that is known about the answers, with stable keys."""
    return {
        "title": in_language(key.title, language),
        "points": key.points,
        "students": [
            {
                "student": g.submission.student,
                "source": g.submission.source,
                "points": g.points,
                "problem": spoken(g.submission.problem, language),
                "notes": [spoken(note, language) for note in g.submission.notes],
                "questions": [
                    {
                        "id": mark.question,
                        "answer": mark.answer,
                        "points": mark.points,
                        "out_of": mark.out_of,
                        "remarks": list(remarks(question, mark, language)),
                        "verdict": mark.verdict.to_json() if mark.verdict else None,
                    }
                    for question, mark in zip(key.questions, g.marks, strict=True)
                ],
            }
            for g in graded
        ],
    }


def to_csv(key: Key, graded: Sequence[Graded], language: str = "en") -> str:
    """Return a row a student: points in all and by question; begins with a mark by which Excel knows UTF-8.

    A cell that a spreadsheet would compute (``=...``, ``+...``, ``-...``, ``@...``) begins with ``'``.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["student", "points", "out_of", *(cell(q.id) for q in key.questions), "problem", "source", "notes"])
    for g in graded:
        points = [number(mark.points) if mark.answer is not None else "" for mark in g.marks]
        problem = "; ".join(spoken(p, language) for p in (g.submission.problem, *(m.problem for m in g.marks)) if p)
        who, problem, source = (cell(t) for t in (g.submission.student, problem, g.submission.source))
        notes = cell("; ".join(spoken(note, language) for note in g.submission.notes))
        writer.writerow([who, number(g.points), number(key.points), *points, problem, source, notes])
    return "\ufeff" + out.getvalue()


def to_gradescope(key: Key, graded: Sequence[Graded], language: str = "en") -> dict[str, Any]:
    """Return Gradescope's ``results.json``: for one submission as that service reads it, for several one by student.

    Each question is a test with a score, a status and what there is to say as plain text.
    """
    results = {g.submission.student: _results(key, g, language) for g in graded}
    return next(iter(results.values())) if len(results) == 1 else results


def _results(key: Key, graded: Graded, language: str) -> dict[str, Any]:
    tests = [
        {
            "name": " ".join(f"{question.id}: {in_language(question.prompt, language)}".split()),
            "number": str(at),
            "score": round(mark.points, 6),
            "max_score": mark.out_of,
            "status": "passed" if mark.points >= mark.out_of and mark.answer is not None else "failed",
            "output": "\n".join(
                [f"{visible(mark.answer or '')}  {outcome(mark, language)}".strip(), *remarks(question, mark, language)]
            ),
            "output_format": "text",
            "visibility": "visible",
        }
        for at, (question, mark) in enumerate(zip(key.questions, graded.marks, strict=True), 1)
    ]
    said = [spoken(line, language) for line in (graded.submission.problem, *graded.submission.notes)]
    return {
        "score": graded.points,
        "output": "\n".join(visible(line) for line in said if line),
        "output_format": "text",
        "visibility": "visible",
        "tests": tests,
    }
