"""Bytes a parameter, and the largest model that fits."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symacct as sa
from symacct.dtypes import policy_of
from symacct.errors import ConventionError, InconclusiveError, MixedUnitsError, SizeError
from symacct.expr import name
from symacct.memory import Parameter, parameters_of, static_entries


@pytest.mark.claim("S8", "S17")
@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        ("fp32", [4, 4, 4, 4]),
        ("bf16", [2, 2, 4, 4]),
        ("torch-bf16", [2, 2, 2, 2, 0]),
        ("bf16-master", [2, 2, 4, 4, 4]),
        ("megatron", [2, 4, 4, 4, 4]),
        ("amp", [4, 4, 4, 4]),
        ({"param": "fp8", "grad": "bf16", "state": "bf16"}, [1, 2, 2, 2]),
    ],
)
def test_adamw_by_policy(policy, parts):
    rates = sa.bytes_per_parameter("adamw", policy)
    assert [part.bytes for part in rates.parts] == parts
    assert rates.total == sum(parts)


def test_the_counter_of_torch_is_four_bytes_a_tensor():
    assert sa.bytes_per_parameter("adamw", "torch-bf16").per_tensor == 4
    assert "8 bytes a parameter, and 4 a tensor" in str(sa.bytes_per_parameter("adamw", "torch-bf16"))


@pytest.mark.claim("S17")
def test_casts_come_besides():
    """16 bytes a parameter, and 2 a weight that is cast: fp32 stays what is kept."""
    amp = sa.bytes_per_parameter("adamw", "amp")
    assert (amp.total, amp.cast) == (16, 2)
    assert "besides 2 a weight that is cast" in str(amp)
    assert sa.bytes_per_parameter("adamw", "nvfp4").cast == Fraction(9, 16)
    assert sa.bytes_per_parameter("adamw", "bf16").cast == 0


@pytest.mark.claim("S58", "S59")
def test_adagrad_of_the_lecture():
    assert [part.bytes for part in sa.bytes_per_parameter("adagrad", "bf16").parts] == [2, 2, 4]
    assert sa.bytes_per_parameter("adagrad", "torch-bf16").total == 6


@pytest.mark.parametrize(
    ("optimizer", "published", "scales"),
    [("adamw", 12, 0), ("adam8bit", 6, Fraction(2 * 4, 256)), ("momentum", 8, 0), ("muon", 8, 0)],
)
def test_published_bytes_of_optimizers_with_their_fp32_copy(optimizer, published, scales):
    """Figure 98, which leaves out the scales of 8-bit blocks."""
    kept = [p.bytes for p in sa.bytes_per_parameter(optimizer, "bf16-master").parts if p.role in ("master", "state")]
    assert sum(kept) == published + scales


def test_published_mixed_precision():
    """Figure 97: 2 + 4 + 4 + 4 and gradients in 2 or 4 bytes; 6 + 12/d where master copies and state are divided."""
    assert [sa.bytes_per_parameter("adam", p).total for p in ("bf16-master", "megatron")] == [16, 18]
    for d in (1, 8, 64):
        assert sa.bytes_per_parameter("adam", "megatron").divided(("master", "state"), d) == 6 + Fraction(12, d)


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_published_stages_of_zero(stage, gigabytes):
    """7.5B parameters on 64 devices, 2 + 2 + 12 bytes (figure 99)."""
    memory = sa.fit(params="7.5B", devices=64, policy="bf16-master", stage=stage).expr
    assert float(memory) / 1e9 == pytest.approx(gigabytes, rel=3e-3)


@pytest.mark.parametrize("optimizer", ["adafactor", "shampoo", "soap"])
def test_what_depends_on_rows_and_columns_is_no_rate(optimizer):
    with pytest.raises(InconclusiveError, match="rows"):
        sa.bytes_per_parameter(optimizer)


@pytest.mark.claim("S9", "S10")
def test_the_largest_model_of_the_lecture():
    found = sa.fit(devices=8, memory="80 GB", optimizer="adamw", policy="bf16")
    assert found.value == 53_333_333_333 == 8 * 80 * 10**9 // 12
    assert sa.fit(devices=8, memory="80 GiB").value == 57_266_230_613 == 8 * 80 * 2**30 // 12
    assert sa.fit(devices=8, memory="80 GB", policy="fp32").value == 40 * 10**9
    text = str(found)
    assert "upper bound" in text
    assert "2 + 2 + 4 + 4 = 12 bytes" in text
    assert "not in it: activations" in text
    assert "57,266,230,613" in text


def test_each_side_of_the_inequality():
    assert sa.fit(devices="n", memory="M").value == sa.loads({"text": "M*n/12", "symbols": ["M", "n"]})
    assert sa.fit(params="P", devices=4).value == sa.loads({"text": "3*P", "symbols": ["P"]})
    assert sa.fit(params="70B", memory="80 GB").value == 11  # 840 GB
    assert sa.fit(params="70B", memory="80 GB").kind == "lower bound"
    assert sa.fit(params=10**9, devices=1, policy="fp32").value == 16 * 10**9
    # 6 bytes stay on each device, 12 are divided: n = 12*P/(M - 6*P)
    assert sa.fit(params="10B", memory="80 GB", policy="megatron", stage=1).value == 6
    assert sa.fit(params=1, memory=18, policy="megatron", stage=0).value == 1


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"devices": 8}, ConventionError, "give two"),
        ({"devices": 8, "memory": 1, "params": 2}, ConventionError, "give two"),
        ({"devices": 8, "memory": "80 GB", "stage": 4}, ConventionError, "stage 4"),
        ({"devices": 0, "memory": "80 GB"}, SizeError, "more than nothing"),
        ({"devices": 8, "memory": "80 TFLOP"}, MixedUnitsError, "FLOP"),
        ({"devices": 2.5, "memory": "80 GB"}, SizeError, "a whole number"),
        ({"params": "0.5", "memory": "80 GB"}, SizeError, "a whole number"),
        ({"params": "70B", "memory": "80 GB", "stage": 0}, InconclusiveError, "no number of devices"),
    ],
)
def test_what_cannot_be_asked(given, error, why):
    with pytest.raises(error, match=why):
        sa.fit(**given)


def test_what_a_bound_leaves_out_is_said():
    assert "copies that weights are cast to" in str(sa.fit(devices=8, memory="80 GB", policy="amp"))
    assert "copies" not in sa.fit(devices=8, memory="80 GB").to_json()["left_out"]


def test_json_of_a_bound():
    data = sa.fit(devices=8, memory="80 GB").to_json()
    assert (data["value"]["text"], data["kind"], data["with_gib"]["text"]) == (
        "53333333333",
        "upper bound",
        "57266230613",
    )
    assert data["bytes_per_parameter"]["total"]["text"] == "12"


def net(x: "b d", w: "L d d", tied: "d d", inner: "L m d"):
    def layer(x, own):
        w, gains = own
        return sa.repeat("m", lambda x, gain: x * gain, x, xs=gains) @ w

    return sa.repeat("L", layer, x, xs=(w, inner)) @ tied


def test_stacked_parameters_are_many_tensors():
    found = {p.name: p for p in parameters_of(sa.account(net, params=["w", "tied", "inner"]).graph)}
    d, m, layers = (name(n) for n in ("d", "m", "L"))
    assert found == {
        "w": Parameter("w", (d, d), layers),
        "tied": Parameter("tied", (d, d), 1),
        "inner": Parameter("inner", (d,), layers * m),
    }
    steps = [
        e.bytes
        for e in static_entries(found.values(), sa.optimizer("adamw"), policy_of("torch-bf16"))
        if e.name == "step"
    ]
    assert steps == [4 * layers, 4, 4 * layers * m]
