"""The worked graphs: their index, the command on them, the checks on them, and numbers that others published."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import einops
import pytest
import sympy
from typer.testing import CliRunner

import symacct as sa
from symacct.accounting import Account
from symacct.cli.commands import app
from symacct.expr import to_text
from tools import graph_index
from verify.check import Check, DisagreementError
from verify.kernels import bytes_moved
from verify.rooms import compositions as composed
from verify.rooms import worked as room
from verify.rooms.worked import PROGRAMS, REPEATED, UNCOUNTED, WORKED, Case, account_of, total

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")


@pytest.fixture(autouse=True)
def _fresh_accounts() -> Iterator[None]:
    yield
    account_of.cache_clear()


def test_the_index_is_up_to_date() -> None:
    written = (graph_index.GRAPHS / "README.md").read_text(encoding="utf-8")
    assert written == graph_index.index(), "run python tools/graph_index.py"


@pytest.mark.parametrize("name", WORKED)
def test_files_are_complete(name: str) -> None:
    worked, account = WORKED[name], account_of(name)
    assert {"flops", "matmul_flops", "params"} <= set(worked.formulas)
    assert worked.note
    assert worked.reference is not None
    assert set(worked.tiny) == set(account.names)
    assert len(set(worked.tiny.values())) == len(worked.tiny), "equal sizes hide mistakes"
    assert min(worked.tiny.values()) > 1
    assert room.legal(account, dict(worked.tiny))
    assert not account.uncounted


@pytest.mark.parametrize("check", [*room.CHECKS, *composed.CHECKS], ids=lambda check: f"{check.name}: {check.oracle}")
def test_checks_agree(check: Check) -> None:
    if check.missing:
        pytest.skip("no torch")
    assert check.try_fixed() == len(check.fixed) > 0


def test_no_graph_is_passed_over() -> None:
    """What torch's counter does not see is counted by a program, and every repeat is written out."""
    assert set(REPEATED) == {n for n in WORKED if any(op.kind == "repeat" for op in account_of(n).graph.ops)}
    blind = {n for n in WORKED if {(n, "build"), (n, "reference")} <= set(UNCOUNTED)}
    assert blind <= set(PROGRAMS)


def twice(x: "b d", w: "d k", bias: "k") -> Any:
    return x @ w + bias + x @ w


def scaled(x: "b d", w: "d k", bias: "k") -> Any:
    return (x @ w) * 1.0 + bias


def tied(x: "b d", w: "L d d") -> Any:
    return sa.relu(x @ w[0])


MISTAKES = {
    "a form": (room.forms_agree, "linear", {"formulas": {"flops": "2*b*d*k"}}),
    "a form at numbers": (room.numbers_agree, "linear", {"formulas": {"params": "d*k"}}),
    "a value": (room.values_agree, "linear", {"build": twice}),
    "a product": (room.counter_agrees, "linear", {"reference": WORKED["lora_linear"].reference}),
    "an operation": (room.calls_agree, "linear", {"build": scaled}),
    "a parameter": (room.parameters_agree, "linear", {"params": ("w", "bias", "x")}),
    "an exemption": (room.counter_agrees, "dot", {"reference": WORKED["dot"].reference, "build": twice}),
}


@needs_torch
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agree, name, fields = MISTAKES[mistake]
    case = Case(name, dict(WORKED[name].tiny))
    monkeypatch.setitem(WORKED, name, replace(WORKED[name], **fields))
    account_of.cache_clear()
    with pytest.raises((DisagreementError, AssertionError, TypeError)):
        agree(name if agree is room.forms_agree else case)
