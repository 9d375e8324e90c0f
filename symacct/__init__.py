"""symacct: what a neural network costs, as closed forms in named sizes, each proved against real executions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symacct.accounting import Account
    from symacct.accounting.analysis import compare
    from symacct.accounting.times import times
    from symacct.api import account, bytes, flops, intensity, matmul_flops
    from symacct.conventions import Convention
    from symacct.errors import SymacctError
    from symacct.explanation import explain
    from symacct.expr import ceildiv, floordiv
    from symacct.expr.public import dims, loads, same
    from symacct.functions import (
        adaptive_avg_pool1d,
        adaptive_avg_pool2d,
        adaptive_avg_pool3d,
        arange,
        argmax,
        associative_scan,
        avg_pool1d,
        avg_pool2d,
        avg_pool3d,
        batch_norm,
        cast,
        causal_mask,
        chunk,
        clone,
        concat,
        contiguous,
        conv1d,
        conv2d,
        conv3d,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
        cross_entropy,
        cumsum,
        detach,
        dropout,
        embedding,
        erf,
        exp,
        flip,
        full,
        gather,
        gelu,
        group_norm,
        layer_norm,
        linear_recurrence,
        log,
        log_softmax,
        logsumexp,
        max_pool1d,
        max_pool2d,
        max_pool3d,
        maximum,
        minimum,
        mse_loss,
        one_hot,
        ones,
        opaque,
        pad,
        relu,
        rms_norm,
        roll,
        rotary,
        rsqrt,
        scaled_dot_product_attention,
        scatter_add,
        sigmoid,
        silu,
        softmax,
        sort,
        split,
        sqrt,
        stack,
        tanh,
        tile,
        top_k,
        transfer,
        tril,
        triu,
        where,
        window_mask,
        zeros,
    )
    from symacct.nests import lower_bound, orders
    from symacct.symbolic.control import cond, repeat, scope
    from symacct.worked import Worked, load_worked

__version__ = "0.1.0"

_WHERE = {
    **dict.fromkeys(
        ("account", "bytes", "flops", "intensity", "matmul_flops"),
        "symacct.api",
    ),
    **dict.fromkeys(("dims", "loads", "same"), "symacct.expr.public"),
    **dict.fromkeys(("lower_bound", "orders"), "symacct.nests"),
    "Account": "symacct.accounting",
    "times": "symacct.accounting.times",
    "Worked": "symacct.worked",
    "load_worked": "symacct.worked",
    "Convention": "symacct.conventions",
    "SymacctError": "symacct.errors",
    **dict.fromkeys(
        (
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
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
        ),
        "symacct.functions",
    ),
    **dict.fromkeys(("cond", "repeat", "scope"), "symacct.symbolic.control"),
    "ceildiv": "symacct.expr",
    "compare": "symacct.accounting.analysis",
    "explain": "symacct.explanation",
    "floordiv": "symacct.expr",
}

# `bytes` shadows the builtin, so it stays out of star imports
__all__ = sorted(n for n in _WHERE if n != "bytes")  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used; `import symacct` itself loads nothing heavy."""
    if name not in _WHERE:
        msg = f"module 'symacct' has no attribute {name!r}; it has {', '.join(sorted(_WHERE))}"
        raise AttributeError(msg)
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
