"""An account as text, LaTeX, HTML and JSON; and back from JSON."""

from __future__ import annotations

import json
import re

import pytest
import sympy

import symacct as sa
from symacct.conventions import Convention

ACCOUNTS = {
    "matmul": lambda: sa.account("b d, d k -> b k"),
    "sizes": lambda: sa.account("b d, d k -> b k", d="k/2", b=64, convention="exact"),
    "chain": lambda: sa.account("i j, j k, k l -> i l", dtype=["fp8", "bf16", "bf16", "fp32"], traffic="compulsory"),
    "naive": lambda: sa.account("i j, j k, k l -> i l", order="naive"),
    "names": lambda: sa.account("E N, N S, S lambda pi -> E pi", sizes={"lambda": "gamma*zeta"}),
    "blocks": lambda: sa.account("b d, d k -> b k", dtype="nvfp4"),
    "quotient": lambda: sa.account("b d, d k -> b k", d="k/(b + 1)"),
    "logarithm": lambda: sa.account("b d, d k -> b k", d="log2(k)", b="ceil(sqrt(k)/3)"),
    "ellipsis": lambda: sa.account("... (h d), d k, -> ... h k"),
    "copy": lambda: sa.account("b d -> d b"),
    "scalar": lambda: sa.account("->"),
    "mac": lambda: sa.account("b d, d k -> b k", convention="mac"),
    "mixed": lambda: sa.account("i j, j k, i k -> i k", convention="mac"),
    "huge": lambda: sa.account("b d, d k -> b k", b=10**30, d=10**30),
    "unicode": lambda: sa.account("größe d, d β -> größe β"),
}


def walk(data, revived):
    """Yield each expression of the JSON with what it was read back as."""
    if isinstance(data, dict) and "srepr" in data:
        yield data, revived
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from walk(value, revived[key])
    elif isinstance(data, list):
        for value, again in zip(data, revived, strict=True):
            yield from walk(value, again)
    else:
        assert data == revived


@pytest.mark.parametrize("make", ACCOUNTS.values(), ids=ACCOUNTS)
def test_every_expression_comes_back_from_json(make):
    account = make()
    text = json.dumps(account.to_json())
    revived = sa.loads(text)
    expressions = list(walk(json.loads(text), revived))
    assert len(expressions) >= 3
    for data, again in expressions:
        assert sympy.sympify(data["srepr"]) == again  # noqa: TID251  # the promise to other programs
        assert sorted(map(str, again.free_symbols)) == data["symbols"]
        assert sa.same(data["text"], again)
    for total in ("flops", "matmul_flops", "bytes", "intensity"):
        if revived[total] is not None:
            assert revived[total] == getattr(account, total)
    assert Convention(**revived["convention"]) == account.convention
    assert sa.loads(json.loads(text)) == revived


def test_the_keys_of_the_json_are_stable():
    keys = "title flops matmul_flops bytes intensity counts units convention dtype traffic order conditions steps"
    assert set(keys.split()) <= set(ACCOUNTS["matmul"]().to_json())


@pytest.mark.parametrize("make", ACCOUNTS.values(), ids=ACCOUNTS)
def test_the_table_fits_80_columns_and_says_under_what_it_holds(make):
    account = make()
    shown = str(account)
    assert max(map(len, shown.splitlines())) <= 80
    assert account.convention.label in shown
    assert account.traffic in shown
    flat = " ".join(shown.split())
    for condition in account.conditions:
        assert str(condition).split()[0] in flat
    assert repr(account) == shown


def test_the_table():
    shown = str(sa.account("b d, d k -> b k", b=64, d="4*k")).splitlines()
    assert [" ".join(line.split()) for line in shown] == [
        "b d, d k -> b k with b = 64, d = 4*k",
        "quantity closed form unit",
        "flops 512*k**2 FLOP",
        "matmul_flops 512*k**2 FLOP",
        "bytes 8*k*(k + 80) B",
        "intensity 64*k/(k + 80) FLOP/B",
        "",
        "under",
        "convention 2n: a sum of n products is 2n operations; a sum of n terms is n",
        "dtype bf16",
        "traffic unfused",
    ]


@pytest.mark.parametrize("make", ACCOUNTS.values(), ids=ACCOUNTS)
def test_latex_is_a_balanced_block_of_its_totals(make):
    account = make()
    latex = account.latex()
    assert latex.startswith("\\begin{aligned}\n")
    assert latex.endswith("\n\\end{aligned}")
    assert latex.count("{") == latex.count("}")
    assert len(re.findall(r"\\left\b", latex)) == len(re.findall(r"\\right\b", latex))
    lines = latex.splitlines()[1:-1]
    assert [line.endswith("\\\\") for line in lines] == [True] * (len(lines) - 1) + [False]
    assert all(line.count("&=") == 1 for line in lines)
    assert r"\text{matmul\_flops}" in latex


@pytest.mark.parametrize("make", ACCOUNTS.values(), ids=ACCOUNTS)
def test_html_is_well_formed(make):
    html = make()._repr_html_()
    tags = re.findall(r"<(/?)(\w+)", html)
    opened = []
    for closing, tag in tags:
        if closing:
            assert opened.pop() == tag
        else:
            opened.append(tag)
    assert not opened
    assert "->" not in html
    assert "-&gt;" in html


def test_the_title_of_a_graph_of_one_pattern_is_the_pattern():
    assert sa.account("b d -> b").to_json()["title"] == "b d -> b"
    assert sa.account("b d -> b", d="k").to_json()["title"] == "b d -> b   with d = k"
