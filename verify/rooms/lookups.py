"""Lookups as products with one-hot rows: the same values, and the operations of that product in plain loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import symacct as sa
from symacct.expr import name
from symacct.testing.loops import run
from verify.check import Check, agree, number
from verify.one_op import one_op


class Case(NamedTuple):
    indices: int
    rows: int
    width: int

    @property
    def sizes(self) -> dict[str, int]:
        return {"n": self.indices, "v": self.rows, "d": self.width}


GRAPHS = {
    "embedding": one_op("embedding", [["v", "d"], ["n"]]),
    "embedding_backward": one_op("embedding_backward", [["n", "d"], ["n"]], rows=name("v")),
}
PATTERNS = {"embedding": "n v, v d -> n d", "embedding_backward": "n v, n d -> v d"}


def product_agrees(case: Case) -> None:
    """Under each way to sum; under ``gather`` nothing, and an addition an element that is put back."""
    indices = np.arange(case.indices) * 7 % case.rows
    one_hot, table = np.eye(case.rows)[indices], np.arange(case.rows * case.width).reshape(case.rows, case.width)
    agree((one_hot @ table).tolist(), table[indices].tolist(), "the rows that are looked up")
    for kind, pattern in PATTERNS.items():
        for way in ("2n", "exact", "mac"):
            counted = sa.account(GRAPHS[kind], convention=f"{way}, embedding=matmul")
            executed = run(pattern, case.sizes, way=way).calls.total()
            for quantity in ("flops", "matmul_flops"):
                what = f"{quantity} of {kind} as a product, {way}, {case}"
                agree(number(counted.total(quantity), case.sizes), executed, what)
        plain = number(sa.account(GRAPHS[kind]).total("flops"), case.sizes)
        agree(plain, 0 if kind == "embedding" else case.indices * case.width, f"flops of {kind} as a lookup, {case}")


CHECKS = (
    Check(
        "lookups as products",
        'account(convention="2n, embedding=matmul").flops',
        "plain loops over a product with one-hot rows",
        product_agrees,
        st.builds(Case, st.integers(1, 5), st.integers(1, 6), st.integers(1, 4)),
        (Case(3, 5, 2), Case(6, 4, 3), Case(1, 1, 1)),
        proves=("embedding", "embedding_backward"),
        needs=("numpy",),
        share=0.1,
    ),
)
