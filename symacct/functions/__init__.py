"""Functions of layers that run on symbolic and on torch tensors alike."""

from __future__ import annotations

from symacct.functions.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from symacct.functions.arrange import chunk, concat, split, stack, tile
from symacct.functions.attention import rotary, scaled_dot_product_attention
from symacct.functions.choices import dropout, maximum, minimum, where
from symacct.functions.conditions import condition
from symacct.functions.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from symacct.functions.creation import arange, causal_mask, full, ones, window_mask, zeros
from symacct.functions.edges import flip, pad, roll, tril, triu
from symacct.functions.grouped import grouped_matmul
from symacct.functions.lookup import embedding, gather, one_hot, scatter_add
from symacct.functions.loss import cross_entropy, mse_loss
from symacct.functions.moves import cast, clone, contiguous, detach, opaque, transfer
from symacct.functions.normalization import batch_norm, group_norm, layer_norm, rms_norm
from symacct.functions.orderings import argmax, cumsum, sort, top_k
from symacct.functions.pointwise import (
    erf,
    exp,
    gelu,
    log,
    relu,
    rsqrt,
    sigmoid,
    silu,
    sqrt,
    tanh,
)
from symacct.functions.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from symacct.functions.scan import associative_scan, linear_recurrence
from symacct.functions.softmaxes import log_softmax, logsumexp, softmax

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "arange",
    "argmax",
    "associative_scan",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "cast",
    "causal_mask",
    "chunk",
    "clone",
    "concat",
    "condition",
    "contiguous",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
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
    "grouped_matmul",
    "layer_norm",
    "linear_recurrence",
    "log",
    "log_softmax",
    "logsumexp",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
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
    "rotary",
    "rsqrt",
    "scaled_dot_product_attention",
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
