"""Where in a step something happens, in words."""

from __future__ import annotations

from symacct.expr import to_text
from symacct.graph import Graph
from symacct.memory.alive import Path

PHASES = {"fwd": "forward", "bwd": "backward", "recompute": "recompute"}
_TURNS = {0: "first turn", 1: "second turn", -1: "last turn", -2: "last turn but one"}


def phase_of(graph: Graph, path: Path) -> str:
    """Return the phase of a moment."""
    if not path or path[0] >= len(graph.ops):
        return "update"
    return "forward" if path[0] < 0 else PHASES[graph.ops[path[0]].phase]


def where(graph: Graph, path: Path) -> str:
    """Return the operation of a moment: ``softmax in block/attention, last turn of L``."""
    if not path or path[0] >= len(graph.ops):
        return "both passes"
    scopes, turns = [], []
    for place in range(0, len(path) - 1, 2):
        op, turn = graph.ops[path[place]], path[place + 1]
        told = _TURNS.get(turn) or (f"turn {turn + 1}" if turn >= 0 else f"turn {-turn} from the end")
        turns.append(f"{told} of {to_text(op.attrs['n'])}")
        scopes.append(op.scope)
        graph = op.body(turn)
    if path[-1] < 0:
        return ", ".join(["the start", *reversed(turns)])
    if path[-1] == len(graph.ops):
        return ", ".join(["gathering what turns make", *reversed(turns)])
    op = graph.ops[path[-1]]
    scope = "/".join(s for s in (*scopes, op.scope) if s)
    return ", ".join([f"{op.label} in {scope}" if scope else op.label, *reversed(turns)])
