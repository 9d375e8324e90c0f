"""A graph inside an operation, taken back: its gradients behind it, and the two taken apart again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from symacct.backward.needs import Needs, needing
from symacct.dtypes import BlockFormat, as_format
from symacct.graph import Graph, Op, Tensor
from symacct.symbolic import Builder, Symbolic

Propagate: TypeAlias = Callable[[Builder, set[int], dict[int, Symbolic]], None]


class Part(NamedTuple):
    """A body or a branch with its gradients behind it.

    `forward` is what runs forward; graphs inside it may yield more than before. The operations of `builder` from
    `start` on make `grads`, the gradients of the inputs, from `seeds` and from `reads`, tensors of `forward`; `local`
    is how `builder` numbers those.
    """

    forward: Graph
    builder: Builder
    start: int
    seeds: tuple[int, ...]
    grads: tuple[int | None, ...]
    reads: tuple[int, ...]
    local: Mapping[int, int]

    def graph(self, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
        """Return what runs backward by itself, given what it reads and more; all ids are those of `builder`."""
        return part_of(self.builder.tensors, self.builder.ops[self.start :], inputs, outputs)

    def yielded(self, place: int) -> int:
        """Return the gradient of an input, or what stands for it where none is made."""
        grad = self.grads[place]
        return (
            absent_gradient(self.builder, self.forward.tensors[self.forward.inputs[place]]).id if grad is None else grad
        )


def taken_back(
    graph: Graph, needed: Needs, comes: Sequence[bool], propagate: Propagate, so_far: Mapping[int, bool] | None = None
) -> Part:
    """Take a graph back.

    Parameters
    ----------
    graph
        A body or a branch.
    needed
        Which of its inputs need a gradient.
    comes
        Which of its outputs have one; fewer than there are for the first ones.
    propagate
        `symacct.backward.passes.propagate`.
    so_far
        Inputs of which gradients are added up, and whether there is one to add to yet.

    Returns
    -------
    The part; its seeds are those of `comes`, then those of `so_far`.

    """
    so_far = so_far or {}
    builder, start, tensors = Builder.resumed(graph), len(graph.ops), graph.tensors
    builder.phase = "bwd"
    needs = needing(graph, needed)
    yielded = graph.outputs[: len(comes)]
    like = [*yielded, *(graph.inputs[place] for place in so_far)]
    seeds = [Symbolic(builder, builder.given(gradient_like(tensors[i]))) for i in like]
    grads: dict[int, Symbolic] = {}
    for i, seed, there in zip(yielded, seeds, comes, strict=False):
        if there and i in needs:
            grads[i] = grads[i] + seed if i in grads else seed
    propagate(builder, needs, grads)
    found = [grads.get(i) if need else None for i, need in zip(graph.inputs, needed, strict=True)]
    for (place, there), seed in zip(so_far.items(), seeds[len(comes) :], strict=True):
        grad = found[place]
        if there:
            found[place] = seed if grad is None else seed + grad
    made = tuple(None if g is None else g.id for g in found)
    forward, ids = _forward(builder, graph, start)
    reads = reads_of(builder.ops[start:], [i for i in made if i is not None])
    kept = tuple(ids[i] for i in reads if i in ids)
    local = {then: now for now, then in ids.items()}
    return Part(forward, builder, start, tuple(s.id for s in seeds), made, kept, local)


def gradient_like(tensor: Tensor) -> Tensor:
    """Return a tensor for the gradient of another one."""
    name, dtype = f"gradient of {tensor.name}", dtype_of_gradient(tensor.dtype)
    return tensor._replace(role="act", storage=None, strides=None, name=name, dtype=dtype)


def dtype_of_gradient(dtype: str | None) -> str | None:
    """Return the dtype of a gradient, that of its tensor as in autograd; none is made in 8 bits and fewer."""
    fmt = None if dtype is None else as_format(dtype)
    narrow = fmt is not None and (isinstance(fmt, BlockFormat) or fmt.stored_bits <= 8)
    return None if narrow else dtype


def absent(builder: Builder, like: Tensor) -> Symbolic:
    """Return what stands for a tensor that is not made: zeros that take no memory."""
    (made,) = builder.op("absent", (), {"shape": like.shape, "dtype": like.dtype})
    return Symbolic(builder, made)


def absent_gradient(builder: Builder, tensor: Tensor) -> Symbolic:
    """Return what stands for the gradient of a tensor, where none is made."""
    return absent(builder, gradient_like(tensor))


def reads_of(ops: Sequence[Op], outputs: Iterable[int]) -> list[int]:
    """Return what operations read, and what is yielded, that they do not make; each once, in order."""
    made = {i for op in ops for i in op.outputs}
    used = dict.fromkeys([*(i for op in ops for i in op.inputs), *outputs])
    return [i for i in used if i not in made]


def _forward(builder: Builder, before: Graph, start: int) -> tuple[Graph, dict[int, int]]:
    """Return a graph as it runs forward now, and how it numbers tensors of the builder: those it had as before."""
    ops = tuple(builder.ops[:start])
    known = len(before.tensors)
    more = [i for op in ops for i in op.outputs if i >= known]
    ids = {i: i for i in range(known)} | {i: known + place for place, i in enumerate(more)}
    tensors = (*before.tensors, *(builder.tensors[i]._replace(id=ids[i]) for i in more))
    renumbered = tuple([op._replace(outputs=tuple([ids[i] for i in op.outputs])) for op in ops])
    return before._replace(tensors=tensors, ops=renumbered), ids


def part_of(tensors: Sequence[Tensor], ops: Sequence[Op], inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """Return operations as a graph of their own, which is given `inputs`: ids of `tensors`, as all ids here."""
    ids: dict[int, int] = {}
    made: list[Tensor] = []
    done = set(outputs)

    def add(tensor: Tensor) -> None:
        ids[tensor.id] = len(made)
        made.append(tensor._replace(id=len(made)))

    for i in inputs:
        t = tensors[i]
        add(t._replace(storage=None, role="act" if t.role == "output" else t.role))
    renumbered: list[Op] = []
    for op in ops:
        for i in op.outputs:
            t = tensors[i]
            storage = None if t.storage is None else _owner(t.storage, op, tensors, made, ids)
            add(t._replace(storage=storage, role="output" if i in done else "act"))
        taken, yielded = (tuple([ids[i] for i in places]) for places in (op.inputs, op.outputs))
        renumbered.append(op._replace(id=len(renumbered), inputs=taken, outputs=yielded))
    return Graph(tuple(made), tuple(renumbered), tuple([ids[i] for i in inputs]), tuple([ids[i] for i in outputs]))


def _owner(storage: int, op: Op, tensors: Sequence[Tensor], made: Sequence[Tensor], ids: Mapping[int, int]) -> int:
    """Return whose memory a view lies in now: that of the input it is a view of, which may be given here."""
    source = next(i for i in op.inputs if storage in (i, tensors[i].storage))
    return made[ids[source]].owner
