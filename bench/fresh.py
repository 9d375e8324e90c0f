"""Patterns that were never seen, of names that were: one form with its letters renamed."""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Iterator

MATMUL = "b d, d k -> b k"
SCORES = "b h s d, b h t d -> b h s t"
FORMS = {
    "1 operand": "b s d -> b s",
    "2 operands": MATMUL,
    "3 operands": "i j, j k, k l -> i l",
    "4-D attention scores": SCORES,
    "4-D attention values": "b h s t, b h t d -> b h s d",
}
KEPT = ("name", "symbol")  # what the engine knows of a name by itself


def renamed(form: str, salt: str = "") -> Iterator[str]:
    """Yield one form in ever other letters, no set of letters twice, so that no answer is had before either.

    The letters are drawn by the form and `salt`: forms of the same length must not share their sets.
    """
    axes = sorted(set(form) & set(string.ascii_letters))
    draw = random.Random(form + salt)  # noqa: S311 - not a secret
    seen: set[frozenset[str]] = set()
    while True:
        letters = draw.sample(string.ascii_letters, len(axes))
        if frozenset(letters) not in seen:
            seen.add(frozenset(letters))
            yield form.translate(str.maketrans(dict(zip(axes, letters, strict=True))))


def learn_names() -> None:
    """Let the engine and sympy see every letter once."""
    import symacct as sa

    for letter in string.ascii_letters:
        sa.flops(f"{letter} -> {letter}")
        sa.flops(f"{letter}, {letter} -> {letter}")


def forget_patterns() -> None:
    """Empty every cache of the engine but those of single names."""
    modules = [m for n, m in sys.modules.items() if n.partition(".")[0] == "symacct"]
    caches = {id(v): v for m in modules for n, v in vars(m).items() if n not in KEPT and hasattr(v, "cache_clear")}
    if not caches:
        raise SystemExit("the engine has no cache to empty; what would be measured as new?")
    for cache in caches.values():
        cache.cache_clear()
