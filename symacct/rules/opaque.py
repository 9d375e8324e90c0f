"""An operation we have no rule for, put in on purpose: its traffic is counted, its work is listed as uncounted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import UnknownOpError
from symacct.graph import Tensor
from symacct.rules.rule import Attrs, Backward, Out, Rule, check_sizes, no_work


def shape_of_opaque(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the outputs as they were announced."""
    for shape in attrs["shapes"]:
        check_sizes(shape)
    return tuple(Out(tuple(shape), attrs["dtype"]) for shape in attrs["shapes"])


def gradient_of_opaque(b: Backward) -> tuple[Any, ...]:
    """Refuse: what its backward executes is as unknown as its forward.

    Raises
    ------
    UnknownOpError
        Names the operation.

    """
    msg = f"the gradient of the opaque operation {b.attrs['name']!r} is unknown; detach its inputs, or write it out"
    raise UnknownOpError(msg)


RULES = {"opaque": Rule("opaque", shape_of_opaque, no_work, gradient=gradient_of_opaque)}
