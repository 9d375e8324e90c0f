"""Symbolic tensors: shapes in named sizes under the real einops, Python's operators and symacct's functions."""

from __future__ import annotations

from symacct.symbolic.builder import Builder
from symacct.symbolic.dispatch import apply, create
from symacct.symbolic.signature import trace
from symacct.symbolic.size import Dim, unwrap, wrap
from symacct.symbolic.tensor import Symbolic, record, size_in

__all__ = ["Builder", "Dim", "Symbolic", "apply", "create", "record", "size_in", "trace", "unwrap", "wrap"]
