"""Activation checkpointing: what to keep and what to compute again, as formulas and as the best cuts in numbers."""

from __future__ import annotations

from symacct.checkpointing.answer import Checkpointing
from symacct.checkpointing.chain import Chain, Run, Stage
from symacct.checkpointing.curve import Curve, checkpoint_curve
from symacct.checkpointing.verb import checkpoint

__all__ = ["Chain", "Checkpointing", "Curve", "Run", "Stage", "checkpoint", "checkpoint_curve"]
