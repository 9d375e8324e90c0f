"""Functions of layers that run on symbolic and on torch tensors alike."""

from __future__ import annotations

from symacct.functions.pointwise import (
    exp,
    gelu,
    log,
    relu,
    rsqrt,
    sigmoid,
    silu,
    sqrt,
    tanh,
    where,
)

__all__ = ["exp", "gelu", "log", "relu", "rsqrt", "sigmoid", "silu", "sqrt", "tanh", "where"]
