"""The moments at which most may be alive, as closed forms: after every operation, in the turns of repeats that differ.

A repeat is walked with few turns, with one more, and with two more. Where each further turn adds the same, which is
checked, what is alive at a moment is a line in the number of turns; over the turns in between it is one too, so that
the most is alive in the first or the last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from symacct.errors import InconclusiveError
from symacct.expr import Expr, add, at_most, evaluate, monomial, multiply, names_in, terms_of
from symacct.graph import Graph, Op
from symacct.memory.alive import Alive, Apart, Label, Measure, Path, Turns, Value, Walk

Held: TypeAlias = Mapping[Label, Expr]
"""Bytes that are alive, by whose they are."""
Amounts: TypeAlias = Mapping[Expr, int]
"""How many storages are alive, by their bytes."""

EITHER_END = 2
"""So many turns at either end of a repeat are looked at, besides those with a body of their own."""
MANY = 12


class Moment(NamedTuple):
    """A moment: where the graph stands (turns are counted from the end where negative), and what is alive."""

    path: Path
    bytes: Expr


class Walks:
    """The walks of a graph with several numbers of turns, each done once.

    Parameters
    ----------
    graph
        What runs.
    given
        Makes the values of its inputs anew for each walk.
    measure
        Makes the storage of a tensor.
    kept
        Inputs that stay alive to the end.
    apart
        Its inputs and outputs that are not held like the others.
    lasting
        Bytes that are there all the time.
    turns
        Repeats that turn so often, whatever their number of turns is called; they are walked from end to end.
    watched
        Moments at which `held` will be asked; others are walked to once more.

    Raises
    ------
    InconclusiveError
        Where turns never become alike, and for a conditional.

    """

    def __init__(
        self,
        graph: Graph,
        given: Callable[[], list[Value]],
        measure: Measure,
        *,
        kept: Iterable[int] = (),
        apart: Apart | None = None,
        lasting: Expr = 0,
        turns: Mapping[Expr, int] | None = None,
        watched: Iterable[Path] = (),
    ) -> None:
        self.graph, self.given, self.measure, self.lasting = graph, given, measure, lasting
        self.kept, self.apart = frozenset(kept), apart or Apart()
        self.watched = set(watched)
        self.known: dict[tuple[int, ...], dict[Path, Amounts]] = {}
        self.seen: dict[tuple[int, ...], dict[Path, Held]] = {}
        ends: dict[Expr, int] = {}
        for op in repeats(graph):
            differing = max(len(op.attrs.get("first", ())), len(op.attrs.get("last", ())))
            ends[op.attrs["n"]] = max(ends.get(op.attrs["n"], 0), differing + EITHER_END)
        self.ends = ends
        few = {n: n for n in ends if isinstance(n, int) and n <= 2 * ends[n] + 2} | dict(turns or {})
        self.free = [n for n in ends if n not in few]
        self.few = {**few, **{n: 2 * ends[n] for n in self.free}}
        self._settle()

    def _settle(self) -> None:
        """Find how many turns are few enough to walk and so many that each further one adds the same."""
        for n in self.free:
            while not self._even(n):
                self.ends[n] += 1
                self.few[n] += 2
                if self.ends[n] > MANY:
                    msg = f"what is alive does not grow evenly with the {n} turns of a repeat, so it has no closed form"
                    raise InconclusiveError(msg)

    def _even(self, n: Expr) -> bool:
        once, twice, thrice = (self.walked({**self.few, n: self.few[n] + more}) for more in range(3))
        return all(
            thrice[p].get(form, 0) + once[p].get(form, 0) == 2 * twice[p].get(form, 0)
            for p in once
            for form in {**once[p], **twice[p], **thrice[p]}
        )

    def walked(self, turns: Mapping[Expr, int]) -> dict[Path, Amounts]:
        """Return how many storages of each size are alive at each moment, with some numbers of turns."""
        key = (*turns.values(), *self.ends.values())
        if key not in self.known:
            found: dict[Path, Amounts] = {}
            held: dict[Path, Held] = {}

            def look(path: Path, alive: Alive) -> None:
                found[path] = dict(alive.amounts)
                if path in self.watched:
                    held[path] = alive.held()

            self._walk(turns, look)
            self.known[key], self.seen[key] = found, held
        return self.known[key]

    def profile(self, look: Callable[[Path, Mapping[str, Expr]], object]) -> None:
        """Walk once, with all turns that are given, and look at the bytes by role after each operation."""
        by_role: dict[str, Expr] = {}
        self._walk(self.few, lambda path, _: look(path, by_role), by_role)

    def _walk(
        self,
        turns: Mapping[Expr, int],
        look: Callable[[Path, Alive], object],
        by_role: dict[str, Expr] | None = None,
    ) -> None:
        """Walk the graph; the last look, at the path ``()``, is when it is done."""
        alive, given = Alive(look, by_role), self.given()
        for i, value in zip(self.graph.inputs, given, strict=True):
            if i in self.kept:
                alive.hold(value)
        walk = Walk(alive, self.measure, Turns(turns, self.ends), self.apart)
        for value in walk.run(self.graph, given):
            alive.hold(value)
        look((), alive)

    def moments(self) -> list[Moment]:
        """Return what is alive after each operation; of turns that lie on a line the first and the last."""
        products: dict[tuple[Expr, Expr], Expr] = {}

        def times(count: Expr, form: Expr) -> Expr:
            key = (count, form)
            if key not in products:
                products[key] = multiply(count, form)
            return products[key]

        found = {}
        for path in self.walked(self.few):
            amounts = self._lines(lambda turns, p=path: self.walked(turns)[p])  # type: ignore[misc]
            found[path] = add((self.lasting, *(times(count, form) for form, count in amounts.items())))
        return [Moment(path, bytes) for path, bytes in found.items() if not self._between(path, found)]

    def _between(self, path: Path, found: Mapping[Path, Expr]) -> bool:
        """Whether a moment lies on the line of the turns before and after, so that one of these has as much alive."""
        for place, n in zip(range(1, len(path), 2), self._repeats_along(path), strict=True):
            ends, turn = self.ends[n], path[place]
            if n not in self.free or turn in (0, -1):
                continue
            before, after = (turn - 1 if turn != -ends else ends - 1), (turn + 1 if turn != ends - 1 else -ends)
            there = [found.get((*path[:place], t, *path[place + 1 :])) for t in (before, after)]
            if there[0] is None or there[1] is None:
                continue  # another body
            gap = add((n, 1 - 2 * ends))
            down, up = (gap if turn == -ends else 1), (gap if turn == ends - 1 else 1)
            rise, fall = add((found[path], -there[0])), add((there[1], -found[path]))
            if multiply(rise, up) == multiply(fall, down):
                return True
        return False

    def _repeats_along(self, path: Path) -> list[Expr]:
        """Return the number of turns of each repeat that a path goes into."""
        graph, out = self.graph, []
        for place in range(0, len(path) - 1, 2):
            op = graph.ops[path[place]]
            out.append(op.attrs["n"])
            graph = op.body(path[place + 1])
        return out

    def held(self, path: Path) -> Held:
        """Return what is alive at a moment, by whose it is."""
        if path not in self.watched:
            self.watched.add(path)
            self.known.clear()

        def at(turns: Mapping[Expr, int]) -> Held:
            self.walked(turns)
            return self.seen[*turns.values(), *self.ends.values()][path]

        return self._lines(at)

    def _lines(self, value: Callable[[Mapping[Expr, int]], Mapping[Any, Expr]]) -> dict[Any, Expr]:
        """Return amounts at the real numbers of turns, from those at few turns and at one more; zeros left out."""

        def along(free: list[Expr], turns: Mapping[Expr, int]) -> Mapping[Any, Expr]:
            if not free:
                return value(turns)
            n, rest = free[0], free[1:]
            low, high = (along(rest, {**turns, n: self.few[n] + more}) for more in (0, 1))
            if low == high:
                return low
            beyond, out = add((n, -self.few[n])), dict(low)
            for key, amount in high.items():
                if amount != low.get(key, 0):
                    out[key] = _beyond(low.get(key, 0), amount, beyond)
            return out | {key: _beyond(low[key], 0, beyond) for key in low if key not in high}

        return {key: amount for key, amount in along(self.free, self.few).items() if amount != 0}


def _beyond(low: Expr, high: Expr, turns: Expr) -> Expr:
    """Return what an amount is at more turns, where it is `low`, and `high` with one more."""
    return add((low, multiply(turns, add((high, -low)))))


def repeats(graph: Graph) -> Iterator[Op]:
    """Yield the repeats of a graph, those inside others too."""
    for op in graph.ops:
        if op.kind == "repeat":
            yield op
            for body in op.parts:
                yield from repeats(body)


def undominated(moments: Iterable[Moment]) -> list[Moment]:
    """Return the moments of which none is proved to have at most as much alive as another, at all sizes.

    Of moments with the same bytes the first is kept. A few sizes are tried before anything is proved.

    Examples
    --------
    >>> from symacct.expr import read
    >>> some = [Moment((i,), read(form)) for i, form in enumerate(("b*d", "2*b*d", "b*k + b", "b*d + b"))]
    >>> [moment.bytes for moment in undominated(some)]
    [2*b*d, b*(k + 1)]

    """
    first: dict[Expr, Moment] = {}
    for moment in moments:
        first.setdefault(moment.bytes, moment)
    monomials = {m for bytes in first for m in terms_of(bytes)}
    names = sorted({n for bytes in first for n in names_in(bytes)})
    tried = [{**dict.fromkeys(names, 1), **more} for more in ({}, *({n: 997} for n in names))]
    tried += [{n: (7 * i + 3 * place) % 11 * 20 + 3 for i, n in enumerate(names)} for place in range(3)]
    at = [{m: evaluate(monomial(m), sizes) for m in monomials} for sizes in tried]
    kept: list[tuple[Moment, list[Any]]] = []
    for moment in first.values():
        values = [sum([c * known[m] for m, c in terms_of(moment.bytes).items()]) for known in at]
        if not any(_below(moment, values, *other) for other in kept):
            kept = [other for other in kept if not _below(*other, moment, values)]
            kept.append((moment, values))
    return [moment for moment, _ in kept]


def _below(a: Moment, mine: list[Any], b: Moment, theirs: list[Any]) -> bool:
    """Whether what is alive at one moment is proved to be at most what is at another; first at a few sizes."""
    return all(x <= y for x, y in zip(mine, theirs, strict=True)) and at_most(a.bytes, b.bytes)
