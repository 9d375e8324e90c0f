"""Which graphs are legal: the specification of a `Graph`, as a check.

- A tensor's id is its place, and so is an operation's. Sizes are whole and at least 1, or expressions in names.
- Each tensor is given or made by exactly one operation, before it is read. Exactly those made tensors that the graph
  yields have the role `output`.
- A tensor owns its memory, or lies in that of an earlier tensor of its dtype that owns it.
- An einsum has the axes of its tensors. The body of a repeat takes carries, slices of what is stacked, and constants,
  and yields carries in the same shapes and dtypes; the branches of a conditional take and yield the same. Bodies and
  branches are legal.

That shapes are those that the rules announce is `symacct.rules.check_shapes`: a graph knows no rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from symacct.dtypes import as_format
from symacct.errors import DtypeError, GraphError
from symacct.expr import Expr, Poly, Size
from symacct.graph.types import Einsum, Graph, Op, Phase, Role, Tensor

ROLES, PHASES = get_args(Role), get_args(Phase)


def check(graph: Graph) -> None:
    """Check that a graph is legal.

    Raises
    ------
    GraphError
        Names the tensor or the operation, and what is wrong with it.

    """
    for place, tensor in enumerate(graph.tensors):
        _check_tensor(tensor, place, graph.tensors)
    _check_order(graph)
    for op in graph.ops:
        if op.einsum is not None:
            _check_einsum(op, op.einsum, graph)
        if op.kind in ("repeat", "cond"):
            (_check_repeat if op.kind == "repeat" else _check_cond)(op, graph)


def _require(truth: bool, what: object, wrong: str) -> None:  # noqa: FBT001
    if not truth:
        msg = f"{what if isinstance(what, str) else told(what)}: {wrong}"  # type: ignore[arg-type]
        raise GraphError(msg)


def told(part: Tensor | Op) -> str:
    """Name a tensor or an operation in a message: ``tensor 3 (x)``, ``operation 0 (relu)``."""
    return f"tensor {part.id} ({part.name})" if isinstance(part, Tensor) else f"operation {part.id} ({part.kind})"


def _check_tensor(t: Tensor, place: int, tensors: Sequence[Tensor]) -> None:
    _require(t.id == place, t, f"an id is a place, and it stands at {place}")
    _require(t.role in ROLES, t, f"the role {t.role!r} is none of {', '.join(ROLES)}")
    for size in t.shape:
        _require(is_size(size), t, f"the size {size!r} is neither a whole number of at least 1 nor an expression")
    _require(t.strides is None or len(t.strides) == len(t.shape), t, "as many strides as axes are needed")
    if t.dtype is not None:
        try:
            as_format(t.dtype)
        except DtypeError as error:
            msg = f"{told(t)}: {error}"
            raise GraphError(msg) from None
    if t.storage is not None:
        _require(0 <= t.storage < place, t, f"it lies in tensor {t.storage}, which is no earlier one")
        owner = tensors[t.storage]
        _require(owner.storage is None, t, f"it lies in {told(owner)}, which does not own its memory")
        _require(owner.dtype == t.dtype, t, f"it is {t.dtype} and lies in {told(owner)}, which is {owner.dtype}")


def is_size(size: object) -> bool:
    """Whether a value is a size: a whole number of at least 1, or an expression in names."""
    return type(size) is Poly or (type(size) is int and size >= 1)


def _check_order(graph: Graph) -> None:
    """Check that each tensor is given or made once, before it is read."""
    known = range(len(graph.tensors))
    made = set(graph.inputs)
    _require(len(made) == len(graph.inputs), "inputs", "a tensor is given twice")
    _require(all(i in known for i in (*graph.inputs, *graph.outputs)), "inputs and outputs", "one is no tensor here")
    _require(bool(graph.outputs), "outputs", "a graph yields at least one tensor")
    outputs = set(graph.outputs)
    for place, op in enumerate(graph.ops):
        _require(op.id == place, op, f"an id is a place, and it stands at {place}")
        _require(op.phase in PHASES, op, f"the phase {op.phase!r} is none of {', '.join(PHASES)}")
        _require(bool(op.outputs), op, "it makes nothing")
        for i in op.inputs:
            _require(i in made, op, f"it reads tensor {i} before that is made")
        for i in op.outputs:
            _require(i in known and i not in made, op, f"it writes tensor {i}, which is made already or is none")
            role = "output" if i in outputs else "act"
            _require(graph.tensors[i].role == role, graph.tensors[i], f"the role of what {told(op)} makes is {role}")
            made.add(i)
    _require(outputs <= made, "outputs", f"the tensors {sorted(outputs - made)} are never made")
    _require(len(made) == len(known), "tensors", f"{sorted(set(known) - made)[:5]} are neither given nor made")


def _check_einsum(op: Op, e: Einsum, graph: Graph) -> None:
    """Check that axes have the sizes of the tensors; one axis of a tensor may be several that are merged."""
    _require(len(e.operands) == len(op.inputs) and len(op.outputs) == 1, op, "an operand is one input, the output one")
    _require(all(is_size(s) for s in e.sizes.values()), op, "the size of an axis is no size")
    read = {a for axes in e.operands for a in axes}
    _require(read <= set(e.sizes), op, "an axis of an operand has no size")
    _require(read.issuperset(e.output), op, "an axis of the output is in no operand")
    for axes, i in zip((*e.operands, e.output), (*op.inputs, *op.outputs), strict=True):
        t = graph.tensors[i]
        _require(_merged([e.sizes[a] for a in axes], t.shape), op, f"the axes {axes} are not those of {told(t)}")


def _merged(sizes: Sequence[Size], shape: Sequence[Size]) -> bool:
    """Whether a shape is sizes in order, some next to each other multiplied."""
    if tuple(sizes) == tuple(shape):
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


def _check_repeat(op: Op, graph: Graph) -> None:
    body, n, carry, xs = (op.attrs.get(key) for key in ("body", "n", "carry", "xs"))
    if not isinstance(body, Graph) or type(carry) is not int or type(xs) is not int or not is_size(n):
        msg = f"{told(op)}: a repeat has a body, n, and the numbers of its carries and of what is stacked"
        raise GraphError(msg)
    _require(0 <= carry and 0 <= xs and carry + xs <= len(op.inputs), op, f"{carry} carries and {xs} stacked tensors")
    given = [graph.tensors[i] for i in op.inputs]
    stacked = given[carry : carry + xs]
    _require(all(t.shape[:1] == (n,) for t in stacked), op, f"what is stacked is not {n} long")
    sliced = [t._replace(shape=t.shape[1:]) for t in stacked]
    _check_part(op, "its body", body, [*given[:carry], *sliced, *given[carry + xs :]], given[:carry])
    _same(op, "it makes what its carries are not", [graph.tensors[i] for i in op.outputs], given[:carry])


def _check_cond(op: Op, graph: Graph) -> None:
    branches = op.attrs.get("branches")
    if not isinstance(branches, tuple) or len(branches) != 2 or not all(isinstance(b, Graph) for b in branches):
        msg = f"{told(op)}: a conditional has two branches"
        raise GraphError(msg)
    _require(bool(op.inputs), op, "it has no predicate")
    given = [graph.tensors[i] for i in op.inputs]
    _require(given[0].numel == 1, op, f"its predicate {told(given[0])} has more than one element")
    for number, branch in enumerate(branches, 1):
        _check_part(op, f"its branch {number}", branch, given[1:], [graph.tensors[i] for i in op.outputs])


def _check_part(op: Op, what: str, part: Graph, given: Sequence[Tensor], made: Sequence[Tensor]) -> None:
    """Check a body or a branch, and what goes in and out of it."""
    try:
        check(part)
    except GraphError as error:
        msg = f"{told(op)}: {what}: {error}"
        raise GraphError(msg) from None
    _same(op, f"{what} takes other tensors than it is given", [part.tensors[i] for i in part.inputs], given)
    _same(op, f"{what} yields other tensors than it must", [part.tensors[i] for i in part.outputs], made)


def _same(op: Op, wrong: str, some: Iterable[Tensor], others: Iterable[Tensor]) -> None:
    first, second = ([(t.shape, t.dtype) for t in tensors] for tensors in (some, others))
    _require(first == second, op, f"{wrong}: {first} against {second}")
