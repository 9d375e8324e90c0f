"""A key of two questions, and answers to it in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from symacct.grading import Key, read_key

KEY = """\
title = { en = "Products", zh = "矩阵乘法" }

[[question]]
id = "matmul"
prompt = { en = "FLOPs of x @ w?", zh = "x @ w 的运算量？" }
points = 4
symbols = { B = "rows", D = "contracted width", K = "outputs" }
formula = "2*B*D*K"
at = { B = 1024, D = 256, K = 64 }
unit = "FLOPs"
partial = { macs_for_flops = 0.25 }
hints = ["Each output is a sum.", { en = "Two operations a term.", zh = "每项两次运算。" }]
right = ["2BDK", "33554432"]
conventions = { exact = "B*K*(2*D - 1)" }

[question.wrong]
"B*D*K" = "macs_for_flops"
"2*B*K" = "axis_forgotten"

[[question]]
id = "square"
prompt = "Arithmetic intensity of a square product in bf16?"
symbols = { n = "side" }
pattern = "n m, m k -> n k"
of = "intensity"
sizes = { m = "n", k = "n" }
accept = ["exact"]
"""


@pytest.fixture
def key(tmp_path: Path) -> Key:
    file = tmp_path / "key.toml"
    file.write_text(KEY, encoding="utf-8")
    return read_key(file)


@pytest.fixture
def handed_in(tmp_path: Path) -> Callable[..., Path]:
    """Write answers into the folder of answers; bytes are written as they are."""
    folder = tmp_path / "answers"
    folder.mkdir()

    def write(name: str, content: str | bytes) -> Path:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return write
