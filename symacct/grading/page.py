"""A graded class as one page of HTML: everything escaped, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from statistics import mean

from symacct.answers import Finding
from symacct.answers.mistakes import sentence
from symacct.grading.display import number, visible
from symacct.grading.remarks import outcome, remarks
from symacct.grading.types import Graded, Key, Question, in_language
from symacct.grading.words import label, say, spoken

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #1d1d1f; }
table { border-collapse: collapse; width: 100%; margin: 1em 0; }
th, td { border-bottom: 1px solid #d2d2d7; padding: .3em .6em; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; padding: .3em 0; }
code { background: #f2f2f4; padding: 0 .3em; border-radius: .2em; overflow-wrap: anywhere; }
ul { margin: .2em 0; padding-left: 1.2em; }
.right { color: #1a7f37; } .wrong, .problem { color: #b42318; } .partly { color: #9a6700; } .none { color: #6e6e73; }
@media (prefers-color-scheme: dark) {
  body { background: #1d1d1f; color: #f2f2f4; } code { background: #3a3a3c; } th, td { border-color: #48484a; }
  .right { color: #4ac26b; } .wrong, .problem { color: #ff8983; } .partly { color: #e3b341; }
}
@media print { details { display: block; } }
"""
MOST_COMMON = 3


def to_html(key: Key, graded: Sequence[Graded], language: str = "en") -> str:
    """Return a page: a table of students, one of questions with the frequent mistakes, and each student's answers.

    The page forbids itself scripts and everything from outside, and text of students stands in it escaped.
    """
    title = escape(in_language(key.title, language))
    failed = sum(bool(g.submission.problem) for g in graded)
    body = [
        f"<h1>{title}</h1>",
        f"<p>{_text(say('submissions', language, len(graded), failed))}</p>",
        *_students_table(key, graded, language),
        *_questions_table(key, graded, language),
        *(line for i, g in enumerate(graded) for line in _student(key, g, i, language)),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="{"zh-CN" if language == "zh" else "en"}">',
            f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{title}</title><style>{_STYLE}</style></head>",
            "<body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _students_table(key: Key, graded: Sequence[Graded], language: str) -> Iterator[str]:
    yield f"<h2>{_text(say('students', language))}</h2>"
    yield "<table>"
    heads = "".join(f'<th class="n">{_text(q.id)}</th>' for q in key.questions)
    total = f"{say('total', language)} ({number(key.points)})"
    yield f'<tr><th>{_text(say("student", language))}</th><th class="n">{_text(total)}</th>{heads}</tr>'
    for i, g in enumerate(graded):
        who = f'<a href="#s{i}">{_text(g.submission.student)}</a>'
        points = "".join(
            f'<td class="n {_class(g, j)}">{number(m.points) if m.answer is not None else "–"}</td>'
            for j, m in enumerate(g.marks)
        )
        yield f'<tr><td>{who}</td><td class="n">{number(g.points)}</td>{points}</tr>'
    yield "</table>"


def _questions_table(key: Key, graded: Sequence[Graded], language: str) -> Iterator[str]:
    yield f"<h2>{_text(say('questions', language))}</h2>"
    yield "<table>"
    heads = ("question", "answered", "right_share", "mean", "common")
    yield "<tr>" + "".join(f"<th>{_text(say(h, language))}</th>" for h in heads) + "</tr>"
    for j, question in enumerate(key.questions):
        marks = [g.marks[j] for g in graded if g.marks[j].answer is not None]
        right = sum(m.points == m.out_of for m in marks)
        share = f"{right / len(marks):.0%}" if marks else "–"
        average = f"{number(round(mean(m.points for m in marks), 2))} / {number(question.points)}" if marks else "–"
        codes = Counter(m.verdict.mistakes[0] for m in marks if m.verdict and m.verdict.mistakes)
        common = "<br>".join(
            f"{n} × {_text(sentence(Finding(code, '…'), language))}" for code, n in codes.most_common(MOST_COMMON)
        )
        prompt = f"<b>{_text(question.id)}</b> {escape(in_language(question.prompt, language))}"
        yield f"<tr><td>{prompt}</td><td>{len(marks)}</td><td>{share}</td><td>{average}</td><td>{common}</td></tr>"
    yield "</table>"


def _student(key: Key, graded: Graded, place: int, language: str) -> Iterator[str]:
    submission = graded.submission
    head = f"{_text(submission.student)}: {number(graded.points)} / {number(key.points)}"
    yield f'<details id="s{place}"><summary>{head} <small class="none">{_text(submission.source)}</small></summary>'
    if submission.problem:
        yield f'<p class="problem">{_text(label("problem", language, spoken(submission.problem, language)))}</p>'
    yield from (f"<p>{_text(label('note', language, spoken(note, language)))}</p>" for note in submission.notes)
    if not submission.problem:
        yield "<table>"
        for j, question in enumerate(key.questions):
            yield _answer(question, graded, j, language)
        yield "</table>"
    yield "</details>"


def _answer(question: Question, graded: Graded, j: int, language: str) -> str:
    mark = graded.marks[j]
    answer = f"<code><bdi>{_text(mark.answer)}</bdi></code>" if mark.answer is not None else ""
    said = "".join(f"<li>{_text(line)}</li>" for line in remarks(question, mark, language))
    points = f"{number(mark.points)} / {number(mark.out_of)}"
    result = f'<span class="{_class(graded, j)}">{_text(outcome(mark, language))}</span>'
    listed = f"<ul>{said}</ul>" if said else ""
    return (
        f'<tr><td>{_text(question.id)}</td><td>{answer}{listed}</td><td>{result}</td><td class="n">{points}</td></tr>'
    )


def _class(graded: Graded, j: int) -> str:
    mark = graded.marks[j]
    if mark.problem:
        return "problem"
    if mark.answer is None:
        return "none"
    return "right" if mark.points == mark.out_of else "partly" if mark.points else "wrong"
