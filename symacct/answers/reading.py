"""Text -> `Reading`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symacct.answers.types import Reading
from symacct.expr.reader import parse


def read_answer(text: str, symbols: Mapping[str, str] | Iterable[str] = (), *, unit: str = "") -> Reading:  # noqa: ARG001
    """Read what a person wrote as an answer."""
    return Reading(text=text, formula=text, tree=parse(text))
