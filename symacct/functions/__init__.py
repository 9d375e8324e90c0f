"""Functions of layers that run on symbolic and on torch tensors alike."""

from __future__ import annotations

from symacct.functions.arrange import chunk, concat, flip, pad, roll, split, stack, tile, tril, triu
from symacct.functions.creation import arange, causal_mask, full, ones, window_mask, zeros
from symacct.functions.lookup import embedding, gather, one_hot, scatter_add
from symacct.functions.loss import cross_entropy, mse_loss
from symacct.functions.moves import cast, clone, contiguous, detach, opaque, transfer
from symacct.functions.normalization import (
    batch_norm,
    dropout,
    group_norm,
    layer_norm,
    log_softmax,
    logsumexp,
    rms_norm,
    softmax,
)
from symacct.functions.orderings import argmax, cumsum, sort, top_k
from symacct.functions.pointwise import (
    erf,
    exp,
    gelu,
    log,
    maximum,
    minimum,
    relu,
    rsqrt,
    sigmoid,
    silu,
    sqrt,
    tanh,
    where,
)
from symacct.functions.scan import associative_scan, linear_recurrence

__all__ = [
    "arange",
    "argmax",
    "associative_scan",
    "batch_norm",
    "cast",
    "causal_mask",
    "chunk",
    "clone",
    "concat",
    "contiguous",
    "cross_entropy",
    "cumsum",
    "detach",
    "dropout",
    "embedding",
    "erf",
    "exp",
    "flip",
    "full",
    "gather",
    "gelu",
    "group_norm",
    "layer_norm",
    "linear_recurrence",
    "log",
    "log_softmax",
    "logsumexp",
    "maximum",
    "minimum",
    "mse_loss",
    "one_hot",
    "ones",
    "opaque",
    "pad",
    "relu",
    "rms_norm",
    "roll",
    "rsqrt",
    "scatter_add",
    "sigmoid",
    "silu",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "stack",
    "tanh",
    "tile",
    "top_k",
    "transfer",
    "tril",
    "triu",
    "where",
    "window_mask",
    "zeros",
]
