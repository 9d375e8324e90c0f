"""Networks whose memory is worked out by hand in the tests."""

from __future__ import annotations

import symacct as sa


def deep(x: "b d", w: "L d d"):
    """The lecture's deep network."""
    return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)


def gelus(x: "b d", w: "L d d"):
    return sa.repeat("L", lambda h, w: sa.gelu(h @ w), x, xs=w)


def mlp(x: "b d", up: "d f", down: "f k"):
    return (sa.relu(x @ up) @ down).sum()


DEEP = sa.account(deep, params=["w"])
GELUS = sa.account(gelus, params=["w"])
MLP = sa.account(mlp, params=["up", "down"])
