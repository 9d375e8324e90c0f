"""Operations against what torch executes: its own counter, and the list of kernels it runs.

torch's counter knows matrix products only: it is 0 for outer products, dot products by name, sums and element-wise
work. einsum turns every contraction into bmm, so on einsum it must equal `matmul_flops`. With opt_einsum switched off
torch goes from the left. The list of kernels shows the rest: what is summed first, what is multiplied.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.testing.spec import Spec, spec_of
from symacct.testing.strategies import patterns, sizes_for
from verify.check import Check, agree

MOVES = {"permute", "unsqueeze", "view", "diagonal", "clone", "_unsafe_view", "squeeze", "expand"}
"""What torch does to shapes: no arithmetic. `clone` is the copy that a reshape may need."""


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]

    def equation(self) -> str:
        letter = dict(zip(self.spec.names, "abcdefghijklmnop", strict=False))
        flat = ["".join(letter[n] for axis in axes for n in axis) for axes in (*self.spec.operands, self.spec.output)]
        return f"{','.join(flat[:-1])}->{flat[-1]}"

    def operands(self) -> list[Any]:
        import torch

        return [torch.ones([self.sizes[n] for axis in axes for n in axis]) for axes in self.spec.operands]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    spec = draw(patterns(composites=False, units=False, ellipsis=False))
    return Case(spec, draw(sizes_for(spec)))


def counter_agrees(case: Case) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.backends.opt_einsum.flags(enabled=False), FlopCounterMode(display=False) as counter:
        torch.einsum(case.equation(), *case.operands())
    ours = sa.matmul_flops(case.spec.text, sizes=case.sizes, order="left")
    agree(int(ours), counter.get_total_flops(), f"matmul_flops of {case.spec.text!r} at {case.sizes}")


def executed(case: Case) -> list[tuple[str, tuple[tuple[int, ...], ...], tuple[int, ...]]]:
    """Run it; return the kernels with the shapes that went in and came out."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    kernels = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            shapes = tuple(tuple(a.shape) for a in args if isinstance(a, torch.Tensor))
            kernels.append((function.overloadpacket.__name__, shapes, tuple(out.shape)))
            return out

    operands = case.operands()
    with torch.backends.opt_einsum.flags(enabled=False), Record():
        torch.einsum(case.equation(), *operands)
    return [k for k in kernels if k[0] not in MOVES]


def kernels_agree(case: Case) -> None:
    """A sum of n terms is n, a product one an element, a bmm two a point; nothing else may run."""
    counted: Counter[str] = Counter()
    for name, shapes, out in executed(case):
        if name == "bmm":
            counted["contract"] += 2 * math.prod(shapes[0]) * shapes[1][-1]
        elif name == "sum":
            counted["reduce"] += math.prod(shapes[0])
        else:
            agree("mul", name, f"a kernel of {case.spec.text!r}")
            counted["mul"] += math.prod(out)
    ours = int(sa.flops(case.spec.text, sizes=case.sizes, order="left", convention="2n"))
    agree(ours, sum(counted.values()), f"flops of {case.spec.text!r} at {case.sizes}, torch ran {dict(counted)}")


def lone_first(case: Case) -> None:
    """In a product of two, every sum runs before the product."""
    names = [name for name, *_ in executed(case)]
    lone = ["sum"] * names.count("sum")
    agree(names[: len(lone)], lone, f"order of kernels of {case.spec.text!r}")
    first, second, out = ({n for axis in axes for n in axis} for axes in (*case.spec.operands, case.spec.output))
    expected = sum(bool(mine - other - out) for mine, other in ((first, second), (second, first)))
    agree(expected, len(lone), f"operands of {case.spec.text!r} with lone axes")


@st.composite
def pairs(draw: st.DrawFn) -> Case:
    spec = draw(patterns(min_operands=2, max_operands=2, composites=False, units=False, ellipsis=False))
    return Case(spec, draw(sizes_for(spec)))


def _case(text: str, *sizes: int) -> Case:
    spec = spec_of(text)
    return Case(spec, dict(zip(spec.names, sizes, strict=True)))


_LEFT = _case("b i, i j, j k -> b k", 4, 8, 16, 2)
_LONE = _case("b d e, d k -> b k", 3, 4, 7, 5)

CHECKS = (
    Check(
        "matmul_flops against torch's counter",
        'matmul_flops(pattern, order="left")',
        "torch.utils.flop_counter on torch.einsum, opt_einsum off",
        counter_agrees,
        cases(),
        (_case("b d, d k -> b k", 1024, 256, 64), _case("b i, b j -> b i j", 4, 8, 16), _LEFT),
        claims=("S31",),
        needs=("torch",),
        share=0.5,
    ),
    Check(
        "flops against torch's kernels",
        'flops(pattern, order="left", convention="2n")',
        "shapes of all kernels that torch.einsum runs",
        kernels_agree,
        cases(),
        (_LEFT, _LONE),
        claims=("S25", "S33"),
        needs=("torch",),
        share=0.5,
    ),
    Check(
        "lone axes are summed first",
        "reduce before contract",
        "the order of the kernels that torch.einsum runs",
        lone_first,
        pairs(),
        (_LONE,),
        needs=("torch",),
        share=0.3,
    ),
)
