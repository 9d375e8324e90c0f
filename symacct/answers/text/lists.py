"""Long lists of words, written as text."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """Return the words of a text that is a list.

    Examples
    --------
    >>> listed("s sec seconds")
    ('s', 'sec', 'seconds')

    """
    return tuple(text.split())
