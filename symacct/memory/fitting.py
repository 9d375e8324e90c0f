"""The largest model that fits, the devices it takes, the memory they need: one inequality, any of its sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symacct.errors import ConventionError, InconclusiveError, one_of
from symacct.expr import (
    Expr,
    Poly,
    Sympy,
    add,
    ceildiv,
    divide,
    floordiv,
    multiply,
    to_json,
    to_sympy,
)
from symacct.memory.amounts import amount
from symacct.memory.rates import Rates, bytes_per_parameter
from symacct.memory.static import STAGES
from symacct.units import Quantity

LEFT_OUT = "activations, logits, temporaries, and what the allocator and the framework take"
_UNITS = {"parameters": "param", "devices": "", "memory": "B"}


@dataclass(frozen=True, slots=True, repr=False)
class Fit:
    """One side of ``parameters * bytes a parameter <= memory``, on each of the devices; a bound, not an estimate.

    Attributes
    ----------
    unknown
        ``"parameters"``, ``"devices"`` or ``"memory"`` (of one device).
    expr
        The real number at which the two sides are equal.
    binary
        The same with GiB where GB was written; None where it was not.
    """

    unknown: str
    expr: Expr
    given: tuple[tuple[str, Expr], ...]
    rates: Rates
    stage: int
    binary: Fit | None = None

    @property
    def value(self) -> Sympy:
        """The largest whole number of parameters, or the smallest of devices or bytes, as a sympy expression."""
        return to_sympy(self._whole)

    @property
    def kind(self) -> str:
        """``"upper bound"`` on parameters, ``"lower bound"`` on devices and memory: what is left out comes besides."""
        return "upper bound" if self.unknown == "parameters" else "lower bound"

    @property
    def left_out(self) -> str:
        """What comes besides, in words."""
        return f"copies that weights are cast to, {LEFT_OUT}" if self.rates.cast else LEFT_OUT

    @property
    def _whole(self) -> Expr:
        if isinstance(self.expr, Poly):
            return self.expr
        return floordiv(self.expr, 1) if self.unknown == "parameters" else ceildiv(self.expr, 1)

    def __str__(self) -> str:
        """Print the bound, what it was derived from and what it leaves out."""
        most, article = ("at most", "an") if self.unknown == "parameters" else ("at least", "a")
        rates = self.rates
        sums = " + ".join(str(part.bytes) for part in rates.parts if part.bytes)
        divided = [role for role in STAGES[self.stage] if role in {part.role for part in rates.parts}]
        lines = [
            f"{most} {told(self.unknown, self._whole)}: {article} {self.kind}",
            f"  {', '.join(told(what, side) for what, side in self.given)}",
            f"  {rates.optimizer.name} under {rates.policy.name}: {sums} = {rates.total} bytes a parameter",
            f"  divided among the devices: {one_of(divided)} (stage {self.stage})",
            f"  not in it: {self.left_out}",
        ]
        if self.binary is not None:
            lines.append(f"  with GiB for GB: {most} {told(self.unknown, self.binary._whole)}")  # noqa: SLF001 # of its own kind
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        return {
            "unknown": self.unknown,
            "value": to_json(self._whole),
            "exact": to_json(self.expr),
            "kind": self.kind,
            "given": {what: to_json(side) for what, side in self.given},
            "stage": self.stage,
            "bytes_per_parameter": self.rates.to_json(),
            "left_out": self.left_out,
            "with_gib": None if self.binary is None else to_json(self.binary._whole),  # noqa: SLF001 # likewise
        }


def told(what: str, side: Expr) -> str:
    """Write an amount with its unit: ``53,333,333,333 parameters``, ``8 devices``."""
    if isinstance(side, Poly):
        return f"{side} {'bytes a device' if what == 'memory' else what}"
    if what == "memory":
        return f"{Quantity(side, 'B')} a device"
    return f"{side:,} {what if side != 1 else what[:-1]}"


def fit(
    *,
    params: Any = None,
    devices: Any = None,
    memory: Any = None,
    optimizer: Any = "adamw",
    policy: Any = "bf16",
    stage: int = 3,
) -> Fit:
    """Return the largest model that fits, ``devices * memory / bytes a parameter``, or what a model takes.

    Parameters
    ----------
    params, devices, memory
        Two of them; the third is what is asked. Numbers, text (``"70B"``, ``"80 GB"``, ``"80 GiB"``; memory of one
        device), or names and expressions.
    optimizer
        As in `symacct.optimizer`.
    policy
        As in `symacct.bytes_per_parameter`.
    stage
        What is divided among the devices: 0 nothing, 1 master copies and state, 2 gradients too, 3 parameters too.

    Returns
    -------
    Fit
        A bound: activations and whatever else a step makes are left out, and said so.

    Raises
    ------
    ConventionError
        Unless two of the three are given, or for an unknown stage.
    InconclusiveError
        Where no number of devices is enough, since what is not divided does not fit on one.

    Notes
    -----
    On one of n devices a parameter takes ``u + s/n`` bytes, u in roles that are not divided, s in those that are. So
    ``P*(u + s/n) <= M``, solved for P, for M, or for ``n = s*P/(M - u*P)``.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.fit(devices=8, memory="80 GB").value
    53333333333
    >>> sa.fit(devices="n", memory="M", policy="megatron", stage=1).value
    M*n/(6*(n + 2))
    >>> print(sa.fit(params="70B", memory="80 GB"))
    at least 11 devices: a lower bound
      70,000,000,000 parameters, 80.000 GB (74.506 GiB) a device
      adamw under bf16: 2 + 2 + 4 + 4 = 12 bytes a parameter
      divided among the devices: state, grad, param (stage 3)
      not in it: activations, logits, temporaries, and what the allocator and the framework take
      with GiB for GB: at least 10 devices

    """
    sides = {"parameters": params, "devices": devices, "memory": memory}
    asked = [what for what, side in sides.items() if side is None]
    if len(asked) != 1:
        msg = f"give two of params, devices, memory, and the third is worked out; {len(sides) - len(asked)} are given"
        raise ConventionError(msg)
    if stage not in STAGES:
        msg = f"unknown stage {stage!r}; known: {one_of(map(str, STAGES))}"
        raise ConventionError(msg)
    rates = bytes_per_parameter(optimizer, policy)
    given = {what: amount(what, side, _UNITS[what]) for what, side in sides.items() if side is not None}
    binary = None
    if isinstance(memory, str) and "GB" in memory:
        binary = _fit(asked[0], {**given, "memory": amount("memory", memory.replace("GB", "GiB"), "B")}, rates, stage)
    return _fit(asked[0], given, rates, stage, binary)


def _fit(unknown: str, given: dict[str, Expr], rates: Rates, stage: int, binary: Fit | None = None) -> Fit:
    return Fit(unknown, _solved(unknown, given, rates, stage), tuple(given.items()), rates, stage, binary)


def _solved(unknown: str, given: dict[str, Expr], rates: Rates, stage: int) -> Expr:
    if unknown != "devices":
        each = rates.divided(STAGES[stage], given["devices"])
        if unknown == "memory":
            return multiply(given["parameters"], each)
        return divide(given["memory"], each)
    shared = sum((part.bytes for part in rates.parts if part.role in STAGES[stage]), start=0)
    own = multiply(given["parameters"], rates.total - shared)
    left = add((given["memory"], -own))
    if not isinstance(left, Poly) and (left <= 0 or shared == 0):
        if shared == 0 and left >= 0:
            return 1
        msg = (
            f"no number of devices is enough: at stage {stage}, {rates.total - shared} bytes a parameter are on each "
            f"device, {Quantity(own, 'B') if not isinstance(own, Poly) else own}, beside what is divided"
        )
        raise InconclusiveError(msg)
    return divide(multiply(given["parameters"], shared), left)
