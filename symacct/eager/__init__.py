"""What each kind of operation is in torch: the table by which functions and graphs run on real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symacct.eager import pointwise

KINDS: dict[str, Callable[..., Any]] = {**pointwise.KINDS}
