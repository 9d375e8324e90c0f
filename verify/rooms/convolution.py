"""Convolutions and pooling against loops over windows and taps; values by torch."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

import symacct as sa
from symacct.conventions import Convention, tally
from symacct.errors import InconclusiveError, ShapeError
from symacct.expr import evaluate, name, product
from symacct.graph import Graph, Op, Tensor
from symacct.rules import FORMULAS, RULES
from symacct.rules.convolution import window_count
from symacct.rules.pooling import hanging_count
from verify.check import Check, DisagreementError, agree
from verify.sliding import POOLS, Case, Place, Sums, conv_run, pool_run, result_shape

KINDS = ("conv", "conv_transpose", "conv_backward_weight")
MODES = ("numbers", "places", "gradient", "kernel", "padding", "kernel and padding")
"""What has a name: nothing; batch and what is given, elements or windows of a transposed one; elements also where they
are the output, as in a gradient; the window."""
STEPS = ("stride", "dilation")
"""Or how it slides: where both are more than 1, taps that share a place have no closed form."""


def shapes_of(case: Case) -> list[Place]:
    """The shapes of the operands."""
    windows = case.windows()
    if case.kind in POOLS:
        pooled, made = (case.batch, 1, *case.n), (case.batch, 1, *windows)
        return {"max_pool_backward": [made, pooled], "avg_pool_backward": [made]}.get(case.kind, [pooled])
    per, out_per = case.channels
    x, grad = (case.batch, case.groups * per, *case.n), (case.batch, case.groups * out_per, *windows)
    w = (case.groups * out_per, per, *case.kernel)
    shapes = {"conv": [x, w], "conv_transpose": [grad, w], "conv_backward_weight": [x, grad]}[case.kind]
    return [*shapes, (result_shape(case)[1],)] if case.bias else shapes


def attrs_of(case: Case) -> dict[str, Any]:
    extra: dict[str, Any] = {} if case.kind in POOLS else {"groups": case.groups}
    if case.kind in POOLS or case.kind == "conv_backward_weight":
        extra["kernel"] = case.kernel
    if case.kind in ("conv_transpose", "max_pool_backward", "avg_pool_backward"):
        extra["sizes"] = case.n
    if case.kind.startswith("avg"):
        extra["count_include_pad"] = True
    return {**case.geometry, **extra}


def graph_of(case: Case, mode: str) -> Graph:
    shapes: list[Any] = [list(s) for s in shapes_of(case)]
    attrs = attrs_of(case)
    if mode != "numbers":
        attrs |= _named(case, shapes, mode)
    inputs = [Tensor(i, tuple(s), "input", f"operand {i + 1}") for i, s in enumerate(shapes)]
    outs = RULES[case.kind].shape(inputs, attrs)
    made = [Tensor(len(inputs) + i, o.shape, "output", "output", o.dtype) for i, o in enumerate(outs)]
    ids = tuple(t.id for t in inputs), tuple(t.id for t in made)
    return Graph((*inputs, *made), (Op(0, case.kind, *ids, attrs=attrs),), *ids)


def _named(case: Case, shapes: list[Any], mode: str) -> dict[str, Any]:
    """Put names into shapes; return the attributes that have some. What follows from a name is an expression in it."""
    for shape in shapes[:1] if case.kind in ("conv", "conv_transpose") else shapes:
        shape[0] = name("b")
    rank = len(case.n)
    spread = case.kind in ("conv_transpose", "avg_pool_backward", "max_pool_backward")
    n = [name(f"n{i}") for i in range(rank)] if mode in ("places", "gradient") else list(case.n)
    kernel = [name(f"k{i}") for i in range(rank)] if "kernel" in mode else list(case.kernel)
    padding = [name(f"p{i}") for i in range(rank)] if "padding" in mode else list(case.padding)
    stride, dilation = (
        [name(f"{what[0]}{i}") for i in range(rank)] if mode == what else list(getattr(case, what)) for what in STEPS
    )
    count = hanging_count if case.ceil else window_count
    windows = [count(*axis) for axis in zip(n, kernel, stride, padding, dilation, strict=True)]
    if spread and mode == "places":
        windows = [name(f"w{i}") for i in range(rank)]
        n = [m + (w - at) * s for m, w, at, s in zip(case.n, windows, case.windows(), case.stride, strict=True)]
    shapes[0][-rank:] = windows if spread else n
    if case.kind == "conv_backward_weight":
        shapes[1][-rank:] = windows
    elif case.kind == "max_pool_backward":
        shapes[1][-rank:] = n
    elif case.kind in ("conv", "conv_transpose"):
        shapes[1][-rank:] = kernel
    attrs = {"padding": tuple(padding), "kernel": tuple(kernel), "sizes": tuple(n)}
    attrs |= {"stride": tuple(stride), "dilation": tuple(dilation)}
    return {key: value for key, value in attrs.items() if key in attrs_of(case)}


def sizes_of(case: Case) -> dict[str, int]:
    values = {"n": case.n, "w": case.windows(), "k": case.kernel, "p": case.padding}
    values |= {"s": case.stride, "d": case.dilation}
    return {"b": case.batch, **{f"{letter}{i}": v for letter, each in values.items() for i, v in enumerate(each)}}


def agrees(case: Case) -> None:
    if any(w < 1 for w in case.windows()) or not _allowed(case):
        return
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=s) for s in shapes_of(case)]
    expected = _torch(case, arrays)
    for way, real in itertools.product(("2n", "exact"), (False, True)):
        m = Sums(way, real=real)
        made = (pool_run if case.kind in POOLS else conv_run)(case, m, arrays)
        if not np.allclose(made, expected, rtol=1e-5, atol=1e-7):
            msg = f"the loops of {case} yield {made}, not {expected}"
            raise DisagreementError(msg)
        convention = Convention(way, padding="exact" if real else "nominal")
        for mode in (*(MODES if all(case.padding) else MODES[:4]), *STEPS):  # a name is at least 1
            _form_agrees(case, mode, convention, sum(m.calls.values()))


def _form_agrees(case: Case, mode: str, convention: Convention, calls: int) -> None:
    try:
        graph, sizes, rule = graph_of(case, mode), sizes_of(case), RULES[case.kind]
    except ShapeError:
        if case.ceil and mode not in case.forms:
            return  # whether a last window is left out depends on a name
        raise
    (op,) = graph.ops
    what = f"{case} with names for {mode} under {convention.label}"
    agree([evaluate(s, sizes) for s in graph.tensors[-1].shape], list(result_shape(case)), f"shape of {what}")
    asked = [c for c in rule.conditions(op, graph) if c.kind == "at_least"]
    if not all(evaluate(c.left, sizes) >= evaluate(c.right, sizes) for c in asked):
        return
    try:
        counted = tally(rule.work(op, graph), convention, FORMULAS).get("FLOP", 0)
    except InconclusiveError:
        if mode in case.forms or (convention.padding == "nominal" and mode not in STEPS):
            raise DisagreementError(f"there is no closed form of {what}") from None
        return
    agree(evaluate(counted, sizes), calls, f"flops of {what}")
    moved = [*rule.reads(op, graph), *rule.writes(op, graph)]
    agree([m.row for m in moved], [(len(m.shape) - 1,) for m in moved], f"rows of what {what} moves")
    ours, theirs = [evaluate(product(m.shape), sizes) for m in moved], touched(case)
    if any(c.kind == "stated" for c in rule.conditions(op, graph)):  # that each element of an axis has a tap
        everything = [prod(s) for s in (*shapes_of(case), result_shape(case))]
        assert all(t <= o <= e for t, o, e in zip(theirs, ours, everything, strict=True)), what
    else:
        agree(ours, theirs, f"elements that {what} moves")
    if case.kind == "conv" and mode == "places" and _overlaps(case):
        agree(moved[0].shape, graph.tensors[0].shape, f"all that {what} reads, as a form")


def _overlaps(case: Case) -> bool:
    """Whether windows follow each other without a gap, and none is left out that would reach behind the elements."""
    axes = zip(case.kernel, case.stride, case.padding, case.dilation, strict=True)
    return all(d == 1 and s <= min(k, p + 1) for k, s, p, d in axes)


def uneven_agrees(case: tuple[int, int, int]) -> None:
    """A zero more behind the input than in front of it: taps on it are on padding."""
    n, kernel, dilation = case
    front = dilation * (kernel - 1) // 2
    real = sum(0 <= o + j * dilation - front < n for o in range(n) for j in range(kernel))
    made = sa.account(
        lambda x, w: sa.conv1d(x, w, padding="same", dilation=dilation),
        x=f"2 3 {n}",
        w=f"4 3 {kernel}",
        convention="padding=exact",
        params=["w"],
    )
    agree(made.matmul_flops, 2 * 2 * 3 * 4 * real, f"products of {case}, as uneven")
    agree(made.training(wrt=["x", "w"]).matmul_flops, 3 * 2 * 2 * 3 * 4 * real, f"products of a step of {case}, uneven")


def touched(case: Case) -> list[int]:
    """Elements of each operand and of the result: of what is slid over those that have a tap, of windows their like."""
    inside = [(window, place) for window, _, place in case.taps() if case.inside(place)]
    windows, places = (len(set(x)) for x in zip(*inside, strict=True)) if inside else (0, 0)
    shapes = [*shapes_of(case), result_shape(case)]
    parts = {"conv_transpose": {0: windows}, "conv_backward_weight": {0: places, 1: windows}}
    parts |= {"avg_pool_backward": {}, "max_pool_backward": {1: places}}
    seen = parts.get(case.kind, {0: places})
    return [prod(s[: -len(case.n)]) * seen[i] if i in seen else prod(s) for i, s in enumerate(shapes)]


def _allowed(case: Case) -> bool:
    """Pooling pads at most half a kernel, each window sees an element, and a mean has no dilation."""
    if case.kind not in POOLS:
        return True
    seen = {window for window, _, place in case.taps() if case.inside(place)}
    halves = all(2 * p <= k for p, k in zip(case.padding, case.kernel, strict=True))
    return halves and len(seen) == prod(case.windows()) and (set(case.dilation) == {1} or "max" in case.kind)


def _torch(case: Case, arrays: list[np.ndarray]) -> np.ndarray:
    import torch

    from symacct.eager import KINDS as RUN

    return RUN[case.kind](*(torch.tensor(a) for a in arrays), **attrs_of(case)).numpy()


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    rank = draw(st.integers(1, 2))

    def axes(low: int, high: int) -> Place:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    channels = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    bias = draw(st.booleans()) if kind in ("conv", "conv_transpose") else False
    first = (kind, draw(st.integers(1, 2)), draw(st.integers(1, 2)), channels)
    ceil = draw(st.booleans()) if kind in POOLS else False
    return Case(*first, axes(1, 5), axes(1, 3), axes(1, 3), axes(0, 2), axes(1, 2), (), bias, ceil)


def fixed(kind: str) -> tuple[Case, ...]:
    """Each kind of closed form; cases that a kind does not allow are passed over."""
    both = kind in ("conv", "conv_transpose")
    most = ("numbers", "places", "gradient")
    hanging = (
        Case(kind, 2, 1, (1, 1), (8,), (3,), (2,), (1,), (1,), most, ceil=True),
        Case(kind, 1, 1, (1, 1), (7, 6), (2, 3), (2, 2), (0, 0), (1, 1), most, ceil=True),
        Case(kind, 1, 1, (1, 1), (5,), (2,), (3,), (1,), (1,), ("numbers",), ceil=True),
        Case(kind, 1, 1, (1, 1), (9,), (2,), (3,), (0,), (1,), ("numbers",), ceil=True),
        Case(kind, 1, 1, (1, 1), (10,), (3,), (3,), (0,), (1,), most, ceil=True),
        Case(kind, 1, 1, (1, 1), (5,), (2,), (2,), (0,), (2,), most, ceil=True),
        Case(kind, 1, 1, (1, 1), (1,), (1,), (2,), (0,), (2,), ("numbers",), ceil=True),
    )
    slid = (
        Case(kind, 1, 1, (1, 1), (9,), (3,), (2,), (0,), (1,), (*MODES[:4], "stride")),
        Case(kind, 1, 1, (1, 1), (9,), (3,), (1,), (0,), (2,), (*MODES[:4], "dilation")),
    )
    return (
        *(hanging if kind in POOLS else ()),
        *slid,
        Case(kind, 2, 2, (2, 3), (5,), (3,), (1,), (1,), (1,), MODES, both),
        Case(kind, 2, 1, (1, 2), (7, 4), (3, 2), (2, 1), (1, 0), (1, 1), most),
        Case(kind, 1, 2, (1, 1), (8,), (2,), (3,), (0,), (1,), most, both),
        Case(kind, 1, 1, (2, 1), (9,), (3,), (2,), (1,), (2,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (6,), (3,), (2,), (2,), (2,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (2,), (3,), (1,), (2,), (2,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (1,), (3,), (1,), (1,), (1,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (4,), (2,), (1,), (3,), (1,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (9,), (4,), (1,), (2,), (1,), MODES),
        Case(kind, 1, 1, (1, 1), (6,), (2,), (3,), (1,), (1,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (6,), (3,), (3,), (1,), (1,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (6,), (3,), (1,), (3,), (2,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (1,), (1,), (1,), (0,), (2,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (1,), (2,), (1,), (1,), (2,)),
        # windows further apart than padding, of which several taps fall on the same places; taps further than elements
        *(Case(kind, 1, 1, (1, 1), (n,), (6,), (3,), (1,), (1,), ("numbers",)) for n in (12, 13, 14)),
        *(Case(kind, 1, 1, (1, 1), (n,), (5,), (4,), (1,), (2,), ("numbers",)) for n in (13, 15)),
        *(Case(kind, 1, 1, (1, 1), (n,), (5,), (2,), (1,), (3,), ("numbers",)) for n in (15, 16)),
        Case(kind, 1, 1, (1, 1), (1,), (2,), (1,), (2,), (3,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (2,), (3,), (2,), (4,), (3,), ("numbers",)),
        Case(kind, 1, 1, (1, 1), (2,), (2,), (3,), (5,), (4,), ("numbers",)),
    )


CHECKS = (
    Check(
        "uneven padding",
        "work of a convolution with padding='same' and an even kernel",
        "taps counted one by one",
        uneven_agrees,
        fixed=tuple((n, kernel, dilation) for n in (5, 8) for kernel in (2, 3, 4) for dilation in (1, 2, 3)),
        proves=KINDS,
    ),
    *(
        Check(
            kind,
            f"work, reads, writes and shapes of {kind}, taps on padding counted or not",
            "loops over windows and taps on numbers that count; values by torch",
            agrees,
            cases(kind),
            fixed(kind),
            proves=(kind,),
            needs=("torch",),
            share=0.1,
        )
        for kind in (*KINDS, *POOLS)
    ),
)
