"""What torch copies to multiply, and where it puts the product: seen at its dispatcher, for operands in any layout."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from symacct.expr import evaluate, name, product
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic
from symacct.symbolic.products import einsum
from verify.check import Check, agree

SIZES = dict(zip("abcdef", (2, 3, 4, 5, 7, 11), strict=True))


class Case(NamedTuple):
    """A pattern in letters, in order of appearance as einops gives them; how operands lie in memory; axes of size 1."""

    pattern: str
    memory: tuple[str, ...]
    units: str = ""

    @property
    def terms(self) -> list[str]:
        return self.pattern.partition("->")[0].split(",")

    @property
    def orders(self) -> list[tuple[int, ...]]:
        """The permutation of each operand from where it lies."""
        return [tuple(there.index(a) for a in term) for term, there in zip(self.terms, self.memory, strict=True)]

    @property
    def sizes(self) -> dict[str, int]:
        return {**SIZES, **dict.fromkeys(self.units, 1)}


def random_case(draw: random.Random, operands: int) -> Case:
    letters = "abcdef"[: draw.randint(2, 5)]
    terms = ["".join(draw.sample(letters, draw.randint(1, len(letters)))) for _ in range(operands)]
    used = sorted(set("".join(terms)))
    pattern = f"{','.join(terms)}->{''.join(draw.sample(used, draw.randint(0, len(used))))}"
    seen = [a for a in dict.fromkeys(pattern) if a.isalpha()]
    pattern = pattern.translate(str.maketrans("".join(seen), "abcdef"[: len(seen)]))
    terms = pattern.partition("->")[0].split(",")
    memory = tuple("".join(draw.sample(term, len(term))) for term in terms)
    return Case(pattern, memory, draw.choice(("", "", "a", "b", "c")))


def agrees(case: Case) -> None:
    sizes, what = case.sizes, f"{case} at {case.sizes}"
    theirs, copied, multiplied = _torch(case)
    builder = Builder()
    shapes = [tuple(1 if a in case.units else name(a) for a in there) for there in case.memory]
    made = [Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)]
    ours = einsum(case.pattern, [x.permute(order) for x, order in zip(made, case.orders, strict=True)])
    graph = builder.graph([ours.id])
    agree(_at(ours.tensor.shape, sizes), list(theirs.shape), f"shape of {what}")
    if case.units and multiplied:
        return  # axes of size 1 can tip the order in which torch lays an element-wise product out
    copies = [r for op in graph.ops for r in rule_of(op).copies(op, graph)]
    agree(sorted(evaluate(product(r.shape), sizes) for r in copies), sorted(copied), f"copies of {what}")
    strides = theirs.contiguous().stride() if ours.tensor.strides is None else _at(ours.tensor.strides, sizes)
    wide = [i for i, size in enumerate(theirs.shape) if size != 1]
    agree([strides[i] for i in wide], [theirs.stride()[i] for i in wide], f"strides of {what}")


def _at(values: Any, sizes: dict[str, int]) -> list[Any]:
    return [evaluate(v, sizes) for v in values]


def _torch(case: Case) -> tuple[Any, list[int], bool]:
    """The product, the elements of each copy, and whether anything was multiplied element by element."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    copied, multiplied = [], []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if func.__name__ == "clone.default":
                copied.append(out.numel())
            multiplied.append(func.__name__ == "mul.Tensor")
            return out

    real = [torch.randn([case.sizes[a] for a in there]) for there in case.memory]
    operands = [x.permute(order) for x, order in zip(real, case.orders, strict=True)]
    with torch.backends.opt_einsum.flags(enabled=False), Seen():
        out = torch.einsum(case.pattern, *operands)
    return out, copied, any(multiplied)


HEADS = (
    Case("abcd,abed->abce", ("acbd", "aebd")),
    Case("abce,abed->abcd", ("abce", "aebd")),
    Case("abcd,aecd->abde", ("abcd", "aecd"), "c"),
    Case("abcd,edb,eac->ea", ("abcd", "edb", "eac"), "b"),
)
"""Heads split off the last axis: what lies between them and the batch is copied."""

CHECKS = (
    Check(
        "copies of products",
        "what einsum copies, and the strides of what it yields",
        "torch at its dispatcher: what it clones, and the strides of its result",
        agrees,
        st.builds(random_case, st.randoms(use_true_random=False), st.integers(2, 3)),
        HEADS,
        needs=("torch",),
        share=0.5,
    ),
)
