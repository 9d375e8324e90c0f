"""Networks whose repeats take and give several tensors, share some, or lie in each other; attention by its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import einops

import symacct as sa


def core(q: Any, k: Any, v: Any) -> Any:
    """What is recomputed where attention scores are not kept."""
    scores = einops.einsum(q, k, "b s h k, b t h k -> b h s t") * 0.5
    seen = sa.causal_mask(scores.shape[-1], like=scores)
    return einops.einsum(sa.softmax(sa.where(seen, scores, float("-inf"))), v, "b h s t, b t h k -> b s h k")


def attending(attend: Callable[..., Any], x: Any, w: Any) -> Any:
    """One layer of attention; queries, keys and values share a weight."""
    q, k, v = (einops.einsum(x, w[i], "b s d, d h k -> b s h k") for i in range(3))
    return x + einops.einsum(attend(q, k, v), w[3], "b s h k, d h k -> b s d")


def sums(x: "b d", y: "b d", w: "L d d") -> Any:
    """One carry is kept, the other is added up."""
    x, y = sa.repeat("L", lambda c, w: (sa.relu(c[0] @ w), c[1] + c[0]), (x, y), xs=w)
    return x * y


def balanced(x: "b d", w: "L d d", u: "d d") -> Any:
    """A loss of each turn is added up, as that of a mixture of experts."""

    def turn(carry: Any, w: Any) -> Any:
        h = sa.relu(carry[0] @ w)
        return h, carry[1] + (h * h).sum()

    h = x @ u
    h, loss = sa.repeat("L", turn, (h, h.sum()), xs=w)
    return h.sum() + loss


def from_one(x: "b d", w: "L d d", u: "d d") -> Any:
    """Both carries start in one memory."""
    h = sa.gelu(x @ u)
    h, g = sa.repeat("L", lambda c, w: (sa.relu(c[0] @ w), sa.tanh(c[1]) + c[0]), (h, h), xs=w)
    return h + g


def skipped(x: "b d", w: "L d d", u: "d d") -> Any:
    """What the first turn takes is used again after the last, and kept by that."""
    h = sa.relu(x @ u)
    return sa.repeat("L", lambda h, w: sa.relu(h @ w), h, xs=w) * h


def skipped_sum(x: "b d", w: "L d d", u: "d d") -> Any:
    """What the first turn takes is used again after the last, which does not keep it."""
    h = x @ u
    return sa.repeat("L", lambda h, w: sa.gelu(h) @ w, h, xs=w) + h


def conditioned(x: "b d", w: "L d d", u: "d d") -> Any:
    """Every turn adds one tensor, which autograd does not keep and recomputation needs."""
    return sa.repeat("L", lambda h, w, time: sa.gelu(h @ w + time), x, xs=w, consts=x @ u)


def learned(x: "b d", w: "L d d", start: "b d") -> Any:
    """The first turn takes a parameter, and every turn the input."""
    return sa.repeat("L", lambda h, w, x: sa.tanh(h @ w + x), start, xs=w, consts=x)


def nested(x: "b d", w: "L 2 d d") -> Any:
    """A repeat in each turn, of which the last turn returns what it keeps, or something is done with that."""

    def turn(h: Any, w: Any) -> Any:
        h = sa.repeat(2, lambda h, w: sa.relu(h @ w), h, xs=w)
        return sa.tanh(h @ w[0]) + sa.repeat(2, lambda h, w: sa.gelu(h @ w), h, xs=w)

    return sa.repeat("L", turn, x, xs=w)


def nested_alone(x: "b d", w: "L 2 d d") -> Any:
    """A turn is a repeat and nothing else."""
    return sa.repeat("L", lambda h, w: sa.repeat(2, lambda h, w: sa.relu(h @ w), h, xs=w), x, xs=w)


def in_a_row(x: "b d", w: "L d d", u: "L d d") -> Any:
    """Two repeats with an operation between them; segments begin anew."""
    h = sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
    return sa.repeat("L", lambda h, w: sa.gelu(h @ w), sa.silu(h), xs=u)


def in_a_row_skipped(x: "b d", w: "L d d", u: "d d", v: "L d d") -> Any:
    """What the first repeat returns, and keeps, passes the second one by."""
    h = sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
    return sa.repeat("L", lambda h, w: sa.gelu(h @ w), h @ u, xs=v) * h


def carried_over(x: "b d", w: "L d d", u: "d d", v: "L d d") -> Any:
    """A carry of both repeats passes the operation between them by."""
    h, m = sa.repeat("L", lambda c, w: (sa.relu(c[0] @ w), sa.tanh(c[1]) + c[0]), (x, x * 2), xs=w)
    h, m = sa.repeat("L", lambda c, w: (sa.gelu(c[0] @ w), sa.relu(c[1]) * c[0]), (sa.exp(h @ u), m), xs=v)
    return h * m


def doubled(x: "b d", w: "L d d", u: "d d") -> Any:
    """Both carries become one tensor in every turn."""

    def turn(carry: Any, w: Any) -> Any:
        h = sa.gelu(carry[0] @ w) * carry[1]
        return h, h

    h, g = sa.repeat("L", turn, (x, x @ u), xs=w)
    return h * g


def nested_skipped(x: "b d", w: "L 2 d d", u: "d d") -> Any:
    """In each turn a tensor passes a repeat by."""

    def turn(h: Any, w: Any, u: Any) -> Any:
        h = sa.relu(h @ u)
        return sa.repeat(2, lambda h, w: sa.gelu(h @ w), h, xs=w) * h

    return sa.repeat("L", turn, x, xs=w, consts=u)


def frozen(x: "b d", w: "L d d", u: "d d") -> Any:
    """Blocks that need no gradient hold nothing to run again from."""
    h = sa.repeat("L", lambda h, w: sa.relu(h @ sa.detach(w)), x, xs=w)
    return sa.gelu(h @ u) + 0 * w.sum()


PARAMS = ("w", "u", "v", "start")
NETWORKS = {
    build.__name__: sa.Worked(build=build, params=tuple(n for n in PARAMS if n in build.__annotations__))
    for build in (
        *(sums, balanced, from_one, skipped, skipped_sum, conditioned, learned, nested, nested_alone, in_a_row),
        *(in_a_row_skipped, carried_over, doubled, nested_skipped, frozen),
    )
}
