"""The products that torch executes: counted by its own counter, which knows too few of them, while code runs.

The process of a student runs this file too, so it uses torch and the standard library alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

UNCOUNTED = (
    *("_trilinear", "_cdist_forward", "_euclidean_dist", "_sparse_addmm", "linalg_inv_ex", "_linalg_solve_ex"),
    *("linalg_lu_factor_ex", "linalg_cholesky_ex", "linalg_qr", "_linalg_eigh", "_linalg_svd", "_linalg_det"),
)
"""Operations of torch with products inside that have no one count."""


def count_module(build: Callable[..., Any], arguments: Mapping[str, int], inputs: Mapping[str, Any]) -> dict[str, int]:
    """Build a module of torch, run it on random tensors, and return its parameters and the FLOPs of its products.

    Parameters
    ----------
    build
        The class, or a function that returns a module.
    arguments
        Its arguments: sizes by name.
    inputs
        For each tensor its shape; and a number below which integers are drawn, or None for normal floats.

    """
    import torch

    module = build(**arguments)
    if not isinstance(module, torch.nn.Module):
        msg = f"made {type(module).__name__}, not a torch.nn.Module"
        raise TypeError(msg)
    tensors = [torch.randn(shape) if below is None else torch.randint(below, shape) for shape, below in inputs.values()]
    counted = count_products(module, *tensors)
    return {"matmul_flops": counted, "params": sum(math.prod(p.shape) for p in module.parameters())}


def count_products(function: Callable[..., Any], *arguments: Any) -> int:
    """Run a function in torch and return the FLOPs of its matrix products, convolutions and attention.

    torch's ``FlopCounterMode`` counts, 2 a multiply-accumulate. What it does not know is added to it, or raises where
    there is no one count; and fused kernels, which it does not see through, are switched off.

    Raises
    ------
    NotImplementedError
        For products that nobody counts, such as those of a distance or an inverse.

    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False, custom_mapping=_counts_that_torch_lacks())
    mha, mkldnn = torch.backends.mha, cast("Any", torch.backends.mkldnn)
    fused = mha.get_fastpath_enabled(), mkldnn.enabled
    with contextlib.ExitStack() as plain:
        plain.enter_context(torch.no_grad())
        plain.enter_context(sdpa_kernel(SDPBackend.MATH))
        if torch.backends.opt_einsum.is_available():
            plain.enter_context(torch.backends.opt_einsum.flags(enabled=False))
        plain.callback(mha.set_fastpath_enabled, fused[0])
        plain.callback(setattr, mkldnn, "enabled", fused[1])
        mha.set_fastpath_enabled(False)
        mkldnn.enabled = False  # its LSTM is one operation
        with counter:
            function(*arguments)
    return int(counter.get_total_flops())


def _counts_that_torch_lacks() -> dict[Any, Callable[..., int]]:
    import torch

    def of_vector(matrix: Sequence[int], *_: Any, **__: Any) -> int:
        return 2 * math.prod(matrix)

    def added(_: Any, left: Sequence[int], right: Sequence[int], **__: Any) -> int:
        return 2 * math.prod(left) * right[-1]

    def unknown(name: str) -> Callable[..., int]:
        def count(*_: Any, **__: Any) -> int:
            msg = f"torch runs {name}, whose products are not counted"
            raise NotImplementedError(msg)

        return count

    aten = torch.ops.aten
    known: dict[Any, Callable[..., int]] = dict.fromkeys((aten.mv, aten.dot, aten.vdot), of_vector)
    known |= dict.fromkeys((aten.addbmm, aten.addbmm_, aten.addmm_, aten.baddbmm_), added)
    known |= dict.fromkeys((aten.addmv, aten.addmv_), lambda _, matrix, *__, **___: of_vector(matrix))
    return known | {getattr(aten, name): unknown(name) for name in UNCOUNTED}
