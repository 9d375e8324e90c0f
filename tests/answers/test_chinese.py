"""What is said in Chinese: no sentence of reading or judging is left in English."""

from __future__ import annotations

import re

import pytest

import symacct as sa
from symacct.answers.chinese import ABOUT, chinese
from symacct.answers.mistakes import spoken, told

SYMBOLS = {"B": "batch", "D": "width", "d_ff": "hidden", "n": "rows", "N": "columns"}
ANSWERS = (
    *("", "2*B*(", "2B)", "B**", "(" * 300 + "B", "2^" * 300 + "B", "B\u202eD", "B\x07", "B @", "B &", "B''", "∞"),
    *(
        "2*B*foo",
        "2*B*batsh",
        "2*B*D GB + 3 days",
        "2 B GB + 3",
        "min(B)",
        "log(1, 2, 3)",
        "sqrt(2 GB)",
        "9**9**9",
        "B/0",
    ),
    *(
        "\\foo B",
        "B\\",
        "\\frac",
        "per",
        "12 per",
        "B per",
        "max(O(B), 2)",
        "sqrt(-2)",
        "log(-1)",
        "1" * 500,
        "x" * 20_000,
    ),
    *(
        "B " * 3000,
        "B/2D",
        "2n-1/4n+2",
        "batch*2",
        "2*Batch*D",
        "dff*2",
        "B\u200b*D",
        "O(B)",
        "3",
        "2BT",
        "B^T",
        "x^⊤",
        "5 GB",
        "B and D",
        "not 2B",
        "2\u0412",
        "4⅓",
        "2B for training and 3B for inference",
    ),
)
ENGLISH = re.compile(r"[A-Za-z]{3,}")
KEPT = {
    "not",
    "batch",
    "width",
    "hidden",
    "rows",
    "columns",
    "Batch",
    "batsh",
    "foo",
    "dff",
    "min",
    "max",
    "log",
    "sqrt",
    "order",
}
KEPT |= {
    "frac",
    "per",
    "days",
    "and",
    "FLOPs",
    "FLOP",
    "byte",
    "bytes",
    "MAC",
    "bf16",
    "exact",
    "mac",
    "einsum",
    "ceil",
    "unit",
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("truth", ["2*B*D", "B*d_ff + 4*N*n"])
def test_no_english_is_left(answer: str, truth: str) -> None:
    verdict = sa.check(answer, truth, symbols=SYMBOLS, unit="FLOPs")
    lines = [
        line.partition("\n")[0] for line in (*told(verdict, "zh"), *(spoken(w.text, "zh") for w in verdict.warnings))
    ]
    for line in lines:
        assert set(ENGLISH.findall(re.sub(r"x{20,}|U\+[0-9A-F]+ [A-Z -]+", "", line))) <= KEPT, line
        assert re.search(r"[\u4e00-\u9fff]", line), line


@pytest.mark.parametrize(
    ("pattern", "quantity"),
    [
        *(
            (p, q)
            for p in ("b d, d k -> b k", "i j, j k, k l -> i l", "i i -> i", "i j, k -> i k")
            for q in ("flops", "bytes")
        ),
        *((p, "flops") for p in ("b d -> b", "i j, i j -> i j", "a b -> b a", "i, j, k -> i j k")),
        ("b d, d k -> b k", "intensity"),
    ],
)
def test_derivations(pattern: str, quantity: str) -> None:
    for line in sa.check("1", pattern, quantity=quantity, show_derivation=True).derivation:
        assert set(ENGLISH.findall(spoken(line, "zh"))) <= KEPT, line


def test_what_people_wrote_stays_as_it_is() -> None:
    assert chinese("'a and b' is none of the question's symbols (B, D) and no unit.") == (
        "“a and b”既不是题目中的符号（B, D），也不是单位"
    )
    assert chinese("cannot read the answer: did not expect '{1}' here") == "无法读取答案：此处不应出现“{1}”"
    assert chinese("something else") == "something else"
    assert chinese("a and b") == "a and b"
    assert chinese("B^2 too much, D too much", ABOUT) == "多了 B^2，多了 D"
    assert chinese("days and hours", ABOUT) == "天与小时"
    assert chinese("B, in 1/(2*B) for 1/2, in one over it", ABOUT) == "B（1/(2*B)，应为 1/2）（取倒数后）"
    assert chinese("D for n, in B*D for B*n", ABOUT) == "D，应为 n（B*D，应为 B*n）"


CHINESE = [  # (answer, truth)
    ("根号L", "sqrt(L)"),
    ("三分之L", "L/3"),
    ("L的三分之一", "L/3"),
    ("三分之二L", "2*L/3"),
    ("四L", "4*L"),
    ("一百四十四", "144"),
    ("两万五千", "25000"),
    ("一亿两千万", "12*10**7"),
    ("三点五", "3.5"),
    ("百分之五十", "1/2"),
    ("五成", "1/2"),
]


@pytest.mark.parametrize(("text", "truth"), CHINESE)
def test_numbers_and_roots_in_chinese(text, truth):
    assert sa.check(text, truth, "L").correct
    assert not sa.check(text, f"2*({truth})", "L").correct


@pytest.mark.parametrize("text", ["猫L", "L猫", "两只猫L", "L 与 M"])
def test_chinese_that_is_not_read_is_refused_by_name(text):
    verdict = sa.check(text, "L", {"L": "", "M": ""})
    assert not verdict.correct
    assert "与" in str(verdict) or "猫" in str(verdict)
