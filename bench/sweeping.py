"""A grid of a million sizes: FLOPs, bytes and intensity, against `sympy.lambdify` over numpy, its build included."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

import symacct as sa
from bench.fresh import MATMUL
from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 12
SIZES = np.arange(8, 8008, 8)
CASES = {
    "2 operands": sa.account(MATMUL, b=64),
    "3 operands, exact": sa.account("i j, j k, k l -> i l", i=64, l=128, j="d", convention="exact"),
}


def ours(account: sa.Account) -> tuple[Any, ...]:
    points = account.sweep(d=SIZES, k=SIZES)
    return points.flops, points.bytes, points.intensity


def by_lambdify(forms: list[sympy.Expr]) -> tuple[Any, ...]:
    evaluate = sympy.lambdify(sympy.symbols("d k"), forms, "numpy")
    return tuple(evaluate(SIZES[:, None], SIZES[None, :]))


def compare(title: str, account: sa.Account) -> Comparison:
    forms = [account.flops, account.bytes, account.intensity]
    for a, b in zip(ours(account), by_lambdify(forms), strict=True):
        if a.shape != (1000, 1000) or not np.allclose(a, b, rtol=1e-12):
            raise SystemExit(f"{title}: the two grids differ")
    turns: dict[str, Turn] = {"ours": (ours, [account]), "peer": (by_lambdify, [forms])}
    samples = interleave([turns] * (1 + ROUNDS))
    return Comparison("a million points; peer: sympy.lambdify", title, samples["ours"], samples["peer"], seconds=0.3)


if __name__ == "__main__":
    hand_back([compare(title, account) for title, account in CASES.items()])
