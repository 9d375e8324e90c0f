"""What must hold for an account to be true, said inside the function."""

from __future__ import annotations

from typing import Any

from symacct.symbolic import Symbolic


def condition(text: str, *, like: Any) -> None:
    """State what must hold: it is listed with the account's conditions, and checked where numbers are put in.

    Parameters
    ----------
    text
        ``"h divides d"``, or a comparison of sizes with >=, <=, >, < or =, ``"k <= e"``. Anything else is a sentence,
        which is listed and cannot be checked: ``"every expert gets b*s*k/e tokens"``.
    like
        A tensor of the graph in which it holds. On real tensors nothing is checked: they have no names.

    Raises
    ------
    SizeError
        If it does not hold at the sizes that were given.

    Examples
    --------
    >>> import symacct as sa
    >>> def heads(x: "b s d", h: int):
    ...     sa.condition("h divides d", like=x)
    ...     return x * 2
    >>> [str(c) for c in sa.account(heads).conditions]
    ['h divides d']

    """
    if isinstance(like, Symbolic):
        like.builder.state(text)
