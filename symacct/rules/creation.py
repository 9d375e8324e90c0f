"""Tensors made from nothing but sizes: constants, positions, masks. No arithmetic; the output is written once."""

from __future__ import annotations

from collections.abc import Sequence

from symacct.graph import Tensor
from symacct.rules.pairs import check_mask
from symacct.rules.rule import Attrs, Out, Rule, check_sizes, no_work


def shape_of_full(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return a tensor of one value, of the shape that is asked for."""
    shape = tuple(attrs["shape"])
    check_sizes(shape)
    return (Out(shape, attrs["dtype"]),)


def shape_of_arange(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the positions 0, 1, ..., n - 1."""
    return shape_of_full((), {"shape": (attrs["n"],), "dtype": "int64"})


def shape_of_mask(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return which of t keys each of s queries sees: causal, and through a window where one is given."""
    window = attrs["window"]
    check_mask("exact" if window is None else "window", attrs["align"], window)
    return shape_of_full((), {"shape": (attrs["s"], attrs["t"]), "dtype": "bool"})


RULES = {
    "full": Rule("creation", shape_of_full, no_work),
    "arange": Rule("creation", shape_of_arange, no_work),
    "mask": Rule("creation", shape_of_mask, no_work),
}
