"""Points: right, wrong, partly right, under another convention; none stops the others."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from symacct.answers import Verdict
from symacct.grading import Key, Submission, grade, lint, marking, read_key
from symacct.grading.marking import judge_safely, points_of
from symacct.grading.reports import to_gradescope
from symacct.grading.truths import judged_by
from tests.grading.conftest import KEY

ANSWERS = {
    "2BDK": 4,
    "2·B·D·K FLOPs": 4,
    "33554432": 4,
    "BDK": 1,
    "2BK": 0,
    "2BDK + 1": 0,
    "B*K*(2*D-1)": 0,
    "": 0,
    "__import__('os').system('touch hacked')": 0,
    "9**9**9**9": 0,
    "(" * 5000: 0,
    "<script>alert(1)</script>": 0,
}


def handed(*answers: str, question: str = "matmul") -> list[Submission]:
    return [Submission(f"s{i}", {question: a}, f"s{i}.md") for i, a in enumerate(answers)]


def test_points(key: Key) -> None:
    graded = grade(key, handed(*ANSWERS))
    assert {g.marks[0].answer: g.points for g in graded} == ANSWERS
    assert [g.marks[1] for g in graded] == [("square", None, 0, 1, None, "")] * len(ANSWERS)


def test_an_accepted_convention_counts_in_full(key: Key) -> None:
    under = dict(
        zip(("n/3", "n/3 - 1/6", "n/6"), grade(key, handed("n/3", "n/3 - 1/6", "n/6", question="square")), strict=True)
    )
    assert {a: g.points for a, g in under.items()} == {"n/3": 1, "n/3 - 1/6": 1, "n/6": 0}
    verdict = under["n/3 - 1/6"].marks[1].verdict
    assert (verdict.correct, verdict.other_convention) == (False, "exact")


def test_several_processes_give_the_same(key: Key, monkeypatch) -> None:
    monkeypatch.setattr(marking, "CHUNK", 5)
    monkeypatch.setattr(marking, "FEW", 2)
    seen: list[tuple[int, int]] = []
    alone = grade(key, handed(*ANSWERS))
    together = grade(key, handed(*ANSWERS), jobs=2, progress=lambda done, total: seen.append((done, total)))
    assert [g.points for g in together] == [g.points for g in alone]
    assert seen[-1] == (12, 12)
    assert len(seen) == 3


def test_equal_answers_are_judged_once(key: Key, monkeypatch) -> None:
    asked: list[str] = []
    judge = marking.judge
    monkeypatch.setattr(marking, "judge", lambda answer, question: asked.append(answer) or judge(answer, question))
    grade(key, handed("2BDK", "BDK", "2BDK"))
    assert asked == ["2BDK", "BDK"]


def test_an_answer_that_breaks_the_judge_is_one_line(key: Key, monkeypatch) -> None:
    def breaks(answer: str, _: object) -> Verdict:
        if answer == "loop":
            while True:
                time.sleep(0.01)
        if answer == "bug":
            raise MemoryError
        return Verdict(correct=True)

    monkeypatch.setattr(marking, "judge", breaks)
    monkeypatch.setattr(marking, "SECONDS", 0.2)
    judged = judged_by(key.questions[0])
    assert judge_safely("bug", judged).problem == "the answer could not be judged (MemoryError)"
    assert judge_safely("loop", judged).problem == "the answer took more than 0.2 s to judge"
    assert judge_safely("loop", judged).mistakes == ("unreadable",)
    assert [g.points for g in grade(key, handed("loop", "2BDK"))] == [0, 4]


def test_partial_credit_is_for_the_likeliest_mistake(key: Key) -> None:
    question = key.questions[0]
    judged = judged_by(question)
    assert points_of(question, judge_safely("BDK", judged)) == 1
    assert judge_safely("2BK", judged).mistakes[0] == "axis_forgotten"
    assert points_of(question, judge_safely("2BK", judged)) == 0


def test_a_total_is_the_sum_of_what_is_shown(key: Key) -> None:
    thirds = replace(key.questions[0], points=1, partial={"macs_for_flops": 1 / 3})
    three = replace(key, questions=tuple(replace(thirds, id=f"q{i}") for i in range(3)))
    (graded,) = grade(three, [Submission("a", {f"q{i}": "BDK" for i in range(3)}, "a.md")])
    results = to_gradescope(three, [graded])
    assert results["score"] == graded.points == pytest.approx(sum(t["score"] for t in results["tests"]), abs=1e-12)
    assert [t["score"] for t in results["tests"]] == [0.333333] * 3
    tenths = replace(key, questions=tuple(replace(thirds, id=f"q{i}", points=0.1) for i in range(3)))
    assert tenths.points == 0.3


class TestLint:
    def test_a_key_that_holds(self, key: Key) -> None:
        linted = lint(key)
        assert linted.complaints == ()
        assert linted.tried == 11

    def test_a_right_form_may_be_right_under_an_accepted_convention(self, tmp_path) -> None:
        text = KEY.replace('accept = ["exact"]', 'accept = ["exact"]\nright = ["n/3 - 1/6"]')
        (tmp_path / "key.toml").write_text(text, encoding="utf-8")
        assert lint(read_key(tmp_path / "key.toml")).complaints == ()
        (tmp_path / "key.toml").write_text(text.replace('accept = ["exact"]\n', ""), encoding="utf-8")
        (complaint,) = lint(read_key(tmp_path / "key.toml")).complaints
        assert complaint.text.startswith("the right form 'n/3 - 1/6' is rejected")

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('formula = "2*B*D*K"', 'formula = "B*D*K"', "the right form '2BDK' is rejected: factor"),
            (
                'right = ["2BDK"',
                'right = ["3BDK"',
                "the right form '3BDK' is rejected: ",
            ),
            ("33554432", "35000000", "the right form '35000000' is rejected: "),
            (
                '"2*B*K" = "axis_forgotten"',
                '"2*B*K" = "axis_twice"',
                "'2*B*K' should be 'axis_twice', and is axis_forgotten",
            ),
            ('"2*B*K" = "axis_forgotten"', '"D*K*2*B" = "factor"', "the wrong form 'D*K*2*B' is accepted (algebra)"),
            ('"2*B*K" = "axis_forgotten"', '"2*B*Q" = ""', "the wrong form '2*B*Q' has Q, none of the symbols"),
            (
                'formula = "2*B*D*K"\nat = { B = 1024, D = 256, K = 64 }',
                'pattern = "B D, D K -> B K"\nof = "bytes"',
                "the unit 'FLOPs' is asked for, and bytes are counted in B",
            ),
            ('exact = "B*K*(2*D - 1)"', 'exact = "B*K*2*D"', "'B*K*2*D', right under 'exact', is the truth itself"),
            ('K = "outputs" }', 'K = "outputs", H = "heads" }', "the symbol 'H' stands in no truth and in no form"),
            ('K = "outputs" }', 'K = "outputs", D2 = "x" }', "the symbol 'D2' stands in no truth and in no form"),
            (
                'conventions = { exact = "B*K*(2*D - 1)" }',
                'accept = ["mac"]\nconventions = { mac = "B*D*K" }',
                "the wrong form 'B*D*K' is accepted (mac)",
            ),
        ],
    )
    def test_what_does_not_hold(self, tmp_path, old: str, new: str, said: str) -> None:
        assert old in KEY
        (tmp_path / "key.toml").write_text(KEY.replace(old, new, 1), encoding="utf-8")
        complaints = lint(read_key(tmp_path / "key.toml")).complaints
        assert any(said in c.text and (c.question, c.line) == ("matmul", 3) for c in complaints), complaints
