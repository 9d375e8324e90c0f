"""Questions asked one by one."""

from __future__ import annotations

from symacct.grading import Graded, Key, Question, Truth
from symacct.grading.asking import ask
from symacct.grading.page import to_html
from symacct.grading.reports import to_gradescope


def run(key: Key, *typed: str, language: str = "en") -> tuple[Graded, str]:
    left = iter(typed)
    shown: list[str] = []

    def read() -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask(key, read, shown.append, language), "\n".join(shown)


def test_until_it_is_right(key: Key) -> None:
    done, shown = run(key, "BDK", "2BDK", "n/3")
    assert done.points == 5
    for line in (
        "[1/2] FLOPs of x @ w?",
        "Symbols: B (rows), D (contracted width), K (outputs)",
        "Given: B = 1024, D = 256, K = 64",
        "Unit: FLOPs",
        "partly right\n  read as: B*D*K",
        "right\n  read as: 2*B*D*K",
        "[2/2] Arithmetic intensity",
        "5 of 5 points",
    ):
        assert line in shown, line
    assert shown.index("partly right") < shown.index("[2/2]")


def test_hints_come_one_after_the_other(key: Key) -> None:
    _, shown = run(key, "?", "？", "?", "", "")
    assert [line for line in shown.splitlines() if "int" in line and line.startswith(("Hint", "There"))] == [
        "Hint: Each output is a sum.",
        "Hint: Two operations a term.",
        "There is no further hint.",
    ]


def test_the_answer_is_shown_on_request_and_earns_nothing(key: Key) -> None:
    done, shown = run(key, "=", "2BK", "=")
    assert "the right answer: 2*B*D*K" in shown
    assert done.points == 0
    assert [m.answer for m in done.marks] == [None, "2BK"]


def test_the_end_of_the_input_ends_the_questions(key: Key) -> None:
    done, shown = run(key, "BDK")
    assert [m.points for m in done.marks] == [1, 0]
    assert "[2/2]" not in shown
    assert run(key)[0].points == 0


def test_in_chinese(key: Key) -> None:
    _, shown = run(key, "BDK", "", "n/3", language="zh")
    for line in (
        "x @ w 的运算量？",
        "符号：B (rows)",
        "部分正确",
        "反例：当 B=2, D=3, K=5 时得 30，应为 60",
        "得分 2，满分 5",
    ):
        assert line in shown, line


def test_a_question_of_several_lines_keeps_them() -> None:
    question = Question("q", {"": "First line,\nsecond line.\n"}, Truth("formula", "2*n"), {"n": "size"})
    key = Key({"": "Lines"}, (question,), "key.toml")
    done, shown = run(key, "2n")
    assert "[1/1] First line,\nsecond line.\nSymbols" in shown
    assert "First line,\nsecond line." in to_html(key, [done])
    assert to_gradescope(key, [done])["tests"][0]["name"] == "q: First line, second line."


def test_words_are_commands(key: Key) -> None:
    done, shown = run(key, "hint", "提示", "Skip", "n/3")
    assert [(m.answer, m.points) for m in done.marks] == [(None, 0), ("n/3", 1)]
    assert "Hint: Each output is a sum." in shown
    assert "Hint: Two operations a term." in shown
    for word in ("quit", "退出"):
        done, shown = run(key, "BDK", word, "n/3")
        assert [m.answer for m in done.marks] == ["BDK", None]
        assert "[2/2]" not in shown
