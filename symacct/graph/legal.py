"""Which graphs are legal: the specification of a `Graph`, as a check.

- A tensor's id is its place, and so is an operation's. Sizes are whole and at least 1, or expressions in names.
- Each tensor is given, or made by exactly one operation before it is read. Of what is made, exactly what the graph
  yields has the role `output`.
- A tensor owns its memory, or lies in that of an earlier tensor of its dtype that does.
- An einsum has the axes of its tensors. The bodies of a repeat take its carries, slices of what is stacked, and
  constants; they yield carries of the same shapes and dtypes, then what is collected. The branches of a conditional
  take and yield the same. Bodies and branches are legal.

That shapes are those which rules announce is `symacct.rules.check_shapes`: a graph knows no rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from symacct.dtypes import as_format
from symacct.errors import DtypeError, GraphError
from symacct.expr import Expr, Poly, Size, terms_of
from symacct.graph.types import Einsum, Graph, Op, Phase, Role, Tensor

ROLES, PHASES = get_args(Role), get_args(Phase)


def check(graph: Graph) -> None:
    """Check that a graph is legal.

    Raises
    ------
    GraphError
        Names the tensor or the operation, and what is wrong with it.

    """
    for fault in faults(graph):
        raise GraphError(fault)


def faults(graph: Graph) -> Iterator[str]:
    """Yield what is wrong with a graph; a fault may make others appear, or hide them."""
    found = [*_faults_of_tensors(graph.tensors), *_faults_of_order(graph)]
    yield from found
    seen: set[tuple[int, ...]] = set()
    for op in () if found else graph.ops:
        # of one einsum and the same shapes there is one thing to say
        if op.kind == "einsum" and op.einsum is None:
            yield f"{told(op)}: it does not say its axes"
        einsum = (id(op.einsum), *(id(graph.tensors[i].shape) for i in op.inputs + op.outputs))
        if op.einsum is not None and einsum not in seen:
            seen.add(einsum)
            yield from (f"{told(op)}: {fault}" for fault in _faults_of_einsum(op, op.einsum, graph))
        if op.attrs.get("einsum", op.einsum) != op.einsum:
            yield f"{told(op)}: its attributes have another einsum"
        if op.kind in PARTS:
            yield from (f"{told(op)}: {fault}" for fault in PARTS[op.kind](op, graph))


def told(part: Tensor | Op) -> str:
    """Name a tensor or an operation in a message: ``tensor 3 (x)``, ``operation 0 (relu)``."""
    return f"tensor {part.id} ({part.name})" if isinstance(part, Tensor) else f"operation {part.id} ({part.kind})"


def is_size(size: object) -> bool:
    """Whether a value is a size: a whole number of at least 1, or an expression in names that is not always below."""
    if type(size) is Poly:
        return any(c > 0 for c in terms_of(size).values())
    return type(size) is int and size >= 1


def _faults_of_tensors(tensors: Sequence[Tensor]) -> Iterator[str]:
    formats: set[str] = set()
    shapes: set[tuple[Size, ...]] = set()
    for place, t in enumerate(tensors):
        if t.id != place:
            yield f"{told(t)}: an id is a place, and it stands at {place}"
        if t.role not in ROLES:
            yield f"{told(t)}: the role {t.role!r} is none of {', '.join(ROLES)}"
        if t.shape not in shapes and all(map(is_size, t.shape)):
            shapes.add(t.shape)
        elif t.shape not in shapes:
            yield f"{told(t)}: a size of {t.shape} is neither a whole number of at least 1 nor an expression in names"
        if t.strides is not None and len(t.strides) != len(t.shape):
            yield f"{told(t)}: {len(t.strides)} strides for {len(t.shape)} axes"
        if t.dtype is not None and t.dtype not in formats:
            formats.add(t.dtype)
            try:
                as_format(t.dtype)
            except DtypeError as error:
                yield f"{told(t)}: {error}"
        if t.storage is not None:
            yield from _faults_of_storage(t, place, tensors)


def _faults_of_storage(t: Tensor, place: int, tensors: Sequence[Tensor]) -> Iterator[str]:
    if t.storage is None or not 0 <= t.storage < place:
        yield f"{told(t)}: it lies in tensor {t.storage}, which is no earlier one"
        return
    owner = tensors[t.storage]
    if owner.storage is not None:
        yield f"{told(t)}: it lies in {told(owner)}, which does not own its memory"
    if owner.dtype != t.dtype:
        yield f"{told(t)}: it is of dtype {t.dtype} and lies in {told(owner)} of dtype {owner.dtype}"


def _faults_of_order(graph: Graph) -> Iterator[str]:
    """Yield what is not given or made once, before it is read."""
    known, made = range(len(graph.tensors)), set(graph.inputs)
    if strange := [i for i in (*graph.inputs, *graph.outputs) if i not in known]:
        yield f"inputs and outputs: there is no tensor {strange[0]}"
        return
    if len(made) != len(graph.inputs):
        yield "inputs: a tensor is given twice"
    if not graph.outputs:
        yield "outputs: a graph yields at least one tensor"
    for place, op in enumerate(graph.ops):
        if op.id != place:
            yield f"{told(op)}: an id is a place, and it stands at {place}"
        if op.phase not in PHASES:
            yield f"{told(op)}: the phase {op.phase!r} is none of {', '.join(PHASES)}"
        if not op.outputs:
            yield f"{told(op)}: it makes nothing"
        if early := [i for i in op.inputs if i not in made]:
            yield f"{told(op)}: it reads tensor {early[0]} before that is made"
        yield from _faults_of_making(op, graph, made)
    if missing := sorted(set(known) - made):
        yield f"{told(graph.tensors[missing[0]])}: it is neither given nor made"


def _faults_of_making(op: Op, graph: Graph, made: set[int]) -> Iterator[str]:
    for i in op.outputs:
        if i in made or i not in range(len(graph.tensors)):
            yield f"{told(op)}: it makes tensor {i}, which is {'made already' if i in made else 'none'}"
            continue
        t, role = graph.tensors[i], "output" if i in graph.outputs else "act"
        if t.role != role:
            yield f"{told(t)}: it is made by {told(op)}, so its role is {role} (act, or output where it is yielded)"
        made.add(i)


def _faults_of_einsum(op: Op, e: Einsum, graph: Graph) -> Iterator[str]:
    """Yield axes that are not those of the tensors; one axis of a tensor may be several that are merged."""
    if len(e.operands) != len(op.inputs) or len(op.outputs) != 1:
        yield "an operand is one input, and the output one tensor"
        return
    read = {a for axes in e.operands for a in axes}
    if not read.issuperset(e.output) or not read.issubset(e.sizes):
        yield "an axis of the output is in no operand, or one has no size"
        return
    if strange := [a for a, size in e.sizes.items() if not is_size(size)]:
        yield f"the size {e.sizes[strange[0]]!r} of its axis {strange[0]} is no size"
        return
    for axes, i in zip((*e.operands, e.output), (*op.inputs, *op.outputs), strict=True):
        t = graph.tensors[i]
        if not _merged([e.sizes[a] for a in axes], t.shape):
            yield f"the axes {' '.join(axes) or '(none)'} are not those of {told(t)}"


def _merged(sizes: Sequence[Size], shape: Sequence[Size]) -> bool:
    """Whether a shape is sizes in order, some next to each other multiplied."""
    if list(sizes) == list(shape):
        return True
    at = 0
    for size in shape:
        running: Expr = 1
        while running != size:
            if at == len(sizes):
                return False
            running = running * sizes[at]
            at += 1
    return all(size == 1 for size in sizes[at:])


def _faults_of_repeat(op: Op, graph: Graph) -> Iterator[str]:
    body, n, carry, xs = (op.attrs.get(key) for key in ("body", "n", "carry", "xs"))
    if not isinstance(body, Graph) or not is_size(n) or type(carry) is not int or type(xs) is not int:
        yield "a repeat has a body, a size n, and the numbers of its carries and of what is stacked"
        return
    differing = [(which, g) for which in ("first", "last") for g in op.attrs.get(which, ())]
    if any(not isinstance(g, Graph) for _, g in differing) or (type(n) is int and n < len(differing)):
        yield f"the first and the last of its {n} turns that differ have a body each"
        return
    given = [graph.tensors[i] for i in op.inputs]
    if carry < 0 or xs < 0 or carry + xs > len(given):
        yield f"{carry} carries and {xs} stacked tensors of {len(given)} inputs"
        return
    made = [graph.tensors[i] for i in op.outputs]
    for what, tensors in (("stacked", given[carry : carry + xs]), ("collected", made[carry:])):
        if short := [t for t in tensors if t.shape[:1] != (n,)]:
            yield f"{told(short[0])} is {what} and not {n} long"
            return
    inside = [*given[:carry], *_slices(given[carry : carry + xs]), *given[carry + xs :]]
    turns = (("its body", body), *((f"the body of its {which} turns", g) for which, g in differing))
    for what, part in turns:
        yield from _faults_of_part(what, part, inside, [*given[:carry], *_slices(made[carry:])])
    yield from _differences("it makes what its carries are not", made[:carry], given[:carry])


def _slices(stacked: Sequence[Tensor]) -> list[Tensor]:
    return [t._replace(shape=t.shape[1:]) for t in stacked]


def _faults_of_cond(op: Op, graph: Graph) -> Iterator[str]:
    branches = op.attrs.get("branches")
    if not isinstance(branches, tuple) or len(branches) != 2 or not all(isinstance(b, Graph) for b in branches):
        yield "a conditional has two branches"
        return
    given = [graph.tensors[i] for i in op.inputs]
    if not given or given[0].numel != 1:
        yield "its predicate is not one element"
    for number, branch in enumerate(branches, 1):
        made = [graph.tensors[i] for i in op.outputs]
        yield from _faults_of_part(f"its branch {number}", branch, given[1:], made)


PARTS = {"repeat": _faults_of_repeat, "cond": _faults_of_cond}
"""The operations that have graphs inside."""


def _faults_of_part(what: str, part: Graph, given: Sequence[Tensor], made: Sequence[Tensor]) -> Iterator[str]:
    """Yield the faults of a body or a branch, and what does not fit of what goes in and out."""
    found = [f"{what}: {fault}" for fault in faults(part)]
    yield from found
    if not found:
        yield from _differences(f"{what} takes other than it is given", [part.tensors[i] for i in part.inputs], given)
        yield from _differences(f"{what} yields other than it must", [part.tensors[i] for i in part.outputs], made)


def _differences(wrong: str, some: Sequence[Tensor], others: Sequence[Tensor]) -> Iterator[str]:
    first, second = ([(t.shape, t.dtype) for t in tensors] for tensors in (some, others))
    if first != second:
        yield f"{wrong}: {first} against {second}"
