"""What is of another kind than what a verb takes: refused with an error of ours, not one of Python's."""

from __future__ import annotations

import pytest

import symacct as sa

MATMUL = "b d, d k -> b k"


def test_what_is_of_another_kind_is_refused_as_ours():
    layer = sa.account(MATMUL)
    wrong = [
        lambda: sa.flops(MATMUL, sizes=[1]),
        lambda: layer.at(sizes=3),
        lambda: sa.dims(3),
        lambda: sa.draw(layer, ridge=True, sizes={"b": 1, "d": 2, "k": 3}),
        lambda: sa.draw(layer, ridge="x"),
        lambda: sa.draw(layer, 3),
        lambda: sa.repeat(3, None, None),
        lambda: sa.cond(3, None, None),
        lambda: sa.scope(3),
        lambda: sa.quantity(3, "foo"),
        lambda: sa.quantity(3, "GB"),
        lambda: sa.peak("h100", None),
        lambda: sa.device("h100").ridge(None),
        lambda: sa.link(3),
        lambda: sa.training_run(3),
        lambda: layer.backward(wrt=[]),
        lambda: layer.residuals(wrt=3),
    ]
    for ask in wrong:
        with pytest.raises(sa.SymacctError):
            ask()
