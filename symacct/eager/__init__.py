"""What each kind of operation is in torch: the table by which functions and graphs run on real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symacct.eager import (
    activations,
    attention,
    contraction,
    convolution,
    copies,
    creation,
    lookup,
    loss,
    normalization,
    orderings,
    pointwise,
    reductions,
    scan,
    views,
)

FAMILIES = (
    activations,
    attention,
    contraction,
    convolution,
    copies,
    creation,
    lookup,
    loss,
    normalization,
    orderings,
    pointwise,
    reductions,
    scan,
    views,
)
KINDS: dict[str, Callable[..., Any]] = {kind: run for family in FAMILIES for kind, run in family.KINDS.items()}
