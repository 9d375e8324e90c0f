"""The quantities of a training run, their units, and the equations between them."""

from __future__ import annotations

from typing import NamedTuple

from symacct.runs.equations import Equation
from symacct.units import Quantity, Range


class Variable(NamedTuple):
    """A quantity of a run: its unit, what it is, and what is assumed of it where nothing else tells."""

    unit: str
    meaning: str
    default: int | None = None
    assumption: str = ""


VARIABLES: dict[str, Variable] = {
    "params": Variable("param", "parameters that a token meets"),
    "tokens": Variable("token", "tokens trained on"),
    "factor": Variable(
        "FLOP/param/token", "operations of matmuls with weights, a parameter and token", 6, "2 forward, 4 backward"
    ),
    "layers": Variable("", "layers with attention"),
    "width": Variable("", "heads times head size"),
    "context": Variable("", "tokens that attention sees"),
    "attention_factor": Variable(
        "FLOP/token",
        "operations of a pair of tokens: 12 for all pairs, 6 for the causal half",
        12,
        "all pairs; causal, 6",
    ),
    "attention": Variable(
        "FLOP/token", "operations of attention's two matmuls of activations, a token", 0, "none, without layers"
    ),
    "flops_per_token": Variable("FLOP/token", "operations of training on a token"),
    "flops": Variable("FLOP", "operations of the run"),
    "devices": Variable("", "how many devices"),
    "peak": Variable("FLOP/s", "peak of one device"),
    "mfu": Variable("", "model FLOPs over what the devices could do"),
    "recompute": Variable("", "what is done again, as a share: 1/3 for a second forward", 0, "none"),
    "hfu": Variable("", "the same with what is done again"),
    "throughput": Variable("token/s", "tokens a second, all devices"),
    "device_throughput": Variable("token/s", "tokens a second of one device"),
    "time": Variable("s", "time of the run"),
    "device_time": Variable("s", "devices times time"),
    "price": Variable("$/s", "price of a device"),
    "cost": Variable("$", "price of the run"),
}

EQUATIONS = tuple(
    map(
        Equation,
        (
            "attention = attention_factor*layers*width*context",
            "flops_per_token = factor*params + attention",
            "flops = flops_per_token*tokens",
            "flops = devices*peak*mfu*time",
            "flops = peak*mfu*device_time",
            "flops_per_token*throughput = devices*peak*mfu",
            "throughput = devices*device_throughput",
            "flops_per_token*device_throughput = peak*mfu",
            "tokens = throughput*time",
            "device_time = devices*time",
            "hfu = mfu*(1 + recompute)",
            "cost = price*device_time",
        ),
    )
)

# other names for quantities, with the unit that a plain number is then in
ALIASES = {
    "days": ("time", "days"),
    "seconds": ("time", "s"),
    "hours": ("time", "h"),
    "device_hours": ("device_time", "h"),
    "gpu_hours": ("device_time", "h"),
    "price_per_hour": ("price", "$/h"),
    "tokens_per_second": ("throughput", "token/s"),
}
WHOLE = ("layers", "width", "context", "devices")
"""Quantities that are given as whole numbers; one that follows is exact."""
NEED_UNITS = {"time": "time='30 days'", "device_time": "device_time='1M h'", "price": "price='$2/h'"}
"""Quantities of which a plain number could be meant in several units."""


def shown(name: str, value: Quantity | Range) -> str:
    """Print a quantity; of device time hours, as it is sold."""
    if isinstance(value, Range):
        return f"{shown(name, value.low)} to {shown(name, value.high)}"
    if name != "device_time":
        return str(value)
    hours = float(value.value) / 3600
    return f"{hours:,.0f} device-hours" if hours >= 1000 else f"{hours:.4g} device-hours"
