"""A person's own devices from a TOML file, and what is refused with its place."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import HardwareError

MINE = """
[sources.sheet]
title = "a sheet"
date = "2026-01"
evidence = "seen"

[[link]]
name = "wire"
one_way = "10 Gbit/s"

[[device]]
name = "Mine"
aliases = ["ours"]
memory = "16 GiB"
bandwidth = ["500 GB/s", { value = "480 GB/s", source = "sheet", note = "measured", spread = 0.02 }]
links = [{ name = "wire", count = 4 }, { name = "pcie5-x16" }]
peaks = [
    { dtypes = ["bf16", "fp16"], sparse = "200 TFLOP/s", units = 100, operations = 1000, clock = "1 GHz" },
    { dtypes = ["fp32"], engine = "vector", dense = "5 TFLOP/s", source = "sheet" },
]
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_of_ones_own(written):
    path = written(MINE)
    mine = sa.device(path)
    assert mine == sa.device(str(path)) == sa.load_devices(path)["ours"] == sa.device(f"{path}#mine")
    assert mine.memory == 16 * 2**30
    assert mine.peak("bf16").speed == 100 * 10**12
    assert mine.peak("bf16").clocked.speed == mine.peak("fp16").speed
    assert mine.ridge("bf16") == 200
    assert mine.bandwidths[1].spread == 0.02
    assert "± 2.0%" in str(mine.bandwidths[1])
    assert mine.peak("fp32").dense[0].source.title == "a sheet"
    assert (mine.bandwidths[0].source.title, mine.bandwidths[0].source.evidence) == ("mine.toml", "stated")
    assert mine.links[0].bandwidth == 5 * 10**9
    assert mine.links[1].one_way == sa.link("pcie5-x16").one_way


def test_a_file_of_two(written):
    path = written(MINE + MINE[MINE.index("[[device]]") :].replace("Mine", "Other").replace("ours", "theirs"))
    assert sa.device(f"{path}#other").name == "Other"
    with pytest.raises(HardwareError, match=r"holds 2 devices; say which: .*#NAME, of Mine, Other"):
        sa.device(path)
    with pytest.raises(HardwareError, match="no device 'third'"):
        sa.device(f"{path}#third")


WRONG = {
    "no TOML": (("[[device]]", "[[device"), "no TOML"),
    "unknown key": (
        ('aliases = ["ours"]', 'alias = "ours"'),
        r"device 'Mine': unknown key 'alias'. Did you mean 'aliases'",
    ),
    "missing key": (('memory = "16 GiB"', ""), "device 'Mine' has no memory"),
    "a number without unit": (('"16 GiB"', "16"), "memory is 16; write text with its unit"),
    "work for speed": (("5 TFLOP/s", "5 TFLOP"), r"peak 2, dense: .* is work \(FLOP\); a speed"),
    "bandwidth for memory": (('"16 GiB"', '"16 GiB/s"'), "memory: .* a bandwidth"),
    "zero": (('"16 GiB"', '"0 GiB"'), "memory is 0"),
    "an empty list": (('"16 GiB"', "[]"), "memory is an empty list"),
    "a dtype": (('"fp32"', '"fp33"'), "peak 2: unknown dtype 'fp33'"),
    "an engine": (('"vector"', '"tensor"'), "unknown engine 'tensor'; known: matrix, vector"),
    "two alike": (('["fp32"], engine = "vector"', '["fp16"]'), "two peaks of fp16, fp32 sums, matrix"),
    "no peak": (('dense = "5 TFLOP/s", ', ""), "peak 2 has neither dense nor sparse"),
    "parts": ((", operations = 1000", ""), "has units, clock; units, operations and clock go together"),
    "a half unit": (("units = 100", "units = 0.5"), "units is 0.5, not a whole number"),
    "a source": (('source = "sheet" }', 'source = "shet" }'), r"no source 'shet' in \[sources\]; it has sheet"),
    "a source as a table": (('source = "sheet" }', "source = { value = 3 } }"), "source is {'value': 3}, not text"),
    "evidence": (('"seen"', '"heard"'), "unknown evidence 'heard'; known: seen, recalled"),
    "a link": (('"wire", count', '"wyre", count'), "unknown link 'wyre'. Did you mean 'wire'"),
    "a spread": (("spread = 0.02", "spread = -1"), "the spread -1 is no share"),
    "no number for a spread": (("spread = 0.02", "spread = nan"), "the spread nan is no share"),
    "no end to a spread": (("spread = 0.02", "spread = inf"), "the spread inf is no share"),
    "a text": (('name = "Mine"', "name = 3"), "name is 3, not text"),
    "one name for two": (('aliases = ["ours"]', 'aliases = ["ours", 3]'), "not a list of texts"),
    "beyond all devices": (('"16 GiB"', '"1e400 B"'), r"memory: 1.000e\+400 B is beyond what a device can have"),
    "less than a byte": (('"16 GiB"', '"0.5 B"'), "memory: 0.5 B is beyond"),
    "more units than there are": (("units = 100", f"units = 1{'0' * 400}"), r"not a whole number from 1 to 10\*\*9"),
    "a long list for a number": (('"16 GiB"', f"[{'[1],' * 10**5}]"), r"memory is \[1\]; write text"),
    "a long name for a key": (('aliases = ["ours"]', f"{'a' * 10**5} = 1"), r"unknown key 'a{59}\."),
    "control characters": (('name = "Mine"', 'name = "\\u001b[31m"'), r"name is '\\x1b\[31m', not text of one line"),
    "a name of two lines": (('["ours"]', '["a\\nb"]'), "not a list of texts"),
    "peaks as text": (("peaks = [", 'peaks = "none"\nnote = ['), "is 'none', not a list of tables"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_with_its_place(written, what):
    (old, new), says = WRONG[what]
    assert old in MINE
    path = written(MINE.replace(old, new))
    with pytest.raises(HardwareError, match=says) as caught:
        sa.device(path)
    assert "mine.toml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(HardwareError, match=r"cannot read .*none\.toml"):
        sa.load_devices(tmp_path / "none.toml")
    with pytest.raises(HardwareError, match="cannot read"):
        sa.load_devices(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(HardwareError, match="no UTF-8"):
        sa.load_devices(tmp_path / "bytes.toml")
    (tmp_path / "long.toml").write_text("#" * 1_000_001)
    with pytest.raises(HardwareError, match="too many"):
        sa.load_devices(tmp_path / "long.toml")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(HardwareError, match=r"empty.toml has no \[\[device\]\]"):
        sa.device(tmp_path / "empty.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "bom.toml").write_text(MINE, encoding="utf-8-sig")
    assert sa.device(tmp_path / "bom.toml").name == "Mine"
