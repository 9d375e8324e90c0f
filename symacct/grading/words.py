"""What reports say, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, tuple[str, str]] = {
    "accepted_under": ("accepted under the convention {0}", "按约定 {0} 计数，予以认可"),
    "answered": ("answered", "作答人数"),
    "common": ("most frequent mistakes", "常见错误"),
    "counterexample": ("counterexample", "反例"),
    "counterexample_at": ("at {0} it is {1}, not {2}", "当 {0} 时得 {1}，应为 {2}"),
    "counterexample_value": ("{1}, not {2}", "{1}，应为 {2}"),
    "given": ("Given", "已知"),
    "goodbye": ("{0} of {1} points", "得分 {0}，满分 {1}"),
    "hint": ("Hint", "提示"),
    "mean": ("mean", "平均分"),
    "no_answer": ("no answer", "未作答"),
    "note": ("note", "注意"),
    "not_right": ("not right", "未答对"),
    "partly": ("partly right", "部分正确"),
    "points_of": ("Points out of {0}.", "满分 {0}。"),
    "problem": ("not graded", "未评分"),
    "question": ("question", "题目"),
    "questions": ("Questions", "各题情况"),
    "read_as": ("read as", "读作"),
    "right": ("right", "正确"),
    "right_share": ("right", "正确率"),
    "students": ("Students", "学生"),
    "student": ("student", "学生"),
    "submissions": ("{0} submissions, {1} not graded", "共 {0} 份，其中 {1} 份未评分"),
    "symbols": ("Symbols", "符号"),
    "total": ("total", "总分"),
    "truth": ("the right answer", "正确答案"),
    "try_again": (
        "Your answer (Enter: next question, ?: hint, =: show the answer)",
        "你的答案（回车：下一题，?：提示，=：看答案）",
    ),
    "unanswered": ("{0} not answered", "{0} 题未作答"),
    "unit": ("Unit", "单位"),
    "other_convention": (
        "right under the convention {0}, which this question does not ask for",
        "按约定 {0} 计数是对的，但本题要求另一种计数约定",
    ),
    "no_hint": ("There is no further hint.", "没有更多提示了。"),
    "wrong": ("wrong", "错误"),
}
"""Each word or sentence by what it means: in English, and in Chinese."""

NOTES_ZH: Mapping[str, str] = {
    "alias": "“{0}”按题目中的符号理解",
    "ambiguous_division": "“{0}”处的除法有两种读法，请加括号",
    "billion": "“{0}”读作 10^9",
    "coefficient": "比较的是单位数量的系数",
    "decimal_comma": "“{0}”中的逗号按小数点理解",
    "invisible": "忽略了一个不可见字符",
    "missing_parentheses": "“{0}”处只除相邻的项，请加括号说明",
    "near_miss": "“{0}”疑为笔误，按最接近的符号理解",
    "number_for_formula": "给出的是数值，在题设数值下正确；题目要求公式",
    "per": "答案按“每 {0}”给出，已换算为总量",
    "read_as": "按另一种读法是对的",
    "rounded": "在小数舍入误差范围内正确",
    "two_meanings": "“{0}”可能指不同的符号",
    "two_readings": "“{0}”有两种读法",
}
"""What the reader notices, by its code, with the piece of the answer; in English the reader says it itself."""


def label(what: str, language: str, text: str) -> str:
    """Return a text behind a word that says what it is.

    Examples
    --------
    >>> label("hint", "en", "2 a term"), label("hint", "zh", "每项两次")
    ('Hint: 2 a term', '提示：每项两次')

    """
    return headed(say(what, language), language, text)


def headed(head: str, language: str, text: str) -> str:
    """Return a text behind its head and the language's colon."""
    return f"{head}{'：' if language == 'zh' else ': '}{text}"


def say(what: str, language: str, *values: object) -> str:
    """Return a word or sentence in a language.

    Examples
    --------
    >>> say("goodbye", "en", 3, 4), say("goodbye", "zh", 3, 4)
    ('3 of 4 points', '得分 3，满分 4')

    """
    return WORDS[what][language == "zh"].format(*values)
