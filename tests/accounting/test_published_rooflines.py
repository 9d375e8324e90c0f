"""Rooflines that were published, on the numbers that they were published with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symacct as sa

BOOK = """
[[device]]
name = "v5e"
memory = "16 GB"
bandwidth = "8.1e11 B/s"
peaks = [{ dtypes = ["int8"], dense = "3.94e14 FLOP/s" }, { dtypes = ["bf16"], dense = "1.97e14 FLOP/s" }]

[[device]]
name = "v6e-over-pcie"
memory = "32 GB"
bandwidth = "1.5e10 B/s"
peaks = [{ dtypes = ["bf16"], dense = "9.2e14 FLOP/s" }]
"""
WIDE = 10**12
"""So wide that only the weights count."""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "book.toml"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("dtype", "d", "f", "rows"),
    [
        ("int8", WIDE, WIDE, 243.2),  # int8 times int8
        (["bf16", "int8", "bf16"], WIDE, WIDE, 121.6),  # int8 weights, products in bf16: printed as 120
        ("bf16", WIDE, WIDE, 243.2),
        ("int8", 4096, 16384, 262.7),  # all three terms of the bytes; printed as 271, from rounded inputs
    ],
)
def test_scaling_book(book: Path, dtype: str, d: int, f: int, rows: float) -> None:
    (turn,) = sa.account("b d, d f -> b f", dtype=dtype, d=d, f=f).roofline(f"{book}#v5e").turns("b")
    assert float(turn.solution.roots[0]) == pytest.approx(rows, abs=0.06)


def test_weights_streamed_over_pcie(book: Path) -> None:
    (turn,) = sa.account("b d, d f -> b f", d=WIDE, f=WIDE).roofline(f"{book}#v6e-over-pcie").turns("b")
    assert turn.solution.smallest == pytest.approx(61_333, abs=2)


def test_attention_of_grouped_queries() -> None:
    """T*S*G/(T*G + S) for T queries, S keys and G heads of queries a head of keys: G where one token is decoded."""

    def attend(q: "g G t k", k: "g s k", v: "g s k"):
        return sa.scaled_dot_product_attention(q, k[:, None], v[:, None], enable_gqa=True)

    account = sa.account(attend, fuse="flash")
    for t in (1, 64, 3000):
        at = account.at(g=3, G=4, t=t, s=1000, k=128)
        products = int(at.matmul_flops) / int(at.bytes)
        assert products == pytest.approx(t * 1000 * 4 / (t * 4 + 1000), rel=0.02)  # the logsumexp is written besides


SIZES = st.integers(1, 10**5)


@pytest.mark.claim("S41")
@given(b=SIZES, d=SIZES, k=SIZES)
def test_the_bounds_are_at_most_a_factor_of_two_apart(b: int, d: int, k: int) -> None:
    at = sa.account("b d, d k -> b k").roofline("h100").at(b=b, d=d, k=k)
    assert at.overlapped.value <= at.serial.value <= 2 * at.overlapped.value
    assert at.attainable == pytest.approx(float(at.kernels[0].attains))
