"""Graphs that others test on: every worked file, and small functions with what these lack."""

from __future__ import annotations

from pathlib import Path

import einops

import symacct as sa
from symacct.graph import Graph

GRAPHS = sorted((Path(__file__).parents[2] / "graphs").glob("*.py"))


def square(x: "b d"):
    return x * x, x + 1, 2.5 - x, sa.where(x > 0, x, -float("inf"))


def slices(x: "s d", t: int):
    first, rest = x[: x.shape[0] // 2], x[t:]
    return first + 1, einops.rearrange(rest, "s (h k) -> h s k", h=2), rest[-1, None]


def nested(x: "b d", w: "L 3 d d", v: "d d"):
    def block(h, layers, tied):
        inner = sa.repeat(3, lambda c, w: {"h": sa.relu(c["h"] @ w)}, {"h": h}, xs=layers)
        return inner["h"] @ tied

    return sa.repeat("L", block, x, xs=w, consts=v)


def choosing(p: "", x: "n n", y: "n"):
    def deep(x, y):
        return {"x": sa.repeat("m", lambda h: h @ h @ h, x), "y": y + y}

    def shallow(x, y):
        return {"y": y * 2, "x": sa.cond(y.sum() > 0, lambda x: x, lambda x: x @ x, x)}

    return sa.cond(p > 0, deep, shallow, x, y)


def unknown(x: "b d", w: "d k"):
    return sa.opaque("my kernel", [x, w], [(x.shape[0], 4 * w.shape[1])], dtype="fp32")


def looked_up(tokens: "b s", table: "v d"):
    return sa.log_softmax(table[tokens], dim=-1), sa.one_hot(tokens, 7)


def views(x: "b s d"):
    return einops.rearrange(x, "b s (h k) -> (b h) s k", k=4), x[..., :3].mT, x[:, 0].sum(0)


FUNCTIONS = (square, slices, nested, choosing, unknown, looked_up, views)


def function_graphs() -> dict[str, Graph]:
    return {fn.__name__: sa.account(fn).graph for fn in FUNCTIONS}


def worked_graphs() -> dict[str, Graph]:
    return {path.stem: sa.load_worked(path).account().graph for path in GRAPHS}


def all_graphs() -> dict[str, Graph]:
    return {**function_graphs(), **worked_graphs()}
