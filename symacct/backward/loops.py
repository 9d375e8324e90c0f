"""Back through a repeat: a repeat in reverse, whose first and last turns may differ.

The turn that runs last goes back first. A turn takes the gradients of its carries, adds to those of the constants, and
yields a slice of the gradients of what is stacked; what it reads of the turn forward, that one comes to yield.

Turns differ in what there is to do. The first turn forward may have a carry that needs no gradient, such as the input
of a network: its product with a weight is one matrix product back instead of two. The last turn forward has no
gradients of constants to add to yet; and turns forward that lay their carries out otherwise do so going back. Such
turns have bodies of their own, so that counts are those of the loop written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from symacct.backward.needs import TURNS, Needs, by_turn
from symacct.backward.parts import Part, Propagate, absent_gradient, taken_back
from symacct.errors import GraphError
from symacct.expr import Expr, Size, add
from symacct.graph import Graph, Op, Tensor
from symacct.symbolic import Builder, Symbolic, record


class Key(NamedTuple):
    """What a turn depends on: which of the body's inputs need a gradient, and which slots are filled before it.

    `body` is its place among those of the repeat: first turns that differ have each its own, all others the last.
    """

    needs: Needs
    filled: Needs
    body: int


class Turns(NamedTuple):
    """The turns from the last to the first, of which `main` repeats; and the slots filled in the end."""

    first: list[Key]
    main: Key
    last: list[Key]
    filled: Needs

    def times(self, n: Expr) -> list[tuple[Key, Expr]]:
        """Return the turns of n, with how often each follows itself."""
        repeated = add((n, -len(self.first) - len(self.last)))
        return [*((key, 1) for key in self.first), (self.main, repeated), *((key, 1) for key in self.last)]


class Loop:
    """The turns of a repeat, each kind taken back once; meanwhile its body comes to yield what they read.

    A slot holds the gradient of a carry, or the sum so far of those of a constant.
    """

    def __init__(self, op: Op, coming: Sequence[Symbolic | None], propagate: Propagate) -> None:
        """Start with a repeat as it runs forward, and the gradients of what it yields."""
        self.bodies = bodies_of(op)
        self.carry: int = op.attrs["carry"]
        self.collected = op.collected
        self.stacked = range(self.carry, self.carry + op.attrs["xs"])
        self.places = (*range(self.carry), *range(self.stacked.stop, len(op.inputs)))  # the input of each slot
        self.coming = [g is not None for g in coming[self.carry : self.carry + self.collected]]
        self.propagate = propagate
        self.parts: dict[Key, Part] = {}

    @property
    def body(self) -> Graph:
        """What the turns run that do not differ."""
        return self.bodies[-1]

    def after(self, key: Key) -> Needs:
        """Return which slots are filled after a turn; all bodies come to yield the same."""
        if key not in self.parts:
            so_far = dict(zip(self.places[self.carry :], key.filled[self.carry :], strict=True))
            comes = [*key.filled[: self.carry], *self.coming]
            parts = [taken_back(body, key.needs, comes, self.propagate, so_far) for body in self.bodies]
            self.parts[key], self.bodies = parts[key.body], [part.forward for part in parts]
        return tuple(self.parts[key].grads[place] is not None for place in self.places)

    @property
    def slots(self) -> list[int]:
        """The slots that some turn finds filled, or fills."""
        used = [(*key.filled, *self.after(key)) for key in self.parts]
        count = len(self.places)
        return [slot for slot in range(count) if any(filled[slot] or filled[slot + count] for filled in used)]

    @property
    def slices(self) -> list[int]:
        """The inputs of the body that are stacked and of which some turn makes a gradient."""
        return [x for x in self.stacked if any(p.grads[x] is not None for p in self.parts.values())]

    def back(self, key: Key, kept: Iterable[int]) -> Graph:
        """Return the body of a turn back: it takes the slots and what any turn reads, and yields slots and slices."""
        part, tensors, slots = self.parts[key], self.bodies[key.body].tensors, self.slots
        given = [part.local[i] if i in part.local else part.builder.given(tensors[i]) for i in kept]
        carries, rows, sums = (
            part.seeds[: self.carry],
            part.seeds[self.carry : self.carry + self.collected],
            part.seeds[self.carry + self.collected :],
        )
        seeds = [*carries, *sums]
        outputs = [part.yielded(place) for place in (*(self.places[slot] for slot in slots), *self.slices)]
        arriving = [row for row, comes in zip(rows, self.coming, strict=True) if comes]
        return part.graph([*(seeds[slot] for slot in slots), *arriving, *given], outputs)


def through_repeat(
    builder: Builder, op: Op, wanted: Needs, coming: Sequence[Symbolic | None], propagate: Propagate
) -> tuple[Symbolic | None, ...]:
    """Return the gradients of what a repeat is given; see `symacct.backward.passes.propagate`."""
    loop = Loop(op, coming, propagate)
    start = (*coming[: loop.carry], *([None] * (len(loop.places) - loop.carry)))
    turns = turns_of(op, wanted, tuple(g is not None for g in start), loop.after)
    kept = _kept(builder, op, loop)
    back = {key: loop.back(key, kept) for key in loop.parts}
    given = []
    for slot in loop.slots:
        grad, like = start[slot], builder.tensors[op.inputs[loop.places[slot]]]
        given.append(absent_gradient(builder, like) if grad is None else grad)
    rows = [g for g in coming[loop.carry :] if g is not None]
    shared = set(loop.body.inputs[loop.stacked.stop :])
    attrs = {
        "n": op.attrs["n"],
        "body": back[turns.main],
        "carry": len(given),
        "xs": len(rows) + sum(i not in shared for i in kept),
        "reverse": True,
        "first": tuple(back[key] for key in turns.first),
        "last": tuple(back[key] for key in turns.last),
    }
    made = record("repeat", [*given, *rows, *(Symbolic(builder, i) for i in kept.values())], attrs)
    made = list(made) if isinstance(made, tuple) else [made]
    found: list[Symbolic | None] = [None] * len(op.inputs)
    for slot, grad in zip(loop.slots, made, strict=False):
        found[loop.places[slot]] = grad if turns.filled[slot] else None
    for x, grad in zip(loop.slices, made[len(given) :], strict=True):
        found[x] = grad
    return tuple(found)


def bodies_of(op: Op) -> list[Graph]:
    """Return the bodies of a repeat that runs forward: of its first turns that differ, and of all others.

    Raises
    ------
    GraphError
        Where they number their tensors otherwise.

    """
    bodies = [*op.attrs.get("first", ()), op.attrs["body"]]
    if any(_places(first) != _places(bodies[-1]) for first in bodies):
        msg = f"{op.label}: its first turns do something else than the others; write them out"
        raise GraphError(msg)
    return bodies


def _places(graph: Graph) -> tuple[object, ...]:
    return (graph.inputs, graph.outputs, *((op.inputs, op.outputs) for op in graph.ops))


def turns_of(op: Op, wanted: Needs, filled: Needs, after: Callable[[Key], Needs]) -> Turns:
    """Go through the turns of a repeat from the last to the first.

    Parameters
    ----------
    op
        The repeat.
    wanted
        Which of its inputs need a gradient.
    filled
        Which slots are filled at the end.
    after
        Tells which are once a turn is gone through.

    Raises
    ------
    GraphError
        Where turns never become alike.

    """
    n, needs, carry = op.attrs["n"], by_turn(op, wanted), op.attrs["carry"]
    alike = len(op.attrs.get("first", ()))
    steady = max(len(needs) - 1, alike)

    def key_of(turn: int, filled: Needs) -> Key:
        return Key(needs[min(turn, len(needs) - 1)] + wanted[carry:], filled, min(turn, alike))

    if type(n) is int:
        keys = []
        for turn in reversed(range(n)):
            keys.append(key_of(turn, filled))
            filled = after(keys[-1])
        runs = [list(same) for _, same in groupby(keys)]
        longest = max(range(len(runs)), key=lambda i: len(runs[i]))
        first, last = ([key for run in some for key in run] for some in (runs[:longest], runs[longest + 1 :]))
        return Turns(first, runs[longest][0], last, filled)
    first, last = [], []
    main = key_of(steady, filled)
    while after(main) != main.filled:
        first.append(main)
        main = key_of(steady, after(main))
        if len(first) > TURNS:
            msg = f"{op.label}: which gradients there are changes from turn to turn; write such iterations out"
            raise GraphError(msg)
    filled = main.filled
    for turn in reversed(range(steady)):
        last.append(key_of(turn, filled))
        filled = after(last[-1])
    return Turns(first, main, last, filled)


def _kept(builder: Builder, op: Op, loop: Loop) -> dict[int, int]:
    """Return what turns read of the body, and where that is outside: what is stacked, then what is shared.

    What the body makes, and its carries, the repeat comes to yield, stacked.
    """
    body, n, carry, stop = loop.body, op.attrs["n"], loop.carry, loop.stacked.stop
    reads = dict.fromkeys(i for part in loop.parts.values() for i in part.reads)
    outside = dict(zip(body.inputs[carry:], op.inputs[carry:], strict=True))
    first = carry + loop.collected
    yielded = dict(zip(body.outputs[first:], op.outputs[first:], strict=True))
    more = [i for i in reads if i not in outside and i not in yielded]
    loop.bodies = [_yielding(each, more) for each in loop.bodies]
    attrs = {**op.attrs, "body": loop.body, "kept": len(loop.body.outputs) - first}
    if len(loop.bodies) > 1:
        attrs["first"] = tuple(loop.bodies[:-1])
    added = builder.yields_more(op, [_stacked(body.tensors[i], n) for i in more], attrs)
    outside |= yielded | dict(zip(more, added, strict=True))
    shared = set(body.inputs[stop:])
    return {i: outside[i] for i in sorted(reads, key=lambda i: i in shared)}


def _yielding(body: Graph, more: Sequence[int]) -> Graph:
    made = {i for i in more if i not in body.inputs}
    tensors = tuple(t._replace(role="output") if t.id in made else t for t in body.tensors)
    return body._replace(tensors=tensors, outputs=(*body.outputs, *more))


def _stacked(tensor: Tensor, n: Size) -> Tensor:
    return tensor._replace(shape=(n, *tensor.shape), strides=None)
