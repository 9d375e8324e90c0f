"""Against torch.utils.checkpoint: what is held, at most and between the passes, and which products run again."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from verify.carried import NETWORKS
from verify.rooms.checkpointing import KINDS, Torch, layers_agree, worked_agree


@pytest.mark.claim("S65", "S66", "S67", "D12")
@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("k", [0, 1, 3, -1])
@pytest.mark.parametrize("kind", list(KINDS))
def test_layers(kind: str, k: int, *, early_stop: bool) -> None:
    layers_agree(Torch(kind, 8 if k < 0 else 5, k, early_stop))


@pytest.mark.parametrize("early_stop", [True, False])
def test_blocks_of_gpt2(*, early_stop: bool) -> None:
    worked_agree(Torch("gpt2", 3, 2, early_stop))


@pytest.mark.claim("D10")
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("name", list(NETWORKS))
def test_repeats_with_several_carries_and_inside_each_other(name: str, k: int) -> None:
    for early_stop in (True, False):
        worked_agree(Torch(name, 3, k, early_stop))


@pytest.mark.claim("S65")
def test_the_products_of_a_step_are_counted_by_hand() -> None:
    """6BP - 2BD^2 of a step whose input needs no gradient, and 2BP more, or none, by block."""
    import torch
    from torch.utils.checkpoint import checkpoint
    from torch.utils.flop_counter import FlopCounterMode

    rows, width, layers = 4, 6, 3

    def step(block, *, recomputed: bool) -> int:
        weights = [torch.randn(width, width, requires_grad=True) for _ in range(layers)]
        x = torch.randn(rows, width)
        with FlopCounterMode(display=False) as counter:
            for w in weights:
                x = checkpoint(block, x, w, use_reentrant=False) if recomputed else block(x, w)
            x.sum().backward()
        return counter.get_total_flops()

    product, params = 2 * rows * width**2, layers * width**2
    relu_last, relu_first = (lambda x, w: torch.relu(x @ w)), (lambda x, w: torch.relu(x) @ w)
    plain = 6 * rows * params - product
    assert step(relu_last, recomputed=False) == step(relu_first, recomputed=False) == plain
    assert step(relu_last, recomputed=True) == plain + 2 * rows * params
    assert step(relu_first, recomputed=True) == plain
