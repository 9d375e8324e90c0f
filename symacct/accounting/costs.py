"""What rules say of operations, asked once for all that are alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from symacct.accounting.walk import Visit
from symacct.conventions import Work
from symacct.dtypes import AnyFormat, as_format, storage_bytes
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op, Tensor
from symacct.graph.alike import Likes
from symacct.rules import Read, rule_of
from symacct.rules.rule import last_axis
from symacct.rules.spills import Spill

Layout: TypeAlias = Literal["ideal", "torch"]
Fuse: TypeAlias = Literal["none", "pointwise", "flash", "pointwise+flash"]

FEW = 4
"""Below so many operations, looking for alike ones costs more than it saves."""

Moved: TypeAlias = tuple[int, Expr]
"""A tensor, by its place among an operation's inputs and outputs, and bytes of it."""


class Formats(NamedTuple):
    """Which storage format a tensor has: the one it is pinned to, else its argument's or role's, else the usual one.

    A view of what is given has the format of that.
    """

    usual: AnyFormat
    roles: tuple[tuple[str, AnyFormat], ...] = ()

    def of(self, tensor: Tensor, graph: Graph) -> AnyFormat:
        """Return the format of a tensor of a graph."""
        if tensor.dtype or tensor.storage is None:
            return self.of_owner(tensor)
        owner = graph.tensors[tensor.storage]
        return self.of_owner(owner if owner.role in ("input", "param", "const") else tensor)

    def of_owner(self, tensor: Tensor) -> AnyFormat:
        """Return the format of a tensor that owns its memory."""
        if tensor.dtype:
            return as_format(tensor.dtype)
        given = dict(self.roles)
        by_name = given.get(tensor.name) if tensor.role in ("input", "param") else None
        return by_name or given.get(tensor.role, self.usual)

    def bytes_of(self, touched: Read, graph: Graph) -> Expr:
        """Return the bytes of what is touched of a tensor."""
        return storage_bytes(self.of(graph.tensors[touched.tensor], graph), touched.shape, touched.row or -1)


class Spilled(NamedTuple):
    """What a logical operation writes and reads inside: its name, and the bytes of both."""

    name: str
    written: Expr
    read: Expr


class Cost(NamedTuple):
    """One run of an operation: its work, and the bytes it reads, writes, copies to lay them out, and spills inside."""

    work: Work
    reads: tuple[Moved, ...]
    writes: tuple[Moved, ...]
    copies: tuple[Moved, ...]
    spills: tuple[Spilled, ...] = ()

    @property
    def bytes(self) -> Expr:
        """Everything read and written; what is copied is read and written once more."""
        inside = [n for spilled in self.spills for n in (spilled.written, spilled.read)]
        return add([*(n for _, n in (*self.reads, *self.writes, *self.copies, *self.copies)), *inside])


Ask: TypeAlias = Callable[[Op, Graph], Cost]


def cost(op: Op, graph: Graph, formats: Formats, layout: Layout, fuse: Fuse) -> Cost:
    """Ask the rule of an operation what one run executes and moves."""
    rule = rule_of(op)
    moves = layout == "torch" or not rule.implicit_copy
    ids = op.inputs + op.outputs

    def moved(touched: Iterable[Read]) -> tuple[Moved, ...]:
        return tuple([(ids.index(t.tensor), formats.bytes_of(t, graph)) for t in touched])

    return Cost(
        rule.work(op, graph),
        moved(rule.reads(op, graph)) if moves else (),
        moved(rule.writes(op, graph)) if moves else (),
        moved(rule.copies(op, graph)) if layout == "torch" else (),
        () if "flash" in fuse else tuple([_spilled(s, graph, formats) for s in rule.spills(op, graph)]),
    )


def _spilled(spill: Spill, graph: Graph, formats: Formats) -> Spilled:
    stored = formats.bytes_of(Read(spill.like, spill.shape, last_axis(spill.shape)), graph)
    return Spilled(spill.name, multiply(spill.writes, stored), multiply(spill.reads, stored))


def asker(formats: Formats, layout: Layout, fuse: Fuse, count: int) -> Ask:
    """Return a function that gives the cost of any of `count` operations, and asks no rule about alike ones twice."""
    if count < FEW:
        return lambda op, graph: cost(op, graph, formats, layout, fuse)
    likes, known = likes_in(formats), dict[Hashable, Cost]()

    def ask(op: Op, graph: Graph) -> Cost:
        key = likes.op(op, graph)
        found = known.get(key)
        if found is None:
            found = known[key] = cost(op, graph, formats, layout, fuse)
        return found

    return ask


def likes_in(formats: Formats | None) -> Likes:
    """Return what tells operations apart: also the formats of their tensors, where these differ by role or argument."""
    if formats is None or not formats.roles:
        return Likes()
    return Likes(lambda tensor, graph: formats.of(tensor, graph).name)


def gathered(found: list[Visit], formats: Formats | None = None) -> list[Visit]:
    """Return one visit for all operations that are alike, with how often they run together; by work without formats."""
    if len(found) < FEW:
        return found
    likes, alike = likes_in(formats), dict[Hashable, list[Visit]]()
    for visit in found:
        alike.setdefault(likes.op(visit.op, visit.graph), []).append(visit)
    return [same[0]._replace(times=add([v.times for v in same])) for same in alike.values()]
