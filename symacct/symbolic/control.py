"""Control flow that a graph keeps: bodies repeated n times, branches, and named scopes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from symacct.errors import GraphError, ShapeError, SizeError
from symacct.expr import Size
from symacct.graph import Graph, Tensor
from symacct.rules.rule import show_shape
from symacct.rules.strides import plain
from symacct.symbolic.builder import Builder, caller
from symacct.symbolic.dispatch import run
from symacct.symbolic.size import Dim, unwrap
from symacct.symbolic.tensor import Symbolic, record
from symacct.symbolic.tree import flatten, matched, rebuild

F = TypeVar("F", bound=Callable[..., Any])
MOST_TURNS = 3
"""So many bodies of a repeat are tried until carries keep their layout."""


def repeat(
    n: Any, body: Callable[..., Any], carry: Any, xs: Any = (), consts: Any = (), *, collect: bool = False
) -> Any:
    """Run ``carry = body(carry, xs[i], consts)`` n times: n bodies, worked out once.

    Parameters
    ----------
    n
        How often: a number, or a name such as ``"L"``.
    body
        A function of the carry, of one slice of `xs`, and of `consts` (the last two only where they are given). It
        returns the next carry, in the same shapes; with `collect` a pair, ``(carry, made)``.
    carry
        A tensor, or a tuple, list or dict of tensors; ``()`` for none, where something is collected.
    xs
        Tensors with a leading axis of n: the parameters of each iteration, stacked.
    consts
        Tensors that every iteration shares: tied parameters.
    collect
        Whether what each iteration makes besides its carry is kept, stacked along a new first axis of n. It is written
        in its place at once, so it moves nothing more, unless it is a tensor that the iteration did not make. Under the
        layout ``"torch"`` it is copied together at the end, as by ``torch.stack``.

    Returns
    -------
    The carry after the last iteration; with `collect` the pair of it and of what was collected.

    Raises
    ------
    ShapeError
        If the carry changes shape, or `xs` is not n long: then iterations differ, and must be written out.
    GraphError
        If the body returns something else than what it was given, or with `collect` no pair.

    Examples
    --------
    >>> import symacct as sa
    >>> def network(x: "b d", w: "L d d"):
    ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
    >>> sa.account(network).matmul_flops
    2*L*b*d**2
    >>> def states(x: "s b d", h: "b d", w: "d d"):
    ...     def step(h, x, w):
    ...         h = sa.tanh(x + h @ w)
    ...         return h, h
    ...     return sa.repeat("s", step, h, xs=x, consts=w, collect=True)
    >>> graph = sa.account(states).graph
    >>> [graph.tensors[i].shape for i in graph.outputs]
    [(b, d), (s, b, d)]

    """
    tensors = [*flatten(carry), *flatten(xs), *flatten(consts)]
    if not callable(body) or carry is None:
        msg = f"repeat: {body!r} with a carry of {carry!r}; it takes a function, and tensors (or () for none){caller()}"
        raise GraphError(msg)
    builder = next((t.builder for t in tensors if isinstance(t, Symbolic)), None)
    if builder is None:
        return _loop(n, body, carry, xs, consts, collect=collect)
    _all_symbolic("repeat", tensors)
    size = unwrap(n) if type(n) is Dim else builder.size(n, "n")
    for t in flatten(xs):
        if not t.ndim or t.tensor.shape[0] != size:
            msg = f"repeat: {t!r} is not {size} long; iterations that differ must be written out{caller()}"
            raise ShapeError(msg)
    (*first, graph), ys = _turns(builder, size, body, (carry, xs, consts), collect=collect)
    attrs = {"n": size, "body": graph, "carry": len(flatten(carry)), "xs": len(flatten(xs))}
    if len(first) > 1 and type(size) is not int:
        builder.state(f"{size} >= {len(first)}")
    made = record("repeat", tensors, {**attrs, "first": tuple(first)} if first else attrs)
    outputs = iter(made if isinstance(made, tuple) else (made,))
    last = rebuild(carry, outputs)
    return (last, rebuild(ys, outputs)) if collect else last


def _turns(
    builder: Builder, n: Size, body: Callable[..., Any], given: tuple[Any, Any, Any], *, collect: bool
) -> tuple[list[Graph], Any]:
    """Return the body for each of the first turns, and for all after: until it leaves carries laid out as it got them.

    Where that never is, the first turn stands for all.
    """
    carry, xs, consts = given
    before = [t.tensor._replace(role="act") for t in flatten(carry)]  # what the turn before made, but for the first
    graphs: list[Graph] = []
    while len(graphs) < MOST_TURNS:
        with builder.inner("a repeat, which is given tensors as xs and consts") as inner:
            start = rebuild(carry, [Symbolic(inner, inner.given(t)) for t in before])
            slices = [_inside(inner, xs, sliced=True)] if flatten(xs) else []
            shared = [_inside(inner, consts)] if flatten(consts) else []
            left, ys = _pair(body(start, *slices, *shared), collect=collect)
            graph = _finished(inner, [*matched(carry, left), *flatten(ys)], "repeat")
        graphs.append(graph)
        after = [graph.tensors[i] for i in graph.outputs[: len(before)]]
        for t, made in zip(before, after, strict=True):
            _stays(t, made)
        if len(graphs) == n or [t.strides for t in before] == [t.strides for t in after]:
            return graphs, ys
        before = [t._replace(strides=made.strides) for t, made in zip(before, after, strict=True)]
    builder.state("a repeat lays its carry out otherwise in every turn: layout='torch' takes all as the first")
    return graphs[:1], ys


def _pair(returned: Any, *, collect: bool) -> tuple[Any, Any]:
    """Return the carry that a body returns and what is collected of it."""
    if not collect:
        return returned, ()
    if not isinstance(returned, tuple) or len(returned) != 2 or not flatten(returned[1]):
        msg = f"repeat: with collect=True a body returns a pair, the next carry and what it made{caller()}"
        raise GraphError(msg)
    return returned


def _all_symbolic(what: str, values: Sequence[Any]) -> None:
    if strange := [v for v in values if not isinstance(v, Symbolic)]:
        msg = f"{what}: {type(strange[0]).__name__} beside symbolic tensors; a body is given tensors of one world, "
        raise GraphError(msg + f"and what is no tensor is best written inside it{caller()}")


def _stays(before: Tensor, after: Tensor) -> None:
    """Check that a carry leaves the body as it came."""
    if (before.shape, before.dtype) == (after.shape, after.dtype):
        return
    first, second = ((t.shape if before.shape != after.shape else t.dtype) for t in (before, after))
    change = f"from {_told(first)} to {_told(second)}"
    msg = f"repeat: the carry {before.name} changes {change}; iterations that differ must be written out{caller()}"
    raise ShapeError(msg)


def _told(what: Any) -> str:
    return show_shape(what) if isinstance(what, tuple) else what or "the account's dtype"


def _loop(n: Any, body: Callable[..., Any], carry: Any, xs: Any, consts: Any, *, collect: bool) -> Any:
    """Run a repeat on real tensors."""
    given, rows = flatten(xs), []
    lengths = {len(x) for x in given} | ({n} if type(n) is int else set())
    if len(lengths) != 1 or min(lengths) < 1:
        counts = " and ".join(map(str, sorted(lengths)))
        msg = f"repeat: {counts} iterations" if lengths else f"repeat: {n!r} is not a number, and there are no xs"
        raise SizeError(msg)
    for i in range(lengths.pop()):
        slices = [rebuild(xs, [t[i] for t in given])] if given else []
        left, ys = _pair(body(carry, *slices, *([consts] if flatten(consts) else [])), collect=collect)
        carry = rebuild(carry, matched(carry, left))
        rows.append(flatten(ys))
    if not collect:
        return carry
    return carry, rebuild(ys, [run("stack", made, {}) for made in zip(*rows, strict=True)])


def _inside(inner: Builder, values: Any, *, sliced: bool = False) -> Any:
    """Return tensors of a body that stand for tensors outside, or for a slice along their first axis."""
    made = []
    for t in flatten(values):
        like = t.tensor
        if sliced:
            like = like._replace(shape=like.shape[1:], strides=like.strides and plain(like.shape[1:], like.strides[1:]))
        made.append(Symbolic(inner, inner.given(like)))
    return rebuild(values, made)


def _finished(inner: Builder, outputs: Sequence[Any], what: str) -> Graph:
    if not outputs or any(not isinstance(t, Symbolic) or t.builder is not inner for t in outputs):
        msg = f"{what}: the body must return tensors that it made from its arguments{caller()}"
        raise GraphError(msg)
    return inner.graph([t.id for t in outputs])


def cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Run one of two functions of the operands: an account takes the dearer and shows both.

    Parameters
    ----------
    predicate
        A boolean tensor of one element.
    then, otherwise
        Functions of the operands that return tensors of the same shapes.
    *operands
        Tensors.

    Returns
    -------
    What the branches return: a tensor, or a tuple, list or dict of them.

    Raises
    ------
    ShapeError
        If the branches return different shapes.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(p: "", x: "n n"):
    ...     return sa.cond(p > 0, lambda x: x @ x, lambda x: x @ x @ x, x)
    >>> sa.account(layer).matmul_flops
    4*n**3

    """
    if not (callable(then) and callable(otherwise)):
        msg = f"cond: {then!r} and {otherwise!r} are not two functions{caller()}"  # type: ignore[unreachable]
        raise GraphError(msg)
    if not isinstance(predicate, Symbolic):
        return then(*operands) if predicate else otherwise(*operands)
    tensors = flatten(operands)
    _all_symbolic("cond", tensors)
    if predicate.tensor.numel != 1:
        msg = f"cond: the predicate {predicate!r} is not one element; see symacct.where{caller()}"
        raise ShapeError(msg)
    branches, results = [], []
    for fn in (then, otherwise):
        with predicate.builder.inner("a conditional, which is given tensors as operands") as inner:
            results.append(fn(*_inside(inner, operands)))
            branches.append(_finished(inner, matched(results[0], results[-1]), "cond"))
    made = [[b.tensors[i] for i in b.outputs] for b in branches]
    first, second = ([(t.shape, t.dtype) for t in tensors] for tensors in made)
    if first != second:
        told = " and ".join(", ".join(f"{show_shape(t.shape)} {t.dtype or ''}".strip() for t in ts) for ts in made)
        msg = f"cond: the branches return {told}{caller()}"
        raise ShapeError(msg)
    out = record("cond", [predicate, *tensors], {"branches": tuple(branches)})
    return rebuild(results[0], out if isinstance(out, tuple) else (out,))


def scope(named: str | F) -> Any:
    """Put what a function computes under a name in tables: a decorator, ``@sa.scope`` or ``@sa.scope("mlp")``.

    Parameters
    ----------
    named
        The name, or a function whose own name it is.

    Returns
    -------
    The function, under that name; or with a name given, a decorator.

    Examples
    --------
    >>> import symacct as sa
    >>> @sa.scope("mlp")
    ... def mlp(x, w):
    ...     return sa.relu(x @ w)
    >>> def layer(x: "b d", w: "d k"):
    ...     return mlp(x, w)
    >>> sorted({s.scope for s in sa.account(layer).steps})
    ['mlp']

    """
    if callable(named):
        return scope(named.__name__)(named)
    if not isinstance(named, str):
        msg = f"{named!r} names no scope; write @sa.scope or @sa.scope('mlp')"  # type: ignore[unreachable]
        raise GraphError(msg)

    def decorate(fn: F) -> F:
        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            tensors = [t for value in (*args, *kwargs.values()) for t in flatten(value) if isinstance(t, Symbolic)]
            if not tensors:
                return fn(*args, **kwargs)
            with tensors[0].builder.within(named):
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate
