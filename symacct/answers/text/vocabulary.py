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
ONE_SIDED = {"o": "grows more slowly than that", "Ω": "grows at least like that", "Omega": "grows at least like that"}
"""Of those, the ones that say less than an order."""
PROSE = frozenset(
    listed("""a an the is are about approximately approx roughly around circa ca of total overall answer ans final
    return memory compute cost space growth complexity asymptotically exactly
    result equals equal so thus hence therefore overall altogether that this have get obtain
    we you need needs require requires gives
    it in all only just dense constant exactly to
    约 大约 大概 约为 约等于 等于 为 是 共 总共 总计 一共 答案 答 的 结果 故 所以 得 则 左右 即""")
)
CONDITIONS = frozenset(listed("when if for where with as assuming given provided since because 当 若 如果 其中 因为"))
EQUALS = frozenset(listed("is are equals becomes gives yields costs takes needs 是 为 等于"))
"""Words that join a label and a formula."""
CONCLUSIONS = frozenset(
    listed("so thus hence therefore ie total overall altogether answer becomes 共 总共 总计 一共 因此 所以 故")
)
"""Words behind which an answer says what it comes to."""
NEGATIONS = frozenset(listed("not never nor neither wrong incorrect instead isn aren doesn 不 非 不是"))
_PARTS = dict(zip(listed("half third quarter fifth sixth seventh eighth ninth tenth"), range(2, 11), strict=True))
_FRACTIONS = tuple(
    (f"{above} / {below}{times}", f"{count} {part}{'s' if above > 1 else ''}{of}")
    for part, below in _PARTS.items()
    for count, above in (("a", 1), ("one", 1), ("two", 2), ("three", 3))
    for times, of in (("", ""), (" *", " of"))
)
OTHERS = frozenset(listed("or else otherwise but except 或 或者 否则 但"))
"""Words behind which another answer follows."""
SPOKEN: dict[tuple[str, ...], str] = {
    tuple(phrase.split()): signs
    for signs, phrases in (
        ("+", "plus"),
        ("-", "minus"),
        ("*", "times, multiplied by"),
        ("/", "divided by, over"),
        ("^ 2", "squared"),
        ("^ 3", "cubed"),
        ("^", "to the power of, to the power, raised to the power of"),
        ("√", "square root of, the square root of"),
        ("2 *", "twice, double"),
        ("0.5 *", "half of"),
        (
            ">",
            "at least, exceeds, more than, greater than, larger than, is at least, is more than, is greater than",
        ),
        (">", "must exceed, is larger than, is above, above, longer than, beyond, 大于, 至少"),
        (
            "<",
            "at most, less than, fewer than, smaller than, is at most, is less than, is smaller than",
        ),
        ("<", "is below, below, under, shorter than, 小于, 至多"),
        (">", "no less than, not less than"),
        ("<", "no more than, not more than, up to"),
        ("≈", "on the order of, of the order of, in the order of"),
        ("√", "根号"),
        ("→", "tends to, approaches, converges to, goes to"),
        *_FRACTIONS,
    )
    for phrase in phrases.split(",")
}
"""Words that stand for signs."""
APPROXIMATE = frozenset(listed("about approximately approx roughly around circa ca 约 大约 大概 约为 约等于 左右"))
PER = frozenset(["per", "每"])
_HAN_UNITS = """字节 比特 位 浮点运算 浮点操作 次浮点运算 次运算 次 秒 秒钟 分钟 小时 时 天
日 周 星期 个月 月 年 毫秒 微秒 纳秒"""
PARTS, PERCENT = "分之", "百分之"
_COUNTS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty"""
NUMBERS: dict[str, str] = {
    **{word: str(n) for n, word in enumerate(listed(_COUNTS))},
    "half": "0.5",
    "quarter": "0.25",
    **dict.fromkeys(("no", "none", "nothing"), "0"),
    "零": "0",
    "一": "1",
    "两": "2",
    "一半": "0.5",
}
"""Numbers that are written as words."""
_HAN_SPOKEN = (*EQUALS, *CONCLUSIONS, *NEGATIONS, *OTHERS, *(p[0] for p in SPOKEN))
HAN_WORDS = frozenset(
    {
        w
        for w in (
            PARTS,
            PERCENT,
            *NUMBERS,
            *PROSE,
            *CONDITIONS,
            *PER,
            *SUFFIXES,
            *NOUNS,
            *listed(_HAN_UNITS),
            *_HAN_SPOKEN,
        )
        if not w.isascii()
    }
)
"""What runs of Chinese are cut into."""
