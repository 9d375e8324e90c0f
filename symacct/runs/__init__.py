"""Training runs as equations: given some of work, devices, time, utilisation and cost, the rest."""

from __future__ import annotations

from symacct.runs.questions import days, mfu, training_run
from symacct.runs.run import Run
from symacct.runs.utilisation import checked_utilisation

__all__ = ["Run", "checked_utilisation", "days", "mfu", "training_run"]
