"""The products of a graph: what each multiplies, how often it runs, and which of its gradients are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from symacct.accounting import Account
from symacct.accounting.steps import counts_of, dearest_branch, one_unit
from symacct.backward import needing
from symacct.backward.needs import Needs, by_turn, is_float, wants
from symacct.conventions import Convention, matmul_work
from symacct.expr import Expr, multiply
from symacct.graph import Graph, Op
from symacct.rules import rule_of

Roots = frozenset[int]
"""The parameters that a tensor is made of, where it is made of nothing else."""


class Product(NamedTuple):
    """An operation that multiplies: its operations forward, and of a weight its elements and parameters.

    `passed` are how many gradients it has of what is no weight, `trained` how many of weights.
    """

    flops: Expr
    weight: Expr
    roots: Roots
    passed: int
    trained: int
    others: int


class Contraction(NamedTuple):
    """A product of a training step as a pattern, the axes that it sums over, and its operations."""

    phase: str
    pattern: str
    sums: tuple[str, ...]
    flops: Expr


def contractions(account: Account) -> tuple[Contraction, ...]:
    """Return the products of a graph that are patterns, in the order in which they run."""
    out = []
    for op, graph, times, _ in account.runs:
        work = matmul_work(rule_of(op).work(op, graph))
        if op.einsum is not None and work:
            axes = dict.fromkeys(a for operand in op.einsum.operands for a in operand)
            sums = tuple(a for a in axes if a not in op.einsum.output)
            amount = multiply(times, one_unit(counts_of([work], account.convention), account.convention))
            out.append(Contraction(op.phase, op.einsum.text(), sums, amount))
    return tuple(out)


class Products(NamedTuple):
    """Goes through the products of a graph, those inside repeats and branches too."""

    convention: Convention

    def of(self, graph: Graph, needed: Needs, roots: Mapping[int, Roots], times: Expr = 1) -> Iterator[Product]:
        """Yield the products; `roots` are those of the inputs, `times` is how often the graph runs."""
        needs, known = needing(graph, needed), dict(roots)
        for op in graph.ops:
            wanted = wants(op, needs)
            if op.kind == "repeat":
                yield from self._of_repeat(op, wanted, known, times)
            elif op.kind == "cond":
                branch = dearest_branch(op, self.convention)
                yield from self.of(branch, wanted[1:], _given(branch, op.inputs[1:], known), times)
            else:
                made = [known.get(i, Roots()) for i in op.inputs]
                if made and all(made):
                    known.update(dict.fromkeys(op.outputs, Roots().union(*made)))
                yield from self._of_op(op, graph, wanted, known, times)

    def _of_repeat(self, op: Op, wanted: Needs, roots: Mapping[int, Roots], times: Expr) -> Iterator[Product]:
        n, carry, body = op.attrs["n"], op.attrs["carry"], op.attrs["body"]
        inside = _given(body, [-1] * carry + list(op.inputs[carry:]), roots)
        *first, steady = by_turn(op, wanted)
        first = first[:n] if type(n) is int else first
        for needs, turns in (*((needs, 1) for needs in first), (steady, n - len(first))):
            yield from self.of(body, needs + wanted[carry:], inside, multiply(times, turns))

    def _of_op(self, op: Op, graph: Graph, wanted: Needs, roots: Mapping[int, Roots], times: Expr) -> Iterator[Product]:
        """Yield an operation that sums products of two tensors."""
        operands = [place for place, i in enumerate(op.inputs) if is_float(graph.tensors[i])]
        work = matmul_work(rule_of(op).work(op, graph))
        forward = one_unit(counts_of([work], self.convention), self.convention)
        if forward == 0 or len(operands) != 2:
            return
        flops = multiply(times, forward)
        weights = [place for place in operands if op.inputs[place] in roots]
        if not weights:
            yield Product(flops, 0, Roots(), sum(wanted), 0, 2)
        elif len(weights) == 1:
            (at,) = weights
            trained = int(wanted[at])
            weight = multiply(times, graph.tensors[op.inputs[at]].numel)
            yield Product(flops, weight, roots[op.inputs[at]], sum(wanted) - trained, trained, 1)


def _given(graph: Graph, outside: Sequence[int], roots: Mapping[int, Roots]) -> dict[int, Roots]:
    return {i: roots[o] for i, o in zip(graph.inputs, outside, strict=True) if o in roots}
