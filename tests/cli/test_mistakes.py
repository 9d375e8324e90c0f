"""What was asked wrongly gets one message that names the culprit, exit code 2 and no traceback, and soon."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from symacct.cli import main

MATMUL = "b d, d k -> b k"
CHAIN = "i j, j k, k l -> i l"


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
        *[([command, "README.md"], ["is a file, but none of Python"]) for command in ("flops", "account", "orders")],
        (["account", "graphs/"], ["'graphs/' is a folder"]),
        (["checkpoint", "graphs"], ["'graphs' is a folder"]),
        (["explain", "graphs/mlp.py"], ["this command is of a pattern", "symacct account"]),
        (["account", MATMUL, "--backward", "--training"], ["ask for one of them"]),
        (["roofline", MATMUL, "-D", "h100", "--of", "time"], ["--plot"]),
        (["regimes", MATMUL, "--over", "b", "b=4", "d=5", "k=6"], ["b varies, so it has no size"]),
        (["flops", MATMUL, "b=nan"], ["'b' is nan"]),
        (["bytes", MATMUL, "b=2*Inf"], ["'b' is Inf"]),
        (["fit", "params=NaN", "devices=2"], ["'params' is NaN"]),
        (["check", "2*b", "2*b", "--at", "b=0"], ["'b' is 0", "above 0"]),
        (["account", MATMUL, "--backward", "--wrt", ""], ["wrt='' names no input", "operand 1"]),
        (["days", "params=7B", "tokens=2T", "peak=989", "mfu=.5", "devices=2"], ["'989' has no unit", "TFLOP/s"]),
        (["days", "params=7B", "tokens=2T", "device=h100", "mfu=.5", "devices=1.5"], ["devices: 1.5 is no whole"]),
        (["waterfall", MATMUL, "-D", "h100", "b=2", "d=3", "k=4", "--launch", "5"], ["'5' has no unit", "us"]),
        (["fit", "params=7B", "memory=80"], ["'80' has no unit", "80 GB"]),
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
        (["flops"], ["Missing argument 'PATTERN': In quotes, such as 'b d, d k -> b k'. See symacct flops --help"]),
        (["compare", MATMUL], ["Missing argument 'B'"]),
        (["roofline", MATMUL], ["Missing option '--device'", "A device of `symacct devices`", "roofline --help"]),
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


@pytest.mark.parametrize("words", [["flops"], ["roofline", MATMUL], ["flop"], ["flops", MATMUL, "--convension", "2n"]])
def test_what_is_missing_or_unknown_is_one_line(run, words: list[str]) -> None:
    err = run(*words).err
    assert err.startswith("symacct: ")
    assert err.count("\n") == 1


def test_an_error_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        msg = "a defect"
        raise ValueError(msg)

    monkeypatch.setattr("symacct.cli.output.account", broken)
    with pytest.raises(ValueError, match="a defect"):
        main(["flops", MATMUL])


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


def test_a_pattern_of_nothing_is_no_option(run) -> None:
    assert run("flops", "->").out == "0\n"
    assert run("flops", "-> b").err.startswith("symacct: the output axis 'b' is in no operand")


MINE = {
    "x = 1\nimport no_such_module\n": "does not run at mine.py:2: ModuleNotFoundError: No module named 'no_such",
    "def f(x: 'b d!'):\n    return x\n": "the axis 'd!' of x does not read: cannot read the expression",
    "def f(x: 'b d'):\n    x + 1\n": "f returned NoneType, no symbolic tensor\n  at mine.py:1, in f\n",
    "def f(x: 'b d'):\n    return x % 2\n": "% between Symbolic(x: b, d) and 2 is not known",
    "def f(x: 'b d'):\n    return x.half()\n": "does not run at mine.py:2: AttributeError: a symbolic tensor has no",
    "import functools, symacct\nf = functools.partial(lambda x: 1 / 0)\n"
    "worked = symacct.Worked(f, values={'x': 'b'})\n": "<lambda> does not run at mine.py:2: ZeroDivisionError",
}


@pytest.mark.parametrize("code", MINE)
def test_a_mistake_in_a_file_is_one_message_with_its_line(run, tmp_path: Path, code: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    ran = run("account", str(file))
    assert (ran.code, ran.out, ran.err[:9]) == (2, "", "symacct: ")
    assert MINE[code] in ran.err
    assert "mine.py:" in ran.err


@pytest.mark.parametrize(
    ("code", "has"),
    [("", ""), ("class Layer:\n    pass\n", ""), ("def f(x):\n    return x\n", "it has f, without ann")],
)
def test_a_file_without_a_layer_says_what_a_layer_is(run, tmp_path: Path, code: str, has: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    ran = run("account", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert "mine.py holds no function of annotated tensors" in ran.err
    assert "def layer(x: 'b d', w: 'd k')" in ran.err
    assert has in ran.err


def test_what_a_file_prints_is_no_part_of_the_answer(run, tmp_path: Path) -> None:
    file = tmp_path / "talks.py"
    file.write_text("print('hello')\n\n\ndef layer(x: 'b d'):\n    print(x)\n    return x + 1\n", encoding="utf-8")
    ran = run("account", str(file), "--json")
    assert json.loads(ran.out)["flops"]["text"] == "b*d"
    assert "hello" in ran.err


@pytest.mark.parametrize("code", ["sys.exit(3)\n", "\n"])
def test_a_layer_that_leaves_is_a_layer_that_does_not_run(run, tmp_path, code: str) -> None:
    file = tmp_path / "leaves.py"
    file.write_text(f"import sys\n\n\ndef layer(x: 'b d'):\n    sys.exit(4)\n\n\n{code}", encoding="utf-8")
    ran = run("account", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert "does not run" in ran.err
    assert "SystemExit: " in ran.err


def test_a_number_for_an_argument_without_annotation_is_no_shape(run, tmp_path):
    file = tmp_path / "scaled.py"
    file.write_text('def scaled(x: "b d", scale):\n    return x * scale\n', encoding="utf-8")
    result = run("account", str(file), "scale=3", "d=5", "--json")
    assert '"title": "scaled(x (b, 5))"' in result.out
