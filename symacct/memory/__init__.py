"""Memory of training: what lasts, what a step makes, and the largest that fits."""

from __future__ import annotations

from symacct.memory.fitting import Fit, fit
from symacct.memory.parameters import Parameter, parameters_of
from symacct.memory.rates import Rate, Rates, bytes_per_parameter
from symacct.memory.static import STAGES, Entry, static_entries

__all__ = [
    "STAGES",
    "Entry",
    "Fit",
    "Parameter",
    "Rate",
    "Rates",
    "bytes_per_parameter",
    "fit",
    "parameters_of",
    "static_entries",
]
