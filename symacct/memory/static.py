"""What lasts from step to step: parameters, gradients, master copies and optimizer state, tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from symacct.dtypes import AnyFormat, Policy, as_format, storage_bytes
from symacct.errors import ConventionError, DtypeError, one_of
from symacct.expr import Expr, Size, divide, multiply
from symacct.memory.parameters import Parameter
from symacct.optimizers import Buffer, Optimizer

STAGES: Mapping[int, tuple[str, ...]] = {
    0: (),
    1: ("master", "state"),
    2: ("master", "state", "grad"),
    3: ("master", "state", "grad", "param"),
}
"""What each stage of ZeRO divides among the devices; 1 is Megatron's distributed optimizer, 3 what FSDP does."""


class Entry(NamedTuple):
    """A tensor that is kept, or many of one parameter: its role, what it belongs to, its format, its bytes."""

    role: str
    name: str
    parameter: str
    dtype: str
    bytes: Expr


def static_entries(
    parameters: Iterable[Parameter], optimizer: Optimizer, policy: Policy, *, devices: Size = 1, stage: int = 0
) -> Iterator[Entry]:
    """Yield what lasts, on one of `devices`; the stage of ZeRO says what is divided among them.

    Raises
    ------
    ConventionError
        For a stage that is not 0, 1, 2 or 3.
    DtypeError
        Where the optimizer keeps its state in another format than the policy asks for.

    """
    if stage not in STAGES:
        msg = f"unknown stage {stage!r}; known: {one_of(map(str, STAGES))}"
        raise ConventionError(msg)
    for p in parameters:
        for role, name, fmt, shape in _kept(p, optimizer, policy):
            held = multiply(p.copies, storage_bytes(fmt, shape))
            yield Entry(role, name, p.name, fmt.name, divide(held, devices) if role in STAGES[stage] else held)


def _kept(p: Parameter, optimizer: Optimizer, policy: Policy) -> Iterator[tuple[str, str, AnyFormat, tuple[Size, ...]]]:
    """Yield role, name, format and shape of what is kept for one tensor of a parameter."""
    policy = policy.with_param(p.dtype)
    for role in ("param", "grad", "master"):
        if policy.has(role):
            yield role, role, policy.of(role), p.shape
    for buffer in optimizer.state:
        shape = buffer.shape(p.shape)
        if shape is not None and not (buffer.dtype == "step" and not policy.has("step")):
            yield "state", buffer.name, _format_of_state(buffer, optimizer, policy), shape


def _format_of_state(buffer: Buffer, optimizer: Optimizer, policy: Policy) -> AnyFormat:
    wanted, made = policy.of_state(buffer.name), format_of(buffer, policy)
    if buffer.dtype == "param" and wanted != made:
        msg = (
            f"{optimizer.name} keeps {buffer.name!r} in the format of what it updates, {made.name}; the policy "
            f"{policy.name!r} asks for {wanted.name}. Take a policy with a master copy, or one whose state follows "
            f"the parameters, such as torch-bf16"
        )
        raise DtypeError(msg)
    return made


def format_of(buffer: Buffer, policy: Policy) -> AnyFormat:
    """Return the format of what an optimizer keeps or makes under a policy."""
    if buffer.dtype == "state":
        return policy.of_state(buffer.name)
    if buffer.dtype == "grad":
        return policy.updated if policy.has("master") else policy.of("grad")
    if buffer.dtype == "param":
        return policy.updated
    return policy.of("step") if buffer.dtype == "step" else as_format(buffer.dtype)
