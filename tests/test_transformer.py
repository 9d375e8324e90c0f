"""What the course's first assignment asks of a Transformer falls out of the worked one; the numbers are published."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import symacct as sa

pytestmark = pytest.mark.claim("S68")
SMALL = {"s": 1024, "h": 12, "k": 64, "f": 3072, "v": 50257, "L": 12}
LARGE = {"s": 1024, "h": 20, "k": 64, "f": 5120, "v": 50257, "L": 36}
XL = {"s": 1024, "h": 25, "k": 64, "f": 6400, "v": 50257, "L": 48}
LONG = XL | {"s": 16384}


@pytest.fixture(scope="module")
def llama() -> sa.Account:
    """One sequence; as many heads of keys as of queries, together as wide as the model."""
    return sa.load_worked(Path(__file__).parents[1] / "graphs" / "llama.py").account(b=1, r=1, g="h", d="h*k")


def test_parameters(llama):
    """Two tables, and a layer of four square matrices, three of the MLP, and two norms."""
    assert sa.same(llama.params, "2*v*d + L*(4*d^2 + 3*d*f + 2*d) + d".replace("d", "(h*k)"))
    assert llama.at(**XL).params == 2_127_057_600


def test_flops_of_a_sequence(llama):
    """A token and a layer: 8d^2 + 4sd + 6df; a token of the head: 2dv."""
    assert sa.same(llama.matmul_flops, "s*(L*(8*d^2 + 4*s*d + 6*d*f) + 2*d*v)".replace("d", "(h*k)"))


@pytest.mark.parametrize(
    ("sizes", "flops"),
    [
        (SMALL, 349_630_365_696),
        (LARGE, 2_257_754_521_600),
        (XL, 4_513_336_524_800),
        (LONG, 149_522_795_724_800),
    ],
)
def test_flops_of_published_shapes(llama, sizes, flops):
    assert llama.at(**sizes).matmul_flops == flops


def test_share_of_the_mlp(llama):
    share = llama.by("scope").shares("matmul_flops", **XL)["block/mlp"]
    assert share == Fraction(48 * 6 * 1024 * 1600 * 6400, 4_513_336_524_800)
    assert round(float(share), 3) == 0.669


def part(step):
    """Tell the two products of queries, keys and values from those of the MLP and the rest."""
    return "products" if "s'" in step.label else "mlp" if "f" in step.label.split() else "rest"


def test_share_of_the_two_products_at_a_long_context(llama):
    share = llama.by(part).shares("matmul_flops", **LONG)["products"]
    assert share == Fraction(48 * 4 * 16384**2 * 1600, 149_522_795_724_800)


def test_where_the_two_products_overtake_the_mlp(llama):
    """At s = 3f/2: 4sd a token against 6df."""
    crossings = llama.crossovers("s", of="matmul_flops", by=part)
    (found,) = [c for c in crossings if {c.first, c.second} == {"products", "mlp"}]
    assert sa.same(found.at, "3*f/2")
    assert found.larger_above == "products"


def test_forward_and_backward_of_a_token(llama):
    """6N + 12LHQT, with N what is multiplied: all but norms and the table that is looked up."""
    multiplied = "(L*(4*(h*k)^2 + 3*h*k*f) + h*k*v)"
    assert sa.same(llama.training(policy="fp32").matmul_flops, f"s*(6*{multiplied} + 12*L*h*k*s)")
