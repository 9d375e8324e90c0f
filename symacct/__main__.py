"""``python -m symacct``: the command, where its script is not on the path."""

from __future__ import annotations

from symacct.cli import main

main()
