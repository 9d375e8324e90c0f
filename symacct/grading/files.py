"""Files from strangers: regular, within a size, UTF-8; anything else is one line of complaint."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from symacct.errors import FileError

MAX_BYTES = {".toml": 1_000_000}
"""By the end of a name; the reader of TOML takes much longer than the others."""
MAX_OTHER_BYTES = 4_000_000


def read_text(path: Path) -> str:
    """Return the text of a file.

    Parameters
    ----------
    path
        A regular file; a link is not followed.

    Raises
    ------
    FileError
        For anything but a regular file, more bytes than are read, bytes that are not UTF-8, and binary data.

    """
    name = path.name
    try:
        # a link could lead anywhere, a pipe would never end
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        what = "is a link, which is not followed" if path.is_symlink() else f"cannot be read: {error.strerror}"
        msg = f"{name} {what}"
        raise FileError(msg) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        msg = f"{name} is not a regular file"
        raise FileError(msg)
    with os.fdopen(handle, "rb") as file:
        most = MAX_BYTES.get(path.suffix.lower(), MAX_OTHER_BYTES)
        data = file.read(most + 1)
    if len(data) > most:
        msg = f"{name} has more than {most:,} bytes, the most that are read"
        raise FileError(msg)
    return _decoded(data, name)


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = f"{name} is UTF-16, not UTF-8; save it as UTF-8"
        raise FileError(msg)
    if b"\0" in data:
        msg = f"{name} is binary, not text"
        raise FileError(msg)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = (
            f"{name}, line {line}: not UTF-8 (byte {error.start + 1:,} is 0x{data[error.start]:02x}); save it as UTF-8"
        )
        raise FileError(msg) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
