"""What reading and judging say, in Chinese: sentence by sentence, so that their code speaks English alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

_BLANK = re.compile(r"\{\d\}|<\d>")
_NEEDLESS = re.compile(r"(?<=[一-鿿”]) (?=[一-鿿“])|(?<=”) | (?=“)")
"""Blanks that Chinese does without: between its letters, and beside its quotation marks."""

Sentences: TypeAlias = tuple[tuple[str, str], ...]

SENTENCES: Sentences = (
    # an answer that does not read
    ("cannot read the answer: <0>", "无法读取答案：<0>"),
    ("an answer of {0} characters; at most {1} are read", "答案有 {0} 个字符，最多读取 {1} 个"),
    ("an answer of more than {0} pieces is not read", "答案太长，超过 {0} 个符号，不予读取"),
    ("there is nothing in it", "内容为空"),
    (
        "a character that reorders what is shown ({0}); what one sees is not what is written",
        "含有改变显示顺序的字符（{0}），所见与所写不一致",
    ),
    ("a control character ({0}) at place {1}", "第 {1} 个字符是控制字符（{0}）"),
    ("{0} only looks like a Latin letter", "{0} 只是看上去像拉丁字母"),
    ("{0} says what it is not", "{0} 说的是不是什么，而非是什么"),
    ("there are two answers here; give the one that is asked for", "这里有两个答案，请只写题目所问的那个"),
    ("the arrow leads to another answer; give one answer", "箭头指向了另一个答案，请只写一个"),
    ("the two sides differ; give one answer", "等号两边不相等，请只写一个答案"),
    (
        "{0}(...) only says that it grows more slowly than that; write O(...) for the order",
        "{0}(...) 只说明增长得更慢，请写 O(...)",
    ),
    (
        "{0}(...) only says that it grows at least like that; write O(...) for the order",
        "{0}(...) 只是增长的下界，请写 O(...)",
    ),
    ("write this fraction with a slash", "请用斜线写这个分数"),
    ("did not expect {0} here", "此处不应出现 {0}"),
    (
        "did not expect {0} here; a number, a name or a parenthesis should follow",
        "此处不应出现 {0}，应为数字、符号或括号",
    ),
    (
        "the formula ends here; a number, a name or a parenthesis should follow",
        "公式到此中断，后面应有数字、符号或括号",
    ),
    ("parentheses nested deeper than {0}", "括号嵌套超过 {0} 层"),
    ("powers nested deeper than {0}", "幂嵌套超过 {0} 层"),
    ("a transpose is no size; write the sizes of the product", "转置不是尺寸，请写出乘积的各个尺寸"),
    ("infinity is no size", "无穷大不是尺寸"),
    ("this {0} is not closed", "{0} 没有闭合"),
    ("{0} needs parentheses", "{0} 后面要有括号"),
    ("{0} takes one argument", "{0} 只接受一个参数"),
    ("{0} takes two or more", "{0} 至少要两个参数"),
    ("a backslash at the end", "末尾是反斜杠"),
    ("the command {0} is not known here", "不认识命令 {0}"),
    ("braces should follow this command", "该命令后面应有花括号"),
    ("{0} between two formulas says not how they belong together", "两个公式之间的 {0} 没有说明它们的关系"),
    ("per what?", "每什么？单位不完整"),
    ("a unit ({0}) inside {1}", "{1} 里含有单位（{0}）"),
    ("{0} and {1} in one sum", "同一个和中有 {0} 与 {1} 两种单位"),
    ("some terms have the unit {0}, others none", "有的项带单位 {0}，有的项不带"),
    ("a number of more than {0} digits", "数字超过 {0} 位"),
    ("a number too large to work out", "数值过大，无法计算"),
    ("a division by zero", "除数为零"),
    ("a root of a negative number", "对负数开方"),
    ("a logarithm of what is not positive", "对非正数取对数"),
    ("{0} is no part of a formula", "公式中不能有 {0}"),
    ("{0} inside a formula", "公式内部出现了 {0}"),
    (
        "{0} is none of the question's symbols (none: a number is asked for) and no unit.",
        "{0} 既不是题目中的符号（本题要求数值，没有符号），也不是单位",
    ),
    ("{0} is none of the question's symbols ({1}) and no unit.", "{0} 既不是题目中的符号（{1}），也不是单位"),
    (
        "{0} is none of the question's symbols ({1}) and no unit. Did you mean {2}?",
        "{0} 既不是题目中的符号（{1}），也不是单位；是否想写 {2}？",
    ),
    ("the answer took more than {0} s to judge", "答案判定超过 {0} 秒"),
    ("the answer could not be judged ({0})", "答案无法判定（{0}）"),
    # what is noticed
    ("{0} is read as 10^9", "“{0}”读作 10^9"),
    ("{0} is read as the product {1}; it may also mean {2} ({3})", "“{0}”读作乘积 {1}，也可能指 {2}（{3}）"),
    ("{0} is read as {1}", "“{0}”读作 {1}"),
    ("{0} is taken for a misspelt {1}: {2}", "“{0}”疑为 {1} 的笔误，读作 {2}"),
    ("{0} may be {1} or {2}", "“{0}”可能指 {1} 或 {2}"),
    ("{0} and {1} would both be {2}", "“{0}”和“{1}”都会读作 {2}"),
    ("read as {0}; may also mean {1}: parentheses would tell", "读作 {0}，也可能指 {1}，请加括号说明"),
    ("right when read as {0}", "读作 {0} 时是对的"),
    (
        "by the letter only the terms next to this slash are divided; parentheses would tell",
        "按字面只有除号两侧相邻的项相除，请加括号说明",
    ),
    ("how far this sign reaches reads two ways; parentheses would tell", "这个符号作用到哪里有两种读法，请加括号说明"),
    ("{0} is not judged", "{0} 不参与判定"),
    ("the answer is given per {0}", "答案按每个 {0} 给出"),
    ("the amount for one {0} is compared", "比较的是每个 {0} 的数量"),
    ("the amount for one {0} is taken times {1}", "按每个 {0} 的数量乘以 {1} 比较"),
    ("an invisible character ({0}) was passed over", "忽略了一个不可见字符（{0}）"),
    ("right up to the rounding of its decimals", "在小数舍入误差范围内正确"),
    ("a number, right at the given sizes; the formula was asked", "给出的是数值，在题设数值下正确；题目要求公式"),
    ("at {0}: {1}, not {2}", "当 {0} 时得 {1}，应为 {2}"),
    # how a right answer comes about
    ("the truth: {0}", "正确答案：{0}"),
    ("axes: {0}; summed: {1}, which the output lacks", "各维：{0}；求和的维：{1}（输出中没有）"),
    ("axes: {0}; nothing is summed", "各维：{0}；没有求和"),
    (
        "first: sum <0>, which nothing else has: <1> into <2>, <3>",
        "先对 <0> 求和（其他操作数没有该维）：<1> 合为 <2>，<3>",
    ),
    ("{0} of operand {1}", "操作数 {1} 的 {0}"),
    ("{0} of operand {1} and {2} of operand {3}", "操作数 {1} 的 {0} 和操作数 {3} 的 {2}"),
    ("points: {0}, the product of all axes", "点数：{0}，即各维之积"),
    ("points: {0}, the product of all axes that are left", "点数：{0}，即其余各维之积"),
    ("outputs: {0}", "输出个数：{0}"),
    ("terms: {0}", "项数：{0}"),
    ("each: output is a sum of <0>: <1>", "每个输出是 <0> 之和：<1>"),
    (
        "each: output is one product of {0} operands; nothing is summed over it",
        "每个输出是 {0} 个数的一个乘积，没有求和",
    ),
    (
        "each: output is an element of the operand: nothing is multiplied or summed",
        "每个输出就是一个元素，没有乘法和求和",
    ),
    ("{0} products of {1} operands", "{0} 个乘积（各 {1} 个因子）"),
    ("{0} products", "{0} 个乘积"),
    ("{0} terms", "{0} 项"),
    ("{0} sums", "{0} 个和"),
    ("{0} multiplies and <1>", "{0} 次乘法，<1>"),
    ("{0} multiply and <1>", "{0} 次乘法，<1>"),
    ("{0} multiplies", "{0} 次乘法"),
    ("{0} adds", "{0} 次加法"),
    ("{0} multiply", "{0} 次乘法"),
    ("{0} add", "{0} 次加法"),
    ("count: 0 FLOP in every convention", "计数：任何约定下都是 0 FLOP"),
    ("exact: <0>: {1}", "exact：<0>，共 {1}"),
    ("2n: <0>: {1}", "2n：<0>，共 {1}"),
    ("mac: <0>: {1}", "mac：<0>，共 {1}"),
    ("2 a point", "每个点 2 次"),
    ("1 MAC a point", "每个点 1 次乘加"),
    ("1 a multiply", "每次乘法计 1"),
    ("1 a term of a plain sum", "单纯求和每项计 1"),
    ("<0>, 1 a term of a plain sum", "<0>，单纯求和每项计 1"),
    ("<0>, {1} more a point", "<0>，每个点再加 {1}"),
    ("operand {0}, read: <1>: {2}", "读操作数 {0}：<1>，共 {2}"),
    ("step {0}, read: <1>: {2}", "读第 {0} 步的结果：<1>，共 {2}"),
    ("step {0}, written: <1>: {2}", "写第 {0} 步的结果：<1>，共 {2}"),
    ("output, written: <0>: {1}", "写输出：<0>，共 {1}"),
    ("{0} elements, <1>", "{0} 个元素，<1>"),
    ("{0} elements (the diagonal), <1>", "{0} 个元素（对角线），<1>"),
    ("{0} of {1} B each", "{0} 每个 {1} B"),
    ("together: {0}", "合计：{0}"),
)
"""Each sentence in English, as the code says it, and in Chinese: ``{0}`` stays as it is, ``<0>`` is a sentence too."""

ABOUT: Sentences = (
    ("{0} for {1}, in <2>", "{0}，应为 {1}（<2>）"),
    ("{0} for {1}", "{0}，应为 {1}"),
    ("{0}, not {1}", "{0}，应为 {1}"),
    ("<0> and <1>", "<0> 与 <1>"),
    ("{0} too much", "多了 {0}"),
    ("{0} too much, <1>", "多了 {0}，<1>"),
    ("{0}, in {1} for {2}", "{0}（{1}，应为 {2}）"),
    ("{0}, in <1>", "{0}（<1>）"),
    ("<0>, in one over it", "<0>（取倒数后）"),
    ("<0> or <1>", "<0> 或 <1>"),
    ("twice the head", "输出头算了两次"),
    ("days", "天"),
    ("hours", "小时"),
    ("minutes", "分钟"),
    ("seconds", "秒"),
    ("weeks", "周"),
    ("years", "年"),
)
"""What a mistake is about, likewise; these fit much, and are tried of nothing else."""


def chinese(text: str, sentences: Sentences = SENTENCES) -> str:
    """Return a sentence in Chinese, or as it is where it is not listed.

    Examples
    --------
    >>> chinese("this '(' is not closed"), chinese("cannot read the answer: a division by zero"), chinese("hello")
    ('“(”没有闭合', '无法读取答案：除数为零', 'hello')

    """
    first, line, rest = text.partition("\n")
    for pattern, said in _patterns(sentences):
        if found := pattern.fullmatch(first):
            return _NEEDLESS.sub("", _filled(said, found.groups(), sentences)) + line + rest
    return text


def _filled(said: str, blanks: Sequence[str], sentences: Sentences) -> str:
    def fill(place: re.Match[str]) -> str:
        blank = blanks[int(place[0][1])]
        return chinese(blank, sentences) if place[0][0] == "<" else re.sub(r"^'(.*)'$", r"“\1”", blank)

    return _BLANK.sub(fill, said)


@lru_cache(maxsize=8)
def _patterns(sentences: Sentences) -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern a sentence; those that begin with a word and have more come first, for others fit much."""
    ordered = sorted(sentences, key=lambda pair: (pair[0][0] in "{<", -len(_BLANK.sub("", pair[0]))))
    return [(re.compile("(.+?)".join(map(re.escape, _BLANK.split(english)))), said) for english, said in ordered]
