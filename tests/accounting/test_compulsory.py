"""What is used of inputs, by hand and by the addresses that are read: slices, rows, bodies, branches, views."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import einops
import pytest

import symacct as sa
from symacct.errors import ConventionError
from symacct.expr import add, evaluate
from symacct.plot.bounds import figures

UNUSED = {"dtype": "int8", "traffic": "compulsory"}


def step(_h, x):
    return x[0] * 2


CASES = {
    "rows that are looked up": (sa.embedding, {"index": "b s", "weight": "v d"}, "8*b*s + b*s*d + b*s*d"),
    "rows of a table that is read too": (
        lambda i, w: sa.embedding(i, w) @ w.T,
        {"i": "b s", "w": "v d"},
        "8*b*s + v*d + b*s*v",
    ),
    "one table, looked up twice alike": (
        lambda i, w: sa.embedding(i, w) + sa.embedding(i, w),
        {"i": "s", "w": "v d"},
        "8*s + s*d + s*d",
    ),
    "one table, looked up by two": (
        lambda i, j, w: sa.embedding(i, w) + sa.embedding(j, w),
        {"i": "s", "j": "s", "w": "v d"},
        "16*s + 2*s*d + s*d",
    ),
    "more rows than there are": (sa.embedding, {"index": "9 s", "weight": "5 d"}, "72*s + 5*d + 9*s*d"),
    "no more than all": (sa.embedding, {"index": "9", "weight": "5 d"}, "72 + 5*d + 9*d"),
    "elements": (lambda x, i: sa.gather(x, i, axis=1), {"x": "b n", "i": "b 2"}, "16*b + 2*b + 2*b"),
    "a slice": (lambda x: x[:, :3] * 2, {"x": "b n"}, "3*b + 3*b"),
    "slices that overlap": (lambda x: x[:-2] + x[1:-1], {"x": "n d"}, "(n - 1)*d + (n - 2)*d"),
    "slices apart": (lambda x: x[:2] + x[5:7], {"x": "9 d"}, "4*d + 2*d"),
    "slices that are all": (lambda x: x[:4] + x[4:], {"x": "8 d"}, "8*d + 4*d"),
    "a diagonal": (lambda x: einops.einsum(x, "i i -> i"), {"x": "n n"}, "2*n"),
    "an input that nothing uses": (lambda x, _y: x + 1, {"x": "n", "_y": "n"}, "2*n"),
    "a view": (lambda x: x.T, {"x": "n d"}, "0"),
    "one output twice": (lambda x: ((y := x + 1), y.T), {"x": "n d"}, "2*n*d"),
    "a part of what is made": (lambda x: (x + 1)[:, 0], {"x": "n d"}, "n*d + n"),
    "stacked and shared": (
        lambda x, w, v: sa.repeat("L", lambda h, w, v: h @ w + v, x, xs=w, consts=v),
        {"x": "b d", "w": "L d d", "v": "d"},
        "2*b*d + L*d*d + d",
    ),
    "a part of what is stacked": (
        lambda x, h: sa.repeat("L", step, h, xs=x),
        {"x": "L 3 d", "h": "d"},
        "L*d + d",
    ),
    "the dearer branch": (
        lambda p, x: sa.cond(p > 0, lambda x: x[0] + 1, lambda x: x[0] * x[1], x),
        {"p": "", "x": "4 n"},
        "1 + 2*n + n",
    ),
}


@pytest.mark.parametrize(("fn", "shapes", "form"), CASES.values(), ids=CASES)
def test_forms_by_hand(fn, shapes, form):
    made = sa.account(fn, **shapes, **UNUSED)
    assert sa.same(made.bytes, form)
    assert not made.traffic_terms() or sum((e for _, e in made.traffic_terms()), 0) == made.total("bytes")


SLICES = [(0, 4), (1, 5), (2, 3), (4, 9), (5, 9), (7, 9), (0, 9), (3, 8)]


@pytest.mark.parametrize("seed", range(40))
def test_slices_are_the_addresses_that_are_read(seed):
    """Along one axis; read by one kernel, and by several."""
    rng = random.Random(seed)  # noqa: S311
    spans = rng.sample(SLICES, rng.randint(1, 4))

    def layer(x: "9 3"):
        return sum(x[a:b].sum() for a, b in spans)

    addresses = set(itertools.chain(*(range(a, b) for a, b in spans)))
    least, fused = sa.account(layer, **UNUSED), sa.account(layer, dtype="int8", fuse="pointwise")
    assert least.bytes == fused.bytes == 3 * len(addresses) + 1


@pytest.mark.parametrize("seed", range(30))
def test_slices_of_several_axes_and_with_steps_are_the_places_that_are_read(seed):
    """The batch, whose size is a name, is not cut."""
    rng = random.Random(seed)  # noqa: S311
    cuts = [tuple(slice(rng.randint(0, 4), rng.randint(5, 7), rng.randint(1, 3)) for _ in "ij") for _ in range(3)]

    def layer(x: "b 7 7"):
        return sum(x[:, rows, columns].sum() for rows, columns in cuts)

    places = {at for cut in cuts for at in itertools.product(*(range(7)[c] for c in cut))}
    assert sa.same(sa.account(layer, **UNUSED).bytes, f"{len(places)}*b + 1")


def test_slices_of_two_axes_in_names_are_summed_but_never_more_than_all():
    def layer(x: "m n"):
        return x[:3].sum() + x[:, :3].sum()

    assert sa.same(sa.account(layer, **UNUSED).bytes, "3*m + 3*n + 1"), "an upper bound: 9 elements are in both"

    def more(x: "m 2"):
        return x[1:].sum() + x[:, 1:].sum() + x[:, :1].sum()

    assert sa.same(sa.account(more, **UNUSED).bytes, "2*m + 1")


STRIDED = {
    "a convolution of single taps": (lambda x, w: sa.conv2d(x, w[:, :, :1, :1], stride=2), (2, 1, 0, 1)),
    "taps further apart than windows": (lambda x, w: sa.conv2d(x, w, stride=4, dilation=2), (4, 3, 0, 2)),
    "padding": (lambda x, w: sa.conv2d(x, w, stride=4, padding=2), (4, 3, 2, 1)),
    "the largest": (lambda x: sa.max_pool2d(x, 2, stride=3), (3, 2, 0, 1)),
    "the largest, apart": (lambda x: sa.max_pool2d(x, 2, stride=3, dilation=2), (3, 2, 0, 2)),
    "a mean": (lambda x: sa.avg_pool2d(x, 2, stride=5, padding=1), (5, 2, 1, 1)),
    "a slice": (lambda x: x[:, :, ::3, ::3] * 2, (3, 1, 0, 1)),
}


@pytest.mark.parametrize("n", [7, 8, 9, 10, 11])
@pytest.mark.parametrize("what", STRIDED)
def test_what_no_window_sees_is_not_read(what, n):
    """Elements marked by a plain loop over windows and taps; also as a form in a size that has a name."""
    fn, (stride, kernel, padding, dilation) = STRIDED[what]
    seen = set()
    for start in range(-padding, n + padding - dilation * (kernel - 1), stride):
        seen |= {start + j * dilation for j in range(kernel)} & set(range(n))
    shapes = {"x": "b 3 n n", **({"w": "4 3 3 3"} if "w" in fn.__code__.co_varnames else {})}
    for sizes in ({"n": n}, {}):
        made = sa.account(fn, **shapes, sizes=sizes, **UNUSED)
        (read,) = (amount for name, amount in made.traffic_terms() if name == "x read")
        assert evaluate(read, {"b": 5, "n": n}) == 15 * len(seen) ** 2


def test_two_that_slide_alike_read_the_same():
    def layer(x: "b 3 9", w: "4 3 1", v: "5 3 1"):
        return sa.conv1d(x, w, stride=2).sum() + sa.conv1d(x, v, stride=2).sum()

    assert sa.same(sa.account(layer, **UNUSED).bytes, "3*5*b + 12 + 15 + 1")


def test_a_window_reads_its_keys_alone():
    """A step of decoding through a window of w keys; as three kernels all of them are scored."""

    def step(q: "h 1 d", k: "h t d", v: "h t d"):
        return sa.scaled_dot_product_attention(q, k, v, is_causal=True, window=8, align="bottom-right")

    assert sa.same(sa.account(step, t=100, **UNUSED).bytes, "2*h*d + 2*8*h*d")
    assert sa.same(sa.account(step, t=100, dtype="int8", fuse="flash").bytes, "2*h*d + 2*8*h*d")
    assert sa.same(sa.account(step, t=100, dtype="int8").bytes, "2*h*d + 2*100*h*d + 4*100*h")


def test_a_slice_of_a_transposed_square_is_another_part():
    def layer(x: "n n"):
        return x[:2].sum() + x.T[:2].sum() + x[2:4].sum()

    assert sa.same(sa.account(layer, n=9, **UNUSED).bytes, "2*9 + 2*9 + 2*9 + 1")


def chain(x: "b d", w: "d k", v: "k m"):
    return sa.relu(x @ w) @ v


WHOLE = sa.account(chain, params=["w", "v"], traffic="compulsory")
AT = {"b": 2, "d": 3, "k": 5, "m": 7}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: WHOLE.by("kind").parts[0].bytes,
        lambda: WHOLE.by("op").shares("bytes", sizes=AT),
        lambda: WHOLE.by("family").top(1, "bytes", **AT),
        lambda: WHOLE.crossovers("b", by="kind"),
        lambda: WHOLE.regimes("b", by="op", sizes={n: AT[n] for n in "dkm"}),
        lambda: WHOLE.roofline("h100"),
        lambda: WHOLE.mfu_bound("h100", sizes=AT),
        lambda: figures(WHOLE, WHOLE.graph, AT, 295),
    ],
)
def test_compulsory_bytes_are_of_no_operation(ask):
    with pytest.raises(ConventionError, match=r"none of its operations; .*traffic='unfused'"):
        ask()


def test_by_tensor_they_add_up():
    assert add(amount for _, amount in WHOLE.traffic_terms()) == WHOLE.total("bytes")
    assert {c.first for c in WHOLE.crossovers("b")} == {"x read", "w read", "v read"}
    assert WHOLE.by("kind").shares(sizes=AT)["relu"] == Fraction(10, 60 + 10 + 140)
    data = WHOLE.to_json()
    assert [step["bytes"] for step in data["steps"]] == [None] * 3
    assert {n: x["text"] for n, x in data["moved"].items()}["v read"] == "2*k*m"
    assert "bytes" not in str(WHOLE.by("kind"))
    shown = str(WHOLE)
    assert "once, of all steps" in shown
    unfused = sa.account(chain, params=["w", "v"])
    assert unfused.to_json()["moved"] is None
    assert "bytes" in str(unfused.by("kind"))


def test_of_one_operation_they_are_its_own():
    one = sa.account("b d, d k -> b k", traffic="compulsory")
    assert one.by("op").parts[0].bytes == one.total("bytes")
    assert one.roofline("h100").at(b=4, d=4, k=4)


def test_phases_of_a_step_do_not_add_up_and_that_is_said():
    assert "these do not add up" in " ".join(str(WHOLE.training()).split())
    assert "add up" not in str(sa.account(chain, params=["w", "v"]).training())
