"""Optimizers as data: what they keep for a parameter, what they make, what a step executes."""

from __future__ import annotations

from symacct.optimizers.catalogue import NAMED, optimizer
from symacct.optimizers.value import KERNELS, Buffer, Kernel, Optimizer, Shape

__all__ = ["KERNELS", "NAMED", "Buffer", "Kernel", "Optimizer", "Shape", "optimizer"]
