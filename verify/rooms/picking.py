"""What picks by index, what orders and accumulates, and scans: as plain loops on numbers that count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from symacct.expr import name
from symacct.testing.counting import Counted, call
from verify.memories import Case, Kind, Memory, checks

B, S, D, E, V = (name(n) for n in "bsdev")


def embedding(table: Memory, index: Memory, out: Memory, *, calls: Any) -> None:
    del calls
    for at in index.places():
        row = index[at]
        for rest in Memory(table.shape[1:]).places():
            out[(*at, *rest)] = table[(row, *rest)]


def embedding_backward(grad: Memory, index: Memory, out: Memory, *, calls: Any, rows: int) -> None:
    del rows
    clear(out, calls)
    for at in index.places():
        row = index[at]
        for rest in Memory(out.shape[1:]).places():
            out[(row, *rest)] = out[(row, *rest)] + grad[(*at, *rest)]


def clear(out: Memory, calls: Any) -> None:
    for place in out.places():
        out[place] = Counted(0, calls)


def spot(place: Any, index: Memory, axis: int) -> Any:
    axis %= len(place)
    return (*place[:axis], index[place], *place[axis + 1 :])


def gather(x: Memory, index: Memory, out: Memory, *, calls: Any, axis: int) -> None:
    del calls
    for place in index.places():
        out[place] = x[spot(place, index, axis)]


def gather_backward(grad: Memory, index: Memory, out: Memory, *, calls: Any, axis: int, shape: Any) -> None:
    del shape
    clear(out, calls)
    add_up(index, grad, out, axis)


def add_up(index: Memory, source: Memory, out: Memory, axis: int) -> None:
    for place in index.places():
        there = spot(place, index, axis)
        out[there] = out[there] + source[place]


def scatter(grad: Memory, index: Memory, out: Memory, *, calls: Any, axis: int, shape: Any) -> None:
    del shape
    clear(out, calls)
    for place in index.places():
        out[spot(place, index, axis)] = grad[place]


def scatter_add(x: Memory, index: Memory, source: Memory, out: Memory, *, calls: Any, axis: int) -> None:
    del calls
    for place in x.places():
        out[place] = x[place]
    add_up(index, source, out, axis)


def one_hot(index: Memory, out: Memory, *, calls: Any, classes: int) -> None:
    del calls
    for place in index.places():
        hot = index[place]
        for c in range(classes):
            out[(*place, c)] = int(c == hot)


def by_row(program: Callable[..., Any], outputs: int = 1) -> Callable[..., None]:
    """Run a program on each row along an axis; it returns a row, or one value, for each output."""

    def run(*memories: Memory, calls: Any, axis: int, **attrs: Any) -> None:
        del calls
        given, made = memories[:-outputs], memories[-outputs:]
        shape = given[0].shape
        axis %= len(shape)
        for rest in itertools.product(*(range(n) for i, n in enumerate(shape) if i != axis)):

            def at(t: int, rest: tuple[int, ...] = rest) -> tuple[int, ...]:
                return (*rest[:axis], t, *rest[axis:])

            rows = [[m[at(t)] for t in range(shape[axis])] if len(m.shape) == len(shape) else m[rest] for m in given]
            for out, row in zip(made, program(*rows, **attrs), strict=True):
                if isinstance(row, list):
                    for t, value in enumerate(row):
                        out[at(t)] = value
                else:
                    out[rest] = row

    return run


def top_k(row: list[Counted], *, k: int) -> tuple[list[Any], list[int]]:
    """Compare each element once with the smallest that is kept; keeping them in order is not counted."""
    kept: list[tuple[float, int]] = [(float("-inf"), -1)] * k
    for i, x in enumerate(row):
        if call("gt", x, kept[-1][0]).value:
            kept = sorted([*kept[:-1], (x.value, i)], reverse=True)
    return [v for v, _ in kept], [i for _, i in kept]


def argmax(row: list[Counted], *, keepdims: bool) -> tuple[int]:
    del keepdims
    best = 0
    for i in range(1, len(row)):
        best = i if call("gt", row[i], row[best]).value else best
    return (best,)


def cumsum(row: list[Counted]) -> tuple[list[Counted]]:
    out = row[:1]
    for x in row[1:]:
        out.append(out[-1] + x)
    return (out,)


def scan(combine: Callable[[Any, Any], Any], row: list[Any]) -> list[Any]:
    """Combine neighbours, scan the half that results, combine every other result with its neighbour."""
    if len(row) < 2:
        return row
    odd = scan(combine, [combine(row[i], row[i + 1]) for i in range(0, len(row) - 1, 2)])
    return row[:1] + [odd[i // 2] if i % 2 else combine(odd[i // 2 - 1], row[i]) for i in range(1, len(row))]


JOINS = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "max": lambda x, y: call("max", x, y)}


def associative_scan(row: list[Counted], *, combine: str, reverse: bool) -> tuple[list[Counted]]:
    out = scan(JOINS[combine], row[::-1] if reverse else row)
    return (out[::-1] if reverse else out,)


def recurrence(
    a: list[Counted], b: list[Counted], *initial: Counted, method: str, reverse: bool
) -> tuple[list[Counted]]:
    a, b = (a[::-1], b[::-1]) if reverse else (a, b)
    first = a[0] * initial[0] + b[0] if initial else b[0]
    if method == "parallel":
        steps = list(zip(a, [first, *b[1:]], strict=True))
        out = [h for _, h in scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), steps)]
    else:
        out = [first]
        for coefficient, term in zip(a[1:], b[1:], strict=True):
            out.append(coefficient * out[-1] + term)
    return (out[::-1] if reverse else out,)


def sort_is_declared(row: list[Counted], *, descending: bool) -> tuple[list[Any], list[int]]:
    """Count n*ceil(log2(n)): one comparison an element in each of the passes that double sorted runs."""
    order = sorted(range(len(row)), key=lambda i: row[i].value, reverse=descending)
    width = 1
    while width < len(row):
        for x in row:
            call("gt", x, 0)
        width *= 2
    return [row[i].value for i in order], order


def summed(table: Any, index: Any, source: Any) -> Any:
    np.add.at(table, index.astype(int), source)
    return table


def along(x: Any, index: Any, axis: int, source: Any) -> Any:
    places = np.array(list(np.ndindex(index.shape)))
    places[:, axis] = index.astype(int).ravel()
    np.add.at(x, tuple(places.T), source.ravel())
    return x


def states(a: Any, b: Any, *initial: Any, axis: int, method: str, reverse: bool) -> list[Any]:
    """h_t = sum over u <= t of b_u times the coefficients after it."""
    del method
    a, b = (np.moveaxis(np.broadcast_to(x, b.shape), axis, 0) for x in (a, b))
    a, b = (a[::-1], b[::-1]) if reverse else (a, b)
    out = [sum(b[u] * np.prod(a[u + 1 : t + 1], axis=0) for u in range(t + 1)) for t in range(len(b))]
    if initial:
        out = [h + initial[0] * np.prod(a[: t + 1], axis=0) for t, h in enumerate(out)]
    return [np.moveaxis(np.array(out[::-1] if reverse else out), 0, axis)]


def scanned(x: Any, *, combine: str, axis: int, reverse: bool) -> list[Any]:
    function = {"add": np.add, "mul": np.multiply, "max": np.maximum}[combine]
    turned = np.flip(x, axis) if reverse else x
    out = function.accumulate(turned, axis)
    return [np.flip(out, axis) if reverse else out]


def chosen(x: Any, *, k: int, axis: int) -> list[Any]:
    order = np.flip(np.argsort(x, axis), axis).take(range(k), axis)
    return [np.take_along_axis(x, order, axis), order]


def in_order(x: Any, *, axis: int, descending: bool) -> list[Any]:
    order = np.argsort(-x if descending else x, axis)
    return [np.take_along_axis(x, order, axis), order]


STEPS = {"axis": 1, "method": "sequential", "reverse": False}
RECURRENCES = tuple(
    Case((("b", n), ("b", n), *initial), {**STEPS, "method": method, "reverse": reverse})
    for initial in ((), (("b",),))
    for n, method, reverse in (("e", "sequential", False), ("p", "parallel", True), (7, "parallel", False))
)

KINDS = {
    "embedding": Kind(
        embedding,
        lambda t, i: [t[i.astype(int)]],
        (Case((("v", "d"), ("b", "s")), indices=1), Case((("v",), ("b", "s")), indices=1)),
    ),
    "embedding_backward": Kind(
        embedding_backward,
        lambda g, i, rows: [summed(np.zeros((rows, g.shape[-1])), i, g)],
        (Case((("b", "s", "d"), ("b", "s")), {"rows": V}, indices=1),),
    ),
    "gather": Kind(
        gather,
        lambda x, i, axis: [np.take_along_axis(x, i.astype(int), axis)],
        (
            Case((("v", "d"), ("s", "d")), {"axis": 0}, indices=1),
            Case((("s", "v"), ("s", "b")), {"axis": -1}, indices=1),
        ),
    ),
    "gather_backward": Kind(
        gather_backward,
        lambda g, i, axis, shape: [along(np.zeros(shape), i, axis, g)],
        (Case((("s", "d"), ("s", "d")), {"axis": 0, "shape": (V, D)}, indices=1),),
    ),
    "scatter": Kind(
        scatter,
        lambda g, i, axis, shape: [_put(np.zeros(shape), i, axis, g)],
        (Case((("s", "d"), ("s", "d")), {"axis": 0, "shape": (V, D)}, indices=1),),
    ),
    "scatter_add": Kind(
        scatter_add,
        lambda x, i, source, axis: [along(x, i, axis, source)],
        (Case((("v", "d"), ("s", "d"), ("s", "d")), {"axis": 0}, indices=1),),
    ),
    "one_hot": Kind(
        one_hot, lambda i, classes: [np.eye(classes)[i.astype(int)]], (Case((("b", "s"),), {"classes": V}, indices=0),)
    ),
    "top_k": Kind(by_row(top_k, outputs=2), chosen, (Case((("b", "e", "s"),), {"k": 3, "axis": 1}, row=1),), once=True),
    "sort": Kind(
        by_row(sort_is_declared, outputs=2),
        in_order,
        (
            Case((("e", "b"),), {"axis": 0, "descending": True}, row=0),
            Case((("b", "p"),), {"axis": -1, "descending": False}),
        ),
        once=True,
    ),
    "argmax": Kind(
        by_row(argmax),
        lambda x, axis, **_: [x.argmax(axis)],
        (Case((("b", "e"),), {"axis": -1, "keepdims": False}),),
        once=True,
    ),
    "cumsum": Kind(
        by_row(cumsum), lambda x, axis: [x.cumsum(axis)], (Case((("e", "b"),), {"axis": 0}, row=0),), once=True
    ),
    "associative_scan": Kind(
        by_row(associative_scan),
        scanned,
        tuple(
            Case((("b", n, "s"),), {"axis": 1, "combine": c, "reverse": r})
            for n, c, r in (("p", "add", False), (7, "mul", True), ("p", "max", True))
        ),
        once=True,
    ),
    "linear_recurrence": Kind(by_row(recurrence), states, RECURRENCES, once=True),
}


def _put(out: Any, index: Any, axis: int, grad: Any) -> Any:
    np.put_along_axis(out, index.astype(int), grad, axis)
    return out


CHECKS = checks(KINDS)
