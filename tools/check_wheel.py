"""Check that a wheel holds all of symacct/ and nothing else: `python tools/check_wheel.py WHEEL`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        held = {name for name in wheel.namelist() if not name.split("/")[0].endswith(".dist-info")}
    files = (path for path in (ROOT / "symacct").rglob("*") if path.is_file() and path.suffix != ".pyc")
    wanted = {path.relative_to(ROOT).as_posix() for path in files}
    for name in sorted(wanted ^ held):
        print(f"{'missing from' if name in wanted else 'does not belong in'} the wheel: {name}")
    print(f"{len(held)} files in the wheel, {len(wanted)} in symacct/")
    return int(wanted != held or not wanted)


if __name__ == "__main__":
    sys.exit(main())
