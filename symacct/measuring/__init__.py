"""How long calls take on this machine, measured so that the figure can be relied on, and its rates from that."""

from __future__ import annotations

from symacct.measuring.samples import Measurement

__all__ = ["Measurement"]
