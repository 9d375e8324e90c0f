"""Pictures: graphs, rooflines, where time is lost, totals along sizes, which term rules."""

from __future__ import annotations

from symacct.plot.draw import draw

__all__ = ["draw"]
