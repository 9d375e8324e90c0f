"""Softmax, norms and dropout: closed forms, torch's own functions, errors. Their terms are proved in verify/rooms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import symacct as sa
from symacct.errors import ConventionError, ShapeError


def closed_forms(layer: Callable, **sizes: Any) -> list[str]:
    return [str(sa.account(layer, convention=c, **sizes).flops.expand()) for c in ("2n", "exact", "unit")]


def test_softmax() -> None:
    def layer(x: "b n"):
        return sa.softmax(x)

    assert closed_forms(layer) == ["5*b*n", "5*b*n - 2*b", "b*n"]
    assert sa.same(sa.account(layer, dtype="fp32").bytes, "4*2*b*n")


def test_log_softmax_and_logsumexp() -> None:
    def logarithm(x: "b n"):
        return sa.log_softmax(x, 0)

    def total(x: "b n m"):
        return sa.logsumexp(x, (1, 2), keepdim=True)

    assert closed_forms(logarithm) == ["5*b*n + n", "5*b*n - n", "b*n"]
    assert closed_forms(total) == ["4*b*m*n + 2*b", "4*b*m*n", "b*m*n"]


def test_layer_norm_and_rms_norm() -> None:
    def layer(x: "b n", w: "n", v: "n"):
        return sa.layer_norm(x, x.shape[-1:], w, v)

    def plain(x: "b n"):
        return sa.layer_norm(x, x.shape[-1])

    def rms(x: "b n", w: "n"):
        return sa.rms_norm(x, x.shape[-1:], w)

    assert closed_forms(layer) == ["7*b*n + 4*b", "7*b*n + 2*b", "b*n"]
    assert closed_forms(plain) == ["5*b*n + 4*b", "5*b*n + 2*b", "b*n"]
    assert closed_forms(rms) == ["4*b*n + 3*b", "4*b*n + 2*b", "b*n"]
    # x, weight, bias, output, mean and rstd
    assert sa.same(sa.account(layer, dtype="bf16").bytes, "2*(2*b*n + 2*n + 2*b)")
    # rstd is in fp32
    assert sa.same(sa.account(rms, dtype="bf16").bytes, "2*(2*b*n + n) + 4*b")


def test_group_norm_says_that_groups_divide_channels() -> None:
    def layer(x: "b c h w", g: int):
        return sa.group_norm(x, g)

    def eight(x: "b c h w"):
        return sa.group_norm(x, 8)

    assert closed_forms(layer) == ["5*b*c*h*w + 4*b*g", "5*b*c*h*w + 2*b*g", "b*c*h*w"]
    assert sa.same(sa.account(layer, dtype="fp32").bytes, "4*(2*b*c*h*w + 2*b*g)")
    with pytest.raises(ShapeError, match=r"8 groups do not divide the 12 channels of \(b, 12, h, w\)"):
        sa.account(eight, x="b 12 h w")


def test_batch_norm() -> None:
    def layer(x: "b c h w", mean: "c", var: "c", *, training: bool = True):
        return sa.batch_norm(x, mean, var, training=training)

    training = sa.account(layer, dtype="fp32")
    assert sa.same(training.flops, "5*b*c*h*w + 4*c + 7*c")
    # x, output, mean and rstd; running statistics read and written
    assert sa.same(training.bytes, "4*(2*b*c*h*w + 2*c + 4*c)")
    in_use = sa.account(layer, training=False, dtype="fp32")
    assert sa.same(in_use.flops, "2*b*c*h*w + 2*c")
    assert sa.same(in_use.bytes, "4*(2*b*c*h*w + 2*c)")


def test_dropout() -> None:
    def layer(x: "n", p: float = 0.5, *, training: bool = True):
        return sa.dropout(x, p, training) + x

    assert sa.same(sa.account(layer).flops, "3*n")
    assert sa.same(sa.account(layer, training=False).flops, "n")
    assert sa.same(sa.account(layer, p=0.0).flops, "n")
    with pytest.raises(ConventionError, match=r"p is 1\.5; a probability is from 0 to 1"):
        sa.dropout(None, 1.5)


MISTAKES = {
    "softmax: there is no axis 2": lambda x, _: sa.softmax(x, 2),
    r"layer_norm: the shape \(b, n\) does not end with \(m,\)": lambda x, w: sa.layer_norm(x, w.shape),
    r"rms_norm: the shapes \(m,\) of the weight and \(b, n\) do not fit: it has to be \(n,\)": (
        lambda x, w: sa.rms_norm(x, x.shape[-1:], w)
    ),
    r"group_norm: \(m,\) has no axis of channels; that is axis 1": lambda _, w: sa.group_norm(w, 1),
    r"batch_norm: the shapes \(m,\) of the weight": lambda x, w: sa.batch_norm(x, weight=w, training=True),
    "running_mean and running_var go together": lambda x, w: sa.batch_norm(x, weight=w),
    r"group_norm: a bias without a weight": lambda x, w: sa.group_norm(x, 1, None, w),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_name_shapes_and_line(message: str) -> None:
    def layer(x: "b n", w: "m"):
        return MISTAKES[message](x, w)

    with pytest.raises(ShapeError, match=message) as caught:
        sa.account(layer)
    assert "at test_normalization.py:" in str(caught.value)


def test_torchs_functions_and_ours_are_the_same() -> None:
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    draw = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Any:
        return torch.randn(shape, generator=draw)

    x, w, v, channels, m, s = random(2, 6, 5), random(5), random(5), random(6), random(6), random(6).abs()
    close = torch.testing.assert_close
    close(sa.softmax(x, 1), f.softmax(x, 1))
    close(sa.log_softmax(x), f.log_softmax(x, -1))
    close(sa.logsumexp(x, (0, 2)), torch.logsumexp(x, (0, 2)))
    close(sa.layer_norm(x, (5,), w, v, 0.1), f.layer_norm(x, (5,), w, v, 0.1))
    close(sa.layer_norm(x, x.shape[1:]), f.layer_norm(x, (6, 5)))
    close(sa.group_norm(x, 3, channels, m), f.group_norm(x, 3, channels, m))
    close(sa.batch_norm(x, m, s, channels), f.batch_norm(x, m, s, channels))
    running, theirs = (m.clone(), s.clone()), (m.clone(), s.clone())
    close(sa.batch_norm(x, *running, training=True), f.batch_norm(x, *theirs, training=True))
    close(running, theirs)
    for half in (x, x.bfloat16(), x.half()):
        close(sa.rms_norm(half, (5,), w.to(half.dtype)), f.rms_norm(half, (5,), w.to(half.dtype)), rtol=0, atol=0)
    torch.manual_seed(1)
    ours = sa.dropout(x, 0.3)
    torch.manual_seed(1)
    close(ours, f.dropout(x, 0.3))
    assert sa.dropout(x, 1.0).count_nonzero() == 0
    assert sa.dropout(x, training=False) is x
