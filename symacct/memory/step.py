"""A step of training as something to walk: whose storage each tensor is, what lasts, which outputs are gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symacct.accounting import Formats
from symacct.dtypes import Policy, storage_bytes
from symacct.expr import Expr, Size, add, evaluate, multiply
from symacct.graph import Graph, Op, Tensor
from symacct.memory.alive import Label, Storage, Value
from symacct.memory.formats import logits_of
from symacct.memory.parameters import Parameter, parameters_of
from symacct.memory.static import format_of, static_entries
from symacct.optimizers import Buffer, Optimizer

ROLES: Mapping[str, str] = {
    "parameters": "what the model computes with",
    "gradients": "of the parameters, and of inputs where they are asked for",
    "master copies": "what the optimizer updates",
    "optimizer state": "what the optimizer keeps",
    "casts": "copies of weights that products read",
    "activations": "made in the forward pass",
    "logits": "what the loss reads",
    "results": "what the forward pass yields: logits, where the loss is not in the graph; a loss",
    "backward": "made in the backward pass and soon gone",
    "inputs": "of the step",
    "temporaries": "made by the optimizer and gone after its step",
}
"""What memory is for, in the order in which it is told."""

STATIC = {"param": "parameters", "grad": "gradients", "master": "master copies", "state": "optimizer state"}


@dataclass(frozen=True)
class Step:
    """A step of training: the joint graph, its formats, and what there is besides.

    Attributes
    ----------
    graph
        The forward and the backward pass.
    gradients
        The gradients among its outputs, by the input that they belong to.
    seeds
        Inputs that are the gradients of what the forward pass yields; they go after their last use.
    policy
        The storage formats.
    optimizer
        What it updates the parameters with, None for no update.
    kernel
        How the update runs, which decides what it makes; empty where that is not known.
    dtypes
        The formats of the tensors of the graph.
    micro_batches
        How often the graph runs before an update.
    """

    graph: Graph
    gradients: Mapping[int, int]
    seeds: tuple[int, ...]
    policy: Policy
    optimizer: Optimizer | None
    kernel: str
    dtypes: Formats
    micro_batches: Size = 1

    @property
    def added_up(self) -> bool:
        """Whether gradients are there all the time and are added to: several runs, or another format than is made."""
        return self.micro_batches != 1 or self.policy.of("grad") != self.policy.of("param")

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, each with its format where that is not the policy's."""
        params = [t for t in self.graph.tensors if t.role == "param" and t.id in self.graph.inputs]
        formats = {t.name: self.dtypes.of(t, self.graph) for t in params}
        usual = self.policy.of("param")
        return parameters_of(self.graph, {name: form for name, form in formats.items() if form != usual})

    @property
    def under(self) -> dict[str, str | None]:
        """Under what its bytes hold, by name: the policy, the optimizer, and how its update runs."""
        return {
            "policy": self.policy.name,
            "optimizer": None if self.optimizer is None else self.optimizer.name,
            "kernel": self.kernel or None,
        }

    @property
    def absorbed(self) -> frozenset[int]:
        """The gradients that go as they are made: they are added to what is there all the time."""
        params = [i for i in self.gradients if self.graph.tensors[i].role == "param"] if self.added_up else []
        return frozenset(self.gradients[i] for i in params)

    @property
    def trained(self) -> list[Parameter]:
        """The parameters that have a gradient."""
        names = {self.graph.tensors[i].name for i in self.gradients}
        return [p for p in self.parameters if p.name in names]


class Storages:
    """Makes the storages of a step, in closed forms or, at given sizes, in numbers."""

    def __init__(self, step: Step, sizes: Mapping[str, Any] | None = None) -> None:
        self.step = step
        self.sizes = sizes
        self.dtypes = step.dtypes
        self.modules = modules_of(step.graph)
        self.special = dict(_special(step))
        self.made: dict[int, tuple[Expr, Label]] = {}

    def measure(self, tensor: Tensor, op: Op, scope: str) -> Storage:
        """Return the storage of a tensor that an operation makes."""
        known = self.made.get(id(tensor))
        if known is None:
            usual = ("backward" if op.phase == "bwd" else "activations", tensor.name)
            role, name = self.special.get(id(tensor), usual)
            known = self.made[id(tensor)] = self._sized(tensor, role, name, scope)
        return Storage(*known)

    def given(self) -> list[Value]:
        """Return the storages of the inputs."""
        out: list[Value] = []
        for i in self.step.graph.inputs:
            tensor = self.step.graph.tensors[i]
            role = "parameters" if tensor.role == "param" else "backward" if i in self.step.seeds else "inputs"
            out.append(Storage(*self._sized(tensor, role, tensor.name, self.modules.get(i, ""))))
        return out

    def _sized(self, tensor: Tensor, role: str, name: str, scope: str) -> tuple[Expr, Label]:
        fmt = self.dtypes.of_owner(tensor)
        bytes = storage_bytes(fmt, () if _repeats_one(tensor) else tensor.shape)
        return self.number(bytes), Label(role, name, scope, fmt.name)

    def number(self, bytes: Expr) -> Any:
        """Return bytes as they are, or at the sizes."""
        return bytes if self.sizes is None else evaluate(bytes, self.sizes)

    def lasting(self) -> dict[Label, Expr]:
        """Return what is there all the time besides the parameters: state, master copies, gradients that add up."""
        step, out = self.step, dict[Label, Expr]()
        modules = {step.graph.tensors[i].name: scope for i, scope in self.modules.items()}
        for e in static_entries(step.trained, step.optimizer or NONE, step.policy):
            if e.role == "param" or (e.role == "grad" and not step.added_up):
                continue
            name = e.parameter if e.name == e.role else f"{e.name} of {e.parameter}"
            out[Label(STATIC[e.role], name, modules.get(e.parameter, ""), e.dtype)] = self.number(e.bytes)
        return out

    def temporaries(self) -> list[dict[Label, Expr]]:
        """Return what the update makes and holds at once: of all parameters together, or of one after the other."""
        step = self.step
        if step.optimizer is None or not step.kernel:
            return [{}]
        moments = step.optimizer.temporaries(step.kernel)
        if step.kernel == "forloop":
            found = [self._made(p, buffers, 1) for p in step.trained for buffers in moments]
            return [made for made in found if made] or [{}]
        return [
            {label: bytes for p in step.trained for label, bytes in self._made(p, buffers, p.copies).items()}
            for buffers in moments
        ]

    def _made(self, p: Parameter, buffers: Iterable[Buffer], copies: Expr) -> dict[Label, Expr]:
        """Return what is alive at once in the update of a parameter, or of so many tensors of it."""
        made: dict[Label, Expr] = {}
        for buffer in buffers:
            shape = buffer.shape(p.shape)
            if shape is not None:
                fmt = format_of(buffer, self.step.policy.with_param(p.dtype))
                label = Label("temporaries", f"{buffer.name} for {p.name}", "", fmt.name)
                bytes = multiply(copies, storage_bytes(fmt, shape))
                made[label] = add((made.get(label, 0), self.number(bytes)))
        return made


NONE = Optimizer("none", (), None, {})


def _special(step: Step) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield what is a gradient of a parameter, or the logits, by the identity of the tensor that is made."""
    graph = step.graph
    gradients = set(step.gradients.values())
    told = {i: ("results", graph.tensors[i].name) for i in graph.outputs if i not in gradients}
    told |= {i: ("logits", graph.tensors[i].name) for i in logits_of(graph)}
    told |= {made: ("gradients", f"gradient of {graph.tensors[i].name}") for i, made in step.gradients.items()}
    yield from _casts(graph)
    for op in graph.ops:
        for place, i in enumerate(op.outputs):
            if i in told and not (told[i][0] == "results" and place < op.attrs.get("carry", 0)):
                for tensors, made in [(graph.tensors, i), *((g.tensors, g.outputs[place]) for g in op.parts)]:
                    yield id(tensors[tensors[made].owner]), told[i]


def _casts(graph: Graph) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the copies of weights that products read, also inside repeats."""
    for op in graph.ops:
        if op.kind == "cast" and "source" in op.attrs:
            copy = graph.tensors[op.outputs[0]]
            yield id(copy), ("casts", copy.name)
        for part in op.parts:
            yield from _casts(part)


def _repeats_one(tensor: Tensor) -> bool:
    """Whether all elements are one in memory: zeros that nobody makes."""
    return tensor.strides is not None and bool(tensor.strides) and all(stride == 0 for stride in tensor.strides)


def modules_of(graph: Graph) -> dict[int, str]:
    """Return the scope in which each input is first read."""
    out: dict[int, str] = {}
    for op in graph.ops:
        inside = modules_of(op.attrs["body"]) if op.kind == "repeat" else {}
        for place, i in enumerate(op.inputs):
            scope = op.scope
            if inside:
                within = inside.get(op.attrs["body"].inputs[place], "")
                scope = f"{scope}/{within}" if scope and within else scope or within
            out.setdefault(i, scope)
    return out
