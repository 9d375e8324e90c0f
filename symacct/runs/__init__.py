"""Training runs as equations: given some of work, devices, time, utilisation and cost, the rest."""

from __future__ import annotations

from symacct.hardware.utilisation import checked_utilisation
from symacct.runs.questions import days, mfu, training_run
from symacct.runs.run import Run

__all__ = ["Run", "checked_utilisation", "days", "mfu", "training_run"]
