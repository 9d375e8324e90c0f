"""The kernels that torch runs, with the bytes of the tensors that go in and come out; views are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VIEWS = frozenset(
    (
        *("_unsafe_view", "alias", "as_strided", "detach", "diagonal", "expand", "permute", "select", "slice", "split"),
        *("squeeze", "squeeze_", "t", "transpose", "unsqueeze", "view"),
    )
)


def bytes_moved(function: Callable[..., Any], *tensors: Any) -> int:
    """Run a function; return what its kernels read and write, each tensor once a kernel."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    moved = 0

    class Meter(TorchDispatchMode):
        def __torch_dispatch__(self, kernel: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            nonlocal moved
            out = kernel(*args, **(kwargs or {}))
            if kernel.overloadpacket.__name__ not in VIEWS:
                moved += sum(_extent(t) for t in tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor))
            return out

    with torch.backends.opt_einsum.flags(enabled=False), Meter():
        function(*tensors)
    return moved


def _extent(tensor: Any) -> int:
    """Bytes of a tensor's elements; those that stride 0 repeats are one."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= 1 if stride == 0 else size
    return elements * tensor.itemsize


def products(function: Callable[..., Any], *tensors: Any) -> int:
    """Run a function under torch's own counter, which knows products of matrices only."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    off = torch.backends.opt_einsum.flags(enabled=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), off, FlopCounterMode(display=False) as counter:
        function(*tensors)
    return counter.get_total_flops()
