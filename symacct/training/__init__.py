"""What a step of training costs: forward, backward and what comes with them."""

from __future__ import annotations

from symacct.backward.policies import POLICIES
from symacct.training.kept import Residuals, residuals
from symacct.training.step import Training, training

__all__ = ["POLICIES", "Residuals", "Training", "residuals", "training"]
