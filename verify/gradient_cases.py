"""Small operations of every kind that has a gradient, for torch's autograd to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

from symacct.graph import Einsum

INDEX, MASK = "int64", "bool"
Shape = tuple[int, ...]


class Case(NamedTuple):
    """A kind with the shapes of its inputs and its attributes.

    `dtypes` says which inputs are indices below `below`, or masks; `constant` inputs never need a gradient. Only the
    first `results` outputs are anyone's result. `kept` is false where torch has no such operation of its own, and
    `call` is torch's where it is another than the one that runs here. `made` are the operations that the gradients of
    all inputs are made of, where some could be superfluous.
    """

    kind: str
    shapes: tuple[Shape, ...]
    attrs: Mapping[str, Any] = MappingProxyType({})
    dtypes: Mapping[int, str] = MappingProxyType({})
    constant: tuple[int, ...] = ()
    below: int = 5
    kept: bool = True
    results: int | None = None
    call: Callable[..., Any] | None = None
    made: tuple[str, ...] | None = None

    def needs(self) -> Iterator[tuple[bool, ...]]:
        """All ways in which inputs may need a gradient."""
        floats = [i for i in range(len(self.shapes)) if i not in self.dtypes and i not in self.constant]
        for count in range(1, len(floats) + 1):
            for chosen in combinations(floats, count):
                yield tuple(i in chosen for i in range(len(self.shapes)))


X, ROW, COLUMN = (3, 4), (4,), (3, 1)
SIZES = {"a": 3, "b": 4, "c": 5, "d": 2}


def product(pattern: str, made: tuple[str, ...] | None = None, *, nest: bool = False) -> Case:
    left, _, right = pattern.partition("->")
    terms = tuple(tuple(term) for term in left.split(","))
    shapes = tuple(tuple(SIZES[a] for a in term) for term in terms)
    return Case("einsum", shapes, {"einsum": Einsum(terms, tuple(right), SIZES, nest)}, kept=not nest, made=made)


def sliding(kind: str, *shapes: Shape, **changed: Any) -> Case:
    rank = len(changed["stride"])
    usual = {"padding": (0,) * rank, "dilation": (1,) * rank}
    usual |= {"groups": 1} if kind.startswith("conv") else {"kernel": (2,) * rank}
    usual |= {"count_include_pad": True} if kind == "avg_pool" else {}
    return Case(kind, shapes, usual | changed)


def norm(kind: str, width: Shape, given: tuple[str, ...], **attrs: Any) -> Case:
    """A norm of a 3 x 6 x 5 tensor; running statistics never need a gradient."""
    constant = tuple(i for i, n in enumerate(given, 1) if n in ("mean", "var"))
    return Case(kind, ((3, 6, 5), *[width] * len(given)), {"given": given, "eps": 1e-5, **attrs}, constant=constant)


UNARY = ("abs", "erf", "exp", "log", "neg", "relu", "rsqrt", "sigmoid", "sqrt", "square", "tanh", "silu")
AXES: tuple[dict[str, Any], ...] = (
    {"axes": (1,), "keepdims": False},
    {"axes": (0, -1), "keepdims": True},
    {"axes": (0, 1, 2), "keepdims": False},
)
WEIGHT, BOTH, RUNNING = ("weight",), ("weight", "bias"), ("mean", "var")
TRAIN, TEST = ({"training": t, "momentum": 0.1} for t in (True, False))
Q, KV = (2, 6, 5, 4), (2, 2, 7, 4)
PLAIN = {"is_causal": False, "scale": None, "enable_gqa": True, "align": "top-left", "window": None}


def drop(x: Any) -> Any:
    from torch.nn.functional import dropout

    return dropout(x, 0.25)


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


POINTWISE = (
    *(Case(kind, (X,)) for kind in UNARY),
    *(Case("gelu", (X,), {"approximate": a}) for a in ("none", "tanh")),
    Case("pow", (X,), {"exponent": 2}, made=("mul", "mul")),
    *(Case("pow", (X,), {"exponent": p}) for p in (1, 3, 5, 0.5, -0.5)),
    Case("dropout", (X,), {"p": 0.25}, results=1, call=drop, made=("mul",)),
    Case("add", ((3, 1), (3, 1)), made=()),
    Case("add", ((2, 4), (1, 4)), made=("sum", "reshape")),
    *(
        Case(kind, shapes)
        for kind in ("add", "sub", "mul", "div", "maximum", "minimum")
        for shapes in ((X, X), (X, ROW), (COLUMN, ROW), ((), X), ((2, *X), COLUMN))
    ),
    *(
        Case(kind, (X,), {"scalar": 1.25, "side": side})
        for kind in ("add", "sub", "mul", "div", "maximum", "minimum")
        for side in ("left", "right")
    ),
    Case("where", (X, X, ROW), dtypes={0: MASK}),
    Case("where", (COLUMN, X), {"y": 0.0}, {0: MASK}),
    Case("where", ((2, *X), ROW), {"x": 2.5}, {0: MASK}),
    Case("rotary", ((2, 3, 5, 6), (5, 3), (5, 3)), {"interleaved": True, "back": False}, constant=(1, 2)),
    Case("rotary", ((2, 3, 5, 6), (5, 3), (5, 3)), {"interleaved": False, "back": False}, constant=(1, 2)),
)
REDUCED = (
    *(Case(kind, ((2, 3, 4),), a) for kind in ("sum", "mean", "max", "min", "logsumexp") for a in AXES),
    Case("prod", ((2, 3, 4),), {"axes": (1,), "keepdims": False}),
    *(Case(kind, ((2, 3, 4),), {"axis": a}) for kind in ("softmax", "log_softmax") for a in (0, -1)),
    *(norm("layer_norm", (5,), given, axes=1) for given in ((), WEIGHT, BOTH)),
    norm("layer_norm", (6, 5), BOTH, axes=2),
    norm("layer_norm", (5,), BOTH, axes=1)._replace(constant=(0, 1), made=("sum",)),
    *(norm("rms_norm", (5,), given, axes=1) for given in ((), WEIGHT)),
    norm("rms_norm", (6, 5), WEIGHT, axes=2),
    *(norm("group_norm", (6,), given, groups=2) for given in ((), WEIGHT, BOTH)),
    *(norm("batch_norm", (6,), given, **TRAIN) for given in ((), WEIGHT, BOTH, RUNNING, BOTH + RUNNING)),
    *(norm("batch_norm", (6,), given, **TEST) for given in (RUNNING, WEIGHT + RUNNING, BOTH + RUNNING)),
    *(
        Case("nll_loss", shapes, {"reduction": r, "ignore_index": 1}, {1: INDEX})
        for shapes in (((3, 6), (3,)), ((3, 6, 4), (3, 4)), ((6,), ()))
        for r in ("mean", "sum", "none")
    ),
    *(Case("mse_loss", (X, X), {"reduction": r}) for r in ("mean", "sum", "none")),
)
ATTENTION = (
    Case("sdpa", (Q, KV, KV), PLAIN, results=1, call=attend),
    Case("sdpa", (Q, KV, KV, (5, 7)), PLAIN, {3: MASK}, results=1, call=attend),
    Case("sdpa", (Q, KV, KV, (5, 7)), PLAIN, constant=(3,), results=1, call=attend),
)
PRODUCTS = (
    *(
        product(p)
        for p in ("ab,bc->ac", "abc,cd->abd", "bc,acd->ab", "ab,ab->", "a,b->ab", "abc,b->ca", "ab,->ba", "ab,c->bc")
    ),
    *(product(p) for p in ("ab->ba", "abc->b", "abd,abd->ab")),
    product("ab,bc->ac", ("einsum", "einsum")),
    product("ab->ab", ()),
    product("ab,bc,cd->ad", nest=True),
    Case("grouped_matmul", ((7, 4), (3, 4, 5), (7,)), dtypes={2: INDEX}, below=3, kept=False),
    sliding("conv", (2, 4, 7), (6, 2, 3), (6,), stride=(2,), padding=(1,), dilation=(2,), groups=2),
    sliding("conv", (4, 7), (3, 4, 2), stride=(1,)),
    sliding("conv", (2, 3, 7, 6), (4, 3, 3, 2), (4,), stride=(2, 3), padding=(2, 1)),
    sliding("conv", (1, 2, 4, 5, 6), (2, 1, 2, 3, 2), stride=(1, 2, 2), groups=2),
    sliding("conv_transpose", (2, 4, 5), (4, 3, 3), (6,), stride=(2,), padding=(1,), groups=2, sizes=(10,)),
    sliding("conv_transpose", (3, 4, 5), (3, 2, 2, 3), stride=(1, 1), dilation=(2, 1), sizes=(6, 7)),
    sliding("conv_transpose", (1, 2, 3, 2, 2), (2, 2, 2, 2, 2), stride=(2, 2, 2), sizes=(6, 4, 4)),
    Case("adaptive_avg_pool", ((3, 6, 8),), {"sizes": (4, 2)}),
    Case("adaptive_max_pool", ((2, 3, 7, 5),), {"sizes": (3, 7)}),
    sliding("max_pool", (2, 3, 9), stride=(2,), kernel=(3,), padding=(1,)),
    sliding("max_pool", (3, 9, 8), stride=(1, 3), dilation=(2, 1)),
    sliding("avg_pool", (2, 3, 9), stride=(2,), kernel=(3,), padding=(1,)),
    sliding("avg_pool", (3, 9, 8), stride=(2, 1), kernel=(3, 2), padding=(1, 0), count_include_pad=False),
    *(
        Case("linear_recurrence", shapes, {"axis": 1, "method": m, "reverse": reverse}, kept=False)
        for shapes in (((2, 5, 1), (2, 5, 3)), ((2, 2, 3), (2, 2, 3)), ((2, 5, 3), (2, 5, 3), (2, 3)))
        for m in ("sequential", "parallel")
        for reverse in (False, True)
    ),
    Case(
        "linear_recurrence",
        ((2, 1, 3), (2, 1, 3), (2, 3)),
        {"axis": 1, "method": "sequential", "reverse": False},
        kept=False,
        made=("roll", "linear_recurrence", "reshape", "mul", "reshape", "reshape", "mul"),
    ),
    *(Case("associative_scan", ((2, 5),), {"axis": 1, "combine": "add", "reverse": r}) for r in (False, True)),
    Case("cumsum", ((4, 5),), {"axis": 1}),
)
MOVED = (
    Case("top_k", ((4, 5),), {"k": 2, "axis": -1}),
    Case("sort", ((4, 5),), {"axis": 0, "descending": True}),
    Case("embedding", ((5, 4), (2, 3)), dtypes={1: INDEX}),
    Case("embedding_backward", ((2, 3, 4), (2, 3)), {"rows": 5}, {1: INDEX}, kept=False),
    Case("gather", ((3, 5), (3, 2)), {"axis": 1}, {1: INDEX}),
    Case("gather_backward", ((3, 2), (3, 2)), {"axis": -1, "shape": (3, 5)}, {1: INDEX}, kept=False),
    Case("scatter", ((3, 1), (3, 1)), {"axis": 1, "shape": (3, 5)}, {1: INDEX}, kept=False),
    Case("scatter_add", ((3, 5), (3, 2), (3, 2)), {"axis": 1}, {1: INDEX}),
    Case("reshape", ((2, 3, 4),), {"shape": (6, 4)}),
    Case("permute", ((2, 3, 4),), {"axes": (2, 0, 1)}),
    Case("expand", ((3, 1, 4),), {"shape": (2, 3, 5, 4)}),
    Case("slice", ((5, 7),), {"ranges": ((1, 5, 2), (0, 6, 1))}),
    Case("slice_backward", ((2, 6),), {"ranges": ((1, 5, 2), (0, 6, 1)), "shape": (5, 7)}),
    Case("concat", ((2, 3, 4), (2, 5, 4)), {"axis": -2}),
    Case("pad", (X,), {"widths": ((0, 2), (1, 3)), "value": 2.0}),
    Case("flip", (X,), {"axes": (1,)}),
    Case("roll", (X,), {"axes": (0,), "shifts": (2,)}),
    Case("tril", (X,), {"diagonal": 1}),
    Case("triu", (X,), {"diagonal": -1}),
    Case("copy", (X,)),
    Case("cast", (X,), {"dtype": "fp64"}),
    Case("transfer", (X,), {"device": "cpu"}),
)
CASES = (*POINTWISE, *REDUCED, *ATTENTION, *PRODUCTS, *MOVED)
