"""What moves elements: values, shapes and layout against torch, traffic, gradients against autograd, errors."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import DtypeError, GraphError, ShapeError, SizeError
from symacct.expr import evaluate, name
from symacct.rules import rule_of
from symacct.rules.rule import strides_of
from symacct.symbolic import Builder, Symbolic, apply

torch = pytest.importorskip("torch")

from verify.autograd import gradients_agree, saved_bytes, symbolic_gradients  # noqa: E402

F = torch.nn.functional
B, S, D, H = name("b"), name("s"), name("d"), name("h")
SIZES = {"b": 2, "s": 3, "d": 5, "h": 4}


def symbolic(*shapes: tuple, dtype: str | None = None) -> list[Symbolic]:
    builder = Builder()
    return [Symbolic(builder, builder.input(s, f"x{i}", "input", dtype)) for i, s in enumerate(shapes)]


SAME = {
    "concat": (lambda x: sa.concat([x, x[:, :2], x], axis=1), lambda x: torch.cat([x, x[:, :2], x], dim=1)),
    "stack": (lambda x: sa.stack([x, x], axis=-2), lambda x: torch.stack([x, x], dim=-2)),
    "split": (lambda x: sa.split(x, [1, 3, 1], axis=-1)[1], lambda x: torch.split(x, [1, 3, 1], dim=-1)[1]),
    "tile": (lambda x: sa.tile(x, (1, 3, 2)), lambda x: torch.tile(x, (1, 3, 2))),
    "pad": (lambda x: sa.pad(x, (1, 2, 0, 3), 7.0), lambda x: F.pad(x, (1, 2, 0, 3), value=7.0)),
    "flip": (lambda x: sa.flip(x, (0, -1)), lambda x: torch.flip(x, (0, -1))),
    "roll": (lambda x: sa.roll(x, 2, -1), lambda x: torch.roll(x, 2, -1)),
    "roll of two axes": (lambda x: sa.roll(x, (2, -1), (-1, 0)), lambda x: torch.roll(x, (2, -1), (-1, 0))),
    "flip of one axis": (lambda x: sa.flip(x, 0), lambda x: torch.flip(x, (0,))),
    "tril": (lambda x: sa.tril(x, 1), lambda x: torch.tril(x, 1)),
    "triu": (lambda x: sa.triu(x, -1), lambda x: torch.triu(x, -1)),
    "contiguous": (sa.contiguous, lambda x: x.contiguous()),
    "clone": (sa.clone, lambda x: x.clone(memory_format=torch.contiguous_format)),
    "detach": (sa.detach, lambda x: x.detach()),
    "cast": (lambda x: sa.cast(x, "fp64"), lambda x: x.double()),
    "transfer": (lambda x: sa.transfer(x, "cpu"), lambda x: x.to("cpu")),
}


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_values_shapes_and_layout_are_torchs(what, order):
    ours, theirs = SAME[what]
    numbers = [(2, 3, 5)[i] for i in order]
    x = torch.randn(numbers).permute([order.index(i) for i in range(3)])
    real = theirs(x)
    torch.testing.assert_close(ours(x), real, rtol=0, atol=0)
    (made,) = symbolic(tuple((2, S, 5)[i] for i in order))
    out = ours(made.permute(*(order.index(i) for i in range(3))))
    assert [evaluate(s, SIZES) for s in out.tensor.shape] == list(real.shape)
    strides = [evaluate(s, SIZES) for s in strides_of(out.tensor)]
    assert strides == list(real.stride())
    shares = real.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    if what not in ("cast", "transfer"):
        assert (made.id in (out.tensor.storage, out.id)) == shares


@pytest.mark.parametrize(
    ("what", "moved"),
    [
        (lambda x: sa.concat([x, x], axis=1), ([(B, S, D), (B, S, D)], [(B, 2 * S, D)])),
        (lambda x: sa.pad(x, (1, H)), ([(B, S, D)], [(B, S, D + H + 1)])),
        (lambda x: sa.flip(x, (1,)), ([(B, S, D)], [(B, S, D)])),
        (lambda x: sa.roll(x, 1, 1), ([(B, S, D)], [(B, S, D)])),
        (sa.tril, ([(B, S, D)], [(B, S, D)])),
        (sa.clone, ([(B, S, D)], [(B, S, D)])),
        (lambda x: sa.cast(x, "fp32"), ([(B, S, D)], [(B, S, D)])),
        (lambda x: sa.transfer(x, "cuda"), ([], [(B, S, D)])),
        (sa.detach, ([], [])),
    ],
)
def test_traffic_without_arithmetic(what, moved):
    (x,) = symbolic((B, S, D))
    out = what(x)
    graph = x.builder.graph([out.id])
    (op,) = graph.ops
    rule = rule_of(op)
    assert [r.shape for r in rule.reads(op, graph)] == moved[0]
    assert [r.shape for r in rule.writes(op, graph)] == moved[1]
    assert rule.work(op, graph) == {}


@pytest.mark.claim("S20")
def test_a_transfer_is_its_bytes_over_the_link():
    """32 x 32 examples in fp32 are 4096 bytes, and a step of their own."""

    def load(x: "32 32"):
        return sa.relu(sa.transfer(x, "cuda"))

    account = sa.account(load, dtype="fp32")
    over_the_link = [s for s in account.steps if s.family == "transfer"]
    assert [s.bytes for s in over_the_link] == [torch.zeros(32, 32).nbytes] == [4096]
    assert account.bytes == 3 * 4096


def test_casts_are_read_in_one_dtype_and_written_in_the_other():
    def layer(x: "n"):
        return sa.cast(x, "fp8_e4m3fn")

    real = torch.zeros(12, dtype=torch.bfloat16)
    assert sa.account(layer, dtype="bf16", n=12).bytes == real.nbytes + sa.cast(real, "fp8").nbytes
    (x,) = symbolic((B,), dtype="fp32")
    assert sa.cast(x, "float32") is x


GRADIENTS = {
    "concat": ([(2, 3, 4), (2, 5, 4)], {"axis": -2}),
    "pad": ([(3, 4)], {"widths": ((0, 2), (1, 3)), "value": 2.0}),
    "flip": ([(3, 4)], {"axes": (1,)}),
    "roll": ([(3, 4)], {"axes": (0,), "shifts": (2,)}),
    "tril": ([(3, 4)], {"diagonal": 1}),
    "triu": ([(3, 4)], {"diagonal": -1}),
    "copy": ([(3, 4)], {}),
    "cast": ([(3, 4)], {"dtype": "fp64"}),
    "transfer": ([(3, 4)], {"device": "cpu"}),
}


@pytest.mark.parametrize("kind", GRADIENTS)
def test_gradients_are_autograds_and_nothing_is_kept(kind):
    shapes, attrs = GRADIENTS[kind]
    gradients_agree(kind, [torch.randn(s) for s in shapes], **attrs)
    graph = symbolic_gradients(kind, shapes, **attrs)
    assert rule_of(graph.ops[0]).residuals(graph.ops[0], graph, (True,) * len(shapes)) == ()
    tensors = [torch.randn(s, requires_grad=True) for s in shapes]
    assert saved_bytes(lambda: apply(kind, *tensors, **attrs)) == 0


def test_symbolic_gradients_go_back_to_each_input():
    graph = symbolic_gradients("concat", [(B, S), (B, D), (B, H)], needs=(True, False, True), axis=1)
    assert [op.attrs["ranges"][1] for op in graph.ops[1:]] == [(0, S, 1), (D + S, D + H + S, 1)]
    graph = symbolic_gradients("pad", [(B, S)], widths=((0, 0), (H, D)), value=0.0)
    assert graph.ops[-1].attrs["ranges"] == ((0, B, 1), (H, H + S, 1))
    graph = symbolic_gradients("cast", [(B, S)], dtype="fp32")
    assert graph.tensors[graph.outputs[0]].dtype is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x, y: sa.concat([x, y], axis=0), r"\(b, s\) and \(b, d\) do not fit along axis 0"),
        (lambda x, y: sa.concat([x, y[0]], axis=0), r"\(b, s\) and \(d,\) do not fit"),
        (lambda x, y: sa.concat([x, y], axis=2), "no axis 2"),
        (lambda x, y: sa.stack([x, y]), r"\(1, b, s\) and \(1, b, d\)"),
        (lambda x, _: sa.split(x, [1, 2], axis=1), r"1 \+ 2 are not the s of axis 1 of \(b, s\)"),
        (lambda x, _: sa.split(x, [B], axis=4), "no axis 4"),
        (lambda x, _: sa.chunk(x, 0), "0 equal parts"),
        (lambda x, _: sa.chunk(x[:, :4], 3, axis=1), r"3 equal parts of axis 1 of \(b, 4\)"),
        (lambda x, _: sa.tile(x, (2,)), r"1 repeats for the shape \(b, s\)"),
        (lambda x, _: sa.pad(x, (1, 2, 3)), "3 widths"),
        (lambda x, _: sa.pad(x, (1, 1) * 3), "6 widths"),
        (lambda x, _: sa.split(x[:, :6], [-1, 7], axis=1), "a size of -1; sizes are at least 1"),
        (lambda x, _: sa.split(x[:, :6], [0, 6], axis=1), "a size of 0; sizes are at least 1"),
        (lambda x, _: sa.pad(x, (0, -1)), "a width of -1"),
        (lambda x, _: sa.pad(x, (0, -x.shape[1])), "a width of -s"),
        (lambda x, _: sa.roll(x, (1, 2), 1), "2 shifts along 1 axes"),
        (lambda x, _: sa.flip(x, 2), "no axis 2"),
        (lambda x, _: sa.flip(x, (2,)), "no axis 2"),
        (lambda x, _: sa.roll(x, 1, 2), "no axis 2"),
        (lambda x, _: sa.tril(x[0]), "no triangle"),
    ],
)
def test_errors_name_shapes_and_the_line(wrong, said):
    with pytest.raises(ShapeError, match=said) as caught:
        wrong(*symbolic((B, S), (B, D)))
    assert "test_copies.py:" in str(caught.value)


def test_negative_widths_crop_nowhere():
    """Neither among names, where it is a condition, nor on torch, whose own padding crops."""
    account = sa.account(lambda x, y: sa.pad(x, (0, y.shape[0] - x.shape[1])), x="b s", y="t")
    assert [str(c) for c in account.conditions] == ["t - s >= 0"]
    with pytest.raises(SizeError, match="these sizes break a condition: t - s >= 0"):
        account.at(b=1, s=5, t=4)
    with pytest.raises(ShapeError, match="a width of -1"):
        sa.pad(torch.ones(2, 3), (0, -1))


def test_unknown_dtypes_and_mixtures():
    (x,) = symbolic((B, S))
    with pytest.raises(DtypeError, match="fp33"):
        sa.cast(x, "fp33")
    with pytest.raises(DtypeError, match="torch has no dtype for 'tf32'"):
        sa.cast(torch.zeros(2), "tf32")
    with pytest.raises(GraphError, match="beside symbolic tensors"):
        sa.concat([x, torch.zeros(2, 3)])


def test_chunks_that_do_not_divide_are_refused_on_real_tensors_too():
    with pytest.raises(ShapeError, match="2 equal parts"):
        sa.chunk(torch.zeros(5), 2)
    assert [c.tolist() for c in sa.chunk(torch.arange(4), 2)] == [[0, 1], [2, 3]]
