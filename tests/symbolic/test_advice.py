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
    """The advice is executed as it stands, on a torch tensor beside torch's own method."""

    def advised(x):
        return eval(WRITTEN[name], {"x": x, "low": 0.0, "high": 0.5, "symacct": sa})  # noqa: S307 # our own text

    x = torch.randn(3, 4)
    spread = {"dim": -1, "correction": 0}
    options = {"var": spread, "std": spread, "norm": {"dim": -1}, "clamp": {"min": 0.0, "max": 0.5}}
    torch.testing.assert_close(advised(x), getattr(x, name)(**options[name]))
    sa.account(advised, x="b d")
