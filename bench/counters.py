"""A pattern to its operations, against torch's `FlopCounterMode`: on symbolic sizes, and on meta tensors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils.flop_counter import FlopCounterMode

import symacct as sa
from bench.fresh import MATMUL, SCORES, forget_patterns, learn_names, renamed
from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 10
BATCH = 40
AGAIN = 3
FASTER = 1 / 50
SYMBOLIC, META = "torch's counter, symbolic sizes", "torch's counter, meta tensors"
PRIMES = (7, 11, 13, 17, 19)


class Setting(NamedTuple):
    """Tensors with symbolic sizes, and the mode that they live in."""

    mode: FakeTensorMode
    letters: str
    tensors: list[torch.Tensor]


def setting(pattern: str) -> Setting:
    """Build what torch needs before it can count; not on the clock."""
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    names = dict.fromkeys(pattern.replace("->", "").replace(",", "").split())
    sizes = {}
    for n, hint in zip(names, PRIMES, strict=False):
        symbol = env.create_symbol(hint, source=ConstantSource(n), dynamic_dim=DimDynamic.DYNAMIC)
        sizes[n] = env.create_symintnode(symbol, hint=hint)
    with mode:
        return Setting(mode, pattern.replace(" ", ""), empty(pattern, sizes))


def empty(pattern: str, sizes: dict[str, Any]) -> list[torch.Tensor]:
    operands = pattern.partition("->")[0].split(",")
    return [torch.empty([sizes[n] for n in operand.split()], device="meta") for operand in operands]


def count(call: Any, tensors: list[torch.Tensor]) -> Any:
    with FlopCounterMode(display=False) as counter:
        call(*tensors)
    return counter.get_total_flops()


def count_symbolic(form: str, where: Setting) -> Any:
    with where.mode:
        return count(torch.mm if form == MATMUL else partial(torch.einsum, where.letters), where.tensors)


def check(form: str) -> None:
    """Check that both count the same; comparing gives torch's sizes their numbers, so in a setting of its own."""
    names = dict.fromkeys(form.replace("->", "").replace(",", "").split())
    ours = sa.flops(form, sizes=dict(zip(names, PRIMES, strict=False)))
    theirs = count_symbolic(form, setting(form))
    if not isinstance(theirs, torch.SymInt) or theirs != int(ours):
        raise SystemExit(f"{form}: {ours} here, {theirs} by torch")


def against_symbolic(title: str, form: str) -> list[Comparison]:
    patterns = renamed(form)

    def new() -> Iterator[dict[str, Turn]]:
        for _ in range(1 + ROUNDS):
            yield {
                "ours": (sa.flops, list(islice(patterns, BATCH))),
                "torch": (partial(count_symbolic, form), [setting(next(patterns))]),
            }

    known: dict[str, Turn] = {
        "ours": (sa.flops, [form] * BATCH),
        "torch": (partial(count_symbolic, form), [setting(form)] * AGAIN),
    }
    check(form)
    first, again = interleave(new(), forget_patterns), interleave([known] * (1 + ROUNDS))
    return [
        Comparison(SYMBOLIC, f"{title}, {which}", samples["ours"], samples["torch"], FASTER)
        for which, samples in (("new", first), ("known", again))
    ]


def against_meta() -> list[Comparison]:
    patterns, tensors = renamed(MATMUL, "meta"), empty(MATMUL, {"b": 64, "d": 4096, "k": 1024})

    def rounds(*, new: bool) -> Iterator[dict[str, Turn]]:
        for _ in range(1 + 4 * ROUNDS):
            asked = list(islice(patterns, BATCH)) if new else [MATMUL] * BATCH
            yield {"ours": (sa.flops, asked), "torch": (partial(count, torch.mm), [tensors] * BATCH)}

    new, known = interleave(rounds(new=True), forget_patterns), interleave(rounds(new=False))
    return [
        Comparison(META, f"mm, {which}", samples["ours"], samples["torch"])
        for which, samples in (("new", new), ("known", known))
    ]


def main() -> None:
    learn_names()
    scores = "attention scores"
    hand_back([*against_symbolic("mm", MATMUL), *against_symbolic(scores, SCORES), *against_meta()])


if __name__ == "__main__":
    main()
