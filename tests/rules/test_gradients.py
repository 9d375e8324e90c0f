"""Gradients and what is kept: element-wise operations, reductions, softmax, norms, losses, against torch's autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from symacct.errors import UnknownOpError
from symacct.expr import evaluate, name
from symacct.graph import Graph, check
from symacct.rules import RULES, rule_of
from symacct.rules.rule import Backward
from symacct.symbolic import Builder, Symbolic, apply

torch = pytest.importorskip("torch")
F = torch.nn.functional

from symacct.eager.run import run  # noqa: E402 # torch may be absent
from verify.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402

SIZES = {"b": 3, "n": 4, "c": 6, "h": 5, "one": 1}
MASK, TARGETS = "mask", "targets"


class Case(NamedTuple):
    """A kind with the axes of its inputs, its attributes, and the function of torch that it is.

    `made` says how an input other than a random number above 0 is made.
    """

    kind: str
    inputs: tuple[str, ...]
    torch: Callable[..., Any]
    attrs: Mapping[str, Any] = MappingProxyType({})
    made: Mapping[int, str] = MappingProxyType({})

    def tensors(self, seed: int = 0) -> list[Any]:
        draw = torch.Generator().manual_seed(seed)
        out = []
        for i, axes in enumerate(self.inputs):
            shape = [SIZES[a] for a in axes.split()]
            x = torch.rand(shape, generator=draw) + 0.5
            how = self.made.get(i)
            out.append(x > 1 if how == MASK else (x * 4).long() % SIZES["c"] if how == TARGETS else x)
        return out

    def needs(self) -> Iterator[tuple[bool, ...]]:
        """All ways in which inputs may need a gradient."""
        floats = [i for i in range(len(self.inputs)) if i not in self.made and self.fixed(i)]
        for count in range(1, len(floats) + 1):
            for chosen in combinations(floats, count):
                yield tuple(i in chosen for i in range(len(self.inputs)))

    def fixed(self, i: int) -> bool:
        """Running statistics never need a gradient."""
        return i == 0 or self.attrs.get("given", ())[i - 1 : i] not in (("mean",), ("var",))


def binary(kind: str, function: Callable[..., Any]) -> list[Case]:
    shapes = (("b n", "b n"), ("b n", "n"), ("b one", "n"), ("", "b n"), ("c b n", "b one"))
    return [Case(kind, s, function) for s in shapes]


def number(kind: str, function: Callable[..., Any], side: str) -> Case:
    return Case(kind, ("b n",), function, {"scalar": 1.25, "side": side})


def norm(kind: str, function: Callable[..., Any], parameter: str, given: tuple[str, ...], **attrs: Any) -> Case:
    inputs = ("b c h", *(parameter for _ in given))
    return Case(
        kind, inputs, lambda x, *rest: function(x, **dict(zip(given, rest, strict=True))), {"given": given, **attrs}
    )


def batch_norm(x: Any, weight: Any = None, bias: Any = None, mean: Any = None, var: Any = None, **attrs: Any) -> Any:
    return F.batch_norm(x, mean, var, weight, bias, momentum=0.1, **attrs)


WEIGHT, BOTH, RUNNING = ("weight",), ("weight", "bias"), ("mean", "var")
REDUCED = (
    {"axes": (1,), "keepdims": False},
    {"axes": (0, -1), "keepdims": True},
    {"axes": (0, 1, 2), "keepdims": False},
)
UNARY = {
    **{kind: getattr(torch, kind) for kind in ("abs", "erf", "exp", "log", "neg", "relu", "rsqrt", "sigmoid")},
    **{kind: getattr(torch, kind) for kind in ("sqrt", "square", "tanh")},
    "silu": F.silu,
}
NLL = {"ignore_index": 1}
CASES = [
    *(Case(kind, ("b n",), function) for kind, function in UNARY.items()),
    *(Case("gelu", ("b n",), lambda x, a=a: F.gelu(x, approximate=a), {"approximate": a}) for a in ("none", "tanh")),
    *(Case("pow", ("b n",), lambda x, p=p: x**p, {"exponent": p}) for p in (1, 2, 3, 5, 0.5, -0.5)),
    *(c for kind in ("add", "sub", "mul", "div", "maximum", "minimum") for c in binary(kind, getattr(torch, kind))),
    *(
        number(kind, lambda x, kind=kind: getattr(torch, kind)(x, 1.25), "right")
        for kind in ("add", "sub", "mul", "div")
    ),
    number("add", lambda x: 1.25 + x, "left"),
    number("sub", lambda x: 1.25 - x, "left"),
    number("mul", lambda x: 1.25 * x, "left"),
    number("div", lambda x: 1.25 / x, "left"),
    number("maximum", lambda x: x.clamp(min=1.25), "right"),
    number("minimum", lambda x: x.clamp(max=1.25), "left"),
    Case("where", ("b n", "b n", "n"), torch.where, made={0: MASK}),
    Case("where", ("b one", "b n"), lambda m, x: torch.where(m, x, 0.0), {"y": 0.0}, {0: MASK}),
    Case("where", ("c b n", "n"), lambda m, y: torch.where(m, 2.5, y), {"x": 2.5}, {0: MASK}),
    *(Case("sum", ("b c n",), lambda x, a=a: x.sum(a["axes"], a["keepdims"]), a) for a in REDUCED),
    *(Case("mean", ("b c n",), lambda x, a=a: x.mean(a["axes"], a["keepdims"]), a) for a in REDUCED),
    *(Case("max", ("b c n",), lambda x, a=a: x.amax(a["axes"], a["keepdims"]), a) for a in REDUCED),
    *(Case("min", ("b c n",), lambda x, a=a: x.amin(a["axes"], a["keepdims"]), a) for a in REDUCED),
    Case("prod", ("b c n",), lambda x: x.prod(1), {"axes": (1,), "keepdims": False}),
    *(Case("softmax", ("b c n",), lambda x, a=a: x.softmax(a), {"axis": a}) for a in (0, -1)),
    *(Case("log_softmax", ("b c n",), lambda x, a=a: x.log_softmax(a), {"axis": a}) for a in (0, -1)),
    *(Case("logsumexp", ("b c n",), lambda x, a=a: x.logsumexp(a["axes"], a["keepdims"]), a) for a in REDUCED),
    *(
        norm("layer_norm", lambda x, **p: F.layer_norm(x, x.shape[-1:], **p), "h", given, axes=1, eps=1e-5)
        for given in ((), WEIGHT, BOTH)
    ),
    norm("layer_norm", lambda x, **p: F.layer_norm(x, x.shape[-2:], **p), "c h", BOTH, axes=2, eps=1e-5),
    *(
        norm("rms_norm", lambda x, **p: F.rms_norm(x, x.shape[-1:], eps=1e-5, **p), "h", given, axes=1, eps=1e-5)
        for given in ((), WEIGHT)
    ),
    norm("rms_norm", lambda x, **p: F.rms_norm(x, x.shape[-2:], eps=1e-5, **p), "c h", WEIGHT, axes=2, eps=1e-5),
    *(
        norm("group_norm", lambda x, **p: F.group_norm(x, 2, **p), "c", given, groups=2, eps=1e-5)
        for given in ((), WEIGHT, BOTH)
    ),
    *(
        norm(
            "batch_norm",
            lambda x, **p: batch_norm(x, training=True, **p),
            "c",
            g,
            training=True,
            momentum=0.1,
            eps=1e-5,
        )
        for g in ((), WEIGHT, BOTH, RUNNING, BOTH + RUNNING)
    ),
    *(
        norm(
            "batch_norm",
            lambda x, **p: batch_norm(x, training=False, **p),
            "c",
            g,
            training=False,
            momentum=0.1,
            eps=1e-5,
        )
        for g in (RUNNING, WEIGHT + RUNNING, BOTH + RUNNING)
    ),
    *(
        Case(
            "nll_loss",
            inputs,
            lambda x, t, r=r: F.nll_loss(x, t, reduction=r, **NLL),
            {"reduction": r, **NLL},
            {1: TARGETS},
        )
        for inputs in (("b c", "b"), ("b c n", "b n"), ("c", ""))
        for r in ("mean", "sum", "none")
    ),
    *(
        Case("mse_loss", ("b n", "b n"), lambda x, y, r=r: F.mse_loss(x, y, reduction=r), {"reduction": r})
        for r in ("mean", "sum", "none")
    ),
]


def label(case: Case) -> str:
    attrs = {k: v for k, v in case.attrs.items() if k not in ("eps", "momentum")}
    return f"{case.kind} {', '.join(case.inputs)} {attrs or ''}"


every_case = pytest.mark.parametrize("case", CASES, ids=label)


@every_case
def test_gradients_are_autograds(case: Case) -> None:
    for needs in case.needs():
        gradients_agree(case.kind, case.tensors(), needs, **case.attrs)


def forward_and_backward(case: Case, needs: tuple[bool, ...]) -> tuple[Graph, int]:
    """A graph of one operation and its gradients, with the gradient of its first output as last input."""
    builder = Builder()
    dtypes = {MASK: "bool", TARGETS: "int64", None: None}
    inputs = tuple(
        Symbolic(
            builder,
            builder.input([name(a) if a != "one" else 1 for a in axes.split()], "x", "input", dtypes[case.made.get(i)]),
        )
        for i, axes in enumerate(case.inputs)
    )
    made = apply(case.kind, *inputs, **case.attrs)
    outputs = made if isinstance(made, tuple) else (made,)
    grad = Symbolic(builder, builder.input(outputs[0].tensor.shape, "g"))
    grads = (grad, *(None for _ in outputs[1:]))
    found = RULES[case.kind].gradient(Backward(apply, case.attrs, inputs, outputs, grads, needs))
    assert tuple(g is not None for g in found) == needs
    graph = builder.graph([outputs[0].id, *(g.id for g in found if g is not None)])
    check(graph)
    return graph, len(outputs)


@every_case
def test_gradients_are_written_down_as_they_run(case: Case) -> None:
    for needs in case.needs():
        graph, _ = forward_and_backward(case, needs)
        tensors = case.tensors()
        inputs = [t.requires_grad_(need) for t, need in zip(case.tensors(), needs, strict=True)]
        out = case.torch(*inputs)
        grad = torch.rand(out.shape)
        theirs = torch.autograd.grad(out, [t for t in inputs if t.requires_grad], grad)
        ours = run(graph, SIZES, inputs=[*tensors, grad]).outputs
        torch.testing.assert_close(ours, (out.detach(), *theirs))


@every_case
def test_what_is_kept_is_what_autograd_keeps(case: Case) -> None:
    for needs in case.needs():
        graph, _ = forward_and_backward(case, needs)
        inputs = [t.requires_grad_(need) for t, need in zip(case.tensors(), needs, strict=True)]
        assert kept_bytes(graph._replace(ops=graph.ops[:1]), SIZES, needs) == saved_bytes(
            lambda i=inputs: case.torch(*i)
        ), needs


@every_case
def test_gradients_read_only_what_is_kept(case: Case) -> None:
    for needs in case.needs():
        if case.kind == "div" and case.attrs.get("side") == "left":
            continue  # torch keeps the reciprocal of x in place of x; its gradient here reads x
        graph, outputs = forward_and_backward(case, needs)
        op = graph.ops[0]
        of = {"input": op.inputs, "output": op.outputs}
        kept = {of[r.kind][r.which] for r in rule_of(op).residuals(op, graph, needs) if r.kind in of}
        read = {r.tensor for later in graph.ops[1:] for r in rule_of(later).reads(later, graph)}
        assert read & {*op.inputs, *op.outputs} <= kept
        assert len(op.outputs) == outputs


@pytest.mark.parametrize("kind", [k for k in RULES if k in ("softmax_backward", "relu_backward", "nll_loss_backward")])
def test_a_gradient_of_a_gradient_is_refused(kind: str) -> None:
    with pytest.raises(UnknownOpError, match="gradient of a gradient"):
        RULES[kind].gradient(Backward(apply, {}, (), (), (), ()))


def test_equal_elements_share_the_gradient_of_an_extreme() -> None:
    x = torch.tensor([[2.0, 5.0, 5.0], [1.0, 1.0, 1.0]])
    gradients_agree("max", [x], axes=(1,), keepdims=False)
    gradients_agree("maximum", [x, torch.tensor([2.0, 5.0, 1.0])])
    gradients_agree("maximum", [x], scalar=5.0, side="right")


def test_dropout_keeps_its_mask() -> None:
    graph = symbolic_gradients("dropout", [(name("n"),)], p=0.25)
    assert [op.kind for op in graph.ops] == ["dropout", "mul"]
    x = torch.rand(1000, requires_grad=True)
    kept = kept_bytes(graph._replace(ops=graph.ops[:1]), {"n": 1000})
    assert kept == 4000 == saved_bytes(lambda: F.dropout(x, 0.25))
    y, mask = apply("dropout", x, p=0.25)
    (theirs,) = torch.autograd.grad(y, x, torch.ones(1000))
    (ours,) = RULES["dropout"].gradient(
        Backward(apply, {"p": 0.25}, (x,), (y, mask), (torch.ones(1000), None), (True,))
    )
    torch.testing.assert_close(ours, theirs)
    assert evaluate(graph.tensors[graph.outputs[0]].numel, {"n": 1000}) == 1000
