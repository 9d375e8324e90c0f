"""symacct: what a neural network costs, as closed forms in named sizes, each proved against real executions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# `__init__.pyi` says the same to type checkers and editors; a test holds the two together
_ROOMS = {
    "symacct.accounting": "Account",
    "symacct.accounting.comparison": "compare",
    "symacct.accounting.times": "times",
    "symacct.answers": "check read_answer",
    "symacct.api": "account bytes flops intensity matmul_flops",
    "symacct.checkpointing": "Stage checkpoint checkpoint_curve",
    "symacct.conventions": "Convention",
    "symacct.errors": "SymacctError",
    "symacct.explanation": "explain",
    "symacct.expr": "ceildiv floordiv",
    "symacct.expr.public": "dims loads same",
    "symacct.functions": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d arange argmax associative_scan
        avg_pool1d avg_pool2d avg_pool3d batch_norm cast causal_mask chunk clone concat condition contiguous conv1d
        conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cross_entropy cumsum detach dropout
        embedding erf exp flip full gather gelu group_norm grouped_matmul layer_norm linear_recurrence log log_softmax
        logsumexp max_pool1d max_pool2d max_pool3d maximum minimum mse_loss one_hot ones opaque pad relu
        rms_norm roll rotary rsqrt scaled_dot_product_attention scatter_add sigmoid silu softmax sort split
        sqrt stack tanh tile top_k transfer tril triu where window_mask zeros
    """,
    "symacct.hardware": "Device device devices link load_devices peak",
    "symacct.measuring.calibration": "calibrate",
    "symacct.measuring.timing": "measure",
    "symacct.memory": "bytes_per_parameter fit",
    "symacct.nests": "lower_bound orders",
    "symacct.optimizers": "optimizer",
    "symacct.plot": "draw",
    "symacct.runs": "days mfu training_run",
    "symacct.symbolic.control": "cond repeat scope",
    "symacct.units": "Quantity quantity",
    "symacct.worked": "Worked load_worked",
}
_MODULES = ("testing",)
_WHERE = {name: room for room, names in _ROOMS.items() for name in names.split()}

# `bytes` shadows the builtin, so it stays out of star imports
__all__ = sorted(n for n in _WHERE if n != "bytes")  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used; `import symacct` itself loads nothing heavy."""
    if name in _MODULES:
        return import_module(f"symacct.{name}")
    if name not in _WHERE:
        msg = f"module 'symacct' has no attribute {name!r}; it has {', '.join(sorted(_WHERE))}"
        raise AttributeError(msg)
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*(n for n in globals() if n.startswith("_")), *_MODULES, *_WHERE})
