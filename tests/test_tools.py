"""The checks of tools/ see what they are for."""

from __future__ import annotations

import ast

import pytest

from tools import claims, size_budget

MARKED = """
@pytest.mark.claim("S1", "S2")
def test_marked(): ...

@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.claim("S3"))])
def test_parameter(n): ...

@pytest.mark.claim("S4")
class TestClass:
    @pytest.mark.claim("S5")
    def test_method(self): ...

pytestmark = pytest.mark.claim("S6")
worked = sa.Worked(build=f, claims=("S7", "S8"))
"""


def test_claims_are_found_wherever_they_stand() -> None:
    assert set(claims.claims_in(ast.parse(MARKED), "f.py")) == {
        ("S1", "f.py::test_marked"),
        ("S2", "f.py::test_marked"),
        ("S3", "f.py::test_parameter"),
        ("S4", "f.py::TestClass"),
        ("S5", "f.py::TestClass::test_method"),
        ("S6", "f.py"),
        ("S7", "f.py"),
        ("S8", "f.py"),
    }


@pytest.mark.parametrize("source", ["@pytest.mark.claim(ID)\ndef f(): ...", "sa.Worked(claims=IDS)"])
def test_a_claim_that_cannot_be_read_is_refused(source: str) -> None:
    with pytest.raises(SystemExit, match="ID"):
        list(claims.claims_in(ast.parse(source), "f.py"))


def test_claims_are_in_natural_order() -> None:
    assert sorted(["S10", "A1", "S9"], key=claims.natural) == ["A1", "S9", "S10"]


def test_only_lines_of_code_count() -> None:
    source = '''
@decorated
def outer(x):
    """Formula.

    More.
    """
    # why
    text = """two
    lines"""

    def inner():
        """Formula."""
        return x

    return inner, text
'''
    assert list(size_budget.function_sizes(source)) == [(3, "outer", 6), (12, "inner", 2)]
