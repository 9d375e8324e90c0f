"""What rms_norm keeps on each device: forms derived by hand from its gradients, and torch's autograd on a CPU."""

from __future__ import annotations

import pytest

import symacct as sa


def weighted(x: "b d", g: "d"):
    return sa.rms_norm(x, x.shape[-1:], g)


def unweighted(x: "b d"):
    return sa.rms_norm(x, x.shape[-1:])


RMS_NORM = [  # x (in fp32 on a CPU), rstd in fp32, the weight; for its gradient the normalised input in fp32 on a CPU
    (weighted, "x", "bf16", "4*b*d + 4*b + 2*d", "2*b*d + 4*b + 2*d"),
    (weighted, "g", "bf16", "4*b*d", "2*b*d + 4*b + 2*d"),
    (weighted, "x g", "fp16", "8*b*d + 4*b + 2*d", "2*b*d + 4*b + 2*d"),
    (weighted, "x g", "fp32", "8*b*d + 4*b + 4*d", "4*b*d + 4*b + 4*d"),
    (unweighted, "x", "bf16", "4*b*d + 4*b", "2*b*d + 4*b"),
    (unweighted, "x", "fp32", "4*b*d + 4*b", "4*b*d + 4*b"),
]


@pytest.mark.parametrize(("layer", "wrt", "dtype", "cpu", "cuda"), RMS_NORM)
def test_rms_norm_keeps_by_format_device_and_what_is_trained(layer, wrt, dtype, cpu, cuda):
    account = sa.account(layer, dtype=dtype)
    for device, form in (("cpu", cpu), ("cuda", cuda)):
        assert sa.same(account.residuals(wrt=wrt.split(), device=device).bytes, form), device
    assert sa.same(account.residuals("ideal", wrt=wrt.split()).bytes, cuda)


def test_rms_norm_inside_a_repeat_keeps_its_copy_every_turn():
    def network(x: "b d", g: "L d", w: "L d d"):
        return sa.repeat("L", lambda h, p: sa.rms_norm(h, h.shape[-1:], p[0]) @ p[1], x, xs=(g, w))

    kept = sa.account(network, params=["g", "w"]).residuals()  # the product keeps its operand, the norm two in fp32
    # the input needs no gradient: in the first turn the norm keeps what its weight's gradient needs alone
    assert sa.same(kept.bytes, "L*2*b*d + L*4*b*d + (L - 1)*(4*b*d + 4*b)")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("wrt", ["x", "g", "x g"])
def test_rms_norm_keeps_what_torch_keeps(dtype, wrt):
    torch = pytest.importorskip("torch")
    b, d = 3, 64
    given = {n: torch.randn(s).to(getattr(torch, dtype)) for n, s in (("x", (b, d)), ("g", (d,)))}
    saved: dict[int, int] = {}
    alive = []

    def pack(t):
        alive.append(t)
        saved[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    x, g = (given[n].requires_grad_(n in wrt.split()) for n in "xg")
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        torch.nn.functional.rms_norm(x, (d,), g)
    account = sa.account(weighted, dtype={"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[dtype])
    assert account.residuals(wrt=wrt.split()).at(b=b, d=d).value == sum(saved.values())
