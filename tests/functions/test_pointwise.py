"""Element-wise functions: the lecture's numbers, and both worlds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import einops
import pytest

import symacct as sa
from symacct.errors import ConventionError, ShapeError

PEAK, BANDWIDTH = 989.5e12, 3.35e12
"""The lecture's H100: dense bf16 FLOP/s, and bytes a second."""


@pytest.mark.claim("S33")
def test_an_element_is_an_operation() -> None:
    def add(x: "n m", y: "n m"):
        return x + y

    assert str(sa.account(add).flops) == "m*n"
    for preset in ("2n", "exact", "mac", "unit"):
        assert sa.account(add, convention=preset).at(n=7, m=11).flops == 77


@pytest.mark.claim("S34")
def test_large_matrices_dwarf_what_is_element_wise() -> None:
    def layer(x: "n d", w: "d m"):
        return sa.relu(einops.einsum(x, w, "n d, d m -> n m"))

    a = sa.account(layer)
    assert sa.same(a.matmul_flops, "2*n*d*m")
    assert sa.same(a.flops - a.matmul_flops, "n*m")
    shares = [
        Fraction(int((a.flops - a.matmul_flops).subs(s)), int(a.matmul_flops.subs(s))) for s in sizes(1, 100, 10**6)
    ]
    assert shares == [Fraction(1, 2), Fraction(1, 200), Fraction(1, 2 * 10**6)]


def sizes(*values: int) -> list[dict[str, int]]:
    return [{"n": v, "d": v, "m": v} for v in values]


@pytest.mark.claim("S40", "S44")
def test_relu_is_bound_by_memory() -> None:
    def layer(x: "n"):
        return sa.relu(x)

    a = sa.account(layer, dtype="bf16")
    assert sa.same(a.bytes, "2*n + 2*n")
    assert sa.same(a.flops, "n")
    assert a.intensity == Fraction(1, 4)
    at = a.at(n=1024 * 1024)
    assert at.bytes.value / BANDWIDTH == pytest.approx(1.252e-6, rel=1e-3)
    assert at.flops.value / PEAK == pytest.approx(1.060e-9, rel=1e-3)


@pytest.mark.claim("S45")
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_bound_by_memory_too(approximate: str) -> None:
    def layer(x: "n"):
        return sa.gelu(x, approximate)

    a = sa.account(layer, dtype="bf16")
    assert a.intensity == 5
    at = a.at(n=1024 * 1024)
    assert at.flops.value / PEAK == pytest.approx(2.1e-8, rel=1e-2)
    assert at.flops.value / PEAK < at.bytes.value / BANDWIDTH == pytest.approx(1.252e-6, rel=1e-3)
    weighed = sa.account(layer, convention=sa.Convention("2n", weights={"gelu": 9}))
    assert weighed.intensity == Fraction(9, 4)


@pytest.mark.parametrize("function", [sa.maximum, sa.minimum])
def test_a_tensor_and_a_number(function: Callable) -> None:
    def right(x: "b n", y: "n"):
        return function(function(x, y), 0.5)

    def left(x: "b n", y: "n"):
        return function(0.5, function(x, y))

    for layer in (right, left):
        a = sa.account(layer, dtype="fp32")
        assert sa.same(a.flops, "2*b*n")
        assert sa.same(a.bytes, "4*(b*n + n + b*n) + 4*2*b*n")


def test_shapes_that_do_not_broadcast() -> None:
    def layer(x: "b n", y: "m"):
        return sa.maximum(x, y)

    with pytest.raises(ShapeError, match=r"maximum: the shapes \(b, n\) and \(m,\) do not fit: n against m\n  at "):
        sa.account(layer)


def test_an_unknown_approximation() -> None:
    with pytest.raises(ConventionError, match="unknown approximation 'sigmoid' of gelu; known: none, tanh"):
        sa.gelu(None, "sigmoid")


def test_the_same_function_runs() -> None:
    torch = pytest.importorskip("torch")
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(3, 4, generator=draw) + 0.5, torch.rand(4, generator=draw) + 0.5
    functions = torch.nn.functional
    for name in ("erf", "exp", "log", "relu", "rsqrt", "sigmoid", "sqrt", "tanh"):
        torch.testing.assert_close(getattr(sa, name)(x), getattr(torch, name)(x))
    torch.testing.assert_close(sa.silu(x), functions.silu(x))
    torch.testing.assert_close(sa.gelu(x, "tanh"), functions.gelu(x, approximate="tanh"))
    torch.testing.assert_close(sa.maximum(x, y), torch.maximum(x, y))
    torch.testing.assert_close(sa.minimum(0.75, x), x.clamp(max=0.75))
    torch.testing.assert_close(sa.where(x > y, x, 0.0), torch.where(x > y, x, 0.0))


def test_pythons_abs() -> None:
    def layer(x: "n"):
        return abs(x)

    assert str(sa.account(layer).flops) == "n"


def test_comparing_whole_numbers_with_a_fraction() -> None:
    """A number beside a tensor of whole numbers is not rounded to one."""
    torch = pytest.importorskip("torch")
    from symacct.symbolic import apply

    x = torch.tensor([0, 1, 2])
    assert apply("gt", x, scalar=0.5, side="right").tolist() == [False, True, True]
    assert apply("div", x, scalar=2, side="left").tolist()[1:] == [2.0, 1.0]
    assert apply("sub", x, scalar=2, side="left").tolist() == [2, 1, 0]
