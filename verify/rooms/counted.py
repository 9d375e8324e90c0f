"""Einsum patterns against plain loops over counted numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.conventions import convention_of, tally
from symacct.expr import name, product
from symacct.graph import Einsum, Graph, Op, Tensor
from symacct.rules import rule_of
from symacct.testing.counting import array, totals
from symacct.testing.loops import Run, run
from symacct.testing.spec import Spec, spec_of
from symacct.testing.strategies import patterns, sizes_for
from verify.check import Check, agree, number

ORDERS = ("left", "naive")
WAYS = ("2n", "exact", "mac")


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]
    way: str
    order: str

    def run(self) -> Run:
        return run(self.spec, self.sizes, way=self.way, nest=self.order == "naive")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    spec = draw(patterns())
    return Case(spec, draw(sizes_for(spec)), draw(st.sampled_from(WAYS)), draw(st.sampled_from(ORDERS)))


FIXED_PATTERNS = (
    "b d, d k -> b k",
    "b s d, d k -> b s k",
    "i j, j k, k l -> i l",
    "b d e, d k -> b k",
    "b d, d e -> b",
    "d e, d b -> b",
    "a i, b j -> a b",
    "b, k -> b k",
    "b d, b d -> b d",
    "b d -> b",
    "i i k, k i -> i",
    "b (h d), (h d) k -> b k",
    "b, b, d, d -> b",
    ", b d -> b d",
)
PRIMES = (3, 5, 4, 7, 11)


def fixed(ways: tuple[str, ...] = WAYS) -> tuple[Case, ...]:
    specs = [spec_of(text) for text in FIXED_PATTERNS]
    sized = [(spec, dict(zip(spec.names, PRIMES, strict=False))) for spec in specs]
    return tuple(Case(spec, sizes, way, order) for spec, sizes in sized for way in ways for order in ORDERS)


def flops_agree(case: Case) -> None:
    """As a closed form put in numbers, and with the numbers given at once."""
    seen = case.run()
    text, what = case.spec.text, f"{case.spec.text!r} at {case.sizes}, {case.way}, {case.order}"
    form = sa.account(text, convention=case.way, order=case.order)
    plain = sa.account(text, sizes=case.sizes, convention=case.way, order=case.order)
    expected = totals(seen.calls)
    agree({u: number(x, case.sizes) for u, x in form.counts.items()}, expected, f"work of {what}")
    agree(dict(plain.counts), expected, f"work at once of {what}")
    if case.order == "left":
        matmul = sum(totals(seen.matmul_calls).values())
        agree(number(form.total("matmul_flops"), case.sizes), matmul, f"matmul_flops of {what}")


def at_once_agrees(case: Case) -> None:
    """One operation of all operands that is not said to be a loop nest is one all the same, where there are three."""
    flat = tuple(tuple(n for axis in axes for n in axis) for axes in (*case.spec.operands, case.spec.output))
    op = Op(0, "einsum", (), (), Einsum(flat[:-1], flat[-1], {n: name(n) for n in case.spec.names}))
    work = rule_of(op).work(op, Graph((), (op,), (), ()))
    ours = {u: number(x, case.sizes) for u, x in tally(work, convention_of(case.way)).items()}
    agree(ours, totals(case.run().calls), f"{case.spec.text!r} as one operation, {case.way}")


class Repeated(NamedTuple):
    """A product of an operand that is expanded along some axes, and of one that is not."""

    axes: tuple[tuple[str, ...], ...]
    expanded: tuple[str, ...]


def repeated_agrees(case: Repeated) -> None:
    """An expanded axis stands on one place in memory: NumPy's strides say on which."""
    import numpy as np

    sizes = {"b": 3, "s": 5, "d": 4, "k": 7}
    narrow = [1 if n in case.expanded else sizes[n] for n in case.axes[0]]
    first = np.broadcast_to(np.zeros(narrow), [sizes[n] for n in case.axes[0]])
    turns = itertools.product(*(range(n) for n in first.shape))
    places = {sum(i * stride for i, stride in zip(turn, first.strides, strict=True)) for turn in turns}
    strides = tuple(s // first.itemsize for s in first.strides)
    shapes = [tuple(name(n) for n in axes) for axes in case.axes]
    tensors = tuple(Tensor(i, shape, "act", f"tensor {i}") for i, shape in enumerate(shapes))
    tensors = (tensors[0]._replace(strides=strides), *tensors[1:])
    op = Op(0, "einsum", (0, 1), (2,), Einsum(case.axes[:2], case.axes[2], {n: name(n) for n in sizes}))
    reads = rule_of(op).reads(op, Graph(tensors, (op,), (0, 1), (2,)))
    expected = [len(places), math.prod(sizes[n] for n in case.axes[1])]
    agree([number(product(r.shape), sizes) for r in reads], expected, f"elements that {case} reads")


def values_agree(case: Case) -> None:
    """The loops compute what NumPy's einsum computes: this checks the oracle, not symacct."""
    import numpy as np

    seen, spec = case.run(), case.spec
    letter = dict(zip(spec.names, "abcdefghijklmnop", strict=False))
    flat = [[n for axis in axes for n in axis] for axes in (*spec.operands, spec.output)]
    operands = []
    for i, names in enumerate(flat[:-1]):
        numel = math.prod(case.sizes[n] for n in names)
        values = np.array([(7 * place + 3 * i) % 11 - 4 for place in range(numel)])
        operands.append(values.reshape([case.sizes[n] for n in names]))
    inputs, output = (",".join("".join(letter[n] for n in names) for names in part) for part in (flat[:-1], flat[-1:]))
    expected = np.einsum(f"{inputs}->{output}", *operands)
    agree(list(seen.values), expected.ravel().tolist(), f"values of {spec.text!r}")


def elements_agree(case: Case) -> None:
    """One byte an element, so bytes are elements."""
    touched = case.run().touched
    kept = len(case.spec.operands)
    once = [t for t in touched if t.tensor < kept or t is touched[-1]]
    for traffic, expected in (("unfused", touched), ("compulsory", once)):
        form = sa.account(case.spec.text, order=case.order, traffic=traffic, dtype="int8")
        elements = sum(t.elements for t in expected)
        what = f"{traffic} elements of {case.spec.text!r} at {case.sizes}, {case.order}"
        agree(number(form.total("bytes"), case.sizes), elements, what)


BLOCKS = {"mxfp8": (8, 32, 0), "mxfp4": (4, 32, 0), "nvfp4": (4, 16, 4)}
"""Bits a value, values a scale of one byte, bytes a tensor: from the formats' own specifications."""


class BlockCase(NamedTuple):
    spec: Spec
    sizes: dict[str, int]
    dtype: str


@st.composite
def block_cases(draw: st.DrawFn) -> BlockCase:
    spec = draw(patterns(max_operands=2, scalars=False))
    return BlockCase(spec, draw(sizes_for(spec)), draw(st.sampled_from(sorted(BLOCKS))))


def blocks_agree(case: BlockCase) -> None:
    """Values of an operand that are summed together form a row; else its last stored axis does, 1 too."""
    bits, block, extra = BLOCKS[case.dtype]
    flat = [[n for axis in axes for n in axis] for axes in (*case.spec.operands, case.spec.output)]
    expected = 0
    for axes in (*case.spec.operands, case.spec.output):
        every = [n for axis in axes for n in axis]
        names = list(dict.fromkeys(every))
        last = list(axes[-1]) if axes else []
        row = [n for n in names if n not in flat[-1]] or (last if names == every else names[-1:])
        length = math.prod(case.sizes[n] for n in row)
        rows = math.prod(case.sizes[n] for n in names if n not in row)
        expected += extra + sum(-(-length * bits // 8) + len(range(0, length, block)) for _ in range(rows))
    form = sa.account(case.spec.text, dtype=case.dtype)
    agree(
        number(form.total("bytes"), case.sizes), expected, f"{case.dtype} bytes of {case.spec.text!r} at {case.sizes}"
    )


class Product(NamedTuple):
    batch: int
    rows: int
    inner: int
    columns: int


def objects_agree(case: Product) -> None:
    """NumPy's matmul of object arrays; np.einsum would add one addition a sum."""
    import numpy as np

    calls: Counter[str] = Counter()
    b, i, k, j = case
    x, w = (array(np.ones(shape, dtype=int), calls) for shape in ((b, i, k), (b, k, j)))
    np.matmul(x, w)
    ours = sa.flops("b i k, b k j -> b i j", convention="exact", b=b, i=i, k=k, j=j)
    agree(int(ours), sum(calls.values()), f"matmul of {case}")


_SIZE = st.integers(1, 9)
_FIXED = fixed()

CHECKS = (
    Check(
        "work of a pattern",
        "account(pattern, convention=, order=).counts and .matmul_flops",
        "plain loops over numbers that count their operations",
        flops_agree,
        cases(),
        _FIXED,
        claims=("S25", "S31"),
        proves=("einsum", "conventions"),
    ),
    Check(
        "three operands in one operation",
        "work of an einsum operation with three operands",
        "one loop nest over numbers that count their operations",
        at_once_agrees,
        fixed=tuple(c for c in _FIXED if len(c.spec.operands) > 2 and c.order == "naive"),
        proves=("einsum",),
    ),
    Check(
        "operands with repeated axes",
        "reads of an einsum operation whose operand is expanded",
        "NumPy's strides of a broadcast array",
        repeated_agrees,
        fixed=(
            Repeated((("b", "s", "d"), ("d", "k"), ("b", "s", "k")), ("b",)),
            Repeated((("b", "s", "d"), ("d", "k"), ("b", "s", "k")), ("b", "d")),
            Repeated((("s", "d"), ("d", "k"), ("s", "k")), ()),
        ),
        proves=("einsum",),
    ),
    Check(
        "the loops compute the einsum",
        "values of the counted loops",
        "numpy.einsum on whole numbers",
        values_agree,
        cases(),
        _FIXED,
    ),
    Check(
        "elements moved",
        'account(pattern, order=, traffic=, dtype="int8").bytes',
        "distinct places that plain loops read and write",
        elements_agree,
        cases(),
        fixed(("exact",)),
        proves=("einsum",),
    ),
    Check(
        "bytes in block formats",
        "account(pattern, dtype=mxfp8 | mxfp4 | nvfp4).bytes",
        "rows of what is summed, packed and scaled one by one",
        blocks_agree,
        block_cases(),
        tuple(
            BlockCase(spec, {n: 5 * s for n, s in sizes.items()}, dtype)
            for spec, sizes, *_ in fixed(("exact",))
            if len(spec.operands) <= 2 and all(spec.operands)
            for dtype in BLOCKS
        ),
        proves=("einsum",),
    ),
    Check(
        "matmul of object arrays",
        'flops("b i k, b k j -> b i j", convention="exact")',
        "numpy.matmul over numbers that count their operations",
        objects_agree,
        st.builds(Product, _SIZE, _SIZE, _SIZE, _SIZE),
        (Product(2, 3, 5, 7),),
    ),
)
