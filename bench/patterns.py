"""A pattern to its closed form, new and known, against `opt_einsum.contract_path` on the same pattern with sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import opt_einsum

import symacct as sa
from bench.fresh import FORMS, MATMUL, forget_patterns, learn_names, renamed
from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 40
BATCH = 40
PEERS = ("shapes", "arrays")
OURS = {"polynomial": 1.0, "sympy": 2.0}
KNOWN = {
    "names": {},
    "numbers": {"b": 64, "d": 4096, "k": 1024},
    "expressions": {"b": 64, "d": "4*k", "k": "h*w"},
}


class Question(NamedTuple):
    """One pattern as each contender takes it; all is built before the clock runs."""

    pattern: str
    letters: str
    sizes: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]
    arrays: tuple[Any, ...]


def question(pattern: str, draw: random.Random) -> Question:
    operands = pattern.partition("->")[0].split(",")
    sizes = {axis: draw.randint(2, 9) for axis in dict.fromkeys(" ".join(operands).split())}
    shapes = tuple(tuple(sizes[n] for n in operand.split()) for operand in operands)
    return Question(pattern, pattern.replace(" ", ""), sizes, shapes, tuple(np.empty(shape) for shape in shapes))


def peer_shapes(q: Question) -> Any:
    return opt_einsum.contract_path(q.letters, *q.shapes, shapes=True)


def peer_arrays(q: Question) -> Any:
    return opt_einsum.contract_path(q.letters, *q.arrays)


def polynomial(q: Question) -> Any:
    return sa.account(q.pattern).total("flops")


def sympy_form(q: Question) -> Any:
    return sa.flops(q.pattern)


CALLS = {"polynomial": polynomial, "sympy": sympy_form, "shapes": peer_shapes, "arrays": peer_arrays}


def check(q: Question) -> None:
    """Check that contenders answer the same question: of two operands both count 2 operations a point."""
    if len(q.shapes) != 2:
        return
    ours, peer = sa.flops(q.pattern, sizes=q.sizes), int(peer_shapes(q)[1].opt_cost)
    if ours != peer:
        raise SystemExit(f"{q.pattern}: {ours} here, {peer} there")


def new_patterns(title: str, form: str) -> list[Comparison]:
    patterns, draw = renamed(form), random.Random(1)  # noqa: S311 - not a secret

    def rounds() -> Iterator[dict[str, Turn]]:
        for _ in range(1 + ROUNDS):
            batch = [question(p, draw) for p in islice(patterns, BATCH)]
            yield {name: (call, batch) for name, call in CALLS.items()}

    check(question(form, draw))
    samples = interleave(rounds(), forget_patterns)
    return [
        Comparison(group(f"a new pattern, {goal}", peer), title, samples[goal], samples[peer], limit)
        for peer in PEERS
        for goal, limit in OURS.items()
    ]


def known_pattern(title: str, sizes: dict[str, Any]) -> Comparison:
    asked = question(MATMUL, random.Random(1))  # noqa: S311 - not a secret
    turns: dict[str, Turn] = {
        "ours": (lambda q: sa.flops(q.pattern, **sizes), [asked] * BATCH),
        "peer": (peer_shapes, [asked] * BATCH),
    }
    samples = interleave([turns] * (1 + ROUNDS))
    where = group("a known pattern, sympy", "shapes")
    return Comparison(where, f"2 operands, {title}", samples["ours"], samples["peer"], seconds=20e-6)


def group(what: str, peer: str) -> str:
    given = "shapes=True" if peer == "shapes" else "arrays"
    return f"{what}; peer: contract_path, {given}"


def main() -> None:
    learn_names()
    found = [c for title, form in FORMS.items() for c in new_patterns(title, form)]
    found.sort(key=lambda c: c.group)
    hand_back([*found, *(known_pattern(title, sizes) for title, sizes in KNOWN.items())])


if __name__ == "__main__":
    main()
