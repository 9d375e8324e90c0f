"""The worked graphs: their index, the command on them, and the checks on them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import einops
import pytest
from typer.testing import CliRunner

import symacct as sa
from symacct.cli.commands import app
from tools import graph_index
from verify.check import Check, DisagreementError
from verify.kernels import bytes_moved
from verify.rooms import compositions as composed
from verify.rooms import worked as room
from verify.rooms.worked import PROGRAMS, REPEATED, UNCOUNTED, WORKED, Case, account_of

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


MISTAKES = {
    "a form": (room.forms_agree, {"formulas": {"flops": "2*b*d*k"}}),
    "a form at numbers": (room.numbers_agree, {"formulas": {"params": "d*k"}}),
    "a value": (room.values_agree, {"build": twice}),
    "a product": (room.counter_agrees, {"build": twice}),
    "an operation": (room.calls_agree, {"build": scaled}),
    "a parameter": (room.parameters_agree, {"reference": lambda sizes: WORKED["matmul"].reference({**sizes, "m": 2})}),
}


@needs_torch
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agree, fields = MISTAKES[mistake]
    case = Case("linear", {"b": 3, "d": 5, "k": 7, **({"n": 4} if mistake == "a parameter" else {})})
    monkeypatch.setitem(WORKED, "linear", replace(WORKED["linear"], **fields))
    account_of.cache_clear()
    with pytest.raises((DisagreementError, AssertionError)):
        agree("linear" if agree is room.forms_agree else case)


@needs_torch
def test_exemptions_are_earned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UNCOUNTED, ("matmul", "build"), "it is counted")
    with pytest.raises(DisagreementError, match="is right"):
        room.counter_agrees(Case("matmul", dict(WORKED["matmul"].tiny)))
    with pytest.raises(DisagreementError, match="bytes of"):
        room.bytes_agree(Case("transformer", dict(WORKED["transformer"].tiny)))


@pytest.mark.parametrize("name", ["relu", "llama", "mixture_of_experts", "sliding_window_attention"])
def test_the_command_accounts_for_files(name: str) -> None:
    ran = CliRunner().invoke(app, ["account", str(graph_index.GRAPHS / f"{name}.py"), "--json"])
    assert ran.exit_code == 0, ran.output
    assert sa.same(json.loads(ran.output)["flops"]["text"], WORKED[name].formulas["flops"])


def test_the_command_takes_sizes() -> None:
    """The example of the index; a name that a function gives as text, ``repeat("L", ...)``, is put in too."""
    (words,) = (line.split()[2:] for line in graph_index.HEAD.splitlines() if "L=32" in line)
    ran = CliRunner().invoke(app, ["account", str(graph_index.GRAPHS / "llama.py"), *words[1:], "s=8", "--json"])
    assert ran.exit_code == 0, ran.output
    matrices = 8_030_261_248 - 128_256 * 4096 - 65 * 4096  # all parameters but lookups and norms
    assert json.loads(ran.output)["matmul_flops"]["text"] == str(8 * (2 * matrices + 4 * 32 * 32 * 128 * 8))


def test_sizes_of_attributes_are_sizes() -> None:
    """A window stands in no shape, but in the formulas."""
    account = account_of("sliding_window_attention")
    assert "w" in account.names
    # s = 7, w = 3: 1 + 2 + 5*3 pairs, 2 heads of width 4
    pairs = account.at(b=1, s=7, d=5, h=2, k=4, w=3).matmul_flops.value - 8 * 7 * 5 * 2 * 4
    assert pairs == 4 * 18 * 2 * 4


@needs_torch
def test_element_wise_results_stay_permuted() -> None:
    """So that what follows copies as torch does: two copies here, of queries that lie as (b, s, h, k)."""
    import torch

    def layer(x: "b s d", w: "d h k") -> Any:
        q = sa.exp(einops.einsum(x, w, "b s d, d h k -> b h s k"))
        return einops.einsum(q, q, "b h s k, b h t k -> b h s t")

    x, w = torch.randn(2, 3, 5), torch.randn(5, 4, 7)
    for layout, copies in (("ideal", 0), ("torch", 2)):
        account = sa.account(layer, b=2, s=3, d=5, h=4, k=7, dtype="fp32", layout=layout)
        assert account.bytes == bytes_moved(layer, x, w) - (2 - copies) * 2 * 4 * 2 * 3 * 4 * 7


@needs_torch
def test_graphs_run_where_opt_einsum_is_off() -> None:
    import torch

    if not torch.backends.opt_einsum.is_available():
        pytest.skip("no opt_einsum")
    with torch.backends.opt_einsum.flags(enabled=False):
        (out,) = account_of("matmul").graph.run(WORKED["matmul"].tiny).outputs
        assert tuple(out.shape) == (3, 7)
        assert not torch.backends.opt_einsum.enabled
