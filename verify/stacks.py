"""Stacks of layers against their layers written out, and against a module of torch under its memory tracker."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import symacct as sa
from symacct.backward import joint
from verify.check import at_most


def _linear(x: Any, w: Any) -> Any:
    return sa.relu(x @ w)


def _residual(x: Any, w: Any) -> Any:
    return x + sa.gelu(sa.layer_norm(x, x.shape[-1:]) @ w)


def unrolled_agrees(case: tuple[str, dict[str, int]]) -> None:
    """A stack of layers against its layers written out, each with a weight of its own, run on tensors.

    Where the input of the stack needs no gradient, its first layer may need less of the forward pass than the others;
    a repeat keeps the same of all. So the input is trained too where the layer has a norm.
    """
    kind, sizes = case
    trained = ["x"] if kind == "residual" else []
    block = {"linear": _linear, "residual": _residual}[kind]

    def stacked(x: "b d", w: "L d d"):
        return (sa.repeat("L", block, x, xs=w) ** 2).mean()

    def written(x, **weights):
        for w in weights.values():
            x = block(x, w)
        return (x**2).mean()

    names = [f"w{i}" for i in range(sizes["L"])]
    keyword, plain = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    written.__signature__ = inspect.Signature(
        [inspect.Parameter("x", plain), *(inspect.Parameter(n, keyword) for n in names)]
    )
    both = joint(sa.account(written, x="b d", **dict.fromkeys(names, "d d"), params=[*trained, *names]).graph)
    stay = tuple(i for i in both.graph.inputs if i not in both.seeds)
    ran = both.graph._replace(outputs=both.graph.outputs + stay).run(sizes, dtype="fp32").peak_bytes
    ours = sa.account(stacked, params=[*trained, "w"]).training(policy="fp32").memory.at(sizes=sizes)
    # a number each: the gradient of the loss, there from the start; and what stands for the gradient of the input
    what = f"peak of {sizes['L']} {kind} layers written out at {sizes}"
    at_most(ran - 4, int(ours.peak), what)
    at_most(int(ours.peak), ran + 4, what)


def module_agrees(sizes: Mapping[str, int]) -> None:
    """A module of linear layers with AdamW on meta tensors: torch's own tracker sees at least what the ledger says."""
    import torch
    from torch.distributed._tools.mem_tracker import MemTracker

    b, d, layers = sizes["b"], sizes["d"], sizes["L"]
    each = (m for _ in range(layers) for m in (torch.nn.Linear(d, d, bias=False), torch.nn.ReLU()))
    model = torch.nn.Sequential(*each).to("meta")
    made = torch.optim.AdamW(model.parameters(), foreach=False)
    x = torch.empty(b, d, device="meta")

    def step() -> None:
        loss = model(x).sum()
        loss.backward()
        made.step()
        made.zero_grad()

    def network(x: "b d", w: "L d d"):
        return sa.repeat("L", _linear, x, xs=w).sum()

    step()  # makes the state
    tracker = MemTracker()
    tracker.track_external(model, made, x)
    with tracker:
        step()
    ours = sa.account(network, params=["w"]).training(optimizer="adamw", policy="torch-fp32", kernel="forloop").memory
    at_most(int(ours.at(sizes=sizes).peak), _total(tracker), f"peak of a module at {sizes}, against MemTracker's")


def _total(tracker: Any) -> int:
    return sum(device["Total"] for device in tracker.get_tracker_snapshot("peak").values())
