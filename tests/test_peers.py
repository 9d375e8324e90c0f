"""Each kind of work that other counters get wrong: figures as they were measured and derived, in multiply-accumulates.

The letters are those of the table of measurements: the same work given to eleven counters.
"""

from __future__ import annotations

from typing import Any

import einops
import pytest

import symacct as sa
from verify.rooms.worked import WORKED


def account(fn: Any, **options: Any) -> sa.Account:
    return sa.account(fn, **options)


def bilinear(x: "4 5", w: "6 5 7", y: "4 7") -> Any:
    return einops.einsum(x, w, y, "b i, o i j, b j -> b o")


def three_times(x: "4 8", w: "8 8") -> Any:
    return x @ w @ w @ w


def loop(x: "4 8", w: "8 8") -> Any:
    return sa.repeat(10, lambda h, w: h @ w, x, consts=w)


def choice(p: "", x: "4 8", w: "8 8") -> Any:
    return sa.cond(p > 0, lambda x, w: x @ w, lambda x, w: x @ w @ w, x, w)


def tied(tokens: "2 10", table: "100 32") -> Any:
    return sa.embedding(tokens, table) @ table.T


def untied(tokens: "2 10", table: "100 32", head: "100 32") -> Any:
    return sa.embedding(tokens, table) @ head.T


PRODUCTS = {
    "a1: a linear layer": (lambda: account(lambda x, w: x @ w, x="4 8", w="8 16"), 512),
    "a3, I1: rows of several axes": (lambda: account(lambda x, w: x @ w, x="5 10 3", w="3 8"), 1_200),
    "a5: an einsum": (lambda: sa.account("b d, d k -> b k", b=4, d=8, k=16), 512),
    "c1: three operands from the left": (lambda: sa.account("b i, i j, j k -> b k", b=4, i=8, j=16, k=2), 640),
    "c1: in the best order": (lambda: sa.account("b i, i j, j k -> b k", b=4, i=8, j=16, k=2, order="best"), 320),
    "c2: an outer product sums nothing": (lambda: sa.account("b i, b j -> b i j", b=4, i=8, j=16), 0),
    "c3: scores": (lambda: sa.account("b h q d, b h k d -> b h q k", b=2, h=8, q=64, k=64, d=16), 1_048_576),
    "F7: whole at any size": (lambda: sa.account("a b, b c -> a c", a=123, b=457, c=891), 123 * 457 * 891),
    "j1: two vectors": (lambda: account(lambda x, y: x @ y, x="8", y="8"), 8),
    "j2: a matrix and a vector": (lambda: account(lambda x, y: x @ y, x="4 8", y="8"), 32),
    "j3: batches that broadcast": (lambda: account(lambda x, y: x @ y, x="2 1 4 8", y="3 8 5"), 960),
    "j4: a batch and what is added": (lambda: account(lambda c, x, y: c + x @ y, c="2 4 5", x="2 4 8", y="2 8 5"), 320),
    "j5: a lookup": (lambda: account(sa.embedding, index="2 10", weight="50 32"), 0),
    "j6: one weight, three calls": (lambda: account(three_times), 3 * 4 * 8 * 8),
    "j8: bilinear": (lambda: account(bilinear), 1_008),
    "J1: a loop of ten": (lambda: account(loop), 2_560),
    "T14: the dearer branch": (lambda: account(choice), 512),
    "M1: a tied head": (lambda: account(tied), 2 * 10 * 32 * 100),
    "M1: as an untied one": (lambda: account(untied), 2 * 10 * 32 * 100),
}


@pytest.mark.parametrize("what", PRODUCTS)
def test_products(what: str) -> None:
    """Two operations a multiply-accumulate, one of it under mac."""
    made, macs = PRODUCTS[what]
    assert made().matmul_flops == 2 * macs


def layer(name: str, **sizes: int) -> Any:
    return WORKED[name].account(sizes=sizes).matmul_flops


LAYERS = {
    "d1: an encoder's layer": (lambda: layer("transformer", b=2, s=10, d=32, h=4, k=8, f=64), 176_640),
    "e1, H1: attention": (lambda: layer("multi_head_attention", b=2, s=10, d=32, h=4, k=8), 94_720),
    "F4: with other heads": (lambda: layer("multi_head_attention", b=2, s=10, d=32, h=8, k=4), 94_720),
    "e3: across 20 keys": (lambda: layer("cross_attention", b=2, s=10, t=20, d=32, e=32, h=4, k=8), 148_480),
    "f2: a block of GPT-2": (lambda: layer("transformer", b=2, s=32, d=64, h=4, k=16, f=256), 3_407_872),
    "g1: an LSTM": (lambda: layer("lstm", b=3, s=5, d=8, h=16), 23_040),
    "g2: two layers, both ways": (
        lambda: 2 * layer("lstm", b=3, s=5, d=8, h=16) + 2 * layer("lstm", b=3, s=5, d=32, h=16),
        138_240,
    ),
    "g3: one step of it": (lambda: layer("lstm", b=3, s=1, d=8, h=16), 4_608),
    "g4: a GRU": (lambda: layer("gru", b=3, s=5, d=8, h=16), 17_280),
}


@pytest.mark.parametrize("what", LAYERS)
def test_layers(what: str) -> None:
    made, macs = LAYERS[what]
    assert made() == 2 * macs


TOTALS = {
    "a2: a bias is one add an output": (lambda x, w, b: x @ w + b, {"x": "4 8", "w": "8 16", "b": "16"}, 1024 + 64),
    "c2: one multiply an element": (lambda x, y: x[:, :, None] * y[:, None], {"x": "4 8", "y": "4 16"}, 512),
    "i4: element by element": (lambda x: x * 2 + x, {"x": "1024"}, 2_048),
    "F5: as large as what it is broadcast to": (lambda x, y: x * y, {"x": "4 1 8", "y": "5 1"}, 160),
    "D7: alpha is a multiply more": (lambda x, y: x + 3 * y, {"x": "4 8", "y": "4 8"}, 64),
}


@pytest.mark.parametrize("what", TOTALS)
def test_totals(what: str) -> None:
    fn, shapes, flops = TOTALS[what]
    assert account(fn, **shapes).flops == flops


def test_sums_and_running_sums_are_n_minus_1_each() -> None:
    """J4: of rows of 32, four of them."""
    for fn in (lambda x: x.sum(-1), lambda x: sa.cumsum(x, -1)):
        assert account(fn, x="4 32", convention="exact").flops == 4 * 31


def attend(q: "2 8 64 16", k: "2 8 64 16", v: "2 8 64 16") -> Any:
    return sa.scaled_dot_product_attention(q, k, v, is_causal=True)


def windowed(q: "2 8 64 16", k: "2 8 64 16", v: "2 8 64 16") -> Any:
    return sa.scaled_dot_product_attention(q, k, v, is_causal=True, window=8)


def grouped(q: "2 8 64 16", k: "2 2 64 16", v: "2 2 64 16") -> Any:
    return sa.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def test_pairs_of_queries_and_keys() -> None:
    """b1 to b3, M5: all, half, those let through, those in a window, and by the heads of queries: walked one by one."""
    walked = sum(j <= i for i in range(64) for j in range(64))
    near = sum(0 <= i - j < 8 for i in range(64) for j in range(64))
    assert account(attend).matmul_flops == 2 * 2_097_152
    assert account(attend, convention="2n, attention=half").matmul_flops == 2_097_152
    assert account(attend, convention="2n, attention=exact").matmul_flops == 2_129_920 == 4 * 2 * 8 * 16 * walked
    assert account(windowed).matmul_flops == 4 * 2 * 8 * 16 * near
    assert account(grouped).matmul_flops == 2 * 2_097_152
    assert account(grouped, fuse="flash").bytes == 2 * (2 * 2 * 8 * 64 * 16 + 2 * 2 * 2 * 64 * 16)


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
def test_convolutions_in_groups_forward_and_backward(groups: int) -> None:
    """Three times 2*230,400/g: torch's counter says 921,600 where 691,200 is right."""

    def conv(x: "2 8 10 10", w: Any) -> Any:
        return sa.conv2d(x, w, padding=1, groups=groups)

    made = account(conv, w=f"16 {8 // groups} 3 3", params=["w"])
    assert made.training(wrt=["x", "w"]).matmul_flops == 1_382_400 // groups


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions_forward_and_backward(groups: int) -> None:
    """By the size of the input: three times 2*21,600/g."""

    def conv(x: "1 8 5 10", w: Any) -> Any:
        return sa.conv_transpose2d(x, w, stride=2, groups=groups)

    made = account(conv, w=f"8 {6 // groups} 3 3", params=["w"])
    assert made.matmul_flops == 2 * 21_600 // groups
    assert made.training(wrt=["x", "w"]).matmul_flops == 129_600 // groups


def test_training_a_block_is_three_times_its_forward() -> None:
    """2.1: 20,447,232; with the last weight alone trained, its gradient and the forward."""
    block = WORKED["transformer"].account(sizes={"b": 2, "s": 32, "d": 64, "h": 4, "k": 16, "f": 256})
    inputs = ["x", *WORKED["transformer"].params]
    assert block.training(wrt=inputs).matmul_flops == 20_447_232
    assert block.training(wrt=["down"]).matmul_flops == 8_912_896


def test_training_an_lstm_is_three_times_its_forward() -> None:
    """Where the states and the inputs need gradients too: torch's counter says 0."""
    made = WORKED["lstm"].account(sizes={"b": 3, "s": 5, "d": 8, "h": 16})
    inputs = ["x", "hidden", "memory", *WORKED["lstm"].params]
    assert made.training(wrt=inputs).matmul_flops == 3 * 46_080


def test_convolutions_without_a_batch_and_without_padding() -> None:
    """h6; and the taps of a 10 by 10 image that do not fall on padding, 28*28 of 30*30."""
    conv = account(lambda x, w: sa.conv1d(x, w, padding=1), x="8 10", w="16 8 3")
    assert conv.matmul_flops == 2 * 3_840
    image = account(lambda x, w: sa.conv2d(x, w, padding=1), x="2 8 10 10", w="16 8 3 3")
    assert image.matmul_flops == 460_800
    exact = account(lambda x, w: sa.conv2d(x, w, padding=1), x="2 8 10 10", w="16 8 3 3", convention="padding=exact")
    assert exact.matmul_flops == 401_408


def test_twice_as_long_is_more_than_twice() -> None:
    """C1: the pairs are quadratic."""
    one, two = (layer("transformer", b=1, s=s, d=4096, h=32, k=128, f=16384) for s in (8_192, 16_384))
    assert two - 2 * one == 2 * 4 * 4096 * 8_192**2


def test_parameters_count_once_a_tensor() -> None:
    """M1, H8: a table that is also the head."""
    assert account(tied, params=["table"]).params == 3_200
    assert account(untied, params=["table", "head"]).params == 6_400
