"""Control flow that a graph keeps: bodies repeated n times, branches, and named scopes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from symacct.errors import GraphError, ShapeError, SizeError
from symacct.expr import as_size, substitute
from symacct.graph import Graph, check
from symacct.rules.rule import show_shape
from symacct.symbolic.builder import Builder, caller
from symacct.symbolic.size import Dim, unwrap
from symacct.symbolic.tensor import Symbolic, record
from symacct.symbolic.tree import flatten, rebuild

F = TypeVar("F", bound=Callable[..., Any])


def repeat(n: Any, body: Callable[..., Any], carry: Any, xs: Any = (), consts: Any = ()) -> Any:
    """Run ``carry = body(carry, xs[i], consts)`` n times: n bodies, worked out once.

    Parameters
    ----------
    n
        How often: a number, or a name such as ``"L"``.
    body
        A function of the carry, of one slice of `xs`, and of `consts` (the last two only where they are given). It
        returns the next carry, in the same shapes.
    carry
        A tensor, or a tuple, list or dict of tensors.
    xs
        Tensors with a leading axis of n: the parameters of each iteration, stacked.
    consts
        Tensors that every iteration shares: tied parameters.

    Returns
    -------
    The carry after the last iteration.

    Raises
    ------
    ShapeError
        If the carry changes shape, or `xs` is not n long: then iterations differ, and must be written out.

    Examples
    --------
    >>> import symacct as sa
    >>> def network(x: "b d", w: "L d d"):
    ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
    >>> sa.account(network).matmul_flops
    2*L*b*d**2

    """
    tensors = [*flatten(carry), *flatten(xs), *flatten(consts)]
    builder = next((t.builder for t in tensors if isinstance(t, Symbolic)), None)
    if builder is None:
        return _loop(n, body, carry, xs, consts)
    size = unwrap(n) if type(n) is Dim else substitute(as_size(n, "n"), builder.sizes)
    for t in flatten(xs):
        if not t.ndim or t.tensor.shape[0] != size:
            msg = f"repeat: {t!r} is not {size} long; iterations that differ must be written out{caller()}"
            raise ShapeError(msg)
    graph = _body(Builder(builder.sizes), body, carry, xs, consts)
    before = [t.tensor.shape for t in flatten(carry)]
    after = [graph.tensors[i].shape for i in graph.outputs]
    if before != after:
        shapes = f"{', '.join(map(show_shape, before))} to {', '.join(map(show_shape, after))}"
        msg = f"repeat: the carry changes from {shapes}; iterations that differ must be written out{caller()}"
        raise ShapeError(msg)
    made = record("repeat", tensors, {"n": size, "body": graph, "carry": len(before), "xs": len(flatten(xs))})
    return rebuild(carry, made if isinstance(made, tuple) else (made,))


def _loop(n: Any, body: Callable[..., Any], carry: Any, xs: Any, consts: Any) -> Any:
    """Run a repeat on real tensors."""
    given = flatten(xs)
    count = len(given[0]) if given else n
    if not isinstance(count, int):
        msg = f"repeat: {n!r} is not a number, and there are no xs to count"
        raise SizeError(msg)
    for i in range(count):
        slices = [rebuild(xs, [t[i] for t in given])] if given else []
        carry = body(carry, *slices, *([consts] if flatten(consts) else []))
    return carry


def _body(inner: Builder, body: Callable[..., Any], carry: Any, xs: Any, consts: Any) -> Graph:
    """Return the graph of one iteration: its inputs are carry, slices of xs, consts."""

    def inside(values: Any, *, sliced: bool) -> Any:
        made = []
        for t in flatten(values):
            shape = t.tensor.shape[1:] if sliced else t.tensor.shape
            made.append(Symbolic(inner, inner.input(shape, t.tensor.name, t.tensor.role, t.tensor.dtype)))
        return rebuild(values, made)

    start = inside(carry, sliced=False)
    slices = [inside(xs, sliced=True)] if flatten(xs) else []
    shared = [inside(consts, sliced=False)] if flatten(consts) else []
    return _finished(inner, body(start, *slices, *shared), "repeat")


def _finished(inner: Builder, result: Any, what: str) -> Graph:
    outputs = flatten(result)
    if not outputs or any(not isinstance(t, Symbolic) or t.builder is not inner for t in outputs):
        msg = f"{what}: the body must return tensors that it made from its arguments{caller()}"
        raise GraphError(msg)
    graph = inner.graph([t.id for t in outputs])
    check(graph)
    return graph


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
    tensors = [t for o in operands for t in flatten(o)]
    if not isinstance(predicate, Symbolic):
        return then(*operands) if predicate else otherwise(*operands)
    sizes = predicate.builder.sizes
    branches = tuple(_branch(Builder(sizes), fn, operands) for fn in (then, otherwise))
    shapes = [[b.tensors[i].shape for i in b.outputs] for b in branches]
    if shapes[0] != shapes[1]:
        told = " and ".join(", ".join(map(show_shape, s)) for s in shapes)
        msg = f"cond: the branches return {told}{caller()}"
        raise ShapeError(msg)
    return record("cond", [predicate, *tensors], {"branches": branches})


def _branch(inner: Builder, fn: Callable[..., Any], operands: Sequence[Any]) -> Graph:
    values = []
    for o in operands:
        given = [t.tensor for t in flatten(o)]
        values.append(rebuild(o, [Symbolic(inner, inner.input(t.shape, t.name, t.role, t.dtype)) for t in given]))
    return _finished(inner, fn(*values), "cond")


def scope(named: str | F) -> Any:
    """Put what a function computes under a name in tables: a decorator, ``@sa.scope`` or ``@sa.scope("mlp")``.

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
