"""An optimizer as data: the tensors it keeps for a parameter, those it makes in a step, and what a step executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast

from symacct.conventions import Key, Work
from symacct.errors import ConventionError, UnknownOpError, one_of
from symacct.expr import Expr, Size, add, multiply, product

Shape: TypeAlias = tuple[Size, ...]
ShapeRule: TypeAlias = Callable[[Shape], Shape | None]
"""The shape of a buffer from that of its parameter; None where such a parameter has no such buffer."""

Kernel: TypeAlias = Literal["fused", "foreach", "forloop"]
KERNELS: Mapping[str, str] = {
    "fused": "one kernel updates all tensors and makes none",
    "foreach": "a kernel an operation runs over all tensors at once (what torch does on CUDA)",
    "forloop": "one tensor after the other (what torch does on CPU)",
}
"""How an update runs, which decides what it makes besides; torch's words."""


class Buffer(NamedTuple):
    """A tensor that an optimizer keeps or makes for a parameter.

    `dtype` is a storage format; or ``"state"``, which the precision policy decides (by the buffer's name, where it says
    so); or ``"param"``, that of the tensor that is updated; ``"grad"``, that of its gradient; ``"step"``: the policy
    says whether such a counter is kept.
    """

    name: str
    shape: ShapeRule
    dtype: str = "state"


@dataclass(frozen=True, slots=True)
class Optimizer:
    """What an optimizer keeps, makes and executes for a parameter of a given shape.

    Attributes
    ----------
    name
        To print.
    state
        What it keeps from step to step.
    steps
        The work of one step on a parameter of a shape; None where it is not known.
    makes
        What it makes during a step, by how the update runs: tensors that are alive at once, at each moment at which
        most may be.
    note
        What else one should know.

    Examples
    --------
    >>> from symacct.conventions import tally, Convention
    >>> from symacct.expr import name
    >>> from symacct.optimizers import optimizer
    >>> adamw = optimizer("adamw")
    >>> [buffer.name for buffer in adamw.state], tally(adamw.work((name("r"), name("c"))), Convention())
    (['exp_avg', 'exp_avg_sq', 'step'], {'FLOP': 14*c*r})

    """

    name: str
    state: tuple[Buffer, ...]
    steps: Callable[[Shape], Work] | None
    makes: Mapping[Kernel, tuple[tuple[Buffer, ...], ...]]
    note: str = ""

    def work(self, shape: Shape) -> Work:
        """Return what one step executes for a parameter of a shape; scalars worked out once a step are left out.

        Raises
        ------
        UnknownOpError
            Where that is not known, as of an optimizer that was read from code.

        """
        if self.steps is None:
            msg = f"what a step of {self.name} executes is not known, only what it keeps; it is of named optimizers"
            raise UnknownOpError(msg)
        return self.steps(shape)

    def temporaries(self, kernel: str) -> tuple[tuple[Buffer, ...], ...]:
        """Return what a step makes besides, where the update runs as `kernel`, moment by moment.

        Raises
        ------
        ConventionError
            For a kernel that this optimizer does not have; lists those it has.

        """
        if kernel not in self.makes:
            msg = f"{self.name} does not run as {kernel!r}; it can run as {one_of(self.makes)}"
            raise ConventionError(msg)
        return self.makes[cast("Kernel", kernel)]


def like(shape: Shape) -> Shape | None:
    """Return the parameter's own shape."""
    return shape


def scalar(_shape: Shape) -> Shape | None:
    """Return the shape of one number a tensor."""
    return ()


STEP = Buffer("step", scalar, "step")
"""torch counts the steps in a scalar of 4 bytes a tensor."""


def numel(shape: Shape) -> Size:
    """Return the number of elements of a shape."""
    return cast("Size", product(shape))


def each(count: Expr, **calls: int) -> Work:
    """Return the work of element-wise operations: ``each(n, add=2, mul=3)`` is 2n additions and 3n multiplies."""
    return {(primitive, "points"): multiply(times, count) for primitive, times in calls.items()}


def together(*works: Work) -> Work:
    """Add work vectors."""
    out: dict[Key, Expr] = {}
    for work in works:
        for key, amount in work.items():
            out[key] = add((out[key], amount)) if key in out else amount
    return out
