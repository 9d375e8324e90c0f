"""The words that answers are written in besides names and units: functions, prose, conditions."""

from __future__ import annotations

from symacct.answers.text.lists import listed
from symacct.answers.text.units import NOUNS, SUFFIXES

FUNCTIONS: dict[str, str] = {
    **{f: f for f in ("min", "max", "sqrt", "floor", "ceil", "log", "ln", "abs")},
    "Min": "min",
    "Max": "max",
    "ceiling": "ceil",
    "Abs": "abs",
    "minimum": "min",
    "maximum": "max",
    **dict.fromkeys(("log2", "lg", "log_2", "lb"), "log2"),
    **dict.fromkeys(("log10", "log_10"), "log10"),
    **dict.fromkeys(("log_e", "LN"), "ln"),
    "MIN": "min",
    "MAX": "max",
    "LOG": "log",
    "Log": "log",
    "Sqrt": "sqrt",
    "SQRT": "sqrt",
    "root": "sqrt",
    "pow": "pow",
    "int": "floor",
    "trunc": "floor",
    "float": "same",
}
ORDERS = frozenset(["O", "Θ", "Ω", "Theta", "Omega", "o", "θ", "bigO"])
PROSE = frozenset(
    listed("""a an the is are about approximately approx roughly around circa ca of total overall answer ans final
    return memory compute cost space growth complexity asymptotically exactly
    result equals equal so thus hence that we get gives it in all only just dense constant least most exactly at up to
    约 大约 大概 约为 约等于 等于 为 是 共 总共 总计 一共 答案 答 的 结果 故 所以 得 则 左右 即""")
)
CONDITIONS = frozenset(listed("when if for where with as assuming given provided since because 当 若 如果 其中 因为"))
APPROXIMATE = frozenset(listed("about approximately approx roughly around circa ca 约 大约 大概 约为 约等于 左右"))
PER = frozenset(["per", "每"])
_HAN_UNITS = """字节 比特 位 浮点运算 浮点操作 次浮点运算 次运算 次 秒 秒钟 分钟 小时 时 天
日 周 星期 个月 月 年 毫秒 微秒 纳秒"""
PERCENT = "百分之"
NUMBERS: dict[str, str] = {
    **{word: str(n) for n, word in enumerate(listed("zero one two three four five six seven eight nine ten"))},
    "half": "0.5",
    "零": "0",
    "一": "1",
    "两": "2",
    "一半": "0.5",
}
"""Numbers that are written as words."""
HAN_WORDS = frozenset(
    {
        w
        for w in (PERCENT, *NUMBERS, *PROSE, *CONDITIONS, *PER, *SUFFIXES, *NOUNS, *listed(_HAN_UNITS))
        if not w.isascii()
    }
)
"""What runs of Chinese are cut into."""
