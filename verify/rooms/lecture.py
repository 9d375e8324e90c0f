"""The lecture's own examples, executed: shapes, counts and orders of elements as it prints them."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import symacct as sa
from symacct.testing.counting import Counted, array, totals
from symacct.testing.loops import run
from verify.check import Check, agree, number


class Product(NamedTuple):
    """A product of the lecture: its pattern and sizes, the shape that comes out, and the FLOPs it prints."""

    text: str
    sizes: dict[str, int]
    shape: tuple[int, ...]
    flops: int


def product_agrees(case: Product) -> None:
    agree(number(sa.flops(case.text), case.sizes), case.flops, f"flops of {case.text!r} at {case.sizes}")
    ran = run(case.text, case.sizes, way="2n")
    agree(sum(totals(ran.calls).values()), case.flops, f"counted operations of {case.text!r}")
    agree(ran.shape, case.shape, f"shape of {case.text!r}")


def torch_agrees(case: Product) -> None:
    """Names in the lecture's order; torch's counter, and the shape that torch yields."""
    import einops
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    operands = [torch.ones([case.sizes[n] for n in part.split()]) for part in case.text.split(" -> ")[0].split(",")]
    with torch.backends.opt_einsum.flags(enabled=False), FlopCounterMode(display=False) as counter:
        out = einops.einsum(*operands, case.text)
    agree(tuple(out.shape), case.shape, f"shape of {case.text!r}")
    agree(case.flops, counter.get_total_flops(), f"flops of {case.text!r} by torch's counter")


def ellipsis_agrees(batch: tuple[int, ...]) -> None:
    """Any number of batch axes, each counted once."""
    import einops
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    pattern, sizes = "... seq1 hidden, ... seq2 hidden -> ... seq1 seq2", {"seq1": 3, "seq2": 5, "hidden": 4}
    x, y = (torch.ones(*batch, sizes[n], sizes["hidden"]) for n in ("seq1", "seq2"))
    with FlopCounterMode(display=False) as counter:
        einops.einsum(x, y, pattern)
    points = torch.ones(batch).numel()
    ours = number(sa.flops(pattern), {**sizes, "batch": points})
    agree(ours, counter.get_total_flops(), f"flops with batch axes {batch}")


def sum_agrees(case: tuple[str, int]) -> None:
    """reduce(x, "... hidden -> ...", "sum") on (2, 3, 4): 18 additions, 24 when each element counts."""
    import numpy as np

    convention, expected = case
    ours = number(sa.flops("... hidden -> ...", convention=convention), {"batch": 6, "hidden": 4})
    agree(ours, expected, f"a sum of (2, 3, 4) over its last axis under {convention}")
    calls: Counter[str] = Counter()
    np.add.reduce(array(np.ones((2, 3, 4), dtype=int), calls), axis=-1)
    agree(18, calls["add"], "additions that numpy.add.reduce executes")


def heads_agree(heads: int) -> None:
    """Splitting (heads hidden1) is a view and costs nothing; the shared w costs 192 for two heads of 8 in 3 places."""
    import einops
    import torch

    total, places = 8, 3
    x = torch.arange(places * total, dtype=torch.float32).reshape(places, total)
    split = einops.rearrange(x, "s (heads hidden1) -> s heads hidden1", heads=heads)
    agree(split.data_ptr(), x.data_ptr(), "memory of the split tensor: a view")
    width = total // heads
    expected = [[[s * total + h * width + i for i in range(width)] for h in range(heads)] for s in range(places)]
    agree(split.tolist(), expected, "the last name inside parentheses runs fastest")
    agree(sa.flops("s (heads hidden1) -> s heads hidden1"), 0, "flops of a split")
    form = sa.flops(
        "... (heads hidden1), hidden1 hidden2 -> ... (heads hidden2)",
        sizes={"hidden1": "total/heads", "hidden2": "total/heads"},
    )
    work = 2 * places * heads * width * width
    sizes = {"batch": places, "heads": heads, "total": total}
    agree(number(form, sizes), work, f"flops of the shared w with {heads} heads of {total}")
    seen = run("b (h i), i o -> b (h o)", {"b": places, "h": heads, "i": width, "o": width}, way="2n")
    agree(sum(totals(seen.calls).values()), work, "counted operations of the shared w")


def parameters_agree(case: tuple[int, int, int]) -> None:
    """2 x data points x parameters: P = D*K put in for D."""
    b, d, k = case
    form = sa.flops("b d, d k -> b k", d="P/k")
    agree(number(form, {"b": b, "k": k, "P": d * k}), 2 * b * d * k, "2*b*d*k with d = P/k")
    agree(str(form), "2*P*b", "2*b*d*k with d = P/k")
    seen = totals(run("b d, d k -> b k", {"b": b, "d": d, "k": k}, way="2n").calls)
    parameters = len([(i, j) for i in range(d) for j in range(k)])
    agree(2 * b * parameters, seen["FLOP"], "2 * data points * parameters")


def classical_agrees(_: Any) -> None:
    """Two by two: the classical 8 multiplies and 4 additions are counted, not Strassen's 7 and 18."""
    ours = int(sa.flops("i k, k j -> i j", convention="exact", i=2, k=2, j=2))
    agree(ours, 12, "a 2 by 2 product")
    calls: Counter[str] = Counter()
    a, b, c, d, e, f, g, h = (Counted(v, calls) for v in (1, 2, 3, 4, 5, 6, 7, 8))
    m1, m2, m3 = (a + d) * (e + h), (c + d) * e, a * (f - h)
    m4, m5, m6, m7 = d * (g - e), (a + b) * h, (c - a) * (e + f), (b - d) * (g + h)
    out = [m1 + m4 - m5 + m7, m3 + m5, m2 + m4, m1 - m2 + m3 + m6]
    agree([x.value for x in out], [19, 22, 43, 50], "Strassen's product")
    agree((calls["mul"], calls["add"] + calls["sub"]), (7, 18), "Strassen's multiplies and additions")


_SCORES = "batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2"
_WRITTEN = (
    Product("b i d, b j d -> b i j", {"b": 2, "i": 2, "j": 2, "d": 3}, (2, 2, 2), 48),
    Product("seq1 hidden, hidden seq2 -> seq1 seq2", {"seq1": 3, "hidden": 4, "seq2": 3}, (3, 3), 72),
    Product(_SCORES, {"batch": 2, "seq1": 3, "seq2": 3, "hidden": 4}, (2, 3, 3), 144),
)

CHECKS = (
    Check(
        "the lecture's products",
        "48, 72 and 144 FLOPs",
        "plain loops over numbers that count their operations",
        product_agrees,
        fixed=_WRITTEN,
        claims=("S21", "S22", "S23"),
    ),
    Check(
        "the lecture's products in torch",
        "48, 72 and 144 FLOPs; shapes",
        "einops.einsum under torch's counter",
        torch_agrees,
        fixed=_WRITTEN,
        claims=("S21", "S22", "S23"),
        needs=("torch",),
    ),
    Check(
        "batch axes",
        "2*batch*hidden*seq1*seq2, batch the product of the axes in ...",
        "einops.einsum under torch's counter with none to three batch axes",
        ellipsis_agrees,
        fixed=((), (2,), (2, 7), (2, 7, 3)),
        claims=("S24",),
        needs=("torch",),
    ),
    Check(
        "a sum over the last axis",
        "18 additions, or 24 at one an element",
        "numpy.add.reduce over numbers that count their operations",
        sum_agrees,
        fixed=(("exact", 18), ("2n", 24)),
        claims=("S26",),
    ),
    Check(
        "heads split and merged",
        "0 for the view, 192 for the shared w, heads * hidden1 = 8",
        "memory and element order in torch, counted loops",
        heads_agree,
        fixed=(2, 4, 1),
        claims=("S27",),
        needs=("torch",),
    ),
    Check(
        "2 x data points x parameters",
        "flops with d = P/k is 2*b*P",
        "counted loops",
        parameters_agree,
        fixed=((4, 5, 7), (3, 8, 5)),
        claims=("S31", "S32"),
    ),
    Check(
        "the classical algorithm",
        "adds and multiplies are one each; 12 for a 2 by 2 product",
        "Strassen's algorithm executed: 25",
        classical_agrees,
        fixed=(None,),
        claims=("S35",),
    ),
)
