"""Memory of training: what lasts, what a step makes, and the largest that fits."""

from __future__ import annotations

from symacct.memory.figures import GROUPS, MemoryFigures
from symacct.memory.fitting import Fit, fit
from symacct.memory.ledger import Ledger, Peak
from symacct.memory.parameters import Parameter, parameters_of
from symacct.memory.rates import Rate, Rates, bytes_per_parameter
from symacct.memory.static import STAGES, Entry, static_entries
from symacct.memory.step import Step
from symacct.memory.timeline import Timeline

__all__ = [
    "GROUPS",
    "STAGES",
    "Entry",
    "Fit",
    "Ledger",
    "MemoryFigures",
    "Parameter",
    "Peak",
    "Rate",
    "Rates",
    "Step",
    "Timeline",
    "bytes_per_parameter",
    "fit",
    "parameters_of",
    "static_entries",
]
