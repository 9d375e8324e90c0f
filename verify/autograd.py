"""Torch's autograd as oracle: gradients by value, and the bytes that it keeps, storages merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from symacct.dtypes import storage_bytes
from symacct.expr import evaluate, name
from symacct.graph import Graph
from symacct.rules import RULES, rule_of
from symacct.rules.rule import Backward
from symacct.symbolic import Builder, Symbolic, apply


def gradients_agree(
    kind: str, tensors: Sequence[torch.Tensor], needs: Sequence[bool] = (), results: int | None = None, **attrs: Any
) -> None:
    """Compare the gradients that a rule makes of operations, run on real tensors, with autograd's.

    Only the first `results` outputs have a gradient, or all.
    """
    wanted = tuple(needs) or tuple(t.is_floating_point() for t in tensors)
    inputs = [t.detach().clone().requires_grad_(need) for t, need in zip(tensors, wanted, strict=True)]
    made = apply(kind, *inputs, **attrs)
    outputs = made if isinstance(made, tuple) else (made,)
    ends = [o.requires_grad for o in outputs[:results]] + [False] * len(outputs[len(outputs[:results]) :])
    grads = tuple(torch.randn_like(o) if end else None for o, end in zip(outputs, ends, strict=True))
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
    leaves = [t for t in inputs if t.requires_grad]
    theirs = iter(torch.autograd.grad([o for o, _ in pairs], leaves, [g for _, g in pairs]))
    plain = tuple(o.detach() for o in outputs)
    backward = Backward(apply, attrs, tuple(t.detach() for t in inputs), plain, grads, wanted)
    ours = RULES[kind].gradient(backward)
    assert len(ours) == len(inputs)
    for mine, need, x in zip(ours, wanted, inputs, strict=True):
        if not need:
            assert mine is None
            continue
        expected = next(theirs)
        assert mine.shape == x.shape
        torch.testing.assert_close(mine, expected)


def symbolic_gradients(kind: str, shapes: Sequence[tuple], needs: Sequence[bool] = (), **attrs: Any) -> Graph:
    """Build the gradients of one operation symbolically; return the graph of forward and backward."""
    builder = Builder()
    inputs = tuple(Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes))
    made = apply(kind, *inputs, **attrs)
    outputs = made if isinstance(made, tuple) else (made,)
    grads = tuple(Symbolic(builder, builder.input(o.tensor.shape, f"g{i}")) for i, o in enumerate(outputs))
    wanted = tuple(needs) or (True,) * len(inputs)
    ours = RULES[kind].gradient(Backward(apply, attrs, inputs, outputs, grads, wanted))
    for mine, need, x in zip(ours, wanted, inputs, strict=True):
        assert (mine is not None) == need
        assert not need or mine.tensor.shape == x.tensor.shape
    return builder.graph([g.id for g in ours if g is not None])


def kept_bytes(graph: Graph, sizes: dict[str, int], needs: Sequence[bool] | None = None) -> int:
    """Return the bytes that rules say autograd keeps in fp32, each storage once; of what was copied the copy.

    Every input of an operation needs a gradient, or, in a graph of one operation, those that `needs` says.
    """
    storages: dict[Any, int] = {}
    for op in graph.ops:
        rule, copied = rule_of(op), {r.tensor: r.shape for r in rule_of(op).copies(op, graph)}
        for i, r in enumerate(rule.residuals(op, graph, tuple(needs or [True] * len(op.inputs)))):
            if r.kernel == "fused":  # on a CPU none is
                continue
            if r.kind == "extra":
                key, shape, dtype = ("extra", op.id, i), r.shape, r.dtype
            else:
                tensor = graph.tensors[(op.inputs if r.kind == "input" else op.outputs)[r.which]]
                is_copy = r.kind == "input" and tensor.id in copied
                key = ("copy", op.id, i) if is_copy else tensor.id if tensor.storage is None else tensor.storage
                shape, dtype = copied[tensor.id] if is_copy else tensor.shape, tensor.dtype
            storages[key] = int(evaluate(storage_bytes(dtype or "fp32", shape), sizes))
    return sum(storages.values())


def saved_bytes(run: Callable[[], Any]) -> int:
    """Return the bytes that autograd keeps, each storage once."""
    alive: dict[int, torch.Tensor] = {}

    def keep(t: torch.Tensor) -> torch.Tensor:
        alive[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        result = run()
    total = sum(t.untyped_storage().nbytes() for t in alive.values())
    del result
    return total


class Copies(TorchDispatchMode):
    """The elements of each copy that torch makes."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.__name__ == "clone.default":
            self.copied.append(out.numel())
        return out


def symbolic(*shapes: str, units: str = "") -> list[Symbolic]:
    """Make symbolic tensors: a letter is a size, and its name; `units` are of size 1."""
    builder = Builder()
    sizes = [tuple(1 if a in units else name(a) for a in shape) for shape in shapes]
    return [Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(sizes)]
