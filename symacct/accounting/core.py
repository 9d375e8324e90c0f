"""The account of a graph: its totals as closed forms, under a convention, formats and a notion of traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symacct.accounting import numbers, render, steps, tables
from symacct.accounting.compulsory import compulsory_terms
from symacct.accounting.costs import Formats, Fuse, Layout, gathered
from symacct.accounting.gradients import Gradients
from symacct.accounting.on_devices import OnDevices
from symacct.accounting.quantity import Figures
from symacct.accounting.questions import Questions
from symacct.accounting.steps import Step, Term, Traffic
from symacct.accounting.totals import total_of, unit_of
from symacct.accounting.walk import Visit, conditions_of, names_of
from symacct.conventions import Convention, Unit, Work
from symacct.dtypes import AnyFormat
from symacct.einsum import Products
from symacct.expr import Expr, Sympy, to_sympy
from symacct.graph import Condition, Graph
from symacct.rules import rule_of

TRAFFICS = ("unfused", "compulsory")
LAYOUTS = ("ideal", "torch")
NO_GRAPH = Graph((), (), (), ())
FUSES = ("none", "pointwise", "flash", "pointwise+flash")


@dataclass(frozen=True, repr=False, init=False)
class Account(Questions, Gradients, OnDevices):
    """What a computation costs, as closed forms in named sizes; made by `symacct.account`.

    Attributes
    ----------
    source
        What is computed: a graph, or the products of a pattern.
    convention
        How operations are counted.
    dtypes
        The storage format of tensors, where one is not pinned to its own.
    traffic
        ``"unfused"``: every operation reads what it uses of its inputs and writes its output once;
        ``"compulsory"``: only what is used of the graph's inputs, and its outputs, once: of the whole, of no operation.
    layout
        ``"ideal"``: views move nothing and nothing is copied to be laid out; ``"torch"``: with such copies.
    fuse
        ``"none"``: a kernel an operation, and three an attention, between which scores are written and read;
        ``"pointwise"``: neighbours that work element by element share one; ``"flash"``: an attention is one;
        ``"pointwise+flash"``: both.

    Examples
    --------
    >>> import symacct as sa
    >>> a = sa.account("b d, d k -> b k")
    >>> a.flops, a.bytes, a.intensity
    (2*b*d*k, 2*b*d + 2*b*k + 2*d*k, b*d*k/(b*d + b*k + d*k))

    """

    source: Graph | Products = field(hash=False)
    convention: Convention
    dtypes: Formats
    traffic: Traffic
    title: str
    order: str
    layout: Layout
    fuse: Fuse
    gradients: str
    """Of a backward pass: what gets a gradient, and why."""
    _totals: dict[str, Expr] = field(init=False, compare=False)

    def __init__(  # noqa: PLR0917 # the fields
        self,
        source: Graph | Products,
        convention: Convention,
        dtypes: Formats,
        traffic: Traffic = "unfused",
        title: str = "",
        order: str = "left",
        layout: Layout = "ideal",
        fuse: Fuse = "none",
        gradients: str = "",
    ) -> None:
        """Keep what an account depends on; all at once, since setting frozen fields one by one is slow."""
        vars(self).update(
            source=source,
            convention=convention,
            dtypes=dtypes,
            traffic=traffic,
            title=title,
            order=order,
            layout=layout,
            fuse=fuse,
            gradients=gradients,
            _totals={},
        )

    @cached_property
    def graph(self) -> Graph:
        """What is computed, as a graph."""
        return self.source.graph() if isinstance(self.source, Products) else self.source

    @cached_property
    def runs(self) -> list[Visit]:
        """The operations, each with its graph and how often it runs; bodies of repeats once."""
        return steps.runs_of(self.graph, self.convention)

    @cached_property
    def alike(self) -> list[Visit]:
        """The operations, those that are alike together: totals need no more."""
        return gathered(self.runs, self.dtypes)

    @property
    def works(self) -> list[Work]:
        """The work of the operations, times how often they run; of those that are alike together."""
        if isinstance(self.source, Products):  # the work of an einsum asks nothing of the graph
            return [rule_of(op).work(op, NO_GRAPH) for op in self.source.ops]
        return steps.works_of(self.alike)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The operations, each with its own work and unfused traffic."""
        return steps.steps_of(self.runs, self.dtypes, self.layout, self.fuse)

    @property
    def formats(self) -> tuple[AnyFormat, ...]:
        """The storage format of each tensor of the graph."""
        return tuple(self.dtypes.of(t, self.graph) for t in self.graph.tensors)

    @cached_property
    def counts(self) -> dict[Unit, Expr]:
        """The amount of work in each unit; MACs and operations are never added up."""
        return steps.counts_of(self.works, self.convention)

    def unit(self, quantity: str) -> str:
        """Return the unit of a quantity: FLOP or MAC, B, and their ratio."""
        return unit_of(self, quantity)

    def total(self, quantity: str) -> Expr:
        """Return a total as an exact expression of the engine: flops, matmul_flops, bytes, intensity or params.

        Raises
        ------
        MixedUnitsError
            Under ``mac``, where the work has both multiply-accumulates and other operations.
        ConventionError
            For an unknown quantity.

        """
        found = self._totals.get(quantity)
        if found is None:
            found = self._totals[quantity] = total_of(self, quantity)
        return found

    def traffic_terms(self) -> list[Term]:
        """Return the bytes by tensor and direction, as the chosen notion of traffic counts them."""
        if self.traffic == "compulsory":
            return compulsory_terms(self.graph, self.dtypes)
        return steps.unfused_terms(self.steps)

    @property
    def flops(self) -> Sympy:
        """Everything executed, under the convention; in MACs under ``mac``."""
        return to_sympy(self.total("flops"))

    @property
    def matmul_flops(self) -> Sympy:
        """Contractions only: what MFU and 6ND speak of."""
        return to_sympy(self.total("matmul_flops"))

    @property
    def bytes(self) -> Sympy:
        """Bytes moved, by the account's notion of traffic."""
        return to_sympy(self.total("bytes"))

    @property
    def intensity(self) -> Sympy:
        """Arithmetic intensity, ``flops / bytes``."""
        return to_sympy(self.total("intensity"))

    @property
    def params(self) -> Sympy:
        """The number of parameters: the elements of the arguments that `params=` named, each tensor once.

        Raises
        ------
        GraphError
            If none was named.

        Examples
        --------
        >>> import symacct as sa
        >>> def linear(x: "b d", w: "d k", bias: "k"):
        ...     return x @ w + bias
        >>> sa.account(linear, params=["w", "bias"]).params
        k*(d + 1)

        """
        return to_sympy(self.total("params"))

    def by(self, group: str | Callable[[Step], str]) -> tables.Breakdown:
        """Return the account in parts: by ``"op"``, ``"kind"``, ``"scope"``, ``"family"`` or ``"phase"``.

        Or by a function of a `Step` (``lambda step: "core" if "t" in step.label else "rest"``) that names its part.

        Examples
        --------
        >>> import symacct as sa
        >>> def layer(x: "b d", w: "d k"):
        ...     return sa.relu(x @ w)
        >>> print(sa.account(layer).by("family"))
         family        flops     bytes
         contraction   2*b*d*k   2*(b*d + b*k + d*k)
         pointwise     b*k       4*b*k

        """
        return tables.breakdown(self, group)

    @cached_property
    def free(self) -> dict[str, Expr]:
        """What executes no operation (views, casts, lookups): how often each kind runs."""
        return tables.free_kinds(self)

    @cached_property
    def uncounted(self) -> dict[str, Expr]:
        """What has no rule and is passed over: how often each runs. A total with any is partial."""
        return tables.uncounted_names(self)

    @cached_property
    def branches(self) -> tables.Branches:
        """Every branch of every conditional, with what it costs by itself; totals count the dearest.

        Examples
        --------
        >>> import symacct as sa
        >>> def layer(p: "", x: "n n"):
        ...     return sa.cond(p > 0, lambda x: x @ x, lambda x: x @ x @ x, x)
        >>> print(sa.account(layer).branches)
         branch   runs     flops    bytes     counted
         1.1      1        2*n**3   6*n**2    no
         1.2      1        4*n**3   12*n**2   yes

        """
        return tables.branches(self)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must hold for the forms to be true."""
        return conditions_of(self.graph, self.convention)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes that are still names, in alphabetical order."""
        return names_of(self.graph)

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> Figures:
        """Return the numbers at given sizes, with units.

        Raises
        ------
        UndefinedSizeError
            Names the sizes that are missing.
        SizeError
            For a size that is no positive integer, or that breaks a condition such as ``2 divides k``.

        Examples
        --------
        >>> import symacct as sa
        >>> print(sa.account("b d, d k -> b k").at(b=1024, d=256, k=64))
        flops         33.554 MFLOP
        matmul_flops  33.554 MFLOP
        bytes         688.128 kB (672.000 KiB)
        intensity     48.7619 FLOP/B
        under         2n, bf16, unfused

        """
        return numbers.figures(self, sizes, axes)

    def latex(self) -> str:
        """Return the totals as a LaTeX block."""
        return render.latex(self)

    def to_json(self) -> dict[str, Any]:
        """Return the account as JSON-able data with stable keys; expressions as text, srepr and symbols."""
        return render.account_json(self)

    def __str__(self) -> str:
        """Print the account as a table of at most 80 columns."""
        return render.account_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the account in a notebook."""
        return render.account_html(self)
