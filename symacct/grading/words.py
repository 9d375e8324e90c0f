"""What reports say, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from symacct.answers import chinese

WORDS: Mapping[str, tuple[str, str]] = {
    "accepted_under": ("accepted under the convention {0}", "按约定 {0} 计数，予以认可"),
    "answered": ("answered", "作答人数"),
    "common": ("most frequent mistakes", "常见错误"),
    "counterexample": ("counterexample", "反例"),
    "counterexample_at": ("at {0} it is {1}, not {2}", "当 {0} 时得 {1}，应为 {2}"),
    "counterexample_value": ("{1}, not {2}", "{1}，应为 {2}"),
    "given": ("Given", "已知"),
    "do_not_hold": (
        "{0}: {1} questions, {2} statements tried, {3} do not hold",
        "{0}：{1} 道题，检验 {2} 条陈述，其中 {3} 条不成立",
    ),
    "all_hold": ("{0}: {1} questions, {2} statements tried, all hold", "{0}：{1} 道题，检验 {2} 条陈述，全部成立"),
    "at_line": ("{0}, line {1} ({2})", "{0} 第 {1} 行（{2}）"),
    "goodbye": ("{0} of {1} points", "得分 {0}，满分 {1}"),
    "hint": ("Hint", "提示"),
    "mean": ("mean", "平均分"),
    "no_answer": ("no answer", "未作答"),
    "note": ("note", "注意"),
    "not_right": ("not right", "未答对"),
    "nothing": (
        "nothing here answers a question of the key; is this what was handed in?",
        "这里没有回答任何题目；提交的确实是这些文件吗？",
    ),
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
        "Your answer (Enter: next question, ?: hint, =: show the answer, quit: end)",
        "你的答案（回车：下一题，?：提示，=：看答案，退出：结束）",
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

SENTENCES: chinese.Sentences = (
    # files
    ("{0}: <1>", "{0}：<1>"),
    ("{0} is a link, which is not followed", "{0} 是链接，不予读取"),
    ("{0} cannot be read: <1>", "无法读取 {0}：<1>"),
    ("the folder {0} cannot be read: <1>", "无法读取文件夹 {0}：<1>"),
    ("No such file or directory", "文件不存在"),
    ("Permission denied", "没有权限"),
    ("{0} is not a regular file", "{0} 不是普通文件"),
    ("{0} has more than {1} bytes, the most that are read", "{0} 超过 {1} 字节，不予读取"),
    ("{0} is UTF-16, not UTF-8; save it as UTF-8", "{0} 的编码是 UTF-16，请另存为 UTF-8"),
    ("{0} is binary, not text", "{0} 是二进制文件，不是文本"),
    (
        "{0}, line {1}: not UTF-8 (byte {2} is {3}); save it as UTF-8",
        "{0} 第 {1} 行不是 UTF-8 编码（第 {2} 个字节为 {3}），请另存为 UTF-8",
    ),
    (
        "{0}, line {1}: more than {2} characters, or names nested deeper than {3}",
        "{0} 第 {1} 行超过 {2} 个字符，或键名嵌套超过 {3} 层",
    ),
    ("{0}, line {1}: not TOML: Cannot overwrite a value", "{0} 第 {1} 行：同一个键出现两次"),
    ("{0}, line {1}: not TOML: {2}", "{0} 第 {1} 行不符合 TOML 格式"),
    ("{0}, somewhere: not TOML: {1}", "{0} 不符合 TOML 格式"),
    (
        "{0}: not TOML that is read: nested too deeply, or a number of thousands of digits",
        "{0} 嵌套过深，或含有上千位的数字，不予读取",
    ),
    ("{0}, line {1}: not JSON: {2}", "{0} 第 {1} 行不符合 JSON 格式"),
    ("{0}: JSON that is nested too deeply", "{0} 中的 JSON 嵌套过深"),
    ("{0}, line {1}: not CSV: {2}", "{0} 第 {1} 行不符合 CSV 格式"),
    ("{0} has more than {1} cells", "{0} 超过 {1} 个单元格"),
    ("{0} has more than {1} lines, the most that are read", "{0} 超过 {1} 行，不予读取"),
    ("{0} ends in none of {1}", "{0} 的扩展名不是 {1} 之一"),
    ("in {0} these are not read: <1>", "文件夹 {0} 中以下各项未读取：<1>"),
    ("{0} and {1} more", "{0} 等，另有 {1} 项"),
    # answers in them
    ("{0} holds no answers", "{0} 中没有答案"),
    ("{0} has {1} students; at most {2} are graded at a time", "{0} 含有 {1} 名学生，一次最多评分 {2} 名"),
    ("'students' is a table of one table a student", "“students”应为每名学生一个表"),
    ("answers are a table of question and answer", "答案应为“题目 = 答案”的表"),
    ("the key {0} stands twice", "键 {0} 出现两次"),
    ("{0}, line 1: a column stands twice in the header", "{0} 第 1 行：表头中有重复的列"),
    ("line {0} has {1} cells, the header {2}", "第 {0} 行有 {1} 格，而表头有 {2} 格"),
    ("line {0} names no student", "第 {0} 行没有写学生"),
    ("the answer to {0} is no text", "题目 {0} 的答案不是文本"),
    ("the question {0} is answered twice", "题目 {0} 答了两次"),
    ("several paragraphs below {0}; begin the answer with 'Answer:'", "题目 {0} 下有多个段落，请用“答案：”标明答案"),
    ("several lines 'Answer:' below {0}; the first counts", "题目 {0} 下有多行“答案：”，以第一行为准"),
    ("none of the key's questions is answered; they are <0>", "没有回答任何题目；题目有 <0>"),
    ("the key has no question {0}.", "没有题目 {0}"),
    ("the key has no question {0}. Did you mean {1}?", "没有题目 {0}，是否指 {1}？"),
    ("these are no questions of the key: <0>", "以下不是题目：<0>"),
    ("nor {0} others", "另有 {0} 个题目也不存在"),
    ("{0} handed in {1} times ({2}); leave one", "{0} 提交了 {1} 次（{2}），只能保留一份"),
    # a key against itself
    ("its own truth {0} is rejected: <1>", "标准答案 {0} 被判为错误：<1>"),
    ("the right form {0} is rejected: <1>", "正确写法 {0} 被判为错误：<1>"),
    ("{0}, at {1}: {2}, not {3}", "{0}，当 {1} 时得 {2}，应为 {3}"),
    ("no reason is known", "原因不明"),
    ("the wrong form {0} is accepted ({1})", "错误写法 {0} 被判为正确（{1}）"),
    ("the wrong form {0} should be {1}, and is <2>", "错误写法 {0} 应归为 {1}，实际归为 <2>"),
    ("rejected without a reason", "没有归因"),
    ("the wrong form {0} has {1}, none of the symbols", "错误写法 {0} 中的 {1} 不是题目的符号"),
    ("{0}, right under {1}, is the truth itself", "约定 {1} 下的 {0} 与标准答案相同"),
    ("{0} should be right under {1}, and is under <2>", "{0} 应在约定 {1} 下正确，实际为 <2>"),
    ("none", "无"),
    ("the symbol {0} stands in no truth and in no form", "符号 {0} 没有出现在任何答案或写法中"),
    ("the unit {0} is asked for, and {1} are counted in {2}", "题目要求单位 {0}，而 {1} 的单位是 {2}"),
)
"""What is wrong with files and keys, with its blanks: in English, as the code says it, and in Chinese."""

_ALL = chinese.SENTENCES + SENTENCES


def spoken(text: str, language: str) -> str:
    """Return what reading files, judging answers or a lint says, in a language.

    Examples
    --------
    >>> spoken("a.csv: the question 'matmul' is answered twice", "zh")
    'a.csv：题目“matmul”答了两次'

    """
    return chinese.chinese(text, _ALL) if language == "zh" else text


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
