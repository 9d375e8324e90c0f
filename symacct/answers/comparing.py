"""Whether an answer is the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symacct.answers.reading import read_answer
from symacct.answers.types import Verdict
from symacct.errors import SymacctError
from symacct.expr import equal, read


def check(  # noqa: PLR0917
    answer: str,
    truth: Any,
    symbols: Mapping[str, str] | Iterable[str] = (),
    mode: str = "exact",  # noqa: ARG001
    rtol: float | None = None,  # noqa: ARG001
    var: str | Iterable[str] | None = None,  # noqa: ARG001
    at: Mapping[str, Any] | None = None,  # noqa: ARG001
    *,
    unit: str = "",
    conventions: Mapping[str, str] | None = None,  # noqa: ARG001
    show_derivation: bool = False,  # noqa: ARG001
) -> Verdict:
    """Compare an answer with the truth; never raises for what the answer says, only for a truth that does not read."""
    right = read(str(truth))
    try:
        reading = read_answer(answer, symbols, unit=unit)
        correct = equal(read(answer), right)
    except SymacctError as error:
        return Verdict(correct=False, problem=str(error), truth=str(truth))
    return Verdict(correct=correct, proof="algebra" if correct else "", reading=reading, truth=str(truth))
