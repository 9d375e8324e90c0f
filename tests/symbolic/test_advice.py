"""What a message tells to write instead: it is named, and it runs."""

from __future__ import annotations

import math

import pytest

import symacct as sa
from symacct.errors import SymacctError
from symacct.symbolic.tensor import WRITTEN

torch = pytest.importorskip("torch")


def test_what_is_written_otherwise_is_told_how():
    def message(layer):
        with pytest.raises((SymacctError, AttributeError)) as caught:
            sa.account(layer, x="b d")
        return str(caught.value)

    for layer in (lambda x: x / math.sqrt(x.shape[-1]), lambda x: x / sa.sqrt(x.shape[-1])):
        assert "x / x.shape[-1] ** 0.5" in message(layer)
    assert "symacct.exp" in message(math.exp)
    assert "symacct.where" in message(lambda x: x.__setitem__(0, 0))
    assert "x.mean(-1, keepdim=True)" in message(lambda x: x.var())
    assert "symacct.minimum" in message(lambda x: x.clamp(0))


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_what_the_message_says_runs(name):
    """The advice is executed on a torch tensor beside torch's own method."""
    x = torch.randn(3, 4)
    advice = {
        "var": lambda x: ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1),
        "std": lambda x: sa.sqrt(((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)),
        "norm": lambda x: sa.sqrt((x**2).sum(-1)),
        "clamp": lambda x: sa.minimum(sa.maximum(x, 0.0), 0.5),
    }[name]
    args = {"var": {"dim": -1, "correction": 0}, "std": {"dim": -1, "correction": 0}, "norm": {"dim": -1}}
    theirs = getattr(x, name)(**args.get(name, {"min": 0.0, "max": 0.5}))
    torch.testing.assert_close(advice(x), theirs)
    sa.account(advice, x="b d")
