"""6PT, six operations a parameter and token, beside what a step of training multiplies: the difference by name.

A product of w with x visits each element of w once a token: 2 operations forward, 2 for the gradient of x and 2 for
that of w. So 6PT is exact where every parameter meets every token in one product and both sides need a gradient. What
differs is named, each with its sign:

    products of activations             +6 operations a point: attention, which has no parameters
    products of what P leaves out       +6 a point: a head, where P is told to leave it out
    tables that are looked up           -6T a parameter
    biases, norms: in no product        -6T a parameter
    inputs that need no gradient        -2 a point: the first product of a network
    weights that need no gradient       -2 a point: frozen ones
    weights used more or less often     +6 a point more than T: shared weights, products on fewer rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import concrete
from symacct.accounting.steps import counts_of, one_unit
from symacct.conventions import matmul_work
from symacct.errors import ConventionError, InconclusiveError, UnknownAxisError, nearest, one_of
from symacct.expr import (
    Expr,
    Sympy,
    add,
    as_size,
    collect_sizes,
    divide,
    evaluate,
    multiply,
    to_json,
    to_sympy,
    to_text,
)
from symacct.graph import Graph
from symacct.show import table
from symacct.training.products import Product, Products, Roots

if TYPE_CHECKING:
    from symacct.training.step import Training

ACTIVATIONS = "products of activations"
HEAD = "products of what P leaves out"
LOOKED_UP = "tables that are looked up"
UNUSED = "biases, norms: in no product"
INPUTS = "inputs that need no gradient"
FROZEN = "weights that need no gradient"
OFTEN = "weights used more or less often"
OTHER = "other products"


@dataclass(frozen=True, repr=False)
class RuleOfThumb:
    """6PT and the exact count, which differ by the sum of `parts`; made by `Training.rule_of_thumb`."""

    training: Training
    p: Expr
    t: Expr
    named: Mapping[str, Expr]

    @property
    def parameters(self) -> Sympy:
        """The number P of parameters that the rule counts."""
        return to_sympy(self.p)

    @property
    def tokens(self) -> Sympy:
        """The number T of tokens."""
        return to_sympy(self.t)

    @property
    def rule(self) -> Sympy:
        """``6*P*T``."""
        return to_sympy(self.six_p_t)

    @property
    def exact(self) -> Sympy:
        """The operations of all products, forward and backward."""
        return self.training.matmul_flops

    @property
    def difference(self) -> Sympy:
        """What the rule leaves out: ``exact - 6*P*T``, the sum of the parts."""
        return to_sympy(add(self.named.values()))

    @property
    def parts(self) -> dict[str, Sympy]:
        """What the rule leaves out, by name."""
        return {name: to_sympy(amount) for name, amount in self.named.items()}

    @property
    def per_token(self) -> dict[str, Sympy]:
        """What the rule leaves out of a token, by name: ``12*L*h*k*s`` of attention."""
        return {name: to_sympy(divide(amount, self.t)) for name, amount in self.named.items()}

    @property
    def six_p_t(self) -> Expr:
        """The rule as an expression of the engine."""
        return multiply(6, multiply(self.p, self.t))

    def shares(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> dict[str, Fraction]:
        """Return the rule and each part as shares of the exact count at given sizes."""
        account = self.training.account
        given = concrete(account, collect_sizes(sizes, axes, account.names))
        exact = Fraction(evaluate(self.training.total.total("matmul_flops"), given))
        rows = {"6PT": self.six_p_t, **self.named}
        return {name: Fraction(evaluate(amount, given)) / exact for name, amount in rows.items()}

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON-able data with stable keys."""
        return {
            "parameters": to_json(self.p),
            "tokens": to_json(self.t),
            "rule": to_json(self.six_p_t),
            "exact": to_json(self.training.total.total("matmul_flops")),
            "difference": to_json(add(self.named.values())),
            "parts": {name: to_json(amount) for name, amount in self.named.items()},
        }

    def __str__(self) -> str:
        """Print rule, parts and sum, and what is beside them."""
        exact = self.training.total.total("matmul_flops")
        rows = [
            ["P, the parameters", to_text(self.p)],
            ["T, the tokens", to_text(self.t)],
            ["6PT (also called 6ND)", to_text(self.six_p_t)],
            *([name, to_text(amount)] for name, amount in self.named.items()),
            ["exact, of all products", to_text(exact)],
        ]
        if len(self.training.total.counts) == 1:
            beside = add((self.training.total.total("flops"), multiply(-1, exact)))
            rows.append(["beside it, in no product", to_text(beside)])
        return table(["training step", "FLOP"], rows)

    __repr__ = __str__


def rule_of_thumb(training: Training, tokens: Any = None, without: Sequence[str] | str = ()) -> RuleOfThumb:
    """Return 6PT beside the exact count; see `Training.rule_of_thumb`."""
    account, graph = training.account, training.account.graph
    convention = account.convention
    if convention.contraction != "2n":
        msg = f"6PT counts two operations a product and sum, which is 2n; this account counts by {convention.label}"
        raise ConventionError(msg)
    params = [i for i in graph.inputs if graph.tensors[i].role == "param"] or list(training.gradients)
    left_out = _left_out(graph, params, without)
    needed = tuple(i in training.gradients for i in graph.inputs)
    found = list(Products(convention).of(graph, needed, {i: Roots([i]) for i in params}))
    weighted = [p for p in found if p.roots]
    per_token = _tokens(weighted, tokens)
    counted = [p for p in weighted if not p.roots <= left_out]
    numel = {i: graph.tensors[i].numel for i in params if i not in left_out}
    used = {i for p in counted for i in p.roots} & numel.keys()
    tables = _looked_up(graph)
    unused = {LOOKED_UP: tables & (numel.keys() - used), UNUSED: numel.keys() - used - tables}
    parts = {
        ACTIVATIONS: add((_kernels(training), *(multiply(p.flops, 1 + p.passed) for p in found if not p.roots))),
        HEAD: add(multiply(3, p.flops) for p in weighted if p.roots <= left_out),
        **{name: multiply(-6, multiply(per_token, add(numel[i] for i in ids))) for name, ids in unused.items()},
        INPUTS: add(multiply(-1, p.flops) for p in weighted for _ in range(p.others - p.passed)),
        FROZEN: add(multiply(-1, p.flops) for p in weighted if not p.trained),
        OFTEN: add(
            (
                add(multiply(3, p.flops) for p in counted),
                multiply(-6, multiply(per_token, add(numel[i] for i in used))),
            )
        ),
    }
    total = add(numel.values())
    rest = [training.total.total("matmul_flops"), multiply(-6, multiply(total, per_token))]
    parts[OTHER] = add((*rest, *(multiply(-1, amount) for amount in parts.values())))
    return RuleOfThumb(training, total, per_token, {name: amount for name, amount in parts.items() if amount != 0})


def _looked_up(graph: Graph) -> set[int]:
    """Return the tensors of which rows are looked up, or views of them, also inside repeats and branches."""
    found: set[int] = set()
    for op in graph.ops:
        read = op.inputs[:1] if op.kind in ("embedding", "gather") else ()
        for part in op.parts:
            inside = _looked_up(part)
            shared = op.inputs[-len(part.inputs) :]  # of a conditional without the first, which decides
            read += tuple([i for i, given in zip(shared, part.inputs, strict=True) if given in inside])
        found |= {graph.tensors[i].owner for i in read}
    return found


def _left_out(graph: Graph, params: Sequence[int], without: Sequence[str] | str) -> Roots:
    """Return the parameters that P leaves out.

    Raises
    ------
    UnknownAxisError
        For a name of no parameter.

    """
    names = without.replace(",", " ").split() if isinstance(without, str) else without
    called = {graph.tensors[i].name: i for i in params}
    if unknown := [n for n in names if n not in called]:
        msg = f"no parameter {unknown[0]!r} to leave out; the parameters are {one_of(called)}"
        raise UnknownAxisError(f"{msg}.{nearest(unknown[0], called)}")
    return Roots(called[n] for n in names)


def _kernels(training: Training) -> Expr:
    """Return the products inside attention kernels, forward and backward."""
    convention = training.account.convention
    works = [matmul_work(s.work) for s in training.total.steps if s.kind.startswith("sdpa")]
    return one_unit(counts_of(works, convention), convention)


def _tokens(products: list[Product], given: Any) -> Expr:
    """Return the number of tokens: how often products use each element of their weights.

    Raises
    ------
    InconclusiveError
        Where they do not agree, and where there are none.

    """
    if given is not None:
        return as_size(given, "tokens")
    rows = list(dict.fromkeys(divide(p.flops, multiply(2, p.weight)) for p in products))
    if len(rows) == 1:
        return rows[0]
    msg = f"which rows are the tokens? products use their weights {one_of(map(to_text, rows))} times"
    told = msg if rows else "no product has a parameter, so there are no tokens to count"
    raise InconclusiveError(f"{told}; give tokens=...")
