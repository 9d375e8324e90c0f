"""What an answer may be compared with, and how the right one comes about."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import SymacctError


def layer(x: "b s d", w: "d k"):
    return sa.relu(x @ w)


def test_a_truth_is_a_pattern_an_account_a_graph_or_a_sympy_form(tmp_path):
    import sympy

    account = sa.account(layer)
    b, s, d, k = sympy.symbols("b s d k")
    for truth in (account, account.graph, account.flops, 2 * b * s * d * k + b * s * k):
        assert sa.check("2bsdk + bsk", truth).correct, truth
        assert not sa.check("2bsdk", truth).correct
    assert sa.check("2bdk", "b d, d k -> b k").correct
    assert sa.check("2(bd + dk + bk)", "b d, d k -> b k", quantity="bytes").correct
    assert sa.check("bdk", "b d, d k -> b k", convention="mac").correct
    path = tmp_path / "layer.py"
    path.write_text("import symacct as sa\n\ndef layer(x: 'b s d', w: 'd k'):\n    return sa.relu(x @ w)\n")
    assert sa.check("2bsdk + bsk", str(path)).correct


def test_a_missing_part_of_a_layer_is_named():
    finding = sa.check("2bsdk", sa.account(layer)).findings[0]
    assert finding.code == "missing_term"
    assert "relu" in finding.about


def test_the_derivation_is_shown_or_withheld():
    shown = sa.check("2bdk", "b d, d k -> b k", show_derivation=True).derivation
    assert any("summed: d" in line for line in shown)
    assert sa.check("2bdk", "b d, d k -> b k").derivation == ()


@pytest.mark.parametrize(
    ("truth", "options"),
    [
        ("2*B*(", {}),
        ("2*B*X", {"symbols": "B"}),
        ("B/2D", {}),
        ("2*B", {"mode": "exactly"}),
        ("2*B", {"rtol": -1}),
        ("2*B", {"var": "X", "mode": "order"}),
        ("2*B", {"mode": "numeric"}),
        ("O(B)", {}),
        (None, {}),
        ("no such file.py", {}),
    ],
)
def test_a_bad_question_raises(truth, options):
    with pytest.raises(SymacctError):
        sa.check("2B", truth, **options)
