"""Sizes that are written as text inside a function."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.expr import name, substitute

WRITTEN = {
    "pad": lambda x: sa.pad(x, (0, "q")),
    "top_k": lambda x: sa.top_k(x, "q")[0],
    "one_hot": lambda x: sa.one_hot(sa.argmax(x), "q"),
    "full": lambda x: sa.full(("q", "b + q"), 1.0, like=x),
    "arange": lambda x: sa.arange("2*q", like=x),
    "window": lambda x: sa.window_mask("b", "q", window="q", like=x),
    "reshape": lambda x: x.reshape("q", -1),
    "expand": lambda x: x[None].expand("q", -1, -1),
    "tile": lambda x: sa.tile(x, (1, "q")),
    "split": lambda x: sa.split(x, ["q", "s - q"], 1)[1],
    "roll": lambda x: sa.roll(x, "q", 0),
    "pool": lambda x: sa.avg_pool1d(x, "q"),
    "group_norm": lambda x: sa.group_norm(x[None], "q"),
    "repeat": lambda x: sa.repeat("q", sa.relu, x),
}


@pytest.mark.parametrize("fn", WRITTEN.values(), ids=WRITTEN)
def test_sizes_are_put_in_for_names_written_inside_too(fn):
    """As where they stand in a shape: what is named q, and nothing is left of s, which is exchanged with b."""
    named = sa.account(fn, x="b s").graph
    account = sa.account(fn, x="b s", q=2, b="s", s="b")
    assert "q" not in account.names
    put_in = {"q": 2, "b": name("s"), "s": name("b")}
    shapes = [tuple(substitute(n, put_in) for n in named.tensors[i].shape) for i in named.outputs]
    assert [account.graph.tensors[i].shape for i in account.graph.outputs] == shapes
