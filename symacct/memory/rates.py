"""Bytes a parameter: what training keeps whatever the model, as the sum ``2 + 2 + 4 + 4``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symacct.dtypes import BlockFormat, Policy, policy_of
from symacct.errors import InconclusiveError
from symacct.expr import Expr, Number, add, divide, name, terms_of, to_json, to_text
from symacct.expr.poly import whole
from symacct.memory.parameters import Parameter
from symacct.memory.static import static_entries
from symacct.optimizers import Optimizer, optimizer
from symacct.show import table

_R, _C = name("rows"), name("columns")
_LARGE = 2**20
"""A factor that the blocks of any format divide, so that scales come out without rounding."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes a parameter in one role, and bytes a tensor whatever its size (a counter, a scale)."""

    role: str
    name: str
    dtype: str
    bytes: Number
    per_tensor: Number


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes a parameter by role, under a policy and an optimizer; `total` is their sum.

    Examples
    --------
    >>> print(bytes_per_parameter("adamw", "bf16"))
    adamw under bf16: 2 + 2 + 4 + 4 = 12 bytes a parameter
     role    what         format   bytes
     param   param        bf16     2
     grad    grad         bf16     2
     state   exp_avg      fp32     4
     state   exp_avg_sq   fp32     4

    """

    optimizer: Optimizer
    policy: Policy
    parts: tuple[Rate, ...]

    @property
    def total(self) -> Number:
        """Bytes a parameter, all roles together."""
        return sum((part.bytes for part in self.parts), start=0)

    @property
    def per_tensor(self) -> Number:
        """Bytes a tensor besides."""
        return sum((part.per_tensor for part in self.parts), start=0)

    @property
    def cast(self) -> Number:
        """Bytes a weight that products read, of a copy that lives from the forward to the end of the backward pass."""
        fmt = self.policy.of("cast") if self.policy.has("cast") else None
        if fmt is None:
            return 0
        return fmt.effective_bits / 8 if isinstance(fmt, BlockFormat) else whole(fmt.itemsize)

    def divided(self, roles: tuple[str, ...], devices: Expr) -> Expr:
        """Return bytes a parameter on one of `devices`, where some roles are divided among them."""
        shared = sum(part.bytes for part in self.parts if part.role in roles)
        return add((self.total - shared, divide(shared, devices)))

    def __str__(self) -> str:
        """Print the sum, and a line a role."""
        told = " + ".join(map(to_text, (part.bytes for part in self.parts if part.bytes)))
        head = f"{self.optimizer.name} under {self.policy.name}: {told} = {to_text(self.total)} bytes a parameter"
        head += f", and {to_text(self.per_tensor)} a tensor" if self.per_tensor else ""
        if self.cast:
            head += f";\nbesides {to_text(self.cast)} a weight that is cast for products, from forward to backward"
        rows = [[p.role, p.name, p.dtype, to_text(p.bytes or p.per_tensor)] for p in self.parts]
        for row, part in zip(rows, self.parts, strict=True):
            row[3] += "" if part.bytes else " a tensor"
        return head + "\n" + table(["role", "what", "format", "bytes"], rows)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys; exact numbers as expressions."""
        return {
            "optimizer": self.optimizer.name,
            "policy": self.policy.name,
            "total": to_json(self.total),
            "per_tensor": to_json(self.per_tensor),
            "cast": to_json(self.cast),
            "parts": [
                {
                    "role": p.role,
                    "name": p.name,
                    "dtype": p.dtype,
                    "bytes": to_json(p.bytes),
                    "per_tensor": to_json(p.per_tensor),
                }
                for p in self.parts
            ],
        }


def bytes_per_parameter(optimizer_: Any = "adamw", policy: Any = "bf16") -> Rates:
    """Return what training keeps for a parameter: ``2 + 2 + 4 + 4`` bytes for AdamW under ``bf16``.

    Parameters
    ----------
    optimizer_
        As in `symacct.optimizer`.
    policy
        A name (``"fp32"``, ``"bf16"``, ``"torch-bf16"``, ``"bf16-master"``, ``"megatron"``, ``"amp"``, ...), or a
        mapping of roles to storage formats.

    Returns
    -------
    Rates
        A part a role, and their sum: parameters, gradients, master copies, state; not casts, which live from the
        forward to the backward pass.

    Raises
    ------
    InconclusiveError
        Where the bytes are not so many a parameter, as with Adafactor: rows and columns decide.

    Notes
    -----
    Worked out for a matrix of `rows * columns` values: what grows with their product is bytes a parameter, what does
    not grow is bytes a tensor.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.bytes_per_parameter("adamw", "bf16").total, sa.bytes_per_parameter("adamw", "megatron").total
    (12, 18)

    """
    chosen, roles = optimizer(optimizer_), policy_of(policy)
    matrix = Parameter("w", (_LARGE * _R, _LARGE * _C))  # type: ignore[arg-type]
    parts = []
    for entry in static_entries([matrix], chosen, roles):
        terms = dict(terms_of(divide(entry.bytes, _LARGE**2)))
        grows = terms.pop((("columns", 1), ("rows", 1)), 0)
        fixed = terms.pop((), 0)
        if terms:
            msg = (
                f"{chosen.name} does not keep so many bytes a parameter: {entry.name!r} of a matrix is "
                f"{_shape_of(chosen, entry.name)}; ask for the memory of a model instead"
            )
            raise InconclusiveError(msg)
        parts.append(Rate(entry.role, entry.name, entry.dtype, grows, _times(fixed, _LARGE**2)))
    return Rates(chosen, roles, tuple(parts))


def _times(a: Number, b: int) -> Number:
    """Multiply two numbers; a whole result is an int."""
    out = Fraction(a) * b
    return out.numerator if out.denominator == 1 else out


def _shape_of(chosen: Optimizer, buffer: str) -> str:
    shape = next(b.shape((_R, _C)) for b in chosen.state if b.name == buffer)
    return " x ".join(map(str, shape or ())) + " for rows x columns"
