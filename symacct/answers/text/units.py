"""Units of answers: bytes, operations, seconds, shares and counts, with their prefixes; what each is in base units."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache, reduce
from typing import NamedTuple

from symacct.answers.text.lists import listed
from symacct.units.spelling import DAY, HOUR, MINUTE, WEEK, YEAR


class Unit(NamedTuple):
    """A unit: how many base units it is, and its dimensions as ``(("FLOP", 1), ("byte", -1))``; counts have none."""

    name: str
    factor: Fraction
    dims: tuple[tuple[str, int], ...] = ()
    per: str = ""
    """What it is counted by, where that is a noun: ``token`` in FLOPs/token."""


DECIMAL = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6, "Z": 7, "Y": 8}
_WORDS = {"kilo": 1, "mega": 2, "giga": 3, "tera": 4, "peta": 5, "exa": 6}
SUFFIXES: dict[str, int] = {
    "k": 3,
    "K": 3,
    "M": 6,
    "B": 9,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
    "mn": 6,
    "bn": 9,
    "tn": 12,
    "kilo": 3,
    "mega": 6,
    "giga": 9,
    "tera": 12,
    "peta": 15,
    "exa": 18,
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
    "quadrillion": 15,
    "mil": 6,
    "千": 3,
    "万": 4,
    "百万": 6,
    "千万": 7,
    "亿": 8,
    "十亿": 9,
    "百亿": 10,
    "千亿": 11,
    "万亿": 12,
    "兆": 12,
}
"""Powers of ten written behind a number."""

_BYTE = frozenset(["byte", "bytes", "字节"])
_BIT = frozenset(["bit", "bits", "比特", "位"])
_FLOP = frozenset(listed("flop flops fpo ops op 浮点运算 浮点操作 次浮点运算 次运算 次 additions adds"))
_MAC = frozenset(["mac", "macs", "madd", "madds", "fma", "fmas"])
_TIMES: dict[str, int | Fraction] = {
    **dict.fromkeys(listed("s sec secs second seconds 秒 秒钟"), 1),
    **dict.fromkeys(listed("min mins minute minutes 分钟 分"), MINUTE),
    **dict.fromkeys(listed("h hr hrs hour hours 小时 时"), HOUR),
    **dict.fromkeys(listed("d day days 天 日"), DAY),
    **dict.fromkeys(listed("week weeks wk 周 星期"), WEEK),
    **dict.fromkeys(listed("month months mo 个月 月"), Fraction(YEAR, 12)),
    **dict.fromkeys(listed("year years yr yrs a 年"), YEAR),
    **dict.fromkeys(listed("ms msec millisecond milliseconds 毫秒"), Fraction(1, 10**3)),
    **dict.fromkeys(listed("us μs microsecond microseconds 微秒"), Fraction(1, 10**6)),
    **dict.fromkeys(listed("ns nanosecond nanoseconds 纳秒"), Fraction(1, 10**9)),
    **dict.fromkeys(listed("ps picosecond picoseconds 皮秒"), Fraction(1, 10**12)),
}
NOUNS: dict[str, str] = {
    noun: names.split()[0]
    for names in (
        "param params parameter parameters weight weights 参数 个参数",
        "token tokens tok 词元 个词元 标记",
        "device devices gpu gpus chip chips rank ranks tpu tpus accelerator accelerators 卡 张卡 设备 块",
        "device card cards node nodes h100 h100s a100 a100s h200 h800 b200 v100",
        "layer layers block blocks slot slots forwards 层",
        "pair pairs",
        "sequence sequences seq seqs sample samples example examples 序列 条序列 样本 个样本",
        "element elements elem elems value values word words number numbers entry entries 元素 个元素 个",
        "step steps micro-steps micro-step microsteps iteration iterations iter pass passes 步",
        "batch batches micro-batch micro-batches 批",
        "head heads query queries row rows col cols column columns neuron neurons",
        "expert experts",
        "dollar dollars usd",
        "x times fold 倍",
    )
    for noun in names.split()
}
"""Nouns of counts, by the one that stands for them; they scale nothing."""


@lru_cache(maxsize=4096)
def unit_of(word: str) -> Unit | None:
    """Return the unit that a word is, or nothing.

    Examples
    --------
    >>> unit_of("GiB").factor, unit_of("TFLOPS").dims, unit_of("walrus")
    (Fraction(1073741824, 1), (('FLOP', 1),), None)

    """
    lower = word.lower()
    if lower in _TIMES and (len(word) > 1 or word == lower):
        return Unit(word, Fraction(_TIMES[lower]), (("s", 1),))
    device, hyphen, time = word.partition("-")
    if hyphen and NOUNS.get(device.lower()) == "device" and time.lower() in _TIMES:
        return Unit(word, Fraction(_TIMES[time.lower()]), (("device", 1), ("s", 1)))
    if lower in NOUNS:
        return Unit(word, Fraction(1), (), NOUNS[lower])
    if word == "%" or lower in ("percent", "pct"):
        return Unit(word, Fraction(1, 100), (("share", 1),))
    plain = _plain(word)
    return plain or _prefixed(word)


def _plain(word: str) -> Unit | None:
    lower = word.lower()
    if lower in _BYTE or word == "B":
        return Unit(word, Fraction(1), (("byte", 1),))
    if lower in _BIT:
        return Unit(word, Fraction(1, 8), (("byte", 1),))
    if lower in _FLOP:
        return Unit(word, Fraction(1), (("FLOP", 1),))
    if lower in _MAC:
        return Unit(word, Fraction(1), (("MAC", 1),))
    return None


def _prefixed(word: str) -> Unit | None:
    for spelled, power in _WORDS.items():
        if word.lower().startswith(spelled) and (base := _plain(word[len(spelled) :].strip("-"))):
            return base._replace(name=word, factor=base.factor * 1000**power)
    prefix, rest = word[:1], word[1:]
    if rest.lower() in ("ib", "ibyte", "ibytes", "ibit") and prefix.upper() in DECIMAL:
        scale = Fraction(1024) ** DECIMAL[prefix.upper()]
        bits = rest == "ibit" or (rest == "ib" and prefix.isupper())  # Gib is bits, gib a careless GiB
        return Unit(word, scale / (8 if bits else 1), (("byte", 1),))
    power = DECIMAL.get(prefix) or (DECIMAL.get(prefix.upper(), 0) if prefix in "gt" or rest == "b" else 0)
    if not power:
        return None
    if rest in ("B", "b"):  # Gb is bits, gb a careless GB
        return Unit(word, Fraction(1000) ** power / (8 if rest == "b" and prefix.isupper() else 1), (("byte", 1),))
    base = _plain(rest) if len(rest) > 1 else None
    return base._replace(name=word, factor=base.factor * 1000**power) if base else None


def divided(above: Unit, below: Unit) -> Unit:
    """Return one unit per another."""
    dims = dict(above.dims)
    for name, power in below.dims:
        dims[name] = dims.get(name, 0) - power
    left = tuple(sorted((n, p) for n, p in dims.items() if p))
    return Unit(f"{above.name}/{below.name}", above.factor / below.factor, left, below.per or above.per)


def _last_of_nouns(words: list[str]) -> Unit | None:
    """Return the last noun of ``layer forwards``, which is what is counted."""
    return unit_of(words[-1]) if all(w.lower() in NOUNS for w in words) else None


@lru_cache(maxsize=512)
def read_unit(text: str) -> Unit | None:
    """Read the unit of a question, such as ``FLOPs/byte`` or ``GiB``; nothing for none or a strange one."""
    counted = re.sub(r"(?<=\w) (?=(hours|days|years)\b)", "-", text.strip(), flags=re.IGNORECASE)
    parts = [p.strip() for p in re.split(r"/|\bper\b", counted) if p.strip()]
    units = [unit_of(p) or _last_of_nouns(p.split()) for p in parts]
    known = [u for u in units if u is not None]
    return reduce(divided, known) if known and len(known) == len(units) else None


def scaled(number: str, power: int) -> str:
    """Return a number's text times a power of ten.

    Examples
    --------
    >>> scaled("1.5e2", 9)
    '1.5e11'

    """
    digits, _, exponent = number.partition("e")
    return f"{digits}e{int(exponent or 0) + power}"
