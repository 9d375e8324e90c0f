"""What the commands print: totals and tables against numbers known otherwise, JSON and LaTeX."""

from __future__ import annotations

import json

import pytest

import symacct as sa

MATMUL = "b d, d k -> b k"
S12 = pytest.mark.claim("S12")
S22 = pytest.mark.claim("S22")
S23 = pytest.mark.claim("S23")
S26 = pytest.mark.claim("S26")
S31 = pytest.mark.claim("S31")
S46 = pytest.mark.claim("S46")
S47 = pytest.mark.claim("S47")
S48 = pytest.mark.claim("S48")
CHAIN = "i j, j k, k l -> i l"
QUANTITIES = ("flops", "matmul_flops", "bytes", "intensity")
TOTAL_KEYS = ["title", "quantity", "formula", "unit", "convention", "dtype", "traffic", "order", "conditions"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["flops", MATMUL], "2*b*d*k"),
        pytest.param(["flops", MATMUL, "b=1024", "d=256", "k=64"], "33554432", marks=S31),
        # 1024 * 64 outputs of 256 multiplies and 255 adds
        (["flops", MATMUL, "b=1024", "d=256", "k=64", "--convention", "exact"], "33488896"),
        (["flops", MATMUL, "b=1024", "d=256", "k=64", "-c", "mac"], "16777216"),
        pytest.param(["flops", MATMUL, "-c", "exact"], "b*k*(2*d - 1)", marks=S31),
        pytest.param(
            ["flops", "seq1 hidden, hidden seq2 -> seq1 seq2", "seq1=3", "hidden=4", "seq2=3"],
            "72",
            marks=S22,
        ),
        pytest.param(["flops", "b s d, b t d -> b s t", "b=2", "s=3", "t=3", "d=4"], "144", marks=S23),
        pytest.param(["flops", "b s d -> b s", "b=2", "s=3", "d=4", "-c", "exact"], "18", marks=S26),
        (["flops", MATMUL, "b=64", "d=4*k"], "512*k**2"),
        (["flops", MATMUL, "b=d", "d=b"], "2*b*d*k"),
        (["flops", MATMUL, "k=2*k"], "4*b*d*k"),
        (["flops", MATMUL, " b = 3 "], "6*d*k"),
        (["flops", MATMUL, "b=3", "b=3"], "6*d*k"),
        (["flops", MATMUL, f"b={10**30}", "d=1", "k=1"], f"{2 * 10**30}"),
        (["flops", "bd,dk->bk", "--notation", "numpy"], "2*b*d*k"),
        (["flops", "in lambda, lambda order -> in order", "in=3", "lambda=4", "order=5"], "120"),
        (["flops", "sizes json, json help -> sizes help", "sizes=3", "json=4", "help=5"], "120"),
        (["flops", "E I, I N -> E N", "E=3", "I=4", "N=5"], "120"),
        (["flops", "σ d, d k -> σ k", "σ=3"], "6*d*k"),
        (["flops", "µ d, d k -> µ k", "µ=3"], "6*d*k"),  # a micro sign, which Python reads as a mu
        (["flops", CHAIN, "--order", "naive"], "3*i*j*k*l"),
        (["flops", CHAIN, "--order", "best", "i=10", "j=1000", "k=20", "l=500"], "600000"),
        (["flops", "--", MATMUL, "b=3"], "6*d*k"),
        (["flops", "--latex", MATMUL], "2 b d k"),
        (["bytes", MATMUL], "2*(b*d + b*k + d*k)"),
        pytest.param(["bytes", "n d -> n d", "n=4", "d=8", "--dtype", "fp32"], "256", marks=S12),  # read and written
        pytest.param(["bytes", "n, n ->"], "2*(2*n + 1)", marks=S46),
        (["bytes", MATMUL, "-d", "fp32, fp32 ,bf16", "b=4", "d=5", "k=6"], f"{4 * (20 + 30) + 2 * 24}"),
        (["bytes", CHAIN, "--traffic", "compulsory"], "2*(i*j + i*l + j*k + k*l)"),
        (["bytes", MATMUL, "--latex"], r"2 \left(b d + b k + d k\right)"),
        (["intensity", MATMUL], "b*d*k/(b*d + b*k + d*k)"),
        pytest.param(["intensity", MATMUL, "b=n", "d=n", "k=n", "-c", "exact"], "(2*n - 1)/6", marks=S48),
        pytest.param(["intensity", "n m, m -> n", "n=1024", "m=1024", "-c", "exact"], "2047/2052", marks=S47),
        (["intensity", MATMUL, "b=4", "d=5", "k=6"], "60/37"),
    ],
)
def test_answers(run, words: list[str], answer: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (0, answer + "\n")
    assert ", under " in ran.err


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["flops", MATMUL], "FLOP, under 2n"),
        (["flops", MATMUL, "-c", "mac"], "MAC, under mac"),
        (["bytes", MATMUL, "-d", "bf16,nvfp4,bf16"], "B, under bf16, nvfp4, bf16, unfused"),
        (["intensity", CHAIN, "-c", "exact"], "FLOP/B, under exact, bf16, unfused, order left"),
        (["flops", CHAIN, "--latex", "-o", "naive"], "FLOP, under 2n, order naive"),
        (["orders", CHAIN, "-c", "exact"], "under exact"),
        (["orders", CHAIN, "-c", "mac"], "under 2n, as which orders under mac are judged"),
        (["compare", MATMUL, "b d -> b", "--of", "bytes"], "under bf16, unfused"),
    ],
)
def test_how_it_was_counted_goes_to_standard_error(run, words: list[str], note: str) -> None:
    assert run(*words).err == note + "\n"


@pytest.mark.parametrize(
    ("words", "answer", "where"),
    [
        (["bytes", MATMUL, "k=d/2"], "d*(3*b + d)", "where 2 divides d\n"),
        (["flops", MATMUL, "d=k-1", "-c", "2n"], "2*b*k*(k - 1)", "where k - 1 >= 1\n"),
        (["flops", "... d, d k -> ... k"], "2*batch*d*k", "where batch is the product of the axes in '...'"),
    ],
)
def test_conditions_go_to_standard_error(run, words: list[str], answer: str, where: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (0, answer + "\n")
    assert ran.err.startswith(where)


TABLES = {
    ("account", MATMUL, "b=1024", "d=256", "k=64"): ["flops          33554432", "bytes          688128"],
    ("account", CHAIN): ["step   computes", "2      i k, k l -> i l"],
    ("account", MATMUL, "--latex"): [r"\text{flops} &= 2 b d k \\", r"\text{matmul\_flops} &="],
    ("orders", CHAIN): [
        "((1 2) 3)   2*i*k*(j + l)   1/j + 1/l < 1/i + 1/k",
        "(1 (2 3))   2*j*l*(i + k)   1/i + 1/k < 1/j + 1/l",
    ],
    ("orders", CHAIN, "i=10", "j=1000", "k=20", "l=500"): ["((1 2) 3)   600000   always"],
    ("orders", "i j -> i", "-c", "exact"): ["i*(j - 1)"],
    ("orders", CHAIN, "--latex"): [r"\text{((1 2) 3)} &= 2 i k \left(j + l\right) \\"],
    ("bound", "i k, k j -> i j"): ["compulsory  i*j + i*k + j*k", "proved      2*i*j*k/sqrt(M) - 2*M"],
    # 2 * 4096**3 / 256 - 2 * 65536
    ("bound", "i k, k j -> i j", "i=4096", "j=4096", "k=4096", "--memory", "65536"): ["536739840"],
    ("bound", "i j k, j r, k r -> i r"): ["order       i*j*k*r/M**(2/3)", "not known"],
    ("bound", CHAIN, "--order", "left"): ["i j, j k -> i k\n", "i k, k l -> i l\n"],
    ("bound", "i k, k j -> i j", "--latex"): [r"\text{proved} &=", r"\sqrt{M}"],
    ("bound", "i j k, j r, k r -> i r", "--latex"): [r"\text{order} &= \frac{i j k r}{M^{2/3}}"],
    ("explain", MATMUL, "b=4", "d=5", "k=6"): ["240 FLOP", "216 FLOP", "120 MAC", "5 multiplies and 4 adds"],
    ("explain", MATMUL, "--of", "bytes"): ["2*b*d*k/sqrt(M) - 2*M elements", "2*(b*d + b*k + d*k) B"],
    ("explain", MATMUL, "--latex"): [r"\text{exact} &= b k \left(2 d - 1\right) \ \text{FLOP}"],
    ("compare", MATMUL, "b d, d r, r k -> b k"): [
        "a: b d, d k -> b k",
        "b: b d, d r, r k -> b k",
        "a is cheaper  1/r < 1/d + 1/k",
    ],
    # 2*4*10*10 against 2*4*3*(10 + 10)
    ("compare", MATMUL, "b d, d r, r k -> b k", "b=4", "d=10", "k=10", "r=3"): ["b - a         -320"],
    ("compare", MATMUL, "b d -> b", "k=3", "-d", "fp32", "--of", "bytes"): ["bytes in B"],
    ("compare", MATMUL, "b d, d k -> b k", "--of", "matmul_flops"): ["they cost the same"],
    ("compare", MATMUL, "b d, d r, r k -> b k", "--latex"): ["b"],
    ("dtypes",): ["fp16        16  1/5/10            65504     6.1e-5    5.96e-8    2^-10         0", "nvfp4"],
    ("dtypes", "tf32"): ["tf32     32  1/8/10"],  # what is stored, not the 19 bits of its fields
    ("dtypes", "e4m3", "int8"): ["fp8_e4m3fn", "448", "-128  127"],
    ("dtypes", "nvfp4"): ["4.5  blocks of 16 fp4_e2m1, scale fp8_e4m3fn"],
}


@pytest.mark.parametrize(("words", "shown"), TABLES.items(), ids=" ".join)
def test_tables(run, words: tuple[str, ...], shown: list[str]) -> None:
    ran = run(*words)
    assert ran.code == 0
    assert ran.err.startswith("under ") == (words[0] in ("orders", "compare"))
    for part in shown:
        assert part in ran.out


def test_dtypes_fit_80_columns(run) -> None:
    lines = run("dtypes").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(line.startswith(name) for line in lines) for name in ("fp64", "fp8_e5m2fnuz", "bool", "mxint8"))
    assert not any(line.startswith("fp64") for line in run("dtypes", "bf16").out.splitlines())


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["flops", MATMUL], TOTAL_KEYS),
        (["bytes", MATMUL, "k=d/2"], TOTAL_KEYS),
        (["intensity", MATMUL], TOTAL_KEYS),
        (
            ["account", MATMUL],
            [
                *("title", *QUANTITIES, "params", "counts", "units", "convention", "dtype", "traffic", "order"),
                *("layout", "fuse", "gradients", "free", "uncounted", "conditions", "steps", "moved"),
            ],
        ),
        (["orders", CHAIN], ["pattern", "convention", "unit", "orders"]),
        (
            ["bound", "i k, k j -> i j"],
            ["pattern", "unit", "memory", "exponent", "points", "compulsory", "order", "proved", "tile"],
        ),
        (["explain", MATMUL], ["title", "of", "answers", "derivation", "conditions"]),
        (["compare", MATMUL, "b d -> b"], ["of", "a", "b", "difference", "cheaper", "a_is_cheaper"]),
    ],
)
def test_json_keys(run, words: list[str], keys: list[str]) -> None:
    ran = run(*words, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert list(json.loads(ran.out)) == keys
    sa.loads(ran.out)  # every expression in it reads back


def test_json_values(run) -> None:
    b, d, k, i, j, n, M = sa.dims("b d k i j n M")
    total = sa.loads(run("bytes", MATMUL, "k=d/2", "--json").out)
    assert (total["formula"] - d * (3 * b + d)).expand() == 0
    assert (total["unit"], total["conditions"], total["dtype"]) == ("B", ["2 divides d"], ["bf16"] * 3)
    ordered = sa.loads(run("orders", CHAIN, "-c", "mac", "--json").out)
    assert (ordered["convention"]["name"], ordered["unit"]) == ("2n", "FLOP")  # as they are judged
    first, second = ordered["orders"]
    assert (first["order"], second["order"]) == ("((1 2) 3)", "(1 (2 3))")
    assert [set(c) for c in first["conditions"]] == [{"smaller", "larger"}]
    bound = sa.loads(run("bound", "i k, k j -> i j", "--json").out)
    assert bound["proved"].subs({i: 3, j: 5, k: 7, M: 4}) == 2 * 3 * 5 * 7 // 2 - 2 * 4
    assert (bound["exponent"], bound["tile"]) == ("1/2", {"i": "1/2", "j": "1/2", "k": "1/2"})
    assert sa.loads(run("bound", "i j k, j r, k r -> i r", "--json").out)["proved"] is None
    steps = json.loads(run("bound", CHAIN, "--order", "left", "--json").out)
    assert [s["pattern"] for s in steps] == ["i j, j k -> i k", "i k, k l -> i l"]
    compared = sa.loads(run("compare", "n d -> n", "n d -> d", "--of", "bytes", "--json").out)
    assert compared["difference"] == 2 * d - 2 * n
    assert (compared["cheaper"], compared["a"]["title"]) == (None, "n d -> n")
    (row,) = json.loads(run("dtypes", "fp16", "--json").out)
    assert (row["max"], row["smallest_subnormal"], row["epsilon"]) == ("65504", f"1/{2**24}", "1/1024")
