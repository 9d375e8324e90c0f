"""Attention pair by pair on numbers that count, with what each convention visits; rotary embedding."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from symacct.conventions import Convention, tally
from symacct.expr import evaluate
from symacct.rules import FORMULAS, RULES
from symacct.testing.counting import Counted, call
from verify.check import Check, DisagreementError, agree
from verify.counted_arrays import Array, Machine
from verify.one_op import one_op
from verify.programs import Kind, Variant, checks, difference

SCALE = 0.5
Rows = list[list[Any]]


class Case(NamedTuple):
    """Sizes: batch, query heads a key head, key heads, queries, keys, widths; and the mask."""

    sizes: tuple[int, int, int, int, int, int, int]
    causal: str | None = None
    window: int | None = None
    mask: str | None = None

    @property
    def names(self) -> dict[str, int]:
        b, r, g, s, t, d, e = self.sizes
        return {"b": b, "h": r * g, "g": g, "s": s, "t": t, "d": d, "e": e}

    @property
    def attrs(self) -> dict[str, Any]:
        align = self.causal or "top-left"
        return {
            "is_causal": self.causal is not None,
            "scale": SCALE,
            "enable_gqa": True,
            "align": align,
            "window": self.window,
        }

    def sees(self, i: int, j: int) -> bool:
        """Whether query i sees key j."""
        if self.causal is None:
            return True
        at = i + (self.names["t"] - self.names["s"] if self.causal == "bottom-right" else 0)
        return j <= at and (self.window is None or j > at - self.window)


class Head(NamedTuple):
    """What one head works on; what is added to its scores."""

    q: Rows
    k: Rows
    v: Rows
    bias: Rows | None


def head_of(case: Case, arrays: dict[str, Array], b: int, h: int) -> Head:
    g = h * case.names["g"] // case.names["h"]
    bias = arrays["mask"].tolist() if case.mask == "numbers" else None
    return Head(arrays["q"][b, h].tolist(), arrays["k"][b, g].tolist(), arrays["v"][b, g].tolist(), bias)


class Tally:
    """What a run executes: for pairs, and for whole rows."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.pairs: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    def total(self, terms: Sequence[Counted], calls: Counter[str], join: Any = lambda a, b: a + b) -> Any:
        """Sum terms from the first one, or from zero."""
        values = [Counted(t.value, calls) for t in terms]
        out = values.pop(0) if self.way == "exact" else Counted(-1e30 if join is largest else 0.0, calls)
        for value in values:
            out = join(out, value)
        return out.value


def largest(a: Counted, b: Counted) -> Counted:
    return call("max", a, b)


def attend(m: Tally, head: Head, visited: Any, sees: Any) -> tuple[Rows, Rows]:
    """One head: outputs, and weights; pairs that are visited but not seen get the weight 0."""
    q, k, v, bias = head
    out, weights = [], []
    for i, query in enumerate(q):
        keys = [j for j in range(len(k)) if visited(i, j)]
        scores = [score(m, query, k[j], None if bias is None else bias[i][j]) for j in keys]
        scores = [x if sees(i, j) else -1e9 for x, j in zip(scores, keys, strict=True)]
        weights.append([0.0] * len(k))
        if not keys:
            out.append([0.0] * len(v[0]))
            continue
        counted = [Counted(x, m.pairs) for x in scores]
        top = m.total(counted, m.pairs, largest)
        exps = [call("exp", x - top) for x in counted]
        sums = m.total(exps, m.pairs)
        for j, x in zip(keys, exps, strict=True):
            share = x / sums
            weights[i][j] = share.value if sees(i, j) else 0.0
        out.append(
            [m.total([Counted(weights[i][j], m.pairs) * v[j][y] for j in keys], m.pairs) for y in range(len(v[0]))]
        )
    return out, weights


def score(m: Tally, query: list[float], key: list[float], bias: float | None) -> float:
    products = [Counted(x, m.pairs) * y for x, y in zip(query, key, strict=True)]
    scaled = Counted(m.total(products, m.pairs), m.pairs) * SCALE
    return (scaled if bias is None else scaled + bias).value


def forward(case: Case, m: Tally, arrays: dict[str, Array], visited: Any) -> Array:
    n = case.names
    out = np.zeros((n["b"], n["h"], n["s"], n["e"]))
    for b, h in itertools.product(range(n["b"]), range(n["h"])):
        out[b, h] = attend(m, head_of(case, arrays, b, h), visited, _shown(case, arrays))[0]
    return out


def _shown(case: Case, arrays: dict[str, Array]) -> Any:
    if case.mask == "bool":
        return lambda i, j: bool(arrays["mask"][i, j])
    return case.sees


def backward(case: Case, m: Tally, arrays: dict[str, Array], visited: Any, products: int) -> list[Array]:
    """The gradients of all heads: 4 products, or 5 where the weights are made again."""
    n = case.names
    terms: dict[tuple[Any, ...], list[Counted]] = {}
    for b, h in itertools.product(range(n["b"]), range(n["h"])):
        head = head_of(case, arrays, b, h)
        out, weights = attend(Tally("exact"), head, visited, _shown(case, arrays))
        for i, do in enumerate(arrays["grad"][b, h].tolist()):
            keys = [j for j in range(n["t"]) if visited(i, j)]
            if not keys:
                continue
            delta = m.total([Counted(x, m.rows) * y for x, y in zip(do, out[i], strict=True)], m.rows)
            for j in keys:
                if products == 5:
                    again = score(m, head.q[i], head.k[j], None if head.bias is None else head.bias[i][j])
                    call("exp", Counted(again, m.pairs) - max(again, 0.0))
                dp = m.total([Counted(x, m.pairs) * y for x, y in zip(do, head.v[j], strict=True)], m.pairs)
                ds = (Counted(dp, m.pairs) - delta) * weights[i][j] * SCALE
                g = h * n["g"] // n["h"]
                for y, x in enumerate(do):
                    terms.setdefault(("v", b, g, j, y), []).append(Counted(weights[i][j], m.pairs) * x)
                for y in range(n["d"]):
                    terms.setdefault(("q", b, h, i, y), []).append(ds * head.k[j][y])
                    terms.setdefault(("k", b, g, j, y), []).append(ds * head.q[i][y])
    grads = {name: np.zeros_like(arrays[name]) for name in "qkv"}
    for (name, *place), products_of in terms.items():
        grads[name][tuple(place)] = m.total(products_of, m.pairs)
    return [grads[name] for name in "qkv"]


def _arrays(case: Case) -> dict[str, Array]:
    n, rng = case.names, np.random.default_rng(7)
    shapes = {"q": "bhsd", "k": "bgtd", "v": "bgte", "grad": "bhse"}
    out = {name: rng.normal(size=[n[a] for a in axes]) for name, axes in shapes.items()}
    out["mask"] = rng.normal(size=(n["s"], n["t"]))
    if case.mask == "bool":
        out["mask"] = out["mask"] < 1
        out["mask"][:, 0] = True
    return out


def _plain(case: Case, arrays: dict[str, Array], q: Array, k: Array, v: Array) -> Array:
    """Attention by whole arrays."""
    n = case.names
    k, v = (np.repeat(x, n["h"] // n["g"], axis=1) for x in (k, v))
    scores = np.einsum("bhsd,bhtd->bhst", q, k) * SCALE
    if case.mask == "numbers":
        scores = scores + arrays["mask"]
    shown = _shown(case, arrays)
    seen = np.array([[shown(i, j) for j in range(n["t"])] for i in range(n["s"])])
    e = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    total = e.sum(-1, keepdims=True)
    return np.einsum("bhst,bhte->bhse", e / np.where(total == 0, 1, total), v)


def graph_of(kind: str, case: Case) -> Any:
    """The operation with names for its sizes, or with numbers where a condition of the closed form does not hold."""
    graph = _graph(kind, case, {n: n for n in case.names})
    (op,) = graph.ops
    asked = [c for c in RULES[kind].conditions(op, graph) if c.kind == "at_least"]
    holds = all(evaluate(c.left, case.names) >= evaluate(c.right, case.names) for c in asked)
    return graph if holds else _graph(kind, case, case.names)


def _graph(kind: str, case: Case, sizes: Mapping[str, str | int]) -> Any:
    q, k, v, rest = "bhsd", "bgtd", "bgte", ["st"] if case.mask else []
    axes = ["bhse", q, k, v, "bhse", "bhs", *rest] if kind == "sdpa_backward" else [q, k, v, *rest]
    graph = one_op(kind, [[sizes[a] for a in operand] for operand in axes], **case.attrs)
    if case.mask != "bool":
        return graph
    tensors = tuple(t._replace(dtype="bool") if t.id == len(axes) - 1 else t for t in graph.tensors)
    return graph._replace(tensors=tensors)


def attention_agrees(case: Case) -> None:
    """Run all pairs that a convention visits, by each way to sum; values are those of whole arrays."""
    arrays, n = _arrays(case), case.names
    expected = _plain(case, arrays, arrays["q"], arrays["k"], arrays["v"])
    grads = _gradients(case, arrays)
    for kind, products in (("sdpa", 4), ("sdpa_backward", 4), ("sdpa_backward", 5)):
        graph = graph_of(kind, case)
        (op,) = graph.ops
        work = RULES[kind].work(op, graph)
        for way, attention in itertools.product(("2n", "exact"), ("full", "exact")):
            m = Tally(way)
            skips = case.window is not None or attention == "exact"
            visited = case.sees if skips else lambda _i, _j: True
            if kind == "sdpa":
                made, wanted = [forward(case, m, arrays, visited)], [expected]
            else:
                made, wanted = backward(case, m, arrays, visited, products), grads
            _same(made, wanted, f"{kind} of {case}")
            convention = Convention(way, attention=attention, flash_backward=products)
            what = f"flops of {kind} of {case} under {convention.label}"
            agree(_number(work, convention, n), sum(m.pairs.values()) + sum(m.rows.values()), what)
            if case.causal and case.window is None and attention == "full" and way == "2n":
                half = Convention(way, attention="half", flash_backward=products)
                agree(_number(work, half, n), sum(m.pairs.values()) / 2 + sum(m.rows.values()), f"{what}, halved")
        _traffic(graph, n)


def _number(work: Any, convention: Convention, sizes: dict[str, int]) -> Any:
    return evaluate(tally(work, convention, FORMULAS)["FLOP"], sizes)


def _gradients(case: Case, arrays: dict[str, Array]) -> list[Array]:
    out = []
    for at, name in enumerate("qkv"):

        def run(x: Array, at: int = at) -> Array:
            operands = [arrays[n] for n in "qkv"]
            operands[at] = x
            return _plain(case, arrays, *operands)

        out.append(difference(run, arrays[name].copy(), arrays["grad"]))
    return out


def _same(made: Sequence[Array], wanted: Sequence[Array], what: str) -> None:
    for ours, theirs in zip(made, wanted, strict=True):
        if not np.allclose(ours, theirs, rtol=1e-4, atol=1e-6):
            msg = f"the loops of {what} yield {ours}, not {theirs}"
            raise DisagreementError(msg)


def _traffic(graph: Any, sizes: dict[str, int]) -> None:
    """Everything once: no scores."""
    (op,) = graph.ops
    moved = (*RULES[op.kind].reads(op, graph), *RULES[op.kind].writes(op, graph))
    ours = [(m.tensor, _at(m.shape, sizes), [_at(m.shape, sizes)[i] for i in m.row]) for m in moved]
    shapes = [_at(graph.tensors[i].shape, sizes) for i in (*op.inputs, *op.outputs)]
    agree(ours, [(i, s, s[-1:]) for i, s in enumerate(shapes)], f"what {op.kind} moves")


def _at(shape: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
    return [evaluate(s, sizes) for s in shape]


def rotated(m: Machine, x: Array, cos: Array, sin: Array, *, interleaved: bool, back: bool) -> Array:
    del m
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
    if back:
        turned = (first * cos + second * sin, second * cos - first * sin)
    else:
        turned = (first * cos - second * sin, second * cos + first * sin)
    return np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)


def turned(arrays: list[Array], *, interleaved: bool, back: bool) -> list[Array]:
    """By complex numbers."""
    x, cos, sin = arrays
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
    z = (first + 1j * second) * (cos + (-1j if back else 1j) * sin)
    parts = (z.real, z.imag)
    return [np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)]


ROTARY = Kind(
    rotated,
    turned,
    tuple(
        Variant((("b", "s", 6), axes, axes), {"interleaved": interleaved, "back": back})
        for axes, interleaved, back in ((("s", 3), False, False), (("b", "s", 3), True, True), ((3,), True, False))
    ),
    elements=lambda _variant, arrays: 3 * arrays[0].size,
)

CASES = st.builds(
    Case,
    st.tuples(*(st.integers(1, most) for most in (2, 2, 2, 5, 5, 3, 3))),
    st.sampled_from((None, "top-left", "bottom-right")),
).flatmap(
    lambda case: st.builds(
        case._replace,
        window=st.none() if case.causal is None else st.one_of(st.none(), st.integers(1, 6)),
        mask=st.sampled_from((None, "bool", "numbers")) if case.causal is None else st.none(),
    )
)

FIXED = (
    Case((2, 1, 3, 4, 5, 2, 3)),
    Case((1, 2, 2, 3, 5, 2, 3), mask="numbers"),
    Case((1, 2, 2, 3, 4, 3, 2), mask="bool"),
    Case((1, 2, 2, 3, 5, 2, 3), "top-left"),
    Case((1, 2, 1, 3, 5, 2, 3), "bottom-right"),
    Case((1, 2, 1, 4, 5, 2, 3), "top-left", 2),
    Case((2, 1, 2, 3, 6, 2, 1), "bottom-right", 2),
    Case((1, 1, 1, 5, 3, 2, 1), "top-left"),
    Case((1, 1, 1, 5, 3, 2, 1), "bottom-right"),
    Case((1, 1, 1, 6, 3, 2, 1), "top-left", 2),
    Case((1, 1, 1, 6, 3, 2, 1), "bottom-right", 2),
)

CHECKS = (
    Check(
        "attention",
        "work, reads and writes of sdpa and its gradient, by conventions of pairs and of products",
        "loops over the pairs that are visited, on numbers that count; values by whole arrays and by differences",
        attention_agrees,
        CASES,
        FIXED,
        proves=("sdpa", "sdpa_backward"),
        needs=("numpy",),
        share=0.03,
    ),
    *checks({"rotary": ROTARY}),
)
