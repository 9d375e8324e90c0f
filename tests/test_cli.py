"""The command `symacct`, as someone at a terminal or in a script meets it."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import symacct as sa
from symacct.cli import TOTALS, commands, main

SYMACCT = Path(sys.executable).with_name("symacct")
COMMANDS = ("flops", "bytes", "intensity", "account", "orders", "bound", "explain", "compare", "dtypes")
MATMUL = "b d, d k -> b k"
CHAIN = "i j, j k, k l -> i l"
TOTAL_KEYS = ["title", "quantity", "formula", "unit", "convention", "dtype", "traffic", "order", "conditions"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Run the command in this process."""

    def command(*words: str) -> Ran:
        code = 0
        try:
            main(words)
        except SystemExit as end:
            code = end.code
        return Ran(code, *capsys.readouterr())

    return command


def claim(ident: str, *values: object):
    return pytest.param(*values, marks=pytest.mark.claim(ident))


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["flops", MATMUL], "2*b*d*k"),
        claim("S31", ["flops", MATMUL, "b=1024", "d=256", "k=64"], "33554432"),
        # 1024 * 64 outputs of 256 multiplies and 255 adds
        (["flops", MATMUL, "b=1024", "d=256", "k=64", "--convention", "exact"], "33488896"),
        (["flops", MATMUL, "b=1024", "d=256", "k=64", "-c", "mac"], "16777216"),
        claim("S31", ["flops", MATMUL, "-c", "exact"], "b*k*(2*d - 1)"),
        claim("S22", ["flops", "seq1 hidden, hidden seq2 -> seq1 seq2", "seq1=3", "hidden=4", "seq2=3"], "72"),
        claim("S23", ["flops", "b s d, b t d -> b s t", "b=2", "s=3", "t=3", "d=4"], "144"),
        claim("S26", ["flops", "b s d -> b s", "b=2", "s=3", "d=4", "-c", "exact"], "18"),
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
        claim("S12", ["bytes", "n d -> n d", "n=4", "d=8", "--dtype", "fp32"], "256"),  # read and written
        claim("S46", ["bytes", "n, n ->"], "2*(2*n + 1)"),
        (["bytes", MATMUL, "-d", "fp32, fp32 ,bf16", "b=4", "d=5", "k=6"], f"{4 * (20 + 30) + 2 * 24}"),
        (["bytes", CHAIN, "--traffic", "compulsory"], "2*(i*j + i*l + j*k + k*l)"),
        (["bytes", MATMUL, "--latex"], r"2 \left(b d + b k + d k\right)"),
        (["intensity", MATMUL], "b*d*k/(b*d + b*k + d*k)"),
        claim("S48", ["intensity", MATMUL, "b=n", "d=n", "k=n", "-c", "exact"], "(2*n - 1)/6"),
        claim("S47", ["intensity", "n m, m -> n", "n=1024", "m=1024", "-c", "exact"], "2047/2052"),
        (["intensity", MATMUL, "b=4", "d=5", "k=6"], "60/37"),
    ],
)
def test_answers(run, words: list[str], answer: str) -> None:
    assert run(*words) == (0, answer + "\n", "")


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
    ("bound", CHAIN, "--order", "left"): ["i j, j k -> i k,", "i k, k l -> i l,"],
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
    ("dtypes",): ["fp16        16  1/5/10            65504     6.1e-5    5.96e-8    2^-10        0", "nvfp4"],
    ("dtypes", "e4m3", "int8"): ["fp8_e4m3fn", "448", "-128  127"],
    ("dtypes", "nvfp4"): ["4.5  blocks of 16 fp4_e2m1, scale fp8_e4m3fn"],
}


@pytest.mark.parametrize(("words", "shown"), TABLES.items(), ids=" ".join)
def test_tables(run, words: tuple[str, ...], shown: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
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
            "title flops matmul_flops bytes intensity counts units convention dtype traffic order conditions steps".split(),
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
    first, second = sa.loads(run("orders", CHAIN, "-c", "mac", "--json").out)["orders"]
    assert (first["order"], second["order"]) == ("((1 2) 3)", "(1 (2 3))")
    assert [set(c) for c in first["conditions"]] == [{"smaller", "larger"}]
    bound = sa.loads(run("bound", "i k, k j -> i j", "--json").out)
    assert bound["proved"].subs({i: 3, j: 5, k: 7, M: 4}) == 2 * 3 * 5 * 7 / 2 - 2 * 4
    assert (bound["exponent"], bound["tile"]) == ("1/2", {"i": "1/2", "j": "1/2", "k": "1/2"})
    assert sa.loads(run("bound", "i j k, j r, k r -> i r", "--json").out)["proved"] is None
    steps = json.loads(run("bound", CHAIN, "--order", "left", "--json").out)
    assert [s["pattern"] for s in steps] == ["i j, j k -> i k", "i k, k l -> i l"]
    compared = sa.loads(run("compare", "n d -> n", "n d -> d", "--of", "bytes", "--json").out)
    assert compared["difference"] == 2 * d - 2 * n
    assert (compared["cheaper"], compared["a"]["title"]) == (None, "n d -> n")
    (row,) = json.loads(run("dtypes", "fp16", "--json").out)
    assert (row["max"], row["smallest_subnormal"], row["epsilon"]) == ("65504", f"1/{2**24}", "1/1024")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["flops", "b d, d k"], ["no arrow '->'", "\n          ^"]),
        (["flops", "b d, d k -> b q"], ["'q'", "known: b, d, k", "\n                ^"]),
        (["flops", "bd,dk->bk"], ["'bk'", "--notation numpy", "^^"]),
        (["bytes", "b d, d k -> b b"], ["'b' stands twice", "^"]),
        (["account", "b d; d k -> b k"], ["';'", "separated by a comma", "^"]),
        (["flops", "b", "d,", "d", "k", "-"], ["'d,' has no '='", "in quotes"]),
        (["flops", MATMUL, "b="], ["'b=' has no size", "NAME=SIZE"]),
        (["bytes", MATMUL, "=3"], ["'=3' has no name", "NAME=SIZE"]),
        (["intensity", MATMUL, "b"], ["'b' has no '='", "b=64"]),
        (["flops", MATMUL, ""], ["'' has no '='"]),
        (["flops", MATMUL, "q=3"], ["no axis 'q'", "known: b, d, k"]),
        (["account", MATMUL, "b=0"], ["'b'", "0 is no size"]),
        (["explain", MATMUL, "b=-1"], ["'b'", "-1 is no size"]),
        (["bytes", MATMUL, "b=1.5"], ["'b'", "'1.5' is 3/2"]),
        (["flops", MATMUL, "b=True"], ["'b' is True", "positive integer"]),
        (["flops", MATMUL, "b=None"], ["'b' is None"]),
        (["flops", MATMUL, "d=4k"], ["'d'", "products with *", "\n   ^"]),
        (["flops", MATMUL, "d=__import__('os')"], ["'d'", "did not expect", "^"]),
        (["flops", MATMUL, "b=3", "b=4"], ["'b' has two sizes, 3 and 4"]),
        (["flops", MATMUL, "-c", "exactt"], ["'exactt'", "Did you mean 'exact'?"]),
        (["flops", MATMUL, "-d", "bf17"], ["'bf17'", "Did you mean 'bf16'?"]),
        (["bytes", MATMUL, "-d", "bf16,fp32"], ["2 dtypes for 2 operands and an output"]),
        (["bytes", MATMUL, "-d", "bf16,,bf16"], ["no format", "'bf16,,bf16'"]),
        (["bytes", MATMUL, "-t", "fused"], ["'fused'", "unfused, compulsory"]),
        (["bytes", MATMUL, "-n", "np"], ["'np'", "einops, numpy"]),
        (["intensity", MATMUL, "-o", "lefft"], ["'lefft'", "Did you mean 'left'?"]),
        (["intensity", MATMUL, "--order", "4"], ["To size an axis called 'order', write order=SIZE"]),
        (["flops", "b d, d k, k -> b k", "-c", "mac"], ["b*d*k MAC and b*k FLOP", "two units"]),
        (["account", CHAIN, "-o", "best"], ["depends on the sizes", "1/j + 1/l < 1/i + 1/k"]),
        (["orders", "a b, b c, c d, d e, e f, f g -> a g"], ["6 operands", "up to 5", "--order left"]),
        (["orders", MATMUL, "-c", "2m"], ["'2m'", "2n, exact, mac, unit"]),
        (["bound", MATMUL, "-m", "0"], ["'memory'", "0 is no size"]),
        (["bound", MATMUL, "-m", "b"], ["b is a size of the pattern", "--memory Z"]),
        (["bound", MATMUL, "-o", "besst"], ["'besst'", "Did you mean 'best'?"]),
        (["explain", MATMUL, "--of", "byte"], ["'byte'", "Did you mean 'bytes'?"]),
        (["compare", MATMUL, "b d -> b", "z=4"], ["no axis 'z'", "known: b, d, k"]),
        (
            ["compare", MATMUL, "b d -> b", "--of", "intensity"],
            ["'intensity' is not a cost", "flops, matmul_flops, bytes"],
        ),
        (["compare", MATMUL, "b d -> b", "-c", "mac"], ["MAC", "FLOP"]),
        (["dtypes", "fp8_e4m4"], ["'fp8_e4m4'", "Did you mean 'fp8_e4m3'?"]),
        (["flops", MATMUL, "--json", "--latex"], ["--json and --latex"]),
        (["flops", "b \udcff, d -> b"], ["did not expect", "^"]),
        (["flops", "a b c d e, e f -> a f", *(f"{n}={'9' * 1000}" for n in "abcdef")], ["4,300 digits"]),
        # these are typer's
        (["flop", MATMUL], ["No such command 'flop'", "flops"]),
        (["flops"], ["Missing argument 'PATTERN'"]),
        (["compare", MATMUL], ["Missing argument 'PATTERN_B'"]),
        (["flops", MATMUL, "--convension", "exact"], ["--convension", "--convention"]),
        (["dtypes", "--latex"], ["--latex"]),
    ],
)
def test_mistakes(run, words: list[str], says: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    for part in says:
        assert part in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err) < 1000


def test_an_error_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        msg = "a defect"
        raise ValueError(msg)

    monkeypatch.setattr("symacct.cli.output.account", broken)
    with pytest.raises(ValueError, match="a defect"):
        main(["flops", MATMUL])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_help_runs(run, name: str) -> None:
    shown = run(name, "--help")
    assert (shown.code, shown.err) == (0, "")
    examples = re.findall(r"^ +symacct (.*)$", shown.out, re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        ran = run(*shlex.split(example))
        assert (ran.code, ran.err) == (0, "")
        assert ran.out


def test_help_lists_all_commands(run) -> None:
    shown = run("--help").out
    assert re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE) == list(COMMANDS)
    assert "--install-completion" in shown


def test_version(run) -> None:
    assert run("--version") == (0, f"symacct {sa.__version__}\n", "")


def test_defaults_are_those_of_python() -> None:
    python = inspect.signature(sa.account).parameters
    for command in (commands.total, commands.account, commands.compare, commands.explain, commands.orders):
        for name, option in inspect.signature(command).parameters.items():
            if name in python and name not in ("pattern", "sizes"):
                assert option.default == python[name].default, (command, name)
    assert inspect.signature(commands.bound).parameters["memory"].default == "M"


@pytest.mark.parametrize("quantity", TOTALS)
def test_with_and_without_options_is_one_answer(run, quantity: str) -> None:
    assert run(quantity, MATMUL, "k=d/2") == run(quantity, MATMUL, "k=d/2", "--convention", "2n")


@pytest.mark.parametrize("words", [["flops", MATMUL], ["bytes", MATMUL, "-c", "2n"]])
def test_ctrl_c_leaves_quietly(run, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("symacct.cli.output.account", interrupted)
    ran = run(*words)
    assert ran.code in (1, 130)  # 1 in older versions of typer
    assert "Traceback" not in ran.err


LONG = {
    "64 operands": ", ".join(f"a{i} a{i + 1}" for i in range(64)) + " -> a0 a64",
    "900 axes": " ".join(f"a{i}" for i in range(900)) + ", " + " ".join(f"a{i}" for i in range(500)) + " -> a0",
    "a long name": "b " + "d" * 9900 + ", k -> b",
    "one name": "a " * 4990 + "-> a",
    "3000 operands": "b d, " * 3000 + "-> b",
    "parentheses": "(" * 9990 + "->",
}


@pytest.mark.parametrize("pattern", LONG.values(), ids=LONG)
@pytest.mark.parametrize(
    "words",
    [
        ["flops"],
        ["bytes", "-c", "exact"],
        ["intensity"],
        ["account"],
        ["orders"],
        ["bound"],
        ["explain"],
        ["compare", "a -> a"],
    ],
    ids=" ".join,
)
def test_long_patterns_are_answered_or_refused_within_a_second(run, words: list[str], pattern: str) -> None:
    run(*words, "a b -> a")  # so that imports are not timed
    start = time.process_time()
    ran = run(*words, pattern)
    assert time.process_time() - start < 1
    assert ran.code in (0, 2)
    assert ran.out if ran.code == 0 else ran.err.startswith("symacct: ")


def script(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )


def loaded_by(*words: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after a command."""
    code = (
        "import sys\nfrom symacct.cli import main\n"
        f"try: main({list(words)!r})\nexcept SystemExit as end: assert not end.code\n"
        "print('loaded', *{name.split('.')[0] for name in sys.modules})"
    )
    return set(script(code).stdout.splitlines()[-1].split()[1:])


def test_flops_loads_little() -> None:
    heavy = {"einops", "hypothesis", "matplotlib", "networkx", "numpy", "rich", "sympy", "torch"}
    assert not (heavy | {"typer", "pydantic", "symacct.explanation"}) & loaded_by("flops", MATMUL, "b=4*k", "d=7")
    with_options = loaded_by("flops", MATMUL, "--convention", "exact", "--latex")
    assert "typer" in with_options
    assert not heavy & with_options
    assert "sympy" in loaded_by("flops", MATMUL, "--json")  # the probe sees what is loaded


@pytest.mark.parametrize("words", [["flops", MATMUL], ["orders", CHAIN], ["dtypes", "--json"]])
def test_a_closed_pipe_is_no_error_to_report(words: list[str]) -> None:
    process = subprocess.Popen([SYMACCT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()  # as `head` does, before there is anything to read
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_terminal_without_unicode() -> None:
    ran = subprocess.run(
        [SYMACCT, "flops", "σ d, d k -> σ k"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert ran.stdout == b"2*d*k*\\u03c3\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [("symacct fl", "flops"), ("symacct flops x --convention e", "exact"), ("symacct bytes x --dtype nv", "nvfp4")],
)
def test_completion(line: str, offered: str) -> None:
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_SYMACCT_COMPLETE": "complete_bash"}
    ran = subprocess.run([SYMACCT], capture_output=True, text=True, check=True, env=os.environ | environment)
    assert ran.stdout.split() == [offered]
