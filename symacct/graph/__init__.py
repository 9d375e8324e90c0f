"""What is computed: tensors with symbolic shapes and the operations between them, as one frozen value."""

from __future__ import annotations

from symacct.graph.conditions import Condition, read_condition
from symacct.graph.legal import check
from symacct.graph.types import (
    Einsum,
    Graph,
    Op,
    Phase,
    Role,
    Tensor,
    size_conditions,
)

__all__ = [
    "Condition",
    "Einsum",
    "Graph",
    "Op",
    "Phase",
    "Role",
    "Tensor",
    "check",
    "read_condition",
    "size_conditions",
]
