"""Mutants: what is changed, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import symacct.conventions
from symacct.conventions import Convention, tally
from verify.live import LiveModules
from verify.mutants import mutants
from verify.mutation import EQUIVALENT, Target, checks_for, listed, trouble, unchecked
from verify.rooms import CHECKS
from verify.targets import targets

SOURCE = '''
TABLE = {"exp": 1, "gelu": 20}
NAMES = ("a", "b", "c")

def work(x: int, y: tuple[int, 3]) -> "4":
    """Return 5."""
    if x < 0:
        raise ValueError(f"{x} is below {6}")
    out = 2 * x + y - 3
    out += 1
    return {("contract", "points"): out}

class Bound:
    def at(self, a, b):
        return add((a, b))
'''


def changes(*where: str) -> list[str]:
    return [m.change for m in mutants("f.py", SOURCE, set(where))]


def test_coefficients_terms_and_entries() -> None:
    assert changes("work") == [
        "2 * x + y - 3 -> 2 * x + y",
        "2 * x + y - 3 -> -3",
        "2 * x + y -> 2 * x",
        "2 * x + y -> y",
        "2 -> 4",
        "2 -> 1",
        "3 -> 6",
        "3 -> Fraction(3, 2)",
        "out += 1 -> nothing",
        "1 -> 2",
        "1 -> Fraction(1, 2)",
        "{('contract', 'points'): out} -> {}",
    ]


def test_entries_of_tables_and_calls() -> None:
    assert changes("TABLE")[:2] == ["{'exp': 1, 'gelu': 20} -> {'gelu': 20}", "{'exp': 1, 'gelu': 20} -> {'exp': 1}"]
    assert changes("NAMES") == [f"('a', 'b', 'c') -> {rest}" for rest in ("('b', 'c')", "('a', 'c')", "('a', 'b')")]
    assert changes("Bound.at") == ["(a, b) -> (b,)", "(a, b) -> (a,)"]


def test_a_mutant_differs_in_one_place_and_runs() -> None:
    found = {m.change: m.tree for m in mutants("f.py", SOURCE, {"work"})}
    space: dict = {}
    exec(compile(found["2 -> 4"], "f.py", "exec"), space)  # noqa: S102
    assert space["work"](5, 7) == {("contract", "points"): 4 * 5 + 7 - 3 + 1}


def test_equal_changes_are_told_apart() -> None:
    keys = [m.key for m in mutants("f.py", "def f(x):\n    return 2*x + 2*x", {"f"})]
    assert len(set(keys)) == len(keys) == 6


def test_a_module_is_replaced_and_put_back() -> None:
    live = LiveModules()
    name = "symacct.conventions"
    source = Path(symacct.conventions.__file__).read_text(encoding="utf-8")
    tree = next(m.tree for m in mutants("conventions.py", source, {"LECTURE_WEIGHTS"}) if m.change == "20 -> 40")
    one = {("gelu", "points"): 1}
    with live.replaced(name, tree):
        assert symacct.conventions.tally(one, symacct.conventions.Convention("2n")) == {"FLOP": 40}
    assert tally(one, Convention("2n")) == {"FLOP": 20}
    assert symacct.conventions.Convention is Convention


@pytest.mark.parametrize("module", ["symacct.rules.contraction", "symacct.bounds", "symacct.conventions"])
def test_replacing_a_module_by_itself_changes_nothing(module: str) -> None:
    live = LiveModules()
    names = frozenset({"symacct.rules.contraction": "einsum"}.get(module, module.rpartition(".")[2]).split())
    with live.replaced(module, live.trees[module]):
        assert trouble(Target(module, "", names)) is None


def test_every_rule_has_a_check_and_every_formula_is_a_target() -> None:
    assert unchecked() == []
    places = {(t.file, t.where) for t in targets()}
    assert {("rules/contraction.py", "pair_work"), ("rules/contraction.py", "_touched")} <= places
    assert {("rules/pointwise.py", "PRIMITIVES"), ("conventions.py", "_CONTRACTIONS")} <= places
    assert ("bounds.py", "bound") in places


def test_a_rule_without_a_check_and_a_check_without_a_target_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHECKS, "gradient of ensum", [])
    monkeypatch.delitem(CHECKS, "einsum")
    assert checks_for(Target("symacct.rules.contraction", "", frozenset({"einsum"}))) == []
    assert unchecked() == [
        "the rule of 'einsum' has no check",
        "a check proves 'gradient of ensum', which is no target's",
    ]


def test_equivalent_mutants_have_reasons() -> None:
    assert EQUIVALENT.exists()
    assert all(len(reason) > 20 for reason in listed().values())
