"""Oracles and Hypothesis strategies for users' own tests: plain loops that count, and random patterns to run them on.

`counting` has a number type that counts what is done with it, `loops` runs a pattern with it and records which
elements are touched, `strategies` draws patterns and sizes (it needs Hypothesis: ``pip install symacct[test]``).
"""

from __future__ import annotations
