"""The gradient graph of a graph: who needs a gradient, and the operations that make it."""

from __future__ import annotations

from symacct.backward.held import Kept, Running, Saving, kept
from symacct.backward.needs import needing
from symacct.backward.whole import Joint, backward, chosen_inputs, joint

__all__ = ["Joint", "Kept", "Running", "Saving", "backward", "chosen_inputs", "joint", "kept", "needing"]
