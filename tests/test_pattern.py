"""Patterns: what they mean, that whatever einops takes is taken, and what a mistake is told."""

from __future__ import annotations

import copy
import pickle

import einops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import PatternError, UnknownAxisError
from symacct.pattern import parse

NAMES = ("b", "d", "E", "lambda_1", "seq1", "größe", "Batch", "N", "pi")

PARSED = {
    "b d, d k -> b k": ((("b",), ("d",)), (("d",), ("k",))),
    "b s d, d k -> b s k": ((("b",), ("s",), ("d",)), (("d",), ("k",))),
    "i i -> i": ((("i",), ("i",)),),
    "i, j -> i j": ((("i",),), (("j",),)),
    "b (h d) -> b h d": ((("b",), ("h", "d")),),
    "b () 1 -> b": ((("b",), (), ()),),
    "... d, d k -> ... k": ((("batch",), ("d",)), (("d",), ("k",))),
    ", b -> b": ((), (("b",),)),
    "->": ((),),
    "seq_1 head_size_ -> seq_1": ((("seq_1",), ("head_size_",)),),
}


@pytest.mark.parametrize(("text", "operands"), PARSED.items(), ids=list(PARSED))
def test_operands(text, operands):
    assert parse(text).operands == operands
    assert parse(text).text == text


def test_names_come_in_order_of_appearance():
    assert parse("k d, b k -> d b").names == ("k", "d", "b")
    assert parse("(h d) ... b, 1 -> b ... (d h)").names == ("h", "d", "batch", "b")


EQUIVALENT = [
    # spaces, line breaks and arrows
    ("b d, d k -> b k", ("b d,d k->b k", "  b  d ,d k  ->b k  ", "b d, d k →  b k", "b\td, d\nk -> b k")),
    # a name by any other name, to Python: normalised as keyword arguments are
    ("fi d -> fi", ("ﬁ d -> fi", "fi d -> ﬁ")),
    ("μ d -> μ", ("µ d -> μ",)),
    # the unit axis
    ("b 1 d -> b", ("b () d -> b", "1 b d -> b 1", "b d -> b")),
    # one axis in parentheses
    ("(h d) k -> k", ("h d k -> k", "(h d) (k) -> (k)")),
    ("... d -> ...", ("… d -> …", "(...) d -> ...")),
]


@pytest.mark.parametrize(("text", "others"), EQUIVALENT, ids=[e[0] for e in EQUIVALENT])
def test_equivalent_patterns_cost_the_same(text, others):
    expected = sa.account(text, dtype="fp32")
    for other in others:
        account = sa.account(other, dtype="fp32")
        assert account.flops == expected.flops, other
        assert account.bytes == expected.bytes, other


@st.composite
def written_patterns(draw):
    """A valid einops.einsum pattern as text, with sizes."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    operands = draw(st.lists(st.lists(st.sampled_from(names), max_size=3), min_size=1, max_size=4))
    dots = draw(st.booleans())
    used = list(dict.fromkeys(n for operand in operands for n in operand))
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    if dots:
        operands[0].insert(draw(st.integers(0, len(operands[0]))), "...")
        output.insert(draw(st.integers(0, len(output))), "...")
    comma = draw(st.sampled_from((", ", ",", " , ")))
    sizes = {n: draw(st.integers(1, 4)) for n in used}
    return comma.join(map(" ".join, operands)) + draw(st.sampled_from((" -> ", "->"))) + " ".join(output), sizes


@given(written_patterns())
@pytest.mark.filterwarnings("ignore:It is discouraged")
def test_what_einops_runs_is_taken_and_has_the_shape_that_einops_gives(drawn):
    text, sizes = drawn
    shapes = [
        [size for n in part.split() for size in ((2, 3) if n == "..." else (sizes[n],))]
        for part in text.split("->")[0].split(",")
    ]
    result = einops.einsum(*(np.ones(shape, dtype=np.int64) for shape in shapes), text)
    account = sa.account(text, sizes={**sizes, "batch": 6} if "..." in text else sizes)
    *inputs, output = [account.graph.tensors[i] for i in (*account.graph.inputs, *account.graph.outputs)]
    assert [t.numel for t in inputs] == [int(np.prod(shape)) for shape in shapes]
    assert output.numel == result.size
    if "..." not in text:
        assert [t.shape for t in inputs] == [tuple(shape) for shape in shapes]
        assert output.shape == result.shape


words = st.sampled_from(["a", "b", "seq", "x1", "1", "(", ")", "...", ",", "->", "é", "_", "2", "a_b", "A"])


@given(st.lists(words, max_size=8).map(" ".join))
@settings(max_examples=150)
def test_whatever_einops_takes_is_taken(text):
    left = text.partition("->")[0]
    ranks = [sum(2 if w == "..." else w not in "()" for w in part.split()) for part in left.split(",")]
    try:
        result = einops.einsum(*(np.ones((1,) * rank) for rank in ranks), text)
    except Exception:  # noqa: BLE001  # whatever it is, einops does not take the pattern
        return
    if "..." in text.partition("->")[2] and "..." not in left:  # batch axes from nowhere: none at all, in numpy
        with pytest.raises(UnknownAxisError, match="is in no operand"):
            parse(text)
    elif "_" in text.split():  # an axis without a name
        with pytest.raises(PatternError, match="says nothing about its size"):
            parse(text)
    else:
        assert len(parse(text).operands) == len(ranks)
        assert result.shape == (1,) * result.ndim


letters = st.text(alphabet="abIKz", max_size=3)


@given(st.lists(letters, min_size=1, max_size=3), st.data())
@settings(max_examples=60)
def test_numpy_notation_has_the_shapes_of_numpy(operands, data):
    used = sorted(set("".join(operands)))
    output = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, len(used)))]
    sizes = {n: i + 2 for i, n in enumerate(used)}
    text = ",".join(operands) + data.draw(st.sampled_from(("->", " -> "))) + output
    result = np.einsum(text, *(np.ones([sizes[n] for n in operand]) for operand in operands))
    account = sa.account(text, notation="numpy", sizes=sizes)
    assert account.graph.tensors[-1].shape == result.shape
    spaced = sa.account(", ".join(map(" ".join, operands)) + " -> " + " ".join(output), sizes=sizes)
    assert account.flops == spaced.flops
    assert account.bytes == spaced.bytes


def test_numpy_notation_with_an_ellipsis():
    assert sa.flops("...ij,...jk->...ik", notation="numpy") == sa.flops("... i j, ... j k -> ... i k")


def test_the_ellipsis_is_one_axis_with_a_condition():
    pattern = parse("... d, ... d k -> ... k")
    assert pattern.ellipsis == "batch"
    assert pattern.names == ("batch", "d", "k")
    (condition,) = pattern.conditions
    assert "batch" in condition
    assert "none broadcast" in condition


def test_the_ellipsis_takes_a_name_that_is_free():
    assert parse("batch ... d -> ... batch").names == ("batch", "batch_1", "d")
    assert parse("batch batch_1 ... -> ...").ellipsis == "batch_2"
    assert sa.flops("... batch -> ...") == sa.flops("b d -> b", b="batch_1", d="batch")


def test_an_operand_without_ellipsis_has_no_batch_axis():
    assert parse("... d, d k -> ... k").operands[1] == (("d",), ("k",))
    assert sa.bytes("... d, d k -> ... k", dtype="fp32") == sa.bytes("b d, d k -> b k", dtype="fp32", b="batch")


def test_scalars_are_stated():
    assert parse("b d, -> b").conditions == ("operand 2 is a scalar",)
    assert parse("b d -> b").conditions == ()


def test_python_keywords_and_names_of_sympy_are_names():
    for n in ("in", "lambda", "None", "E", "I", "N", "O", "Q", "S", "pi", "beta", "zeta"):
        assert parse(f"{n} d, d k -> {n} k").names == (n, "d", "k")


@pytest.mark.parametrize("text", ["b d, d k -> b k", "... (h d), 1 h -> ...", "->"])
def test_a_pattern_is_a_frozen_value(text):
    pattern = parse(text)
    for twin in (pickle.loads(pickle.dumps(pattern)), copy.copy(pattern), copy.deepcopy(pattern)):  # noqa: S301
        assert twin == pattern
        assert hash(twin) == hash(pattern)
    with pytest.raises(AttributeError):
        pattern.names = ()
    assert parse(text) == pattern
    assert parse(text) != parse("a -> a")
