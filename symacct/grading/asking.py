"""Ask the questions of a key one after the other, and tell at once what is wrong: for practice, not for marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from symacct.answers.question import Question as Judged
from symacct.grading.display import number
from symacct.grading.marking import judge_safely, points_of
from symacct.grading.remarks import outcome, remarks
from symacct.grading.truths import judged_by
from symacct.grading.types import Graded, Key, Mark, Question, Submission, in_language
from symacct.grading.words import label, say, spoken

HINT = ("?", "？", "hint", "提示")
SHOW = ("=", "＝")
SKIP = ("skip", "跳过")
QUIT = ("quit", "exit", "退出")


def ask(key: Key, read: Callable[[], str], write: Callable[[str], None], language: str = "en") -> Graded:
    """Ask each question until it is answered rightly or passed over; return the last answers with their marks.

    Parameters
    ----------
    key
        From `read_key`.
    read
        Returns what is typed next: an answer; nothing or ``skip`` passes on, ``?`` or ``hint`` asks for a hint, ``=``
        for the right answer, ``quit`` ends the questions. Raises EOFError at the end of the input, which does so too.
    write
        Shows a line.
    language
        ``"en"`` or ``"zh"``.

    Examples
    --------
    >>> from symacct.grading.types import Truth
    >>> question = Question("matmul", {"": "FLOPs of x @ w?"}, Truth("formula", "2*B*D*K"), dict.fromkeys("BDK", ""))
    >>> typed = iter(["2BDK"])
    >>> ask(Key({"": "Matmul"}, (question,), "key.toml"), lambda: next(typed), lambda line: None).points
    1

    """
    marks: list[Mark] = []
    left = False
    for at, question in enumerate(key.questions, 1):
        mark = Mark(question.id, None, 0, question.points, None)
        if not left:
            write(f"\n[{at}/{len(key.questions)}] {in_language(question.prompt, language).strip()}")
            for line in _given(question, language):
                write(line)
            try:
                for mark in _attempts(question, judged_by(question), read, write, language):  # noqa: B007 - the last counts
                    pass
            except EOFError:
                left = True
        marks.append(mark)
    done = Graded(Submission("", {m.question: m.answer for m in marks if m.answer is not None}, ""), tuple(marks))
    write("\n" + say("goodbye", language, number(done.points), number(key.points)))
    return done


def _given(question: Question, language: str) -> Iterator[str]:
    if question.symbols:
        listed = ", ".join(f"{n} ({meaning})" if meaning else n for n, meaning in question.symbols.items())
        yield label("symbols", language, listed)
    if question.at:
        yield label("given", language, ", ".join(f"{n} = {size}" for n, size in question.at.items()))
    if question.unit:
        yield label("unit", language, question.unit)


def _word(typed: str, question: Question) -> str:
    """Return what was typed as a command is compared; a symbol of that name is an answer."""
    return "" if typed in question.symbols else typed.casefold()


def _attempts(
    question: Question, judged: Judged, read: Callable[[], str], write: Callable[[str], None], language: str
) -> Iterator[Mark]:
    """Yield a mark an attempt, until one is right, or nothing or the right answer was asked for."""
    hints = iter(question.hints)
    write(say("try_again", language))
    while (typed := read().strip()) and _word(typed, question) not in SKIP:
        if _word(typed, question) in QUIT:
            raise EOFError
        if _word(typed, question) in HINT:
            hint = next(hints, None)
            write(label("hint", language, in_language(hint, language)) if hint else say("no_hint", language))
        elif typed in SHOW:
            write(label("truth", language, judged.truth.text))
            for line in judged.truth.derivation:
                write(f"  {spoken(line, language)}")
            return
        else:
            verdict = judge_safely(typed, judged)
            mark = Mark(question.id, typed, points_of(question, verdict), question.points, verdict)
            write(outcome(mark, language))
            for line in remarks(question, mark, language):
                write(f"  {line}")
            yield mark
            if mark.points == mark.out_of and (verdict.correct or mark.points):
                return
