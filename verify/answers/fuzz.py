"""Generated inputs against the reader: a reading or a clean error, never a crash, never long.

`python -m verify.answers.fuzz COUNT SEED` tries that many; `--write` keeps what was seen in fuzzed.json.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import symacct as sa
from symacct.errors import AnswerError

TEXTS: list[list[Any]] = json.loads((Path(__file__).parent / "texts.json").read_text(encoding="utf-8"))["texts"]
SYMBOLS: tuple[dict[str, str], ...] = (
    {"B": "batch_size", "T": "context_length", "D": "d_model", "F": "d_ff", "V": "vocab_size"},
    {"N": "devices", "S": "bytes", "W": "bytes/s"},
    {"n": "length"},
    {},
)
UNITS = ("", "FLOPs", "bytes", "days", "s", "FLOPs/byte", "parameters")
PIECES = (
    *"BTDFVNSWn0123456789+-*/^(){}[].,=<>~|%!_#$&;:'\"`\\ ",
    *("**", "//", "->", "==", "e9", "1e-6", "2^", "²", "₁", "√", "⌈", "⌉", "⌊", "⌋", "×", "·", "−", "≈", "→", "∞", "½"),
    *(r"\frac", r"\frac{1}{2}", r"\sqrt", r"\left(", r"\right)", r"\cdot", r"\min", r"\text{a}", r"\underbrace"),
    *("log", "min", "max(", "ceil(", "O(", "sqrt(", "GB", "GiB", "TFLOP/s", "days", "per token", "/param", "70B"),
    *("d_model", "vocab_size", "n_layers", "when F=4D", "约", "亿", "天", "，", "（", "）", "15T", r"\mathrm"),
    *("\u200b", "\u202e", "\x00", "😀", "٣", "\ud800", "\u0301", "Ⅷ", "ﬁ"),
    *("9**9**9", "10^10^10", "1e999", "1e99999999", "0/0", "1/0", "0**-1", "(-1)**0.5", "log(0)", "sqrt(-2)"),
)
LONGEST = 5.0
"""Seconds after which one input counts as a hang; a tenth of it is what none should need."""


def inputs(count: int, seed: int) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield texts of four kinds: pieces at random, known texts with edits, nested ones, any Unicode."""
    draw = random.Random(seed)  # noqa: S311 # inputs that can be made again
    for i in range(count):
        symbols, unit = draw.choice(SYMBOLS), draw.choice(UNITS)
        kind = i % 4
        if kind == 0:
            text = "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 24)))
        elif kind == 1:
            text, symbols, unit, _ = draw.choice(TEXTS)
            text = _edited(text, draw)
        elif kind == 2:
            text = _nested(draw)
        else:
            text = "".join(_character(draw) for _ in range(draw.randint(1, 30)))
        yield text, symbols, unit


def _edited(text: str, draw: random.Random) -> str:
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        cut = draw.randint(0, 2)
        text = text[:at] + draw.choice(PIECES) * draw.randint(0, 2) + text[at + cut :]
    return text


def _nested(draw: random.Random) -> str:
    opening = draw.choice(("(", "[", "{", r"\frac{", r"\sqrt{", "√(", "log(", "2^(", "-", "B*(", "max(1,", "1/("))
    depth = draw.choice((3, 30, 70, 300, 5_000, 100_000))
    return opening * depth + "B" + draw.choice((")", "}", "", "]")) * draw.choice((0, 1, depth))


def _character(draw: random.Random) -> str:
    while True:
        char = chr(draw.choice((draw.randint(0, 0x7F), draw.randint(0, 0xFFFF), draw.randint(0, 0x10FFFF))))
        if not 0xD800 <= ord(char) <= 0xDFFF or draw.random() < 0.05:
            return char


def attack(count: int, seed: int, *, judged: int = 7) -> dict[str, Any]:
    """Read `count` inputs, compare each `judged`-th too; raise what is no clean error, and say what was seen."""
    read = refused = 0
    slowest, culprit = 0.0, ""
    for i, (text, symbols, unit) in enumerate(inputs(count, seed)):
        start = time.process_time()
        try:
            reading = sa.read_answer(text, symbols, unit=unit)
            json.dumps(reading.to_json())
            read += 1
        except AnswerError:
            refused += 1
        except Exception as error:
            error.add_note(f"input {i} of seed {seed}: {text[:300]!r} with {symbols} in {unit!r}")
            raise
        if i % judged == 0:
            _judge(text, symbols, unit, i, seed)
        took = time.process_time() - start
        if took > slowest:
            slowest, culprit = took, text[:80]
        assert took < LONGEST, f"{took:.1f} s for input {i} of seed {seed}: {text[:300]!r}"
    seen = {"inputs": count, "seed": seed, "read": read, "refused": refused}
    return seen | {"slowest": slowest, "slowest_text": culprit}


def _judge(text: str, symbols: dict[str, str], unit: str, i: int, seed: int) -> None:
    truth = "2*" + "*".join(symbols) if symbols else "12"
    try:
        verdict = sa.check(text, truth, symbols, unit=unit)
        json.dumps(verdict.to_json())
        assert verdict.correct or verdict.mistakes
    except Exception as error:
        error.add_note(f"judging input {i} of seed {seed}: {text[:300]!r} against {truth}")
        raise


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    seen = attack(count, seed, judged=25)
    print(seen)
    if "--write" in sys.argv:
        kept = {k: v for k, v in seen.items() if not k.startswith("slowest")}
        path = Path(__file__).parent / "fuzzed.json"
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
