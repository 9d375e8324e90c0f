"""What an attention moves as one kernel and as several: against the kernels that torch runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.graph import Graph
from verify.check import Check, agree, number
from verify.kernels import bytes_moved
from verify.one_op import one_op

PLAIN = {"is_causal": False, "scale": 1.0, "enable_gqa": False, "align": "top-left", "window": None}
LETTERS = ("bhsd", "bhtd", "bhte")


class Case(NamedTuple):
    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    value_width: int

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip("bhstde", self, strict=True))

    def tensors(self, *letters: str) -> list[Any]:
        import torch

        return [torch.randn([self.sizes[a] for a in axes]) for axes in letters]


def graph_of(kind: str) -> Graph:
    more = ("bhse", *LETTERS, "bhse", "bhs") if kind == "sdpa_backward" else LETTERS
    return one_op(kind, [list(axes) for axes in more], **PLAIN)


def moved(graph: Graph, case: Case, fuse: str) -> Any:
    """Bytes in fp32."""
    account = sa.account(graph, fuse=fuse, dtype="fp32")
    return number(account.total("bytes"), case.sizes)


def one_kernel_agrees(case: Case) -> None:
    """The kernel of a CPU writes the logsumexp of each row too; where nothing reads it, symacct does not count it."""
    import torch

    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    q, k, v = case._replace(value_width=case.width).tensors(*LETTERS)
    theirs = bytes_moved(lambda q, k, v: kernel(q, k, v, 0.0, scale=1.0), q, k, v)
    graph, sizes = graph_of("sdpa"), case._replace(value_width=case.width)
    alone = graph._replace(
        outputs=graph.outputs[:1],
        tensors=tuple(t._replace(role="act") if t.id == graph.outputs[1] else t for t in graph.tensors),
    )
    agree(moved(graph, sizes, "flash"), theirs, f"bytes of one kernel and its logsumexp, {sizes}")
    lse = 4 * case.batch * case.heads * case.queries
    agree(moved(alone, sizes, "flash"), theirs - lse, f"bytes of one kernel, {sizes}")


def three_kernels_agree(case: Case) -> None:
    """A product, a softmax and a product, the scores between them."""
    import torch

    def unfused(q: Any, k: Any, v: Any) -> Any:
        return torch.bmm(torch.softmax(torch.bmm(q, k.mT), -1), v)

    q, k, v = (t.flatten(0, 1) for t in case.tensors(*LETTERS))
    attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)
    torch.testing.assert_close(unfused(q, k, v), attended)
    lse = 4 * case.batch * case.heads * case.queries
    agree(moved(graph_of("sdpa"), case, "none"), bytes_moved(unfused, q, k, v) + lse, f"bytes unfused, {case}")


def gradient_agrees(case: Case) -> None:
    """Five kernels. They read the output's gradient twice, where symacct reads it and the output, for delta, once."""
    import torch

    def unfused(grad: Any, q: Any, k: Any, v: Any, p: Any) -> Any:
        dv, dp = torch.bmm(p.mT, grad), torch.bmm(grad, v.mT)
        ds = torch._softmax_backward_data(dp, p, -1, p.dtype)
        return torch.bmm(ds, k), torch.bmm(ds.mT, q), dv

    q, k, v, grad = (t.flatten(0, 1).requires_grad_() for t in case.tensors(*LETTERS, "bhse"))
    p = torch.softmax(q @ k.mT, -1)
    wanted = torch.autograd.grad(p @ v, (q, k, v), grad)
    given = [t.detach() for t in (grad, q, k, v, p)]
    for ours, theirs in zip(unfused(*given), wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
    lse = 4 * case.batch * case.heads * case.queries
    theirs = bytes_moved(unfused, *given)
    agree(moved(graph_of("sdpa_backward"), case, "none"), theirs + lse, f"bytes of the gradient unfused, {case}")


_CASES = st.builds(Case, *(st.integers(1, most) for most in (3, 3, 6, 6, 5, 5)))
_FIXED = (Case(2, 3, 4, 5, 6, 7), Case(3, 2, 7, 4, 2, 5))
_BOTH = ("sdpa", "sdpa_backward")

CHECKS = (
    Check(
        "one kernel",
        'account(fuse="flash").bytes',
        "torch's attention kernel",
        one_kernel_agrees,
        _CASES,
        _FIXED,
        proves=("sdpa",),
        needs=("torch",),
        share=0.1,
    ),
    Check(
        "three kernels",
        "account(...).bytes of an attention",
        "torch's kernels for two products and a softmax",
        three_kernels_agree,
        _CASES,
        _FIXED,
        proves=("sdpa",),
        needs=("torch",),
        share=0.1,
    ),
    Check(
        "kernels of the gradient",
        "account(...).bytes of the gradient of an attention",
        "torch's kernels for four products and the gradient of a softmax",
        gradient_agrees,
        _CASES,
        _FIXED,
        proves=("sdpa_backward",),
        needs=("torch",),
        share=0.1,
    ),
)
