"""Judging answers, all different, against parsing and simplifying with sympy; and a whole class by the command."""

from __future__ import annotations

import csv
import os
import pty
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import sympy

from bench.rounds import Comparison, hand_back
from symacct.grading import Question, Truth
from symacct.grading.marking import judge_safely
from symacct.grading.truths import judged_by

ROUNDS = 4
CLASSES = 2
NAMES = "BDKFHLNPQTVWn"
STUDENTS = 500
FORMS = {
    "2*B*D*K": ("2*B*D*K", "2*B*(D*K)", "B*D*K", "2*B*K", "2*B*D*K*D"),
    "B*K*(2*D - 1)": ("2*B*D*K - B*K", "2*B*D*K", "B*D*K"),
    "2*B*D**2 + 2*B*D*K": ("2*B*D*(D + K)", "2*B*D*K", "2*B*D*D*K"),
    "(2*n - 1)/(4*n + 2)": ("1/2 - 1/(2*n + 1)", "1/2", "2*n/(4*n + 2)"),
    "(2*n - 1)/6": ("n/3 - 1/6", "n/3", "(2*n - 1)/4"),
    "8*D**2 + 4*T*D + 6*D*F": ("2*(4*D**2 + 3*D*F) + 4*T*D", "8*D**2 + 4*T*D + 4*D*F", "2*(4*D**2 + 3*D*F)"),
    "6*P + 12*L*H*Q*T": ("6*(P + 2*L*H*Q*T)", "6*P", "2*P + 4*L*H*Q*T"),
    "3*L*D*F + 4*L*D**2 + 2*V*D": ("L*D*(3*F + 4*D) + 2*D*V", "2*L*D*F + 4*L*D**2 + 2*V*D"),
    "2*sqrt(L)": ("sqrt(L) + sqrt(L)", "2*L**(1/2)", "sqrt(L)", "L/2"),
    "12*(N - 1)*D*F/(N*W)": ("2*(N - 1)/N*(6*D*F)/W", "6*(N - 1)*D*F/(N*W)", "12*D*F/W"),
}


def questions() -> list[Question]:
    """Thirty questions: each form three times."""
    names = {truth: [n for n in NAMES if n in truth.replace("sqrt", "")] for truth in FORMS}
    return [
        Question(f"q{i}", {"": ""}, Truth("formula", truth), dict.fromkeys(names[truth], ""))
        for i, truth in enumerate([*FORMS] * 3)
    ]


def _symbols() -> dict[str, sympy.Symbol]:
    return {n: sympy.Symbol(n, positive=True) for n in NAMES}


def answer(question: Question, draw: random.Random) -> str:
    """Return a right or wrong answer that nobody else gives."""
    form, k = draw.choice(FORMS[question.truth.text]), draw.randrange(2, 10**9)
    return draw.choice([f"{k}*({form})/{k}", f"{k}*({form}) - {k - 1}*({form})", f"({form})*{k}", f"({form}) + {k}"])


def by_sympy(text: str, truth: str) -> bool:
    """Parse and compare as one does without a grader; the text is trusted here."""
    answered, right = (sympy.sympify(t, locals=_symbols()) for t in (text, truth))  # noqa: TID251 - what is timed
    return bool(sympy.simplify(answered - right) == 0)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def one_by_one(asked: list[Question], draw: random.Random) -> tuple[list[float], list[float]]:
    """Return the seconds of each answer, ours and sympy's, which must agree."""
    ours, peer = [], []
    for question in asked:
        judged, text = judged_by(question), answer(question, draw)
        verdicts: list[bool] = []
        ours.append(timed(lambda: verdicts.append(judge_safely(text, judged).correct)))  # noqa: B023 - called at once
        peer.append(timed(lambda: verdicts.append(by_sympy(text, question.truth.text))))  # noqa: B023
        if verdicts[0] != verdicts[1]:
            raise SystemExit(f"{text} for {question.truth.text}: ours {verdicts[0]}, sympy {verdicts[1]}")
    return ours, peer


def main() -> None:
    draw = random.Random(1)  # noqa: S311 - nothing secret is drawn
    asked = questions()
    one_by_one(asked, draw)  # warms up
    rounds = [one_by_one(asked * 3, draw) for _ in range(ROUNDS)]
    group = "an answer; peer: sympify, simplify"
    ranks = [
        ("median", median, 0.004),
        ("99th percentile", lambda t: quantiles(t, n=100, method="inclusive")[98], 0.02),
    ]
    found = [
        Comparison(group, name, [rank(o) for o, _ in rounds], [rank(p) for _, p in rounds], seconds=limit)
        for name, rank, limit in ranks
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        two, one = [], []
        for _ in range(CLASSES):
            hand_in(asked, draw, folder)
            two.append(timed(lambda: by_command(folder, jobs=2)))
            one.append(timed(lambda: by_command(folder, jobs=1)))
    title = f"{STUDENTS} students x {len(asked)}; peer: 1 process"
    found.append(Comparison(title, "2 processes", two, one, seconds=60))
    hand_back(found)


def hand_in(asked: list[Question], draw: random.Random, folder: Path) -> None:
    """Write a key and the answers of a class, each answer another one."""
    parts = [
        f'[[question]]\nid = "{q.id}"\nprompt = "?"\nsymbols = {[*q.symbols]}\nformula = "{q.truth.text}"\n'
        for q in asked
    ]
    (folder / "key.toml").write_text("\n".join(parts), encoding="utf-8")
    with (folder / "class.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["student", *(q.id for q in asked)])
        rows.writerows([f"s{i}", *(answer(q, draw) for q in asked)] for i in range(STUDENTS))


def by_command(folder: Path, jobs: int) -> None:
    """Grade a class as a teacher does: the whole command with its reports, the progress bar on a terminal."""
    ours, theirs = pty.openpty()
    reports = "--report r.html --csv r.csv --gradescope r.json"
    words = [sys.executable, *f"-m symacct grade key.toml class.csv --jobs {jobs} {reports}".split()]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    shown = threading.Thread(target=_read_all, args=(ours,), daemon=True)
    shown.start()
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)


def _read_all(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # how a terminal of Linux ends
        os.close(terminal)


if __name__ == "__main__":
    main()
