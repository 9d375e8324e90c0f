"""The ledger of a step: by role, its peak and where that is, against numbers worked out by hand."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ConventionError, InconclusiveError, SizeError, SymacctError, UndefinedSizeError
from symacct.expr import evaluate
from tests.memory.examples import DEEP, GELUS, MLP


def text(form):
    return {role: str(bytes) for role, bytes in form.items()}


@pytest.mark.claim("S59", "S58", "D12")
def test_the_table_of_the_lecture():
    """Parameters 2P, gradients 2P, AdaGrad's state 4P, activations 2BDL: 96 + 96 + 192 + 48 = 432 bytes."""
    memory = DEEP.training(optimizer="adagrad", policy="bf16").memory
    assert text(memory.roles) == {
        "parameters": "2*L*d**2",
        "gradients": "2*L*d**2",
        "optimizer state": "4*L*d**2",
        "activations": "2*L*b*d",
        "inputs": "2*b*d",
    }
    at = {role: evaluate(bytes, {"b": 2, "d": 4, "L": 3}) for role, bytes in memory.by_role.items()}
    assert [at[r] for r in ("parameters", "gradients", "optimizer state", "activations")] == [96, 96, 192, 48]
    adam = DEEP.training(optimizer="adam", policy="bf16").memory
    assert str(adam.roles["optimizer state"]) == "8*L*d**2"


@pytest.mark.claim("D12")
def test_gelu_keeps_twice_what_relu_keeps():
    """GELU's gradient needs what goes in, the next product what comes out; the last layer's comes out as the result."""
    assert str(GELUS.training(policy="bf16").memory.roles["activations"]) == "4*L*b*d"


@pytest.mark.claim("S61")
def test_the_update_moves_what_lasts():
    """bf16 with AdamW: (2 + 2 + 8)*P read, and parameters and state written, (2 + 8)*P; a master copy stands in."""
    update = DEEP.training(optimizer="adamw", policy="bf16").update
    assert str(update.total("bytes")) == str(22 * sa.expr.read("L*d^2"))
    master = DEEP.training(optimizer="adamw", policy="bf16-master").update
    assert str(master.total("bytes")) == str((2 + 4 + 8 + 2 + 4 + 8) * sa.expr.read("L*d^2"))


def test_the_peak_of_two_layers_by_hand():
    memory = MLP.training(policy="fp32").memory
    found = memory.at(b=2, d=3, f=5, k=7)
    # x, up, down, the loss; relu's output, its gradient and what goes on from there; the gradient of down
    assert (found.phase, found.where) == ("backward", "relu_backward")
    assert int(found.peak) == 24 + 60 + 140 + 4 + 40 + 40 + 40 + 140
    assert sum(found.held.values()) == int(found.peak)
    assert {k: int(v) for k, v in found.by("dtype").items()} == {"fp32": int(found.peak)}
    assert int(found.by("tensor")["gradient of down"]) == 140


def test_candidates_stand_at_the_ends_of_a_repeat():
    """Activations go as gradients come, so that either end may have the most; nothing in between can."""
    peaks = DEEP.training(optimizer="adagrad", policy="bf16").memory.peaks
    assert all("first turn" in p.where or "last turn" in p.where for p in peaks)
    assert len(peaks) == 3
    assert all("L" not in p.where.replace("of L", "") for p in peaks)


@pytest.mark.parametrize("layers", range(1, 10))
def test_forms_and_turns_written_out_agree(layers):
    """Few layers are walked from end to end; from some number on the forms hold."""
    memory = GELUS.training(optimizer="adamw", policy="bf16").memory
    sizes = {"b": 5, "d": 3, "L": layers}
    assert int(memory.at(sizes=sizes).peak) == max(memory.timeline(sizes=sizes).totals)


@pytest.mark.parametrize("layers", range(1, 5))
def test_few_turns_are_told_by_what_runs_in_them(layers):
    """The last turn back makes no gradient of what the network is given: that product is not where the peak is."""
    found = DEEP.training(optimizer="adamw", policy="bf16").memory.at(b=1, d=4, L=layers)
    assert found.where == "b d, b d' -> d d', last turn of L"


@pytest.mark.parametrize("b", [1, 64])
def test_nothing_grows_with_the_number_of_layers(b):
    """A hundred million layers take no longer than ten, and every layer the same."""
    memory = DEEP.training(optimizer="adamw", policy="bf16").memory
    one, two = (int(memory.at(b=b, d=4, L=n).peak) for n in (10**8, 10**8 + 1))
    assert two - one in (10 * 16 + 2 * 4 * b, 12 * 16)


def test_gradients_that_are_added_to_are_there_from_the_start():
    """With micro-batches, and where gradients are kept in another format than they are made in."""
    once, twice = (DEEP.training(optimizer="adamw", policy="bf16", accumulate=n).memory for n in (1, 2))
    sizes = {"b": 64, "d": 4, "L": 8}
    first, second = (int(m.at(sizes=sizes).peak) for m in (once, twice))
    assert second - first == 2 * 8 * 4 * 4  # all gradients, at the peak at the start of the backward pass
    assert int(twice.at(sizes=sizes).by("role")["gradients"]) == 2 * 8 * 16 + 2 * 16
    megatron = DEEP.training(optimizer="adamw", policy="megatron").memory
    assert str(megatron.roles["gradients"]) == "4*L*d**2"


def test_casts_are_there_in_both_passes_alone():
    """The second weight's from its product to the gradient of what it reads; nothing needs the first one's."""
    amp = MLP.training(optimizer="adamw", policy="amp").memory
    assert sa.same(amp.roles["casts"], "2*f*k")
    ops = len(amp.step.graph.ops)
    assert not any(label.role == "casts" for label in amp.held_at((ops,)))
    assert any(label.role == "casts" for label in amp.held_at(amp.between))


@pytest.mark.parametrize(("kernel", "besides"), [("fused", 0), ("foreach", 2 * 8), ("forloop", 3 * 8)])
def test_what_the_update_makes(kernel, besides):
    """Two weights of 4 and 2 numbers in bf16: all at once of one each, or three of the largest."""
    memory = MLP.training(optimizer="adamw", policy="bf16", kernel=kernel).memory
    sizes = {"d": 2, "f": 2, "k": 2, "b": 1}
    made = [sum(evaluate(b, sizes) for b in m.values()) for m in memory.storages.temporaries()]
    assert max(made) == besides


@pytest.mark.claim("S62", "S63")
def test_accumulation_divides_activations():
    """B = 64, D = 1024, L = 16: 2,097,152 bytes of activations; a quarter at a time 524,288."""
    memory = DEEP.training(policy="bf16").memory.by_role["activations"]
    assert [evaluate(memory, {"b": b, "d": 1024, "L": 16}) for b in (64, 16)] == [2_097_152, 524_288]
    step = DEEP.training(optimizer="adamw", policy="bf16", accumulate=4)
    assert str(step.update.scale) == "1/4"
    assert "each mean loss times 1/4" in str(step)
    passes, update = step.total.total("flops"), step.update.total("flops")
    assert step.step_total("flops") == 4 * passes + update
    assert update == (14 + 3) * sa.expr.read("L*d^2")  # three additions of gradients


@pytest.mark.claim("S64")
def test_inference_holds_one_layer():
    forward = DEEP.training(policy="bf16").memory
    assert str(forward.roles["activations"]) == "2*L*b*d"
    walked = sa.account(lambda x, w: sa.relu(x @ w), x="b d", w="d d").graph.run({"b": 3, "d": 5}, dtype="bf16")
    assert walked.peak_bytes == 2 * (15 + 25 + 15)


def test_the_largest_size_is_the_last_that_fits():
    memory = DEEP.training(optimizer="adamw", policy="bf16").memory
    for axis, given in (("b", {"d": 64, "L": 8}), ("L", {"d": 64, "b": 8}), ("d", {"b": 64, "L": 8})):
        most = memory.largest(axis, 10**6, **given).value
        assert (
            int(memory.at(sizes={**given, axis: most}).peak)
            <= 10**6
            < int(memory.at(sizes={**given, axis: most + 1}).peak)
        )


def test_the_largest_size_in_names():
    found = DEEP.training(optimizer="adamw", policy="bf16").memory.largest("b", "M", d=64, L=8)
    assert found.value is None
    numbers = [int(form.subs("M", 10**7)) for form in found.forms]
    exact = DEEP.training(optimizer="adamw", policy="bf16").memory.largest("b", 10**7, d=64, L=8).value
    assert min(numbers) == exact


def test_the_accumulation_that_is_needed():
    step = DEEP.training(optimizer="adamw", policy="bf16")
    found = step.accumulation("b", 4096, "4 MB", d=64, L=16)
    assert (found.micro_batches, found.micro_batch, found.scale) == (4, 1024, "1/4")
    added = DEEP.training(optimizer="adamw", policy="bf16", accumulate=2).memory
    fits = [int(added.at(b=b, d=64, L=16).peak) <= 4 * 10**6 for b in (1024, 2048)]
    assert fits == [True, False]
    assert step.accumulation("b", 4096, "80 GB", d=64, L=16).micro_batches == 1


@pytest.mark.parametrize(
    ("ask", "error", "why"),
    [
        (lambda m: m.at(b=2), UndefinedSizeError, "no number for L, d"),
        (lambda m: m.at(b=2, d=3, L=4, z=5), SymacctError, "'z'"),
        (lambda m: m.at(b=2, d=3, L=4).by("colour"), ConventionError, "role, tensor, module, dtype"),
        (lambda m: m.largest("z", 10), SymacctError, "'z'"),
        (lambda m: m.largest("b", 10, b=3), ConventionError, "given too"),
        (lambda m: m.largest("b", 0, d=3, L=4), SizeError, "more than nothing"),
    ],
)
def test_what_cannot_be_asked(ask, error, why):
    with pytest.raises(error, match=why):
        ask(DEEP.training(policy="bf16").memory)


def test_a_size_of_which_not_one_fits():
    assert DEEP.training(policy="bf16").memory.largest("b", 100, d=64, L=8).value == 0
    with pytest.raises(InconclusiveError, match="not even b = 1"):
        DEEP.training(policy="bf16").accumulation("b", 64, 100, d=64, L=8)


def test_a_conditional_is_refused():
    """What the passes execute is told all the same."""

    def layer(p: "", x: "n n"):
        return sa.cond(p > 0, lambda x: x @ x, lambda x: x @ x @ x, x)

    step = sa.account(layer, params=["x"]).training(optimizer="adamw")
    with pytest.raises(InconclusiveError, match="branch"):
        step.memory.peaks  # noqa: B018
    assert "12*n**3" in str(step)
    assert "memory is not known: how much memory a conditional takes" in str(step)
    assert step.to_json()["memory"] is None


def test_options_of_training():
    with pytest.raises(ConventionError, match="fused"):
        DEEP.training(optimizer="adamw", kernel="slow")
    with pytest.raises(ConventionError, match="nothing is updated"):
        DEEP.training(kernel="foreach")
    with pytest.raises(SizeError):
        DEEP.training(optimizer="adamw", accumulate=0)
    assert str(DEEP.training(optimizer="adamw", accumulate="n").update.scale) == "1/n"
    muon = DEEP.training(optimizer="muon", policy="bf16")
    assert muon.update.step.kernel == "forloop"


def test_json_has_what_is_printed():
    data = DEEP.training(optimizer="adamw", policy="bf16").to_json()
    assert data["memory"]["roles"]["activations"]["text"] == "2*L*b*d"
    assert {"phase", "where", "bytes"} == set(data["memory"]["peaks"][0])
    assert data["update"]["flops"]["text"] == "14*L*d**2"
    at = DEEP.training(optimizer="adamw", policy="bf16").at(b=2, d=4, L=8).to_json()
    assert sum(t["bytes"] for t in at["memory"]["held"]) == at["memory"]["peak"]


def test_published_memory_of_megatron():
    """Figure 93: 18 bytes a parameter of 12*L*h*h, divided among tensor and pipeline ranks, in GiB."""
    each = sa.bytes_per_parameter("adam", "megatron").total
    models = ((48, 6144, 8), (96, 12288, 64), (105, 20480, 280), (128, 25600, 512))
    found = [12 * layers * h * h * each / ranks / 2**30 for layers, h, ranks in models]
    assert found == [45.5625, 45.5625, 31.640625, 32.958984375]


def test_turns_as_a_number():
    """Twenty layers as a number are the form at L = 20."""

    def twenty(x: "b d", w: "20 d d"):
        return sa.repeat(20, lambda h, w: sa.relu(h @ w), x, xs=w)

    memory = sa.account(twenty, params=["w"]).training(optimizer="adamw", policy="bf16").memory
    form = DEEP.training(optimizer="adamw", policy="bf16").memory
    assert int(memory.at(b=3, d=5).peak) == int(form.at(b=3, d=5, L=20).peak)


def test_frozen_parameters_have_no_gradient_and_no_state():
    def lora(x: "b d", w: "d k", a: "d r", b: "r k"):
        return x @ w + (x @ a) @ b

    memory = sa.account(lora, params=["w", "a", "b"]).training("a b", optimizer="adamw", policy="bf16-master").memory
    assert sa.same(memory.roles["parameters"], "2*(d*k + d*r + r*k)")
    assert sa.same(memory.roles["gradients"], "2*(d*r + r*k)")
    assert sa.same(memory.roles["master copies"], "4*(d*r + r*k)")
    assert sa.same(memory.roles["optimizer state"], "8*(d*r + r*k)")
    assert sa.same(memory.roles["activations"], "2*b*r")


def test_an_optimizer_that_was_read_has_memory_and_no_operations():
    torch = pytest.importorskip("torch")
    step = DEEP.training(optimizer=torch.optim.AdamW, policy="torch-bf16")
    assert sa.same(step.memory.roles["optimizer state"], "4*L*d^2 + 4*L")
    assert "not known" in str(step)
    assert step.to_json()["update"]["flops"] is None
    assert step.at(b=2, d=3, L=7).totals["update"]["flops"] is None


def test_what_muon_executes_is_known_in_numbers():
    step = MLP.training(optimizer="muon", policy="bf16")
    assert "not known" in str(step)
    found = step.at(b=2, d=3, f=5, k=4).totals["update"]["matmul_flops"]
    assert int(found) == 5 * (4 * 9 * 5 + 2 * 27) + 5 * (4 * 16 * 5 + 2 * 64)


def test_macs_and_the_operations_of_an_update_are_not_added():
    step = sa.account("b d, d k -> b k", convention="mac").training()
    assert step.step_total("flops") == 2 * step.forward.total("flops") + step.forward.total("flops")
    trained = sa.account(lambda x, w: x @ w, x="b d", w="d k", params=["w"], convention="mac").training(optimizer="sgd")
    with pytest.raises(SymacctError, match="two units"):
        trained.step_total("flops")


def test_formats_of_the_account_where_no_policy_is_asked_for():
    def layer(x: "b d", w: "d k"):
        return sa.relu(x @ w)

    memory = sa.account(layer, params=["w"], dtype={"w": "fp8", "act": "fp32"}).training().memory
    assert sa.same(memory.roles["parameters"], "d*k")
    assert sa.same(memory.roles["results"], "4*b*k")


def test_logits_are_what_the_loss_reads():
    def classify(x: "b d", w: "d v", targets: "b"):
        return sa.cross_entropy(x @ w, targets)

    memory = sa.account(classify, params=["w"]).training(policy={"param": "bf16", "logits": "fp32"}).memory
    assert sa.same(memory.roles["logits"], "4*b*v")  # their logarithms, which are kept
    assert "results" in memory.roles
    found = memory.timeline(b=2, d=3, v=5)
    assert max(found.roles["logits"]) == 2 * 4 * 2 * 5  # both, while the one is made of the other
