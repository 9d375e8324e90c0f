"""The questions: time to train, utilisation, and any other quantity of a run, from the others."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symacct.errors import EquationError, SymacctError, one_of
from symacct.hardware import Device, device
from symacct.runs.equations import Number
from symacct.runs.given import Value, read_given
from symacct.runs.run import Run
from symacct.runs.solving import corners_of, joined, solved
from symacct.runs.training import VARIABLES
from symacct.units import Quantity, Range

_WANTED = ("time", "mfu", "tokens", "devices", "params", "cost")
_FORWARD: dict[str, Number] = {"factor": 2, "attention_factor": 4}


def training_run(target: str | None = None, *, dtype: str = "bf16", **known: Any) -> Run:
    """Solve ``factor*params*tokens = flops = devices*peak*mfu*time`` and its kin for what is not given.

    Parameters
    ----------
    target
        The quantity that is wanted; by default the first of time, mfu, tokens, devices, params, cost that is open.
    dtype
        Which peak of the `device` counts.
    **known
        Quantities by name, as numbers, or as text with units and ranges (``tokens="15T"``, ``mfu="0.3..0.5"``):
        params, tokens, factor, layers, width, context, attention_factor, attention, flops_per_token, flops, devices,
        peak, mfu, recompute, hfu, throughput, device_throughput, time (or days, hours, seconds), device_time (or
        gpu_hours), price (``"$2/h"``), cost. `device` is the name of one, or a `Device`, in place of `peak`.

    Returns
    -------
    A `Run` with every quantity that follows, and what was assumed: factor 6; no attention, or the factor 12 for all
    pairs where its sizes are given; no recompute. The factor of a network of your own follows from the gradients:
    ask for ``"factor"`` with ``flops=account.training().matmul_flops``.

    Raises
    ------
    EquationError
        Where too little is given, or the values contradict each other.
    UtilisationError
        For an mfu or hfu above 1, with what may be the cause.
    MixedUnitsError, UnitError, SizeError, HardwareError
        For what is in another unit, does not read, or is no known device.

    Examples
    --------
    >>> import symacct as sa
    >>> run = sa.training_run("tokens", params="7B", cost="$1M", price="$2/h", device="h100", mfu="0.3..0.5")
    >>> print(run.answer)
    12.722 trillion tokens to 21.204 trillion tokens

    """
    given, sources = read_given(known, dtype)
    wanted = target or next((name for name in _WANTED if name not in given), _WANTED[0])
    if wanted not in VARIABLES:
        raise EquationError(f"a run has no {str(wanted)[:40]!r}; known: {one_of(VARIABLES)}")
    corners = [solved(values, sources, wanted) for values in corners_of(given)]
    how = corners[0][1]
    values = {name: joined([found[name] for found, _ in corners], VARIABLES[name].unit) for name in corners[0][0]}
    plain = not any(isinstance(value, Range) for value in given.values())
    readings = _readings(wanted, given, known["device"], dtype, how) if plain and "device" in known else ()
    return Run(wanted, values, how, readings)


def days(*, dtype: str = "bf16", **known: Any) -> float | tuple[float, float]:
    """Return the days a training run takes: ``factor*params*tokens/(devices*peak*mfu*86400)``.

    Parameters and errors are those of `training_run`.

    Returns
    -------
    Days; the least and the most of them where a range went in.

    Examples
    --------
    >>> import symacct as sa
    >>> round(sa.days(params="70B", tokens="15T", devices=1024, device="h100", mfu=0.5), 2)
    143.93

    """
    return _numbers(training_run("time", dtype=dtype, **known)["time"], 86_400)


def mfu(*, dtype: str = "bf16", **known: Any) -> float | tuple[float, float]:
    """Return the model FLOPs utilisation of a run: ``flops/(devices*peak*time)``, at most 1.

    Parameters and errors are those of `training_run`; a step, or a single operation, is a run too.

    Returns
    -------
    The utilisation; the least and the largest where a range went in.

    Examples
    --------
    PaLM 540B with attention, as its paper counts:

    >>> import symacct as sa
    >>> palm = {"params": 540.35e9, "layers": 118, "width": 48 * 256, "context": 2048}
    >>> round(sa.mfu(**palm, throughput="238.3k token/s", devices=6144, peak="275 TFLOP/s"), 4)
    0.4623

    """
    return _numbers(training_run("mfu", dtype=dtype, **known)["mfu"])


def _numbers(value: Value, unit: int = 1) -> float | tuple[float, float]:
    if isinstance(value, Range):
        return float(value.low / unit), float(value.high / unit)
    return float(value / unit)


def _readings(
    target: str, given: Mapping[str, Value], name: str | Device, dtype: str, how: Mapping[str, str]
) -> tuple[tuple[str, Quantity], ...]:
    """Work the target out under what people mix up: the headline with sparsity, the forward alone, fp32."""
    found = device(name)
    exact = {n: Fraction(v.value) for n, v in given.items() if isinstance(v, Quantity)}
    others: list[tuple[str, dict[str, Number]]] = []
    if headline := found.peak(dtype).headline:
        others.append(("with the headline peak, which counts sparsity", {"peak": Fraction(headline.value)}))
    if forward := {name: third for name, third in _FORWARD.items() if how.get(name, "").startswith("assumed")}:
        others.append(("counting the forward alone, a third of the work", forward))
    if any(peak.dtype == "fp32" for peak in found.peaks):
        others.append(("at the peak of fp32", {"peak": Fraction(found.peak("fp32").speed.value)}))
    return tuple(
        (what, Quantity(value, VARIABLES[target].unit))
        for what, change in others
        if (value := _at(target, {**exact, **change})) is not None and value != _at(target, exact)
    )


def _at(target: str, given: Mapping[str, Number]) -> Number | None:
    try:
        return solved(given, dict.fromkeys(given, ""), target)[0].get(target)
    except SymacctError:
        return None
