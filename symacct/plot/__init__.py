"""Pictures of graphs: operations as boxes, coloured by what bounds them."""

from __future__ import annotations

from symacct.plot.draw import draw

__all__ = ["draw"]
