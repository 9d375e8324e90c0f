"""Students' functions against truths: right ones pass, wrong ones fail at the smallest sizes."""

from __future__ import annotations

import math
import re
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import StudentError, SymacctError
from symacct.expr import evaluate
from symacct.testing import Held, assert_formula, formula
from symacct.testing.executed import execution_of
from symacct.testing.strategies import patterns, sizes_for

MLP = Path(__file__).parents[2] / "graphs" / "mlp.py"


def matmul(B, D, K):
    return 2 * B * D * K


class AlwaysEqual(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.claim("S31")
def test_a_right_function_holds() -> None:
    assert assert_formula(matmul, "2*B*D*K") == Held(examples=200, executions=0)
    assert sa.testing.assert_formula is assert_formula


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        (lambda B, D, K: B * D * K, "(B=2, D=3, K=4) gives 24, 1/2 of the truth 2*B*D*K = 48"),
        (lambda B, D, K: 2 * B * D * K - (B > 1000), r"\(B=1001, D=2, K=3\) gives 12011, .* = 12012"),
        (lambda B, D, K: 2 * B * D * K + (D % 8 == 0), r"D=8.* = \d+"),
        (lambda B, D, K: 2 * B * max(D, K) ** 2, "gives"),
        (lambda **_: math.nan, "gives nan; the truth"),
        (lambda **_: math.inf, "gives inf; the truth"),
        (lambda **_: 1 // 0, "should give the truth 2*B*D*K = 48, but: ZeroDivisionError"),
        (lambda **_: "48", "returned str, not a number"),
        (lambda B, **_: B > 1, "returned True, not a number"),
        (lambda **_: None, "returned NoneType, not a number"),
        (lambda **_: 10**5000, "gives a number of 16610 bits; the truth 2*B*D*K = 48"),
        (lambda **_: AlwaysEqual(7), "gives 7, 7/48 of the truth"),
        (lambda **_: AlwaysEqual, "returned type, not a number"),
    ],
)
def test_a_wrong_function_fails_at_small_sizes(wrong, at) -> None:
    pattern = at if "\\" in at or ".*" in at else re.escape(at)
    with pytest.raises(AssertionError, match=pattern):
        assert_formula(wrong, "2*B*D*K")


def test_the_sizes_are_the_smallest_distinct_ones() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_formula(lambda B, D, K: 2 * B * D * K if B <= 4 else 0, "2*B*D*K")
    assert str(failed.value).startswith("<lambda>(B=5, D=2, K=3) gives 0, 0 of the truth 2*B*D*K = 60")


def test_whole_numbers_must_be_equal_and_floats_near() -> None:
    assert_formula(lambda n: (2 * n - 1) / 6, "n/3 - 1/6")
    assert_formula(lambda n: Fraction(2 * n - 1, 6), "n/3 - 1/6")
    assert_formula(lambda n: math.sqrt(n) * 2, "2*sqrt(n)")
    with pytest.raises(AssertionError, match="gives"):
        assert_formula(lambda n: n**3 + 1, "n**3", rtol=1e-2)
    with pytest.raises(AssertionError, match="gives"):
        assert_formula(lambda n: n / 3, "n/3 - 1/6")


def test_numbers_of_other_packages() -> None:
    numpy = pytest.importorskip("numpy")
    assert_formula(lambda B, D: numpy.int64(B) * D, "B*D")
    assert_formula(lambda B, D: 2 * sympy.Rational(B, D), "2*B/D")
    assert_formula(lambda B, D: sympy.Float(B) / D, "B/D")
    assert_formula(lambda B, D: sympy.sqrt(B) / D, "sqrt(B)/D")
    assert_formula(lambda B, D: Decimal(B) / D, "B/D")
    assert_formula(lambda B, D: numpy.array(B * D), "B*D")
    with pytest.raises(AssertionError, match="returned ndarray, not a number"):
        assert_formula(lambda B, D: numpy.array([B * D, 1]), "B*D")


def test_a_function_that_misses_a_size_or_asks_for_another() -> None:
    with pytest.raises(AssertionError, match=re.escape("(B, D) takes no K, on which the truth depends")):
        assert_formula(lambda B, D: 2 * B * D, "2*B*D*K")
    with pytest.raises(AssertionError, match=r"needs batch; .* arguments={'batch': 'B'}"):
        assert_formula(lambda batch, D: 2 * batch * D, "2*B*D", arguments={})
    with pytest.raises(AssertionError, match="takes no rows"):
        assert_formula(matmul, "2*B*D*K", arguments={"rows": "B"})
    assert_formula(lambda **sizes: 2 * math.prod(sizes.values()), "2*B*D*K")
    assert_formula(lambda B, D, K, factor=2: factor * B * D * K, "2*B*D*K")


def test_arguments_of_other_names() -> None:
    assert_formula(lambda batch, width: 2 * batch * width, "2*b*h*k", arguments={"batch": "b", "width": "h*k"})
    with pytest.raises(SymacctError, match="'4\\*z' has z, which the truth lacks; its sizes are b, h"):
        assert_formula(lambda b, h: b * h, "b*h", arguments={"b": "4*z"})


def test_sizes_meet_the_conditions_of_the_truth() -> None:
    account = sa.account("b (h d) -> h b d", d="k/2")
    assert any(c.kind == "divides" for c in account.conditions)
    assert_formula(lambda b, h, k: 4 * b * h * (k // 2), account, of="bytes")


def test_what_has_no_parameters_by_name() -> None:
    for function in (max, lambda n, /: n):
        with pytest.raises(StudentError, match=r"cannot be given by name|no signature"):
            assert_formula(function, "2*n")
    with pytest.raises(AssertionError, match=r"<lambda>\(\) takes no n, on which the truth depends"):
        assert_formula(lambda *sizes: sum(sizes), "2*n")
    assert_formula(lambda n, *more: 2 * n + len(more), "2*n")


def test_a_function_that_counts_by_loops_or_calls_itself_is_a_formula(tmp_path: Path) -> None:
    def looped(B, D, K):
        return sum(2 for _ in range(B) for _ in range(D) for _ in range(K))

    assert assert_formula(looped, "2*B*D*K", examples=20).examples == 20
    with pytest.raises(AssertionError, match=r"\(B=2, D=3, K=4\) gives 48, 2 of the truth"):
        assert_formula(looped, "B*D*K", examples=20)
    file = tmp_path / "alice.py"
    file.write_text("def f(L, D): return 0 if L == 0 else 2*D + f(L - 1, D)", encoding="utf-8")
    assert assert_formula(f"{file}:f", "2*L*D") == Held(200, 0)


def test_slow_functions_are_not_tried_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(formula, "MOST_SECONDS", 0.5)

    def slow(n, *, wrong=False):
        time.sleep(0.1)
        return 2 * n + (wrong and n > 4)

    assert 1 <= assert_formula(slow, "2*n").examples < 10
    with pytest.raises(AssertionError, match=r"slow\(n=\d+\) gives \d+|<lambda>\(n=\d+\) gives \d+"):
        assert_formula(lambda n: slow(n, wrong=True), "2*n")


def test_what_is_wrong_where_all_sizes_are_large_is_found() -> None:
    with pytest.raises(AssertionError, match=r"gives 2147483647, .* of the truth"):
        assert_formula(lambda B, D, K: min(2 * B * D * K, 2**31 - 1), "2*B*D*K")


def test_a_function_of_this_process_that_leaves_is_wrong() -> None:
    with pytest.raises(AssertionError, match="but: SystemExit: 3"):
        assert_formula(lambda n: sys.exit(n + 1), "n")


def test_options_belong_to_patterns() -> None:
    assert_formula(lambda b, d, k: b * k * (2 * d - 1), "b d, d k -> b k", convention="exact")
    assert_formula(lambda b, d, k: 4 * (b * d + d * k + b * k), "b d, d k -> b k", of="bytes", dtype="fp32")
    with pytest.raises(SymacctError, match="a formula takes no dtype"):
        assert_formula(matmul, "2*B*D*K", dtype="fp32")
    with pytest.raises(SymacctError, match="unknown quantity 'flop'"):
        assert_formula(matmul, "b d, d k -> b k", of="flop")


def test_without_an_execution_none_can_be_asked_for() -> None:
    for truth, of, why in (
        ("2*B*D*K", "flops", "a formula is nothing to run"),
        ("b d, d k -> b k", "bytes", "torch counts products, not bytes|torch is not installed"),
    ):
        with pytest.raises(SymacctError, match=why):
            assert_formula(matmul, truth, of=of, execute=True)


def test_a_file_needs_a_function() -> None:
    with pytest.raises(StudentError, match=r"write file\.py:function"):
        assert_formula("alice", "2*B*D*K")


class TestExecuted:
    """What torch executes; the counts are torch's own."""

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        pytest.importorskip("torch")

    def test_a_pattern_is_executed(self) -> None:
        assert assert_formula(lambda b, d, k: 2 * b * d * k, "b d, d k -> b k") == Held(200, 4)
        assert assert_formula(lambda b, d, k: 2 * b * d * k, "b d, d k -> b k", execute=False) == Held(200, 0)

    def test_a_worked_file_is_executed_by_its_reference(self) -> None:
        def products(b, s, d, f):
            return 4 * b * s * d * f

        assert assert_formula(products, MLP, of="matmul_flops").executions == 4
        assert assert_formula(lambda b, s, d, f: 4 * b * s * f * (d + 5), str(MLP)).executions == 0
        with pytest.raises(SymacctError, match="other operations; ask for of='matmul_flops'"):
            assert_formula(products, MLP, execute=True)

    def test_a_truth_that_torch_contradicts_is_not_taken_for_granted(self) -> None:
        worked = sa.Worked(
            build=sa.load_worked(MLP).build, reference=lambda sizes: (lambda x: x @ x.T, (torch_ones(sizes["b"], 3),))
        )
        with pytest.raises(AssertionError, match=r"as the truth 4\*b\*d\*f\*s does, but torch executed \d+"):
            assert_formula(lambda b, s, d, f: 4 * b * s * d * f, worked, of="matmul_flops")

    @given(st.data())
    @settings(max_examples=40)
    def test_patterns_at_large(self, data) -> None:
        pattern = data.draw(patterns(ellipsis=False))
        sizes = data.draw(sizes_for(pattern))
        account = sa.account(pattern.text)
        executed = execution_of(account, None, "matmul_flops", wanted=True)
        assert executed(sizes) == evaluate(account.total("matmul_flops"), sizes)

    def test_products_that_torch_counter_misses_are_counted(self) -> None:
        import torch

        from symacct.testing.products import count_products

        m, v, x = torch_ones(3, 5), torch_ones(5), torch_ones(2, 7, 6)
        assert count_products(lambda: m @ v) == 2 * 3 * 5
        assert count_products(lambda: v @ v) == 2 * 5
        assert count_products(torch.vdot, v, v) == 2 * 5
        assert count_products(torch.addmv, torch_ones(3), m, v) == 2 * 3 * 5
        assert count_products(torch.addbmm, torch_ones(3, 4), torch_ones(2, 3, 5), torch_ones(2, 5, 4)) == 240
        assert count_products(torch_ones(3, 4).addmm_, m, torch_ones(5, 4)) == 2 * 3 * 5 * 4
        assert count_products(torch.nn.LSTM(6, 3, batch_first=True), x) == 2 * 2 * 7 * 4 * 3 * (6 + 3)
        layer = torch.nn.TransformerEncoderLayer(6, 2, 24, batch_first=True)
        fused = torch.backends.mha.get_fastpath_enabled()
        products = 2 * 14 * (4 * 6 * 6 + 2 * 6 * 24) + 4 * 2 * 7 * 7 * 6
        assert count_products(layer.train(), x) == count_products(layer.eval(), x) == products
        assert torch.backends.mha.get_fastpath_enabled() == fused

    @pytest.mark.parametrize("name", ["bilinear", "inverse", "distance"])
    def test_products_that_nobody_counts_are_not_zero(self, name: str) -> None:
        import torch

        from symacct.testing.products import count_products

        m = torch_ones(3, 3)
        run = {
            "bilinear": lambda: torch.nn.Bilinear(3, 3, 2)(m, m),
            "inverse": lambda: torch.linalg.inv(m + torch.eye(3)),
            "distance": lambda: torch.cdist(m, m),
        }
        with pytest.raises(NotImplementedError, match="whose products are not counted"):
            count_products(run[name])

    def test_a_module_is_counted(self) -> None:
        import torch

        class Mlp(torch.nn.Module):
            def __init__(self, D, F, parts=1):
                super().__init__()
                self.up = torch.nn.Linear(D, F // parts, bias=False)
                self.down = torch.nn.Linear(F // parts, D, bias=False)

            def forward(self, x):
                return self.down(torch.relu(self.up(x)))

        shapes = {"x": "B T D"}
        assert assert_formula(Mlp, "4*B*T*D*F", of="matmul_flops", inputs=shapes, examples=20).examples == 20
        assert_formula(Mlp, "2*D*F", of="params", inputs={"x": "3 D"}, examples=20)
        assert_formula(Mlp, "2*D*F", of="params", inputs=shapes, examples=20)
        with pytest.raises(AssertionError, match=r"gives 12, 1/2 of the truth 4\*D\*F = 24"):
            assert_formula(Mlp, "4*D*F", of="params", inputs=shapes, examples=20)
        with pytest.raises(AssertionError, match=r"\(B=2, D=3, F=4, T=5\) gives 240, 1/2 of the truth"):
            assert_formula(lambda D, F: Mlp(D, F, parts=2), "4*B*T*D*F", of="matmul_flops", inputs=shapes)
        assert_formula(Mlp, "4*B*T*D*F", inputs=shapes, examples=5)
        assert_formula(Mlp(3, 5), "4*B*T*15", inputs={"x": "B T 3"}, examples=5)
        with pytest.raises(SymacctError, match="of a module 'flops' is not counted; matmul_flops and params are"):
            assert_formula(Mlp, "4*B*T*D*F", of="flops", inputs=shapes)
        with pytest.raises(SymacctError, match="Mlp is a module: give the shapes"):
            assert_formula(Mlp(3, 5), "4*B*T*15")
        with pytest.raises(AssertionError, match=r"made Tensor, not a torch\.nn\.Module"):
            assert_formula(lambda D: 2 * torch.ones(D), "D", of="params", inputs=shapes | {"x": "D"})

    def test_a_module_that_looks_up_gets_integers(self) -> None:
        import torch

        def make(V, D):
            return torch.nn.Sequential(torch.nn.Embedding(V, D), torch.nn.Linear(D, V, bias=False))

        assert_formula(make, "2*B*D*V", of="matmul_flops", inputs={"tokens": ("B", "V")}, examples=20)


def torch_ones(*shape: int):
    import torch

    return torch.ones(*shape)
