"""Stages from operations of a graph between two cuts: what they keep, compute, and save last."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from symacct.backward import Saving
from symacct.checkpointing.chain import Run, Stage
from symacct.checkpointing.saved import Key, Terms
from symacct.checkpointing.scores import Dropped, without_scores
from symacct.expr import Expr, add
from symacct.graph import Op


class Piece(NamedTuple):
    """Operations of a graph between two cuts, the memory that crosses each of these, and what several stages share."""

    saving: Saving
    ops: Sequence[Op]
    takes: Sequence[int]
    gives: Sequence[int]
    shared: AbstractSet[Key]


class Found(NamedTuple):
    """A stage by itself, and what it keeps that was made elsewhere."""

    run: Run
    outside: dict[Key, Expr]


def stage_of(piece: Piece, terms: Terms) -> Found:
    """Work out a stage."""
    saving = piece.saving
    made = {i for op in piece.ops for i in op.outputs} - piece.shared
    kept, *again = (
        without_scores(piece.ops, saving, terms) if terms.drop_scores else Dropped(terms.saved(piece.ops, saving))
    )
    own = {key: size for key, size in kept.items() if key in made or not isinstance(key, int)}
    stage = Stage(
        boundary=tuple([terms.memory(i, saving) for i in piece.takes]),
        residual=add(own.values()),
        flops=terms.flops(piece.ops, saving.graph),
        tail=terms.tail(piece.ops, saving),
        keeps_input=tuple([i in kept for i in piece.takes]),
        keeps_output=flags(piece.gives, own.keys()),
        name=_named(piece.ops),
    )
    saves = any(saving.keeps(op) for op in piece.ops)  # else torch holds nothing to run it again from
    elsewhere = {key: size for key, size in kept.items() if key not in own and key not in piece.takes}
    return Found(Run(stage, 1, saves, *again), elsewhere)


def flags(memories: Sequence[int], kept: AbstractSet[Key]) -> tuple[bool, ...]:
    """Return which memories are kept, up to the last that is."""
    last = max((place for place, i in enumerate(memories) if i in kept), default=-1)
    return tuple([i in kept for i in memories[: last + 1]])


def _named(ops: Sequence[Op]) -> str:
    """Name a stage by the scope that its operations share, else by its first and last operation."""
    scopes = [op.scope.split("/") for op in ops]
    shared = [parts[0] for parts in zip(*scopes, strict=False) if len(set(parts)) == 1 and parts[0]]
    if shared:
        return "/".join(shared)
    told = ["product" if op.kind == "einsum" else op.kind for op in ops]
    return told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"
