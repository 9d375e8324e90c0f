"""Attention pair by pair on numbers that count, visiting some pairs or all; the same by whole arrays."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from symacct.testing.counting import Counted, call
from verify.counted_arrays import Array

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
        out[b, h] = attend(m, head_of(case, arrays, b, h), visited, shown(case, arrays))[0]
    return out


def shown(case: Case, arrays: dict[str, Array]) -> Any:
    if case.mask == "bool":
        return lambda i, j: bool(arrays["mask"][i, j])
    return case.sees


def backward(case: Case, m: Tally, arrays: dict[str, Array], visited: Any, products: int) -> list[Array]:
    """The gradients of all heads: 4 products, or 5 where the weights are made again."""
    n = case.names
    terms: dict[tuple[Any, ...], list[Counted]] = {}
    for b, h in itertools.product(range(n["b"]), range(n["h"])):
        head = head_of(case, arrays, b, h)
        out, weights = attend(Tally("exact"), head, visited, shown(case, arrays))
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


def arrays_of(case: Case) -> dict[str, Array]:
    n, rng = case.names, np.random.default_rng(7)
    shapes = {"q": "bhsd", "k": "bgtd", "v": "bgte", "grad": "bhse"}
    out = {name: rng.normal(size=[n[a] for a in axes]) for name, axes in shapes.items()}
    out["mask"] = rng.normal(size=(n["s"], n["t"]))
    if case.mask == "bool":
        out["mask"] = out["mask"] < 1
        out["mask"][:, 0] = True
    return out


def plain_attention(case: Case, arrays: dict[str, Array], q: Array, k: Array, v: Array) -> Array:
    """Attention by whole arrays."""
    n = case.names
    k, v = (np.repeat(x, n["h"] // n["g"], axis=1) for x in (k, v))
    scores = np.einsum("bhsd,bhtd->bhst", q, k) * SCALE
    if case.mask == "numbers":
        scores = scores + arrays["mask"]
    sees = shown(case, arrays)
    seen = np.array([[sees(i, j) for j in range(n["t"])] for i in range(n["s"])])
    e = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    total = e.sum(-1, keepdims=True)
    return np.einsum("bhst,bhte->bhse", e / np.where(total == 0, 1, total), v)
