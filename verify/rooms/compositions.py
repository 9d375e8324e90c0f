"""Random functions, made of operations that fit together: shapes, values, operations and bytes against torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import symacct as sa
from symacct.expr import evaluate
from symacct.graph import Graph
from symacct.testing.compositions import THEIRS, Composition, Step, compositions
from verify.check import Check, agree, at_most, number
from verify.kernels import bytes_moved, products

IN_SEVERAL_KERNELS = ("choose", "rms_norm")
"""Steps that torch does not run as the operations that we write down: a number becomes a tensor, a norm its formula."""

ONE = ("relu", "tanh", "choose", "add", "multiply", "maximum")
AN_ELEMENT = {**dict.fromkeys(ONE, 1), "gate": 2, "scale": 2, "rms_norm": 4, "softmax": 5, "layer_norm": 7, "gelu": 20}
A_ROW = {"layer_norm": 4, "rms_norm": 3}


def inputs_of(c: Composition, graph: Graph, *, needs_grad: bool = False) -> list[Any]:
    import torch

    generator = torch.Generator().manual_seed(1)
    shapes = [[evaluate(size, c.sizes) for size in graph.tensors[i].shape] for i in graph.inputs]
    made = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [t.requires_grad_(needs_grad) for t in made]


def values_agree(c: Composition) -> None:
    """The function on tensors, its graph (saved and read back) run on tensors, and torch's words."""
    import torch

    function = c.function()
    graph = sa.account(function).graph
    again = Graph.from_json(json.loads(json.dumps(graph.to_json())))
    agree(again, graph, f"the graph of {c}, read back")
    tensors = inputs_of(c, graph)
    expected = c.in_torch(*tensors)
    torch.testing.assert_close(function(*tensors), expected)
    (ran,) = again.run(c.sizes, inputs=tensors).outputs
    torch.testing.assert_close(ran, expected)


def products_agree(c: Composition) -> None:
    account = sa.account(c.function())
    tensors = inputs_of(c, account.graph)
    ours = number(account.total("matmul_flops"), c.sizes)
    for words in (c.function(), c.in_torch):
        agree(ours, products(words, *tensors), f"matmul_flops of {c}")


def operations_agree(c: Composition) -> None:
    """From the shapes that torch yields, step by step."""
    account = sa.account(c.function())
    x, *rest = inputs_of(c, account.graph)
    counted = 0
    for step in c.steps:
        count = len(step.operands)
        out = THEIRS[step.kind](x, step, *rest[:count])
        counted += operations(step, x, out)
        x, rest = out, rest[count:]
    agree(number(account.total("flops"), c.sizes), counted, f"flops of {c}")


def operations(step: Step, x: Any, out: Any) -> int:
    if step.kind in AN_ELEMENT:
        return AN_ELEMENT[step.kind] * out.numel() + A_ROW.get(step.kind, 0) * (out.numel() // out.shape[-1])
    of_kind: dict[str, Callable[[], int]] = {
        "matmul": lambda: 2 * out.numel() * x.shape[-1],
        "scores": lambda: 2 * out.numel() * x.shape[-1],
        "contract": lambda: 2 * out.numel() * x.shape[step.axis],
        "sum": x.numel,
        "max": x.numel,
        "mean": lambda: x.numel() + out.numel(),
        **dict.fromkeys(("permute", "merge", "double", "cut"), lambda: 0),
    }
    return of_kind[step.kind]()


def bytes_agree(c: Composition) -> None:
    """Tensors that need gradients, as parameters do: then torch copies to multiply by a matrix at once."""
    if any(step.kind in IN_SEVERAL_KERNELS for step in c.steps):
        return
    account = sa.account(c.function(), sizes=c.sizes, dtype="fp64", layout="torch")
    moved = bytes_moved(c.function(), *inputs_of(c, account.graph, needs_grad=True))
    agree(account.total("bytes"), moved, f"bytes of {c}")


def traffic_agrees(c: Composition) -> None:
    """Compare them, but for views: `compulsory` counts what is cut off too, and inputs and outputs of views alone."""
    accounts = [sa.account(c.function(), **how) for how in ({"traffic": "compulsory"}, {"fuse": "pointwise"}, {})]
    least, fused, unfused = (number(a.total("bytes"), c.sizes) for a in accounts)
    at_most(fused, unfused, f"fused and unfused bytes of {c}")
    kinds = {step.kind for step in c.steps}
    if "cut" not in kinds and kinds - {"permute", "merge"}:
        at_most(least, fused, f"compulsory and fused bytes of {c}")


_DRAWN = compositions()
FIXED = (
    Composition(
        ("b", "s", "d"),
        (
            Step("layer_norm", ("b", "s", "d"), operands=(("d",), ("d",))),
            Step("contract", ("b", "k", "d"), 1, operands=(("s", "k"),)),
            Step("relu", ("b", "k", "d")),
            Step("permute", ("d", "b", "k"), order=(2, 0, 1)),
            Step("merge", ("(d)*(b)", "k"), 0),
            Step("scores", ("(d)*(b)", "(d)*(b)")),
            Step("softmax", ("(d)*(b)", "(d)*(b)"), 0),
            Step("mean", ("(d)*(b)",), 1),
        ),
        {"b": 3, "s": 4, "d": 5, "k": 7},
    ),
)


def _check(name: str, formula: str, oracle: str, agrees: Callable[[Composition], None], share: float) -> Check:
    return Check(name, formula, oracle, agrees, _DRAWN, FIXED, needs=("torch",), share=share)


CHECKS = (
    _check("values and shapes", "the function on tensors = graph.run", "the same in torch's words", values_agree, 1),
    _check("matmul_flops", "account.matmul_flops", "torch.utils.flop_counter", products_agree, 0.5),
    _check("flops", "account.flops", "counted from the shapes that torch yields", operations_agree, 0.5),
    _check("bytes", 'account(layout="torch").bytes', "tensors into and out of torch's kernels", bytes_agree, 1),
    _check("notions of traffic", "compulsory <= fused <= unfused", "each other", traffic_agrees, 0.5),
)
