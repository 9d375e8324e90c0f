"""The command as a process: help, completion, what it loads, and how it ends when it is interrupted."""

from __future__ import annotations

import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import symacct as sa
from symacct.cli import TOTALS, accounts, commands

SYMACCT = Path(sys.executable).with_name("symacct")
COMMANDS = (
    *("flops", "bytes", "intensity", "orders", "bound", "explain", "compare", "dtypes"),
    *("account", "residuals", "solve", "sweep"),
    *("days", "mfu", "devices", "peak"),
    *("check", "mistakes"),
    *("roofline", "waterfall", "regimes", "calibrate"),
    *("grade", "ask"),
    "checkpoint",
    *("train", "memory", "fit"),
)
ROOT = Path(__file__).resolve().parents[2]
MATMUL = "b d, d k -> b k"
CHAIN = "i j, j k, k l -> i l"


@pytest.mark.parametrize(
    "name", [c for c in COMMANDS if c not in ("calibrate", "check")]
)  # it measures; it may end in 1
def test_every_example_in_help_runs(run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("graphs", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)  # where they draw
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody answers
    shown = run(name, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 80
    examples = re.findall(r"^ +symacct (.*)$", shown.out.replace("\\\n", ""), re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        ran = run(*shlex.split(example))
        assert ran.code == 0
        assert ran.out


def test_help_lists_all_commands(run) -> None:
    shown = run("--help").out
    assert re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE) == list(COMMANDS)
    assert "--install-completion" in shown


def test_version(run) -> None:
    assert run("--version") == (0, f"symacct {sa.__version__}\n", "")


def test_defaults_are_those_of_python() -> None:
    python = inspect.signature(sa.account).parameters
    for command in (commands.total, accounts.account, commands.compare, commands.explain, commands.orders):
        for name, option in inspect.signature(command).parameters.items():
            if name in python and name not in ("pattern", "sizes", "params"):  # a file says its own parameters
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
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    with subprocess.Popen([SYMACCT, *words], stdout=pipe, stderr=pipe, text=True, env=buffered) as process:
        process.stdout.close()  # as `head` does, before there is anything to read
        assert process.stderr.read() == ""
    assert process.returncode == 1


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


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full")
@pytest.mark.parametrize("ending", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", [f"flops '{MATMUL}'", f"account '{MATMUL}' --json"])
def test_an_answer_that_cannot_be_written_is_one_line(words: str, ending: str) -> None:
    line = f"{shlex.quote(sys.executable)} -m symacct {words} {ending}"
    ran = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    assert ran.returncode == 1
    assert re.fullmatch(r"symacct: the answer cannot be written: [^\n]+\n", ran.stderr)
