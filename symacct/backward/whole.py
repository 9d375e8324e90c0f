"""A graph and the gradients of what it yields, as one graph: forward, then backward."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from symacct.backward.needs import is_float, needing
from symacct.backward.parts import gradient_like, part_of, reads_of
from symacct.backward.passes import propagate
from symacct.errors import GraphError, nearest, one_of
from symacct.graph import Graph
from symacct.symbolic import Builder, Symbolic


class Joint(NamedTuple):
    """A forward pass with its backward pass behind it.

    `seeds` are inputs of `graph`: the gradients of what the forward pass yields, of those outputs that need one.
    `gradients` are the gradients by the input that they belong to, all as ids of `graph`; `without` are the names of
    inputs that need a gradient and that none arrives at.
    """

    graph: Graph
    seeds: tuple[int, ...]
    gradients: dict[int, int]
    without: tuple[str, ...]

    def passes(self) -> tuple[Graph, Graph]:
        """Return the forward pass, which yields also what is kept, and the backward pass, which is given that."""
        graph, grads = self.graph, list(self.gradients.values())
        forward, back = ([op for op in graph.ops if op.phase == phase] for phase in ("fwd", "bwd"))
        read = [i for i in reads_of(back, grads) if i not in self.seeds]
        given = [i for i in graph.inputs if i not in self.seeds]
        outputs = graph.outputs[: len(graph.outputs) - len(grads)]
        kept = [i for i in read if i not in {*given, *outputs}]
        return (
            part_of(graph.tensors, forward, given, [*outputs, *kept])._replace(stated=graph.stated),
            part_of(graph.tensors, back, [*self.seeds, *read], grads)._replace(stated=graph.stated),
        )


def joint(graph: Graph, wrt: Sequence[str] | str | None = None) -> Joint:
    """Return a graph with its backward pass behind it; see `symacct.backward.backward`."""
    names = chosen_inputs(graph, wrt)
    chosen = [graph.tensors[i].name in names for i in graph.inputs]
    builder = Builder.resumed(graph)
    builder.phase = "bwd"
    needs = needing(graph, chosen)
    grads: dict[int, Symbolic] = {}
    seeds = []
    for i in graph.outputs:
        if i in needs and is_float(graph.tensors[i]):
            like = gradient_like(graph.tensors[i])._replace(role="input")
            seed = Symbolic(builder, builder.given(like))
            grads[i] = grads[i] + seed if i in grads else seed
            seeds.append(seed.id)
    propagate(builder, needs, grads)
    found = {i: grads[i].id for i, wanted in zip(graph.inputs, chosen, strict=True) if wanted and i in grads}
    reached = {graph.tensors[i].name for i in found}
    without = tuple(n for n in names if n not in reached)
    if without and (wrt is not None or not found):
        msg = f"no gradient arrives at {one_of(without)}: what is yielded does not depend on it, or through a detach"
        raise GraphError(msg)
    _part(found, builder)
    done = builder.graph([*graph.outputs, *found.values()], graph.stated)
    return Joint(done, tuple(seeds), found, without)


def _part(found: dict[int, int], builder: Builder) -> None:
    """Copy a gradient that is that of another input too: as in torch, each has a tensor of its own."""
    taken: set[int] = set()
    for i, made in found.items():
        if made in taken:
            (found[i],) = builder.op("copy", (made,), {})
        taken.add(made)


def chosen_inputs(graph: Graph, wrt: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the names of the inputs that need a gradient: those given, else the parameters, else every float input.

    Raises
    ------
    GraphError
        For no name, a name that is no input, or one of indices or masks.

    """
    inputs = [graph.tensors[i] for i in graph.inputs]
    floats = [t for t in inputs if is_float(t)]
    if wrt is None:
        params = [t.name for t in floats if t.role == "param"]
        return tuple(params or [t.name for t in floats])
    names = _listed(wrt, [t.name for t in inputs]) if isinstance(wrt, str) else wrt
    if not isinstance(names, Collection) or not all(isinstance(n, str) for n in names):
        raise GraphError(f"wrt={wrt!r} names no inputs; it is a list of names, or text such as 'x, w'")
    if not names:
        msg = f"wrt={wrt!r} names no input; inputs that can have a gradient: {one_of(t.name for t in floats)}"
        raise GraphError(msg)
    for name in names:
        if name not in [t.name for t in floats]:
            known = [t.name for t in floats]
            why = "holds no floating-point numbers" if name in [t.name for t in inputs] else "is no input"
            msg = f"{name!r} {why}, so it has no gradient; inputs that can: {one_of(known)}.{nearest(name, known)}"
            raise GraphError(msg)
    return tuple(names)


def _listed(text: str, known: Sequence[str]) -> list[str]:
    """Read names from text: one, or several with commas or spaces between them; a name may have spaces itself."""
    if text in known:
        return [text]
    return [name.strip() for name in text.split(",")] if "," in text else text.split()


def backward(graph: Graph, wrt: Sequence[str] | str | None = None) -> Graph:
    """Return forward and backward as one graph: ``dx = dy @ w.T`` and ``dw = x.T @ dy`` behind ``y = x @ w``.

    Parameters
    ----------
    graph
        What runs forward.
    wrt
        Names of the inputs that need a gradient; by default the parameters, and without any all inputs of
        floating-point numbers.

    Returns
    -------
    A graph that is given the inputs and then the gradients of the outputs; it yields the outputs and then the gradients
    of those inputs. Operations of the backward pass have the phase ``"bwd"``. What needs no gradient gets none: no
    product for the input of a first layer, none for frozen weights.

    Raises
    ------
    GraphError
        For inputs that there are not or that have no gradient, and where none arrives.
    UnknownOpError
        For an operation of which the gradient is not known.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", w: "d k"):
    ...     return sa.relu(x @ w)
    >>> for op in backward(sa.account(layer, params=["w"]).graph).ops:
    ...     print(op.phase, op.label)
    fwd b d, d k -> b k
    fwd relu
    bwd relu_backward
    bwd b d, b k -> d k

    """
    return joint(graph, wrt).graph
