"""Time on a device: what bounds each kernel, how long it takes at best, and why a run does not reach the peak."""

from __future__ import annotations

from symacct.accounting.roofline.core import Roofline, roofline
from symacct.accounting.roofline.figures import RooflineFigures

__all__ = ["Roofline", "RooflineFigures", "roofline"]
