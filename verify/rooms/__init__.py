"""The rooms of the evidence: one file a subject, each with its `CHECKS`.

A new kind of operation is proved by a check whose `proves` names it and whose fixed cases execute it by other means;
`python -m verify.mutation` fails until there is one, and until its fixed cases notice every small mistake.
"""

from __future__ import annotations

import importlib
import pkgutil

from verify.check import Check

ROOMS: dict[str, tuple[Check, ...]] = {
    name: importlib.import_module(f"{__name__}.{name}").CHECKS
    for name in sorted(found.name for found in pkgutil.iter_modules(__path__))
}

CHECKS: dict[str, list[Check]] = {}
"""The checks that prove each kind of operation, its gradient, "conventions" and "bounds"."""

for _checks in ROOMS.values():
    for _check in _checks:
        for _name in _check.proves:
            CHECKS.setdefault(_name, []).append(_check)
