"""The published list of mistakes: a code, one sentence in English and one in Chinese.

A sentence may name what it is about: a term, a symbol, a factor, two units.
"""

from __future__ import annotations

from typing import NamedTuple

from symacct.answers.chinese import ABOUT, SENTENCES, chinese
from symacct.answers.types import Finding, Verdict
from symacct.errors import ConventionError, nearest, one_of


class Sentence(NamedTuple):
    """One mistake in both languages; ``{about}`` stands for what it is about."""

    en: str
    zh: str


LANGUAGES = ("en", "zh")

MISTAKES: dict[str, Sentence] = {
    # what was written is no answer to this question
    "unreadable": Sentence("The answer cannot be read as a formula.", "答案无法读成公式。"),
    "unknown_symbol": Sentence("The question has no symbol {about}.", "题目中没有符号 {about}。"),
    "symbol_with_two_meanings": Sentence("A symbol has two meanings: {about}.", "同一符号有两种含义：{about}。"),
    "wrong_unit": Sentence("The unit does not fit: {about}.", "单位不符：{about}。"),
    "number_for_formula": Sentence(
        "A number was given where a formula is asked for.", "题目要求公式，答案只是一个数。"
    ),
    "formula_for_number": Sentence("A number is asked for; {about} is left open.", "题目要求数值，{about} 未代入。"),
    "order_for_exact": Sentence("Only the order of growth was given.", "只给出了增长阶（大 O），题目要求精确形式。"),
    "remainder_left_open": Sentence(
        "{about} is left open; the exact form was asked for.", "留下了 {about} 未写出；题目要求精确形式。"
    ),
    "bound_for_value": Sentence("A bound is not the value: {about}.", "给出的是界限，不是值：{about}。"),
    "wrong_direction": Sentence("The inequality points the wrong way.", "不等号方向相反。"),
    "wrong_limit": Sentence("The exact form is right, the limit behind it is not.", "精确式正确，但给出的极限不对。"),
    # a constant factor
    "macs_for_flops": Sentence(
        "Half of it: multiply-accumulates (MACs), where multiplies and adds are counted separately.",
        "少了一半：数的是乘加（MAC），而题目把乘法和加法分开计数。",
    ),
    "factor": Sentence("Off by a factor of {about}.", "是正确值的 {about} 倍。"),
    "dtype_bytes": Sentence(
        "Off by a factor of {about}: the bytes a value (fp32 has 4, bf16 2, int8 1), or a tensor too many or too few.",
        "是正确值的 {about} 倍：每个数的字节数不对（fp32 为 4，bf16 为 2，int8 为 1），或多算、少算了一个张量。",
    ),
    "elements_for_bytes": Sentence("Elements were counted, not bytes.", "数的是元素个数，不是字节数。"),
    "bits_bytes": Sentence("Bits and bytes are mixed up (a factor of 8).", "混淆了比特与字节（相差 8 倍）。"),
    "gb_gib": Sentence(
        "GB (10^9) and GiB (2^30), or other decimal and binary prefixes, are mixed up.",
        "混淆了 GB（10^9）与 GiB（2^30）等十进制与二进制前缀。",
    ),
    "prefix": Sentence("Off by a power of a thousand: {about}.", "差了 1000 的幂：{about}。"),
    "percent": Sentence("Off by a factor of 100: a share and a percentage.", "相差 100 倍：比例与百分数混淆。"),
    "time_unit": Sentence("Another unit of time: {about}.", "时间单位不对：{about}。"),
    "sparsity": Sentence(
        "Off by a factor of two: a peak with sparsity is twice the dense one.", "相差 2 倍：稀疏峰值是稠密峰值的两倍。"
    ),
    "other_peak": Sentence("The peak of another number format ({about}).", "用了另一种数值格式的峰值（{about}）。"),
    "forward_for_training": Sentence(
        "A third of it: the forward pass alone; backward is twice the forward.",
        "只有三分之一：只算了前向；反向是前向的两倍。",
    ),
    "training_for_forward": Sentence(
        "Three times it: forward and backward, where the forward pass is asked for.",
        "是正确值的三倍：算了前向加反向，而题目只问前向。",
    ),
    "input_gradient": Sentence(
        "One of the two gradients of a product is missing: with respect to the input, and to the weight.",
        "矩阵乘法有两个梯度（对输入和对权重），漏了一个。",
    ),
    "gated_ffn": Sentence(
        "Two matrices where a gated feed-forward layer has three, or the reverse: {about}.",
        "带门控的前馈层有三个矩阵，普通的有两个：{about}。",
    ),
    "not_zero": Sentence(
        "Nothing is computed here: moving or looking up is no operation.", "这里没有计算：搬运或查表不算运算。"
    ),
    "causal_half": Sentence(
        "Half of the attention pairs: a causal mask halves both Q@K and A@V, or one of the two products is missing.",
        "注意力只算了一半：因果掩码使 QK 与 AV 都减半，或漏了其中一个乘积。",
    ),
    "constant_dropped": Sentence(
        "The factor {about} was left out, or put in once too often.", "漏乘或多乘了 {about}。"
    ),
    # axes and powers
    "axis_forgotten": Sentence("The size {about} is missing.", "漏了维度 {about}。"),
    "axis_twice": Sentence("The size {about} is multiplied in once too often.", "维度 {about} 多乘了一次。"),
    "axis_extra": Sentence("The size {about} does not belong there.", "不应出现维度 {about}。"),
    "division_forgotten": Sentence("It was not divided by {about}.", "没有除以 {about}。"),
    "divided_twice": Sentence("It was divided by {about} once too often.", "多除了一次 {about}。"),
    "axis_swapped": Sentence("Two sizes are swapped or taken for each other: {about}.", "维度混淆：{about}。"),
    "wrong_exponent": Sentence("A wrong power: {about}.", "幂次不对：{about}。"),
    "inverted": Sentence("A ratio is upside down{about}.", "比值颠倒了{about}。"),
    "root_forgotten": Sentence("A square root was left out.", "漏了开平方根。"),
    "root_extra": Sentence("A square root was taken that does not belong there.", "多开了一次平方根。"),
    # sums
    "missing_term": Sentence("A term is missing: {about}.", "漏了一项：{about}。"),
    "extra_term": Sentence("There is a term too many: {about}.", "多了一项：{about}。"),
    "term_coefficient": Sentence("A term has a wrong coefficient: {about}.", "某一项的系数不对：{about}。"),
    "wrong_term": Sentence("One term is another: {about}.", "有一项不对：{about}。"),
    "embedding_as_matmul": Sentence(
        "An embedding lookup was counted as a matrix product; it multiplies nothing ({about}).",
        "把嵌入查表当成了矩阵乘法；查表没有乘法（{about}）。",
    ),
    "sum_for_product": Sentence("Sizes were added where they multiply.", "应相乘处写成了相加。"),
    "product_for_sum": Sentence("Parts were multiplied where they add up.", "应相加处写成了相乘。"),
    "sum_for_max": Sentence(
        "A sum where the larger one counts: what overlaps takes the time of the longer.",
        "应取较大者，却写成了相加：重叠时按较长的一方计。",
    ),
    "max_for_sum": Sentence("The larger one, where both add up.", "应相加，却只取了较大者。"),
    "max_for_min": Sentence("Minimum and maximum are swapped.", "最大值与最小值写反了。"),
    "branch_only": Sentence(
        "Only one side of the minimum or maximum: {about}.", "只写了最大（最小）值的一边：{about}。"
    ),
    "leading_term_only": Sentence(
        "This is what it tends to for large sizes; the exact form was asked for.",
        "这是尺寸很大时的极限；题目要求精确形式。",
    ),
    "wrong_growth": Sentence("It grows at another rate: {about}.", "增长阶不对：{about}。"),
    "off_by_one": Sentence("Off by one: {about}.", "相差 1：{about}。"),
    "rounding": Sentence("Rounded the wrong way, or not at all.", "取整方向不对，或没有取整。"),
    # numbers
    "rounded_inputs": Sentence(
        "Near, but too far off ({about}): were rounded numbers put in?",
        "接近但误差过大（{about}）：是否代入了取整后的数？",
    ),
    "coincidence": Sentence(
        "Right at the given numbers, but from a wrong formula.", "在给定数值下碰巧正确，但公式不对。"
    ),
    "different": Sentence("It is another quantity.", "这是另一个量。"),
}


def sentence(finding: Finding, lang: str = "en") -> str:
    """Return the sentence of a likely mistake.

    Raises
    ------
    ConventionError
        For a language that there is not.

    Examples
    --------
    >>> sentence(Finding("missing_term", "2*B*D*V"))
    'A term is missing: 2*B*D*V.'

    """
    check_language(lang)
    text = MISTAKES[finding.code]
    about = chinese(finding.about, SENTENCES + ABOUT) if lang == "zh" else finding.about
    if finding.code == "inverted" and about:
        about = f"（{about}）" if lang == "zh" else f" ({about})"
    return (text.zh if lang == "zh" else text.en).format(about=about)


def spoken(text: str, lang: str) -> str:
    """Return what reading or judging says in a language; its code says it in English.

    Examples
    --------
    >>> spoken("batch is read as B", "zh")
    '“batch”读作 B'

    """
    return chinese(text) if lang == "zh" else text


def check_language(lang: str) -> None:
    """Check that there are words in a language.

    Raises
    ------
    ConventionError
        Lists the languages.

    """
    if lang not in LANGUAGES:
        msg = f"no language {lang[:60]!r}; known: {one_of(LANGUAGES)}.{nearest(lang, LANGUAGES)}"
        raise ConventionError(msg)


def told(verdict: Verdict, lang: str = "en", most: int = 3) -> list[str]:
    """Return a verdict in sentences: right or wrong, the counterexample, the likeliest mistakes.

    Examples
    --------
    >>> import symacct as sa
    >>> for line in told(sa.check("BDK", "2*B*D*K", unit="FLOPs"), most=1):
    ...     print(line)
    wrong: at B=2, D=3, K=5: 30, not 60
    Half of it: multiply-accumulates (MACs), where multiplies and adds are counted separately.
    Right under another convention: mac.

    """
    check_language(lang)
    zh = lang == "zh"
    word = ("正确" if zh else "right") if verdict.correct else ("错误" if zh else "wrong")
    shown = spoken(str(verdict.counterexample), lang) if verdict.counterexample and not verdict.correct else ""
    lines = [f"{word}{'：' if zh else ': '}{shown}" if shown else word]
    lines += [spoken(verdict.problem, lang)] if verdict.problem else []
    lines += [sentence(f, lang) for f in verdict.findings[:most]]
    if verdict.other_convention:
        other = verdict.other_convention
        lines.append(f"在另一种约定下正确：{other}。" if zh else f"Right under another convention: {other}.")
    return lines
