"""The evidence: symacct's numbers against executions that know none of its formulas. Run `python -m verify`."""

from __future__ import annotations
