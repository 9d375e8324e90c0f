"""Reports: what they show, in two languages, and that nothing of a stranger's text is acted upon."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from symacct.grading import Graded, Key, Question, Submission, Truth, grade
from symacct.grading.display import cell, number, visible
from symacct.grading.page import to_html
from symacct.grading.reports import to_csv, to_gradescope, to_json
from symacct.grading.summary import to_text

NASTY = '</code><script>alert("x")</script><img src=x onerror=alert(1)>'
SUBMISSIONS = (
    Submission("alice", {"matmul": "2BDK", "square": "n/3"}, "alice.toml"),
    Submission("=HYPERLINK(1)", {"matmul": "BDK", "square": NASTY}, "+evil.csv"),
    Submission("<b>bob</b>", {}, "bob.md", "bob.md is binary, not text"),
    Submission("eve\u202e", {"matmul": "2BK\x1b[31m"}, "eve.md", "", ("the key has no question 'x'.",)),
)


@pytest.fixture
def graded(key: Key) -> list[Graded]:
    return grade(key, SUBMISSIONS)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_harmless_and_whole(key: Key, graded: list[Graded], language: str) -> None:
    text = to_html(key, graded, language)
    page = Page(text)
    assert not {"script", "img", "iframe", "link", "object", "form"} & set(page.tags)
    assert page.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class", "id", "href"}
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text
    assert NASTY in page.text
    assert "<b>bob</b>" in page.text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "eve\\u202e" in page.text
    assert page.tags.count("details") == len(SUBMISSIONS)


def test_a_page_of_a_nasty_key_is_harmless_too() -> None:
    question = Question(
        f"{NASTY[:50]}", {"en": NASTY, "zh": NASTY}, Truth("formula", "2*n"), {"n": NASTY}, hints=({"": NASTY},)
    )
    key = Key({"": NASTY}, (question,), NASTY)
    noted = Submission(f'"{NASTY}', {question.id: "n"}, f"{NASTY}.md", "", (NASTY,))
    for language in ("en", "zh"):
        page = Page(to_html(key, grade(key, [noted, Submission(NASTY, {}, NASTY, NASTY)]), language))
        assert not {"script", "img"} & set(page.tags)
        assert page.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class", "id", "href"}
        assert page.text.count(NASTY) >= 7


def test_the_page_says_what_is_wrong(key: Key, graded: list[Graded]) -> None:
    english, chinese = (Page(to_html(key, graded, language)).text for language in ("en", "zh"))
    for line in (
        "4 submissions, 1 not graded",
        "read as: B*D*K",
        "Half of it: multiply-accumulates (MACs)",
        "counterexample: at B=2, D=3, K=5 it is 30, not 60",
        "not graded: bob.md is binary, not text",
        "note: the key has no question 'x'.",
        "no answer",
    ):
        assert line in english, line
    for line in (
        "矩阵乘法",
        "共 4 份",
        "读作：B*D*K",
        "少了一半",
        "反例：当 B=2, D=3, K=5 时得 30，应为 60",
        "部分正确",
        "未作答",
    ):
        assert line in chinese, line


def test_what_the_reader_notices_is_told_in_both_languages(key: Key) -> None:
    graded = grade(
        key, [Submission("a", {"matmul": "2*batch*BDK"}, "a.md"), Submission("b", {"matmul": "2 rows D K"}, "b.md")]
    )
    english, chinese = (Page(to_html(key, graded, language)).text for language in ("en", "zh"))
    noted = [w for g in graded for w in g.marks[0].verdict.warnings]
    assert noted
    assert all(f"note: {w.text}" in english for w in noted)
    assert "注意：“rows”读作 B (rows)" in chinese


def test_a_report_in_chinese_has_no_english_but_what_people_wrote(key: Key) -> None:
    handed_in = [
        Submission("甲", {"matmul": "2*B*(", "square": "foo"}, "1.md", "", ("the key has no question 'x'.",)),
        Submission("乙", {}, "2.md", "2.md is binary, not text"),
        Submission("丙", {"matmul": "BDK", "square": "9**9**9"}, "3.md"),
    ]
    done = grade(key, handed_in)
    html = to_html(key, done, "zh")
    page, data, results = Page(html), to_json(key, done, "zh"), to_gradescope(key, done, "zh")
    said = [
        *data["students"][1]["notes"],
        *(line for s in data["students"] for q in s["questions"] for line in q["remarks"]),
    ]
    said += [data["students"][2]["problem"], results["甲"]["output"], to_csv(key, done, "zh"), to_text(key, done, "zh")]
    said += re.findall(r">([^<]*)<", html.partition("</style>")[2])
    kept = {"foo", "matmul", "square", "student", "points", "out", "problem", "source", "notes", "BDK", "mac", "MAC"}
    prompt = "Arithmetic intensity of a square product in bf16?"
    for text in said:
        assert set(re.findall(r"[A-Za-z]{3,}", text.replace(prompt, ""))) <= kept, text
    assert "2.md 是二进制文件，不是文本" in page.text
    assert "没有题目“x”" in page.text
    assert "无法读取答案：数值过大，无法计算" in page.text


def test_the_right_answer_is_not_told(key: Key) -> None:
    graded = grade(key, [Submission("a", {"matmul": "BDK"}, "a.md")])
    for text in (
        to_html(key, graded),
        to_csv(key, graded),
        json.dumps(to_gradescope(key, graded)),
        to_text(key, graded),
    ):
        assert "2*B*D*K" not in text


def test_the_gradebook(key: Key, graded: list[Graded]) -> None:
    text = to_csv(key, graded)
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    assert rows == [
        ["student", "points", "out_of", "matmul", "square", "problem", "source", "notes"],
        ["alice", "5", "5", "4", "1", "", "alice.toml", ""],
        ["'=HYPERLINK(1)", "1", "5", "1", "0", "", "'+evil.csv", ""],
        ["<b>bob</b>", "0", "5", "", "", "bob.md is binary, not text", "bob.md", ""],
        ["eve\\u202e", "0", "5", "0", "", "", "eve.md", "the key has no question 'x'."],
    ]


def test_results_of_one_submission_are_gradescopes(key: Key, graded: list[Graded]) -> None:
    results = to_gradescope(key, graded[1:2], "en")
    assert set(results) == {"score", "output", "output_format", "visibility", "tests"}
    assert results["score"] == 1
    first, second = results["tests"]
    assert {k: first[k] for k in ("number", "score", "max_score", "status")} == {
        "number": "1",
        "score": 1.0,
        "max_score": 4.0,
        "status": "failed",
    }
    assert first["name"] == "matmul: FLOPs of x @ w?"
    assert first["output"].splitlines()[0] == "BDK  partly right"
    assert NASTY in second["output"]
    assert {t["output_format"] for t in results["tests"]} == {"text"}
    passed = to_gradescope(key, graded[:1])
    assert [t["status"] for t in passed["tests"]] == ["passed", "passed"]


def test_results_of_several_are_by_student(key: Key, graded: list[Graded]) -> None:
    results = to_gradescope(key, graded)
    assert [(student, r["score"]) for student, r in results.items()] == [
        ("alice", 5),
        ("=HYPERLINK(1)", 1),
        ("<b>bob</b>", 0),
        ("eve\u202e", 0),
    ]
    assert results["<b>bob</b>"]["output"] == "bob.md is binary, not text"


def test_json_holds_everything(key: Key, graded: list[Graded]) -> None:
    data = json.loads(json.dumps(to_json(key, graded)))
    assert set(data) == {"title", "points", "students"}
    bob = data["students"][1]
    assert set(bob) == {"student", "source", "points", "problem", "notes", "questions"}
    assert set(bob["questions"][0]) == {"id", "answer", "points", "out_of", "remarks", "verdict"}
    assert bob["questions"][0]["verdict"]["mistakes"][0] == "macs_for_flops"
    assert bob["questions"][1]["answer"] == NASTY
    assert data["students"][3]["questions"][1]["verdict"] is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_terminal_shows_80_columns(key: Key, graded: list[Graded], language: str) -> None:
    text = to_text(key, graded, language)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "alice" in text


def test_text_made_visible() -> None:
    assert visible("a\u200bb\x07\n\u2028") == "a\\u200bb\\x07\\x0a\\u2028"
    assert visible("行×²") == "行×²"
    assert visible("\U000e0041") == "\\U000e0041"
    assert visible("x" * 600) == "x" * 500 + "... (600 characters)"
    assert [cell(t) for t in ("=1", "+1", "-1", "@a", "\t=1", " =1", "1", "", "＝1")] == [
        *("'=1", "'+1", "'-1", "'@a", "\\x09=1", "' =1", "1", "", "'＝1"),
    ]
    assert [number(x) for x in (0.1 + 0.2, 3, 2.50)] == ["0.3", "3", "2.5"]


def test_one_question_that_is_not_graded_says_why_everywhere(key: Key) -> None:
    why = "the answer to 'square' is no text"
    handed = Submission("al", {"matmul": "2BDK"}, "al.toml", refused={"square": why})
    graded = grade(key, [handed])
    assert graded[0].points == 4
    rows = list(csv.reader(io.StringIO(to_csv(key, graded).removeprefix("\ufeff"))))
    assert rows[1] == ["al", "4", "5", "4", "", why, "al.toml", ""]
    assert to_gradescope(key, graded)["tests"][1]["output"] == f"not graded\n{why}"
    assert f"not graded\n  {why}" in to_text(key, graded)
    assert "square" in to_text(key, graded * 2)
