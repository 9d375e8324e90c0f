"""Products: shapes, copies, what is kept and gradients, against torch itself; errors."""

from __future__ import annotations

import random
import string
from itertools import pairwise

import pytest

import symacct as sa
from symacct.errors import GraphError, ShapeError
from symacct.expr import evaluate, name, product
from symacct.graph import Einsum
from symacct.rules import RULES, rule_of
from symacct.rules.rule import Backward
from symacct.symbolic import Builder, Symbolic, apply
from symacct.symbolic.products import einsum

torch = pytest.importorskip("torch")
einops = pytest.importorskip("einops")

SIZES = dict(zip("abcdefgh", (2, 3, 4, 5, 7, 11, 6, 13), strict=True))


def symbolic(*shapes: str, units: str = "") -> list[Symbolic]:
    """Make symbolic tensors: a letter is a size, and its name; `units` are of size 1."""
    builder = Builder()
    sizes = [tuple(1 if a in units else name(a) for a in shape) for shape in shapes]
    return [Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(sizes)]


def at_sizes(shape: tuple) -> tuple[int, ...]:
    return tuple(evaluate(s, SIZES) for s in shape)


def random_pattern(draw: random.Random, operands: int = 2) -> str:
    letters = "abcdef"[: draw.randint(2, 5)]
    terms = ["".join(draw.sample(letters, draw.randint(1, len(letters)))) for _ in range(operands)]
    used = sorted(set("".join(terms)))
    out = "".join(draw.sample(used, draw.randint(0, len(used))))
    pattern = f"{','.join(terms)}->{out}"
    # einops gives letters in order of appearance
    seen = [a for a in dict.fromkeys(pattern) if a.isalpha()]
    return pattern.translate(str.maketrans("".join(seen), "abcdef"[: len(seen)]))


class Copies(torch.utils._python_dispatch.TorchDispatchMode):
    """Sees every copy that torch makes to lay an operand out."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[int] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.__name__ in ("clone.default", "_to_copy.default"):
            self.copied.append(out.numel())
        return out


def permuted(draw: random.Random, term: str) -> tuple[tuple[int, ...], str]:
    """Draw in which order the axes of a term lie in memory."""
    order = draw.sample(range(len(term)), len(term))
    return tuple(order.index(i) for i in range(len(term))), "".join(term[i] for i in order)


@pytest.mark.parametrize("seed", range(2000))
def test_shape_strides_and_copies_are_torchs(seed: int) -> None:
    draw = random.Random(seed)
    pattern = random_pattern(draw, 2 + seed % 2)
    terms = pattern.partition("->")[0].split(",")
    laid_out = [permuted(draw, term) for term in terms]
    units = draw.choice(("", "", "a", "b", "c"))
    made = symbolic(*[memory for _, memory in laid_out], units=units)
    ours = einsum(pattern, [x.permute(axes) for (axes, _), x in zip(laid_out, made, strict=True)])
    numbers = {**SIZES, **dict.fromkeys(units, 1)}
    real = [torch.randn([numbers[a] for a in memory]).permute(axes) for axes, memory in laid_out]
    with torch.backends.opt_einsum.flags(enabled=False), Copies() as seen:
        theirs = torch.einsum(pattern, *real)
    assert at_sizes(ours.tensor.shape) == tuple(theirs.shape)
    builder = ours.builder
    graph = builder.graph([ours.id])
    made = [r for op in graph.ops for r in rule_of(op).copies(op, graph)]
    assert sorted(evaluate(product(r.shape), SIZES) for r in made) == sorted(seen.copied)
    strides = graph.tensors[ours.id].strides
    if strides is None:
        assert theirs.is_contiguous()
    else:
        same = zip(at_sizes(strides), theirs.stride(), theirs.shape, strict=True)
        assert all(a == b for a, b, size in same if size != 1)


def attention(q, k, v):
    q, k, v = (einops.rearrange(x, "b s (h k) -> b h s k", h=name_or_number(x)) for x in (q, k, v))
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t")
    out = einops.einsum(scores, v, "b h s t, b h t k -> b h s k")
    return einops.rearrange(out, "b h s k -> b s (h k)")


def name_or_number(x):
    return x.shape[-1] // 4 if hasattr(x, "untyped_storage") else sa.Size if False else HEADS


HEADS = 3


def test_split_heads_are_copied() -> None:
    """Review finding 16: b and h are batch axes and s lies between them; merging heads back copies too."""

    def layer(q: "b s 3*k", k: "b t 3*k", v: "b t 3*k"):
        return attention(q, k, v)

    ideal, laid_out = (sa.account(layer, layout=layout, dtype="fp32") for layout in ("ideal", "torch"))
    extra = laid_out.total("bytes") - ideal.total("bytes")
    b, s, t, k = (name(n) for n in "bstk")
    operands = 3 * b * s * k + 2 * (3 * b * t * k)
    assert extra == 4 * 2 * (operands + 3 * b * s * k)
