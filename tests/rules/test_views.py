"""Views: whether torch copies, its strides and its autograd, on random chains; errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from symacct.errors import ShapeError
from symacct.expr import Poly, evaluate, name, product
from symacct.graph import Condition, Tensor
from symacct.rules import RULES, rule_of, views
from symacct.rules.rule import strides_of
from symacct.symbolic import Builder, Symbolic, apply

torch = pytest.importorskip("torch")

from verify.autograd import gradients_agree, saved_bytes, symbolic_gradients  # noqa: E402

B, S, D, H = name("b"), name("s"), name("d"), name("h")


class Chain(NamedTuple):
    """A tensor and what torch has in its place; its axes as lists of factors, and the numbers for their names."""

    tensor: Tensor
    real: Any
    axes: list[list[Any]]
    sizes: dict[str, int]


def start(rng: random.Random, *, named: bool) -> Chain:
    numbers = rng.sample([2, 3, 5, 7, 11], rng.randint(1, 4))
    sizes = {f"n{i}": n for i, n in enumerate(numbers)}
    axes: list[list[Any]] = [[name(n) if named else number] for n, number in sizes.items()]
    for _ in range(rng.randint(0, 2)):
        axes.insert(rng.randint(0, len(axes)), [])
    tensor = Tensor(0, tuple(product(a) for a in axes), "input", "x")
    shape = [evaluate(s, sizes) for s in tensor.shape]
    return Chain(tensor, torch.zeros(shape), axes, sizes)


def permuted(chain: Chain, rng: random.Random) -> tuple[str, dict, list, Any]:
    order = rng.sample(range(len(chain.axes)), len(chain.axes))
    return "permute", {"axes": tuple(order)}, [chain.axes[i] for i in order], chain.real.permute(order)


def reshaped(chain: Chain, rng: random.Random) -> tuple[str, dict, list, Any]:
    """Merge neighbours, split a product, put in or take out axes of size 1: any of them together."""
    axes = [list(a) for a in chain.axes]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(axes) + 1)
        change = rng.choice(["merge", "split", "insert", "remove", "flatten"])
        if change == "merge" and at + 1 < len(axes):
            axes[at : at + 2] = [axes[at] + axes[at + 1]]
        elif change == "split" and at < len(axes) and len(axes[at]) > 1:
            cut = rng.randrange(1, len(axes[at]))
            axes[at : at + 1] = [axes[at][:cut], axes[at][cut:]]
        elif change == "insert":
            axes.insert(at, [])
        elif change == "remove":
            axes = [a for a in axes if a]
        elif change == "flatten" and rng.random() < 0.3:
            axes = [[factor for a in axes for factor in a]]
    shape = tuple(product(a) for a in axes)
    return "reshape", {"shape": shape}, axes, chain.real.reshape([evaluate(s, chain.sizes) for s in shape])


def expanded(chain: Chain, rng: random.Random) -> tuple[str, dict, list, Any]:
    new = f"e{len(chain.sizes)}"
    chain.sizes[new] = rng.choice([13, 17, 19])
    size = name(new) if any(isinstance(s, Poly) for s in chain.tensor.shape) else chain.sizes[new]
    axes = [list(a) for a in chain.axes]
    ones = [i for i, a in enumerate(axes) if not a]
    if ones and rng.random() < 0.7:
        axes[rng.choice(ones)] = [size]
    else:
        axes.insert(0, [size])
    shape = tuple(product(a) for a in axes)
    return "expand", {"shape": shape}, axes, chain.real.expand([evaluate(s, chain.sizes) for s in shape])


def cut(chain: Chain, rng: random.Random) -> tuple[str, dict, list, Any]:
    ranges: list[tuple[Any, Any, int]] = [(0, size, 1) for size in chain.tensor.shape]
    axes = [list(a) for a in chain.axes]
    wide = [i for i, size in enumerate(chain.real.shape) if size > 3]
    if wide:
        at = rng.choice(wide)
        ranges[at] = (1, chain.tensor.shape[at], 1) if rng.random() < 0.5 else (0, chain.tensor.shape[at] - 1, 1)
        axes[at] = [chain.tensor.shape[at] - 1]
    numbers = [[evaluate(place, chain.sizes) for place in r] for r in ranges]
    return "slice", {"ranges": tuple(ranges)}, axes, chain.real[tuple(slice(*r) for r in numbers)]


def steps(chain: Chain, rng: random.Random) -> Iterator[tuple[str, Chain, Any, Chain]]:
    for _ in range(rng.randint(1, 7)):
        move = rng.choice([permuted, reshaped, reshaped, expanded, cut])
        kind, attrs, axes, real = move(chain, rng)
        (out,) = RULES[kind].shape([chain.tensor], attrs)
        tensor = Tensor(0, out.shape, "act", "y", None, None, out.strides)
        after = Chain(tensor, real, axes, chain.sizes)
        yield kind, chain, out, after
        chain = after


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_random_chains_lie_in_memory_as_torch_lays_them(seed, named):
    """Sizes are primes, all different, so that products agree only where their names do."""
    rng = random.Random(seed)  # noqa: S311
    copies = 0
    for _ in range(300):
        for kind, before, out, after in steps(start(rng, named=named), rng):
            told = f"{kind}: {before.tensor.shape} -> {out.shape} at {after.sizes}, strides {before.real.stride()}"
            assert tuple(evaluate(s, after.sizes) for s in out.shape) == tuple(after.real.shape), told
            shares = after.real.untyped_storage().data_ptr() == before.real.untyped_storage().data_ptr()
            assert (out.view_of == 0) == shares, told
            ours = [evaluate(s, after.sizes) for s in strides_of(after.tensor)]
            matter = [i for i, size in enumerate(after.real.shape) if size > 1]
            assert [ours[i] for i in matter] == [after.real.stride(i) for i in matter], told
            copies += not shares
    assert copies > 20


@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("start_at", [0, 1])
def test_steps_have_torchs_sizes_and_strides(step, start_at):
    for n in range(4, 12):
        x = Tensor(0, (S, D), "input", "x")
        (out,) = views.shape_of_slice([x], {"ranges": ((start_at, S, step), (0, D, 1))})
        real = torch.zeros(n, 3)[start_at::step]
        assert evaluate(out.shape[0], {"s": n}) == real.shape[0]
        assert [evaluate(s, {"s": n, "d": 3}) for s in out.strides or ()] == list(real.stride())


def symbolic(*shape: Any) -> Symbolic:
    builder = Builder()
    return Symbolic(builder, builder.input(shape, "x"))


@pytest.mark.claim("S27")
def test_heads_split_and_merge():
    """Splitting heads is a view, exchanging axes too; merging them back in place is one, across others a copy."""
    x = symbolic(B, S, H * D)
    heads = x.reshape(B, S, H, D).permute(0, 2, 1, 3)
    assert heads.tensor.storage == x.id
    assert heads.reshape(B * H, S, D).tensor.storage is None
    back = heads.permute(0, 2, 1, 3).reshape(B, S, H * D)
    assert (back.tensor.storage, back.tensor.strides) == (x.id, None)


def test_only_what_copies_moves():
    x = symbolic(B, S, D)
    x.permute(1, 0, 2).reshape(S * B, D)
    x.reshape(B * S, D)
    permute, copy, view = x.builder.ops
    graph = x.builder.graph([copy.outputs[0]])
    assert [r.shape for r in rule_of(copy).reads(copy, graph)] == [(S, B, D)]
    assert [r.shape for r in rule_of(copy).writes(copy, graph)] == [(B * S, D)]
    for op in (permute, view):
        assert rule_of(op).reads(op, graph) == rule_of(op).writes(op, graph) == ()
    assert all(not rule_of(op).work(op, graph) for op in graph.ops)


def test_what_is_repeated_is_read_once():
    x = symbolic(S, 1, D)
    copy = x.expand(S, H, D).reshape(S, H * D)
    op = x.builder.ops[-1]
    graph = x.builder.graph([copy.id])
    assert [r.shape for r in rule_of(op).reads(op, graph)] == [(S, 1, D)]
    assert [r.shape for r in rule_of(op).writes(op, graph)] == [(S, H * D)]


CASES = {
    "reshape": ((2, 3, 4), {"shape": (6, 4)}),
    "permute": ((2, 3, 4), {"axes": (2, 0, 1)}),
    "expand": ((3, 1, 4), {"shape": (2, 3, 5, 4)}),
    "slice": ((5, 7), {"ranges": ((1, 5, 2), (0, 6, 1))}),
    "slice_backward": ((2, 6), {"ranges": ((1, 5, 2), (0, 6, 1)), "shape": (5, 7)}),
}


@pytest.mark.parametrize("kind", CASES)
def test_gradients_are_autograds(kind):
    shape, attrs = CASES[kind]
    gradients_agree(kind, [torch.randn(shape)], **attrs)


@pytest.mark.parametrize("kind", CASES)
def test_nothing_is_kept(kind):
    shape, attrs = CASES[kind]
    x = torch.randn(shape, requires_grad=True)
    if kind != "slice_backward":
        assert saved_bytes(lambda: apply(kind, x, **attrs)) == 0
    graph = symbolic_gradients(kind, [shape], **attrs)
    assert rule_of(graph.ops[0]).residuals(graph.ops[0], graph, (True,)) == ()


@pytest.mark.parametrize(
    ("kind", "shape", "attrs", "made"),
    [
        ("reshape", (B, S * D), {"shape": (B, S, D)}, ["reshape", "reshape"]),
        ("permute", (B, S, D), {"axes": (2, 0, 1)}, ["permute", "permute"]),
        ("expand", (S, 1), {"shape": (B, S, D)}, ["expand", "sum", "reshape"]),
        ("slice", (S, D), {"ranges": ((1, S, 2), (0, D - 1, 1))}, ["slice", "slice_backward"]),
    ],
)
def test_symbolic_gradients(kind, shape, attrs, made):
    assert [op.kind for op in symbolic_gradients(kind, [shape], **attrs).ops] == made


def test_the_gradient_of_a_slice_writes_zeros_and_its_place():
    graph = symbolic_gradients("slice", [(S, D)], ranges=((1, S, 1), (0, D, 1)))
    op = graph.ops[-1]
    assert [r.shape for r in rule_of(op).reads(op, graph)] == [(S - 1, D)]
    assert [r.shape for r in rule_of(op).writes(op, graph)] == [(S, D), (S - 1, D)]


def test_detach_passes_no_gradient():
    x = torch.randn(3, requires_grad=True)
    assert not apply("detach", x).requires_grad
    x = symbolic(B, S).permute(1, 0)
    cut_off = apply("detach", x)
    assert (cut_off.tensor.storage, cut_off.tensor.strides) == (0, x.tensor.strides)
    assert RULES["detach"].gradient.__name__ == "no_gradient"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x: x.reshape(B, S), r"\(b, s, d\) has b\*d\*s elements, \(b, s\) has b\*s"),
        (lambda x: x.reshape(-B, -S, D), "-b in"),
        (lambda x: x.reshape(B, 0, -1), "a size of 0"),
        (lambda x: x.reshape(-1, -1), "more than one -1"),
        (lambda x: x.permute(0, 1, 1), "not an order of the axes"),
        (lambda x: x.permute(0, 1, 5), "no axis 5"),
        (lambda x: x.transpose(0, 3), "no axis 3"),
        (lambda x: x.unsqueeze(5), "no axis 5"),
        (lambda x: x.squeeze(0), "not of size 1"),
        (lambda x: x.sum(3), "no axis 3"),
        (lambda x: x.expand(B, S, H), r"\(b, s, d\) cannot be repeated to \(b, s, h\)"),
        (lambda x: x.expand(-1, B, S, D), "cannot be repeated"),
        (lambda x: x[:, :, :1].expand(B, S, 0), "a size of 0"),
        (lambda x: x.permute(1, 0, 2).view(S * B, D), "reshape copies"),
    ],
)
def test_errors_name_shapes_and_the_line(wrong, said):
    with pytest.raises(ShapeError, match=said) as caught:
        wrong(symbolic(B, S, D))
    assert "test_views.py:" in str(caught.value)


def test_conditions_of_slices():
    x = symbolic(B, S)
    cut_off = x[:H, 3:].permute(1, 0)
    op = x.builder.ops[0]
    graph = x.builder.graph([cut_off.id])
    assert Condition("at_least", B, H) in rule_of(op).conditions(op, graph)
    assert [str(c) for c in graph.conditions] == ["s - 3 >= 1"]
    before = symbolic(B, S)
    last = before[:, -3:]
    op = before.builder.ops[0]
    assert last.tensor.shape == (B, 3)
    assert rule_of(op).conditions(op, before.builder.graph([last.id])) == [Condition("at_least", S - 3, 0)]


def test_every_pair_of_axes_transposes_as_in_torch():
    x, real = symbolic(B, S, D), torch.zeros(2, 3, 5)
    for i, j in itertools.product(range(-3, 3), repeat=2):
        shape = [evaluate(s, {"b": 2, "s": 3, "d": 5}) for s in x.transpose(i, j).tensor.shape]
        assert shape == list(real.transpose(i, j).shape)
