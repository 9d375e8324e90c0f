"""Formats of a step: of arguments with one of their own under a policy, and the casts of mixed precision."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import symacct as sa
from symacct.dtypes import as_format
from symacct.errors import DtypeError
from symacct.expr import evaluate
from symacct.graph.legal import check
from symacct.rules import check_shapes
from tests.memory.examples import DEEP, mlp

SIZES = {"b": 2, "d": 3, "f": 5, "k": 7}


def trained(dtype, policy=None, optimizer="momentum", fn=mlp):
    return sa.account(fn, params=["up", "down"], dtype=dtype).training(optimizer=optimizer, policy=policy)


def bytes_of(step, **sizes):
    """Bytes by role and format after the passes, when all gradients are there."""
    out: dict[tuple[str, str], int] = {}
    for label, size in step.memory.held_at(()).items():
        key = (label.role, label.dtype)
        out[key] = out.get(key, 0) + int(sa.expr.evaluate(size, sizes or SIZES))
    return out


@pytest.mark.parametrize("policy", [None, "torch-bf16"])
def test_a_weight_in_a_format_of_its_own_has_its_gradient_and_state_in_it(policy):
    """As torch: two parameters, one fp32 (15 numbers) and one bf16 (35); gradients and momentum follow each."""
    torch = pytest.importorskip("torch")
    found = bytes_of(trained({"up": "fp32"}, policy))
    params = [
        torch.nn.Parameter(torch.ones(s, dtype=t)) for s, t in (((3, 5), torch.float32), ((5, 7), torch.bfloat16))
    ]
    for p in params:
        p.grad = torch.ones_like(p)
    made = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    made.step()
    names = {torch.float32: "fp32", torch.bfloat16: "bf16"}
    for role, tensors in (
        ("parameters", params),
        ("gradients", [p.grad for p in params]),
        ("optimizer state", [made.state[p]["momentum_buffer"] for p in params]),
    ):
        for t in tensors:
            assert found[role, names[t.dtype]] == t.nbytes


def test_what_a_policy_says_of_state_and_master_copies_holds_for_all():
    """An fp32 weight needs no fp32 copy; where the policy names a format of state or gradients, it has that."""
    master = bytes_of(trained({"up": "fp32"}, "bf16-master"))
    assert master["master copies", "fp32"] == 4 * 35
    assert master["optimizer state", "fp32"] == 4 * 50
    assert master["gradients", "fp32"] == 4 * 15
    megatron = trained({"up": "fp32"}, "megatron")
    assert bytes_of(megatron)["gradients", "fp32"] == 4 * 50
    step = trained({"up": "fp32"}, "bf16-master").update
    # up: weight, gradient, momentum read, two written; down: gradient, master, momentum read, those two and it written
    assert int(sa.expr.evaluate(step.total("bytes"), SIZES)) == 4 * 15 * 5 + 35 * (2 + 4 + 4 + 4 + 4 + 2)


def test_gradients_are_made_once_in_the_format_of_the_parameters():
    """fp32 weights with bf16 activations: 50 gradients of 4 bytes, none a second time."""
    step = trained({"param": "fp32", "act": "bf16"})
    assert bytes_of(step)["gradients", "fp32"] == 4 * 50
    assert ("gradients", "bf16") not in bytes_of(step)
    peak = step.memory.at(sizes=SIZES)
    assert int(peak.by("role")["gradients"]) <= 4 * 50
    assert int(peak.peak) == max(step.memory.timeline(sizes=SIZES).totals)


def test_the_traffic_of_a_gradient_is_that_of_its_format():
    """An x of 6 and dy of 10 in bf16, a gradient of 15 in fp32; by itself and in a loop over layers."""
    back = sa.account(lambda x, w: x @ w, x="b d", w="d f", params=["w"], dtype={"w": "fp32"}).backward()
    assert back.at(b=2, d=3, f=5).bytes.value == 2 * 6 + 2 * 10 + 4 * 15
    loop = sa.account(
        lambda x, w: sa.repeat("L", lambda h, w: h @ w, x, xs=w), x="b d", w="L d d", params=["w"], dtype={"w": "fp32"}
    )
    both = loop.backward().at(b=2, d=3, L=7).bytes.value
    assert both == 7 * (2 * 2 * 6 + 4 * 9) + 6 * (2 * 2 * 6 + 4 * 9)


@pytest.mark.parametrize("dtype", [{"param": "fp32"}, {"act": "fp32"}, {"input": "fp32"}])
def test_two_formats_for_one_role_are_refused(dtype):
    with pytest.raises(DtypeError, match="is fp32, the policy 'torch-bf16' that it is bf16"):
        trained(dtype, "torch-bf16")
    assert trained(dict.fromkeys(dtype, "bf16"), "torch-bf16").memory.roles


@pytest.mark.parametrize("fmt", ["bf16", "fp32", "fp8"])
@pytest.mark.parametrize("role", ["input", "output", "act", "param", "up", "x"])
def test_passes_move_what_the_step_moves(role, fmt):
    """What is kept is no output of its own format, and a gradient that comes in no input."""

    def network(x: "b d", up: "d f", down: "f k"):
        return sa.relu(x @ up) @ down

    account = sa.account(network, params=["up", "down"], dtype={role: fmt})
    step = account.training()
    assert step.forward.total("bytes") + step.backward.total("bytes") == step.total.total("bytes")
    assert step.forward.total("bytes") == account.total("bytes")


def test_outputs_in_a_format_of_their_own():
    """2 * 15 numbers of 4 bytes are written, and their gradient read twice; a hidden layer stays in bf16."""

    def network(x: "b d", up: "d f", down: "f k"):
        return sa.relu(x @ up) @ down

    plain, wide = (sa.account(network, params=["up", "down"], dtype=d) for d in ("bf16", {"output": "fp32"}))
    assert sa.same(wide.bytes - plain.bytes, "2*b*k")
    more = wide.training("up, down", policy="torch-bf16")
    assert more.backward.total("bytes") - plain.backward().total("bytes") == 2 * 2 * sa.expr.read("b*k")
    assert "fp32" in {label.dtype for label in more.memory.held if label.role == "results"}


def test_logits_of_a_format_of_their_own_are_written_and_differentiated_in_it():
    """A head of 3 x 5 logits: 2 bytes more each, where they are written, read, and their gradient is."""

    def head(x: "b d", w: "d v", y: "b"):
        return sa.cross_entropy(x @ w, y)

    plain, wide = (
        sa.account(head, params=["w"]).training(policy={"param": "bf16", "logits": fmt}) for fmt in ("bf16", "fp32")
    )
    sizes = {"b": 3, "d": 2, "v": 5}
    assert [int(a.memory.at(sizes=sizes).by("role")["logits"]) for a in (plain, wide)] == [2 * 15, 4 * 15]
    steps = {s.label: s.bytes for s in wide.forward.steps}
    before = {s.label: s.bytes for s in plain.forward.steps}
    label = "b d, d v -> b v"
    assert sa.expr.evaluate(steps[label], sizes) - sa.expr.evaluate(before[label], sizes) == 2 * 15


def test_a_state_that_a_loop_carries_is_no_logits():
    step = DEEP.training(policy={"param": "bf16", "logits": "fp32"})
    assert sa.same(step.memory.roles["activations"], "2*L*b*d")
    assert step.bytes == DEEP.training(policy={"param": "bf16"}).bytes


def recurrent(x: "b d", w: "d d", bias: "d", e: "v d"):
    return sa.repeat("L", lambda h, own: sa.tanh(h @ own[0] + own[1]), x, consts=(w, bias)) @ e.T


@pytest.mark.parametrize("policy", ["amp", "fp8", "mxfp8", "megatron", "fp8-lm"])
def test_steps_are_legal_graphs_with_sums_of_gradients_in_their_format(policy):
    """A weight and a bias that all turns read: their gradients are carried from turn to turn."""
    step = sa.account(recurrent, params=["w", "bias", "e"]).training(optimizer="adamw", policy=policy)
    check(step.total.graph)
    sizes = {"L": 7, "d": 3, "v": 5, "b": 2}
    assert int(step.memory.at(sizes=sizes).peak) == max(step.memory.timeline(sizes=sizes).totals)
    kept = {label.name: label.dtype for label in step.memory.held_at(()) if label.role == "gradients"}
    assert {kept[name] for name in kept} == {step.update.step.policy.of("grad").name}


TIED = {"w": "L d d", "t": "d d", "e": "v d"}


def tied(x: "b d", w: "L d d", t: "d d", e: "v d"):
    def layer(h, w, t):
        return sa.relu(h @ w) @ t.T

    return sa.repeat("L", layer, x, xs=w, consts=t) @ e.T


def test_each_weight_is_cast_once_a_use_of_it():
    """Stacked weights a slice a turn, one that all turns read once, a view of a table from a copy of the table."""
    step = sa.account(tied, params=list(TIED)).training(policy="amp")
    graph = step.forward.graph
    check(step.total.graph)
    check_shapes(graph)
    moved = sum(s.bytes for s in step.forward.steps if s.kind == "cast")
    assert moved == 6 * sa.expr.read("L*d^2 + d^2 + v*d")
    assert sa.same(step.memory.roles["casts"], "2*(L*d^2 + d^2 + v*d)")
    sizes = {"L": 7, "d": 3, "v": 5, "b": 2}
    assert int(step.memory.at(sizes=sizes).peak) == max(step.memory.timeline(sizes=sizes).totals)


@pytest.mark.claim("S17")
def test_casts_move_bytes_too():
    """A weight: 4 bytes read and 2 written by its cast, 2 read by the product; back, 2 + 2 and 4 for its gradient."""
    of_layers = [DEEP.training(optimizer="adamw", policy=policy) for policy in ("amp", "torch-bf16")]
    of_two = [trained("bf16", policy) for policy in ("amp", "torch-bf16")]
    for (step, plain), numel in ((of_two, "d*f + f*k"), (of_layers, "L*d^2")):
        for phase in ("forward", "backward"):
            more = step.phases[phase].total("bytes") - plain.phases[phase].total("bytes")
            assert more == 6 * sa.expr.read(numel)


@pytest.mark.parametrize("layers", range(1, 9))
def test_gradients_of_stacked_weights_come_layer_by_layer(layers):
    """Each cast to fp32 on its own; at the start of the backward pass there are none yet."""
    memory = DEEP.training(optimizer="adamw", policy="amp").memory
    line = memory.timeline(b=3, d=5, L=layers)
    assert int(memory.at(b=3, d=5, L=layers).peak) == max(line.totals)
    gradients = line.roles["gradients"]
    assert gradients[-1] == layers * 4 * 25
    assert all(b - a in (0, 4 * 25) for a, b in itertools.pairwise(gradients))


def test_a_view_has_the_format_of_what_it_is_a_view_of():
    """4 bytes a number of w.T that the product reads, as of w itself; the gradient of each is in that too."""

    def layer(x: "b d", w: "k d"):
        return x @ w.T

    for dtype in ({"w": "fp32"}, {"param": "fp32"}):
        account = sa.account(layer, params=["w"], dtype=dtype)
        assert sa.same(account.bytes, "2*b*(d + k) + 4*d*k")
        back = account.backward()
        assert sa.same(back.bytes, "2*b*(d + k) + 4*d*k")


def test_a_part_of_a_weight_is_cast_by_itself():
    """Two of three slices of a stacked weight are read: 2 * 9 numbers are cast, 4 bytes read and 2 written each."""

    def layer(x: "b d", w: "3 d d"):
        return (x @ w[0]) @ w[2]

    step = sa.account(layer, params=["w"]).training(policy="amp")
    check(step.total.graph)
    check_shapes(step.forward.graph)
    assert sum(s.bytes for s in step.forward.steps if s.kind == "cast") == 6 * 2 * sa.expr.read("d^2")


def test_a_copy_in_eight_bits_has_no_gradient_of_its_own():
    """It is made in bf16, the format of the weight: nothing is cast back."""
    step = trained("bf16", "fp8")
    assert [op.kind for op in step.total.graph.ops if op.kind == "cast" and op.phase == "bwd"] == []
    assert [label.dtype for label in step.memory.held if label.role == "casts"] == ["fp8_e4m3fn"]


@pytest.mark.claim("S17")
@pytest.mark.parametrize("sizes", [(64, 512, 512, 256), (512, 64, 96, 32), (8, 256, 512, 256)])
def test_the_peak_under_autocast(sizes):
    """At most what torch has alive, and at least that without what its cache keeps: the first weight's copy."""
    torch = pytest.importorskip("torch")
    from verify.meter import Meter

    def network(x: "b d", up: "d f", mid: "f f", down: "f k"):
        return sa.relu(sa.relu(x @ up) @ mid) @ down

    b, d, f, k = sizes
    memory = sa.account(network, params=["up", "mid", "down"]).training(policy="amp").memory
    ours = int(memory.at(b=b, d=d, f=f, k=k).peak)
    x = torch.randn(b, d).bfloat16()
    weights = [torch.randn(s, requires_grad=True) for s in ((d, f), (f, f), (f, k))]
    with Meter([x, *weights]) as meter:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = network(x, *weights)
        y.backward(torch.ones_like(y))
    theirs = meter.peak + sum(t.nbytes for t in (x, *weights))
    assert {w.grad.dtype for w in weights} == {torch.float32}
    assert ours <= theirs <= ours + 2 * d * f + 2 * b * k


@pytest.mark.parametrize("role", ["param", "logits", "cast"])
def test_a_format_that_a_person_made(role):
    """One of 24 bits: 3 bytes a number, wherever the policy says so."""
    own = replace(as_format("bf16"), name="mine", mantissa_bits=15)
    step = sa.account(mlp, params=["up", "down"]).training(policy={"param": "fp32", "act": "bf16", role: own})
    numbers = {"param": ("parameters", 15 + 35), "logits": ("results", 1), "cast": ("casts", 35)}
    name, count = numbers[role]
    found = [n for label, n in step.memory.held.items() if (label.role, label.dtype) == (name, "mine")]
    assert sum(int(evaluate(n, SIZES)) for n in found) == 3 * count
