"""Students' files run in a process of their own, within limits; the plugin hands them to tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from symacct.errors import StudentError
from symacct.testing import Limits, Student, assert_formula

QUICK = Limits(load_seconds=20, call_seconds=0.5, cpu_seconds=10)


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str, name: str = "alice.py") -> Path:
        file = tmp_path / name
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    return written


def test_a_file_is_run_elsewhere(write) -> None:
    file = write(
        """
        import os
        print("hello"); input_was_closed = not os.sys.stdin.read()
        def flops(B, D, K): return 2*B*D*K
        def process(): return os.getpid()
        def wrong(B, D, K): return B*D*K
        """
    )
    assert assert_formula(f"{file}:flops", "2*B*D*K").examples == 200
    with Student(file, QUICK) as student:
        assert student["process"].call({}) not in (os.getpid(), 0)
        with pytest.raises(AssertionError, match=r"wrong\(B=2, D=3, K=4\) gives 24, 1/2 of the truth"):
            assert_formula(student["wrong"], "2*B*D*K")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def flops(", r"loading: SyntaxError: .* \(line 1 of alice.py\)"),
        ("x = 1\nraise SystemExit(3)", r"loading: SystemExit: 3 \(line 2"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import os\nos._exit(0)", "the process ended by itself"),
        ("import time\ntime.sleep(60)", "took more than 1 s"),
        ("x = bytearray(2**40)", "loading: MemoryError"),
        ("open('filled', 'w').write('x' * 2**21)", "loading: OSError: .*File too large"),
        ("def f(n): return f(n)", "f: RecursionError"),
        ("def f(n):\n  while True: pass", "f: took more than 0.5 s and was ended"),
        ("def f(n): return 10**10**6", "more than 100,000 bits"),
        ("def f(n): return bytearray(2**40)", "f: MemoryError"),
        (
            "import os\ndef f(n):\n  for fd in range(3, 9):\n    try: os.write(fd, b'[]\\n')\n    except OSError: pass",
            "is no answer",
        ),
        (
            "import os\ndef f(n):\n for fd in range(3, 9):\n  try: os.write(fd, b'x' * 2**21)\n  except OSError: pass",
            "an answer of more than 1,000,000 bytes",
        ),
        ("def g(n): return n", "defines no function 'f'; it defines g"),
        ("f = 3", "defines no function 'f'; it defines none"),
        ("def f(n, /): return n", "the parameter 'n' cannot be given by name"),
    ],
)
def test_what_goes_wrong_is_one_message(write, text, said) -> None:
    limits = QUICK._replace(load_seconds=1) if "sleep" in text else QUICK

    def run() -> None:
        with Student(write(text), limits) as student:
            assert student["f"].parameters() == {"n": True}
            student["f"].call({"n": 3})

    with pytest.raises(StudentError, match=said) as failed:
        run()
    assert "\n" not in str(failed.value)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold to it")
def test_memory_is_limited_however_it_grows(write) -> None:
    file = write("def f(n):\n  x = []\n  while True: x.append(bytearray(10**6))\ndef g(n): return 2*n")
    with Student(file, QUICK._replace(memory_mib=200, call_seconds=10)) as student:
        with pytest.raises(StudentError, match="f: MemoryError"):
            student["f"].call({"n": 3})
        assert student["g"].call({"n": 3}) == 6


def test_processor_time_is_limited(write) -> None:
    file = write("def f(n):\n  while True: pass")
    with (
        pytest.raises(StudentError, match="used 1 s of processor time"),
        Student(file, Limits(call_seconds=20, cpu_seconds=1)) as student,
    ):
        student["f"].call({"n": 3})


def test_what_the_process_sees(write, monkeypatch) -> None:
    monkeypatch.setenv("SECRET", "42")
    file = write(
        """
        import os
        def secrets(): return int("SECRET" in os.environ)
        def beside(): return len(os.listdir())
        """
    )
    with Student(file, QUICK) as student:
        assert student["secrets"].call({}) == 0
        assert student["beside"].call({}) == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "took more than 0.5 s and was ended"),
        ("if n > 40:\n    while True: pass\n  return 2*n", "took more than 0.5 s and was ended"),
        ("os._exit(0)", "the process ended by itself"),
        ("if n > 40: os._exit(0)\n  return 2*n", "the process ended by itself"),
        ("return 0 if n == 3 else os._exit(0)", "the process ended by itself"),
        ("os.closerange(0, 99)", "the process ended by itself"),
    ],
)
def test_where_the_process_is_lost_the_sizes_are_told(write, body: str, said: str) -> None:
    file = write(f"import os\ndef f(n):\n  {body}")
    with pytest.raises(AssertionError, match=rf"f\(n=\d+\) should give the truth 2\*n = \d+, but: .*{said}") as failed:
        assert_formula(f"{file}:f", "2*n", limits=QUICK)
    assert "\n" not in str(failed.value)
    with Student(file, QUICK) as student:
        for _ in range(2):
            with pytest.raises(StudentError, match=said):
                student["f"].call({"n": 99})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(n):\n  while True: os.fork()", "PermissionError: a formula must not start processes"),
        ("def f(n): os.system('true')", "start processes"),
        ("import subprocess\ndef f(n): subprocess.run(['true'])", "start processes"),
        ("import multiprocessing as m\ndef f(n): m.Process(target=print).start()", "start processes"),
        ("import socket\ndef f(n): socket.socket()", "reach the network"),
        ("import urllib.request as u\ndef f(n): u.urlopen('http://localhost:1')", "reach the network"),
    ],
)
def test_processes_and_the_network_are_refused(write, text: str, said: str) -> None:
    with Student(write(f"import os\n{text}"), QUICK) as student, pytest.raises(StudentError, match=said):
        student["f"].call({"n": 3})


@pytest.mark.parametrize(
    "text",
    [
        "class N(int):\n  denominator = 0\ndef f(n): return N(5)",
        'import json\njson.dumps = lambda _: \'{"answer": ["int", "0x1"]}\'\ndef f(n): return 1',
        "import json\njson.dumps = lambda _: '[]'\ndef f(n): return 1",
        """import os
for fd in range(3, 10):
    try: os.write(fd, b'{"answer": {"n": true}}\\n' * 3)
    except OSError: pass
def f(n): return n""",
    ],
)
def test_what_the_process_forges_is_no_answer(write, text: str) -> None:
    with pytest.raises((StudentError, AssertionError), match="is no answer"):
        assert_formula(f"{write(text)}:f", "2*n", limits=QUICK)


def test_what_cannot_even_be_told(write) -> None:
    file = write("class E(Exception):\n  def __str__(self): raise self\ndef f(n): raise E")
    with Student(file, QUICK) as student, pytest.raises(StudentError, match=r"f: E \(line 3 of alice.py\)"):
        student["f"].call({"n": 3})


def test_functions_made_by_others_are_functions(write) -> None:
    file = write("import functools\ndef g(c, n): return c*n\nf = functools.partial(g, 2)")
    assert assert_formula(f"{file}:f", "2*n").examples == 200


def test_files_that_are_not_run(write, tmp_path) -> None:
    with pytest.raises(StudentError, match="there is no file"):
        Student(tmp_path / "bob.py")
    with pytest.raises(StudentError, match="at most 1,000,000 are run"):
        Student(write("#" * 1_000_001))


def test_a_function_that_changes_its_mind(write) -> None:
    file = write("import random\ndef f(n): return n + random.randint(0, 1)")
    with pytest.raises(AssertionError, match=r"f\(n=\d+\)|f gives one value and then another"):
        assert_formula(f"{file}:f", "n")


def test_a_module_is_counted_elsewhere(write) -> None:
    pytest.importorskip("torch")
    file = write(
        """
        import torch
        class Linear(torch.nn.Module):
            def __init__(self, D, K):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(K, D))
            def forward(self, x):
                return x @ self.weight.T
        """
    )
    with Student(file) as student:
        shapes = {"x": "B D"}
        assert student["Linear"].count({"D": 3, "K": 5}, {"x": ([7, 3], None)}) == {"matmul_flops": 210, "params": 15}
        assert_formula(student["Linear"], "2*B*D*K", of="matmul_flops", inputs=shapes, examples=9)
        with pytest.raises(AssertionError, match=r"Linear\(B=2, D=3, K=4\) gives 48, 2 of the truth"):
            assert_formula(student["Linear"], "B*D*K", of="matmul_flops", inputs=shapes, examples=9)


PLUGIN = "symacct.testing.plugin"


def pytest_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *words]
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_the_fixture_of_the_plugin(write, tmp_path) -> None:
    write("def flops(B, D, K): return B*D*K")
    write("def flops(B, D, K): return 2*B*D*K", "bob.py")
    write(
        """
        from symacct.testing import assert_formula
        def test_flops(symacct_student):
            assert_formula(symacct_student()["flops"], "2*B*D*K")
        def test_by_name(symacct_student):
            assert_formula(symacct_student("bob.py")["flops"], "2*B*D*K")
        """,
        "test_homework.py",
    )
    wrong = pytest_run(tmp_path, "--symacct-student", "alice.py")
    assert "AssertionError: flops(B=2, D=3, K=4) gives 24, 1/2 of the truth 2*B*D*K = 48" in wrong.stdout
    assert "1 failed, 1 passed" in wrong.stdout
    without = pytest_run(tmp_path, "-rs")
    assert "1 passed, 1 skipped" in without.stdout
    assert "give --symacct-student=FILE" in without.stdout


def test_the_plugin_is_light() -> None:
    script = f"import pytest, sys; before = set(sys.modules); import {PLUGIN}; print(*set(sys.modules) - before)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {m for m in ran.stdout.split() if not m.startswith("symacct")} <= {"importlib", "__future__"}
    assert {m for m in ran.stdout.split() if m.startswith("symacct")} == {"symacct", "symacct.testing", PLUGIN}
