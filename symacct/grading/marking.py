"""Mark submissions: each different answer to a question is judged once, in several processes where there are many."""

from __future__ import annotations

import importlib.util
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from symacct.answers import Finding, Verdict
from symacct.answers.comparing import judge
from symacct.answers.question import Question as Judged
from symacct.errors import SymacctError
from symacct.grading.truths import judged_by
from symacct.grading.types import Graded, Key, Mark, Question, Submission

CHUNK = 100
"""Answers to one question that a process judges before it reports."""

FEW = 400
"""So few answers are judged sooner here than by processes that must start first."""

MEMORY = 4 * 2**30
"""Bytes of address space of a process that judges."""

SECONDS = 10
"""What one answer may take; the reader's own limits stop earlier, this is for what they miss."""


def grade(
    key: Key,
    submissions: Sequence[Submission],
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Graded]:
    """Return the marks of all submissions, in their order.

    Parameters
    ----------
    key
        From `read_key`.
    submissions
        From `read_submissions`.
    jobs
        How many processes judge; with 1 it is done here.
    progress
        Called with the number of different answers that are judged and that there are.

    Returns
    -------
    list of Graded

    Examples
    --------
    >>> from symacct.grading.types import Truth
    >>> question = Question("matmul", {"": "?"}, Truth("formula", "2*B*D*K"), {"B": "", "D": "", "K": ""})
    >>> handed_in = [Submission("alice", {"matmul": "2BDK"}, "a.md"), Submission("bob", {"matmul": "BDK"}, "b.md")]
    >>> [g.points for g in grade(Key({"": ""}, (question,), "key.toml"), handed_in)]
    [1, 0]

    """
    chunks = list(_chunks(key, submissions))
    total = sum(len(answers) for _, answers in chunks)
    verdicts: dict[tuple[str, str], Verdict] = {}
    for question, judged in _judged(chunks, jobs):
        verdicts |= {(question, answer): verdict for answer, verdict in judged.items()}
        if progress:
            progress(len(verdicts), total)
    return [Graded(s, tuple(_mark(q, s, verdicts) for q in key.questions)) for s in submissions]


def _chunks(key: Key, submissions: Sequence[Submission]) -> Iterator[tuple[Question, list[str]]]:
    for question in key.questions:
        different = list(dict.fromkeys(s.answers[question.id] for s in submissions if question.id in s.answers))
        for start in range(0, len(different), CHUNK):
            yield question, different[start : start + CHUNK]


def _judged(chunks: Sequence[tuple[Question, list[str]]], jobs: int) -> Iterator[tuple[str, Mapping[str, Verdict]]]:
    if jobs <= 1 or sum(len(answers) for _, answers in chunks) < FEW:
        for question, answers in chunks:
            yield question.id, judge_all(question, answers)
        return
    # spawned, not forked: a progress bar has a thread, and a fork of threads can hang
    processes = ProcessPoolExecutor(min(jobs, len(chunks)), mp_context=get_context("spawn"), initializer=_begin_process)
    try:
        with _interrupts_ignored():
            asked = {processes.submit(judge_all, question, answers): question.id for question, answers in chunks}
        for done in as_completed(asked):
            yield asked[done], done.result()
    except BrokenProcessPool:
        msg = "a process that judged answers was ended from outside; --jobs 1 does without"
        raise SymacctError(msg) from None
    finally:
        processes.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that start here leave Ctrl-C to this one, which hears it again afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin_process() -> None:
    """Bound the memory of a process that judges, where the system can."""
    if importlib.util.find_spec("resource"):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def judge_all(question: Question, answers: Sequence[str]) -> dict[str, Verdict]:
    """Judge answers to one question; none of them can stop the others."""
    judged = judged_by(question)
    return {answer: judge_safely(answer, judged) for answer in answers}


def judge_safely(answer: str, judged: Judged) -> Verdict:
    """Judge one answer; one that takes too long or breaks the judge is unreadable, and says so."""
    try:
        with _time_limit(SECONDS):
            return judge(answer, judged)
    except TimeoutError:
        problem = f"the answer took more than {SECONDS} s to judge"
    except Exception as error:  # noqa: BLE001 - whatever a stranger's text sets off, the others are graded
        problem = f"the answer could not be judged ({type(error).__name__})"
    return Verdict(correct=False, problem=problem, findings=(Finding("unreadable"),), truth=judged.truth.text)


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after some seconds, where the system can interrupt: POSIX, and the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _mark(question: Question, submission: Submission, verdicts: Mapping[tuple[str, str], Verdict]) -> Mark:
    answer, problem = submission.answers.get(question.id), submission.refused.get(question.id, "")
    verdict = None if answer is None else verdicts[question.id, answer]
    return Mark(question.id, answer, points_of(question, verdict), question.points, verdict, problem)


def points_of(question: Question, verdict: Verdict | None) -> float:
    """Return the points of a verdict: all for a right answer, a share for the likeliest mistake where the key has one.

    Examples
    --------
    >>> from symacct.grading.types import Truth
    >>> question = Question("q", {"": "?"}, Truth("formula", "2*n"), {"n": ""}, points=4, partial={"factor": 0.25})
    >>> wrong = Verdict(correct=False, findings=(Finding("factor", "2"),))
    >>> points_of(question, wrong), points_of(question, Verdict(correct=True)), points_of(question, None)
    (1.0, 4, 0)

    """
    if verdict is None:
        return 0
    if verdict.correct or verdict.other_convention in question.accept:
        return question.points
    reasons = [*verdict.mistakes[:1], *([verdict.other_convention] if verdict.other_convention else [])]
    share = max((question.partial.get(reason, 0) for reason in reasons), default=0)
    return round(question.points * share, 6)  # a total is the sum of what is shown
