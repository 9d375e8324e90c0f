"""What Shampoo and SOAP make during a step, against both written in torch and the storages that they make."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.optimizers.matrices import shampoo, soap
from symacct.optimizers.value import numel

torch = pytest.importorskip("torch")


def root(s, iterations=9):
    """``s ** (-1/4)`` by coupled Newton steps."""
    size = torch.linalg.matrix_norm(s)
    m, x = s / size, torch.eye(len(s))
    for _ in range(iterations):
        t = m / -4
        t.diagonal().add_(5 / 4)
        x = x @ t
        t = t @ t
        m = (t @ t) @ m
    return x.div_(size**0.25)


def shampoo_step(p, g, kept):
    kept["L"].addmm_(g, g.T)
    kept["R"].addmm_(g.T, g)
    for side in "LR":
        kept["root of " + side].copy_(root(kept[side]))
    left = kept["root of L"] @ g
    p.sub_(left @ kept["root of R"], alpha=0.1)


def orthonormal(s):
    """Gram-Schmidt in the place of s, column by column."""
    for j in range(s.shape[1]):
        s[:, j].div_(torch.linalg.vector_norm(s[:, j]))
        s[:, j + 1 :].addr_(s[:, j], s[:, j] @ s[:, j + 1 :], alpha=-1)
    return s


def turned(x, left, right):
    x = left @ x
    return x @ right


def soap_step(p, g, kept):
    kept["exp_avg"].lerp_(g, 0.1)
    left, right = kept["basis of L"], kept["basis of R"]
    g_turned = turned(g, left.T, right)
    kept["exp_avg_sq"].mul_(0.999).addcmul_(g_turned, g_turned, value=0.001)
    del g_turned
    u = turned(kept["exp_avg"], left.T, right)
    u.div_(kept["exp_avg_sq"].sqrt().add_(1e-8))
    u = left @ u
    p.sub_(u @ right.T, alpha=0.1)
    del u
    kept["L"].lerp_(g @ g.T, 0.05)
    kept["R"].lerp_(g.T @ g, 0.05)
    for side in "LR":
        kept["basis of " + side].copy_(orthonormal(kept[side] @ kept["basis of " + side]))


@pytest.mark.parametrize("shape", [(48, 64), (64, 16), (8, 96), (96, 96)])
@pytest.mark.parametrize(("data", "step"), [(shampoo(every=1), shampoo_step), (soap(every=1), soap_step)])
def test_tensors_that_a_step_makes(data, step, shape):
    """The most at once, but for vectors of a row or a column."""
    from verify.meter import Meter

    rng = torch.Generator().manual_seed(0)
    p, g = (torch.randn(shape, generator=rng) for _ in range(2))
    kept = {b.name: torch.zeros(b.shape(shape)) for b in data.state if b.shape(shape)}
    for name, t in kept.items():
        if t.ndim == 2 and t.shape[0] == t.shape[1] and name not in ("exp_avg", "exp_avg_sq"):
            t.copy_(torch.eye(len(t)))
    meter = Meter([p, g, *kept.values()])
    with meter:
        step(p, g, kept)
    moments = [sum(4 * numel(b.shape(shape)) for b in m if b.shape(shape)) for m in data.temporaries("forloop")]
    assert 0 <= meter.peak - max(moments) <= 4 * 4 * sum(shape)
    assert all(torch.isfinite(t).all() for t in (p, *kept.values()))


def test_they_are_in_the_ledger():
    """A matrix of 8 x 4 in fp32: 5 * 8 * 8 numbers of a root; 2 * 32 of the step are fewer."""
    step = sa.account(lambda x, w: x @ w, x="b r", w="r c", params=["w"]).training(optimizer="shampoo", policy="fp32")
    assert step.update.step.kernel == "forloop"
    after = {p.bytes for p in step.memory.peaks if p.phase == "update"}
    held = [int(sa.expr.evaluate(bytes, {"b": 1, "r": 8, "c": 4})) for bytes in after]
    lasting = 4 * (32 + 32 + 2 * (64 + 16)) + 4 * (8 + 4)  # weight, gradient, sums and roots; x and y
    assert max(held) == lasting + 4 * 5 * 64
    line = step.memory.timeline(b=1, r=8, c=4)
    assert (line.phases[-1], line.totals[-1]) == ("update", lasting + 4 * 5 * 64)
