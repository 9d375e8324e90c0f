"""Whole processes: a question on the command line, and imports, against `import torch`; seconds and peak memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 8
PYTHON = sys.executable
PEER = "import torch"
ANSWER = "symacct flops"
COMMANDS = {
    ANSWER: [str(Path(PYTHON).with_name("symacct")), "flops", "b d, d k -> b k"],
    "import symacct": [PYTHON, "-c", "import symacct"],
    "import sympy": [PYTHON, "-c", "import sympy"],
    "python alone": [PYTHON, "-c", ""],
    PEER: [PYTHON, "-c", PEER],
}
LIMITS = {ANSWER: 0.15}
KIB = 1 if sys.platform == "darwin" else 1024
# a process starts with the peak of its parent, so the parent must be smaller than any: Python and nothing else
PEAK = """
import os, resource, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
status, usage = os.wait4(child, 0)[1:]
print([status, usage.ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])
"""


def run(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def peak(words: list[str]) -> float:
    """Return the peak memory of a command in bytes."""
    tiny = [PYTHON, "-I", "-S", "-c", PEAK, *words]
    ran = subprocess.run(tiny, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    status, largest, parent = json.loads(ran.stdout)
    if status or largest <= parent:
        raise SystemExit(f"{' '.join(words)}: exit status {status}, peak {largest}, its parent's {parent}")
    return float(largest * KIB)


def main() -> None:
    turns: dict[str, Turn] = {name: (run, [words]) for name, words in COMMANDS.items()}
    seconds = interleave([turns] * (1 + ROUNDS))
    group = "a whole process; peer: python -c 'import torch'"
    times = [Comparison(group, n, seconds[n], seconds[PEER], LIMITS.get(n)) for n in COMMANDS if n != PEER]
    ours, peer = ([peak(COMMANDS[name]) for _ in range(3)] for name in (ANSWER, PEER))
    hand_back([*times, Comparison("peak memory of the process; peer: the same", ANSWER, ours, peer, unit="B")])


if __name__ == "__main__":
    main()
