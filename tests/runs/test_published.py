"""Runs that others reported: their own figures from their own inputs."""

from __future__ import annotations

import pytest

import symacct as sa


@pytest.mark.parametrize(
    ("params", "flops"),
    [
        (174.6e9, 3.1428e23),
        (12.85e9, 2.31e22),
        (6.65e9, 1.20e22),
        (2.65e9, 4.77e21),
        (1.32e9, 2.38e21),
        (0.125e9, 2.25e20),
    ],
)
def test_gpt3_of_300b_tokens(params, flops):
    """Rows 54 and 55."""
    assert float(sa.training_run("flops", params=params, tokens="300B")["flops"]) == pytest.approx(flops, rel=3e-3)


def test_gpt3_in_petaflop_days():
    run = sa.training_run("tokens", flops="3.64e3 PFLOP/s*day", params=174.6e9)
    assert float(run["tokens"]) == pytest.approx(300e9, rel=2e-3)


def test_chinchilla_and_palm():
    """Rows 57 and 58: the paper's budget of Chinchilla is 2 % below 6PT."""
    chinchilla = sa.training_run("flops", params="70B", tokens="1.4T")
    assert chinchilla["flops"] == pytest.approx(5.88e23)
    assert float(chinchilla["tokens"]) / float(chinchilla["params"]) == 20
    palm = float(sa.training_run("flops", params=540.35e9, tokens="780B")["flops"])
    assert palm == pytest.approx(2528.8e21, rel=1e-4)
    assert palm / 2527.2e21 == pytest.approx(1.0006, abs=1e-4)


PALM = {"params": 540.35e9, "throughput": "238.3k token/s", "devices": 6144, "device": "tpu-v4"}


def test_palm():
    """Row 59: 46.2 % with attention, 45.7 % without, and 57.8 % of the hardware with what it did again."""
    whole = sa.training_run("mfu", **PALM, layers=118, width=48 * 256, context=2048)
    assert float(whole["mfu"]) == pytest.approx(0.46229, abs=5e-6)
    assert sa.mfu(**PALM) == pytest.approx(0.45726, abs=5e-6)
    again = sa.training_run("recompute", mfu=0.462, hfu=0.578)["recompute"]
    assert float(again) == pytest.approx(0.251, abs=1e-3)


def test_the_attention_term_is_two_matmuls_of_all_pairs():
    """12*L*H*Q*T a token: forward both matmuls of scores and values over T tokens, and twice that backward."""
    pairs = sa.flops("h q k, h t k -> h q t") + sa.flops("h q t, h t k -> h q k")
    L, h, k, t, q = sa.dims("L h k t q")
    assert sa.same(3 * L * pairs / q, 12 * L * h * k * t)
    run = sa.training_run("flops_per_token", params=1000, layers=3, width=5 * 7, context=11)
    assert run["attention"] == 12 * 3 * 5 * 7 * 11


def test_mpt():
    """Rows 69 and 70: tokens a second and GPU, so one device; with recompute HFU is 4/3 of MFU.

    The parameters of the larger are recalled.
    """
    small = {"params": 6_658_859_008, "layers": 32, "width": 4096, "context": 2048}
    got = sa.mfu(**small, device_throughput=10_643, peak="989.4 TFLOP/s")
    assert got == pytest.approx(0.4644, abs=5e-5)
    large = sa.training_run(
        "hfu",
        params=29_975_214_080,
        layers=48,
        width=7168,
        context=2048,
        device_throughput="865 tok/s",
        device="a100-40gb",
        recompute="1/3",
    )
    assert float(large["mfu"]) == pytest.approx(0.5225, rel=1e-3)
    assert float(large["hfu"]) == pytest.approx(0.6966, rel=1e-3)


@pytest.mark.parametrize(("throughput", "percent"), [(5762, 33.7), (6667, 39.0)])
def test_llama_31_8b_in_torchtitan(throughput, percent):
    """Row 71, of 989e12."""
    got = sa.mfu(flops_per_token=5.7914e10, device_throughput=throughput, peak="989 TFLOP/s")
    assert 100 * got == pytest.approx(percent, abs=0.05)


def test_llama_31_405b_from_its_gpu_hours():
    """Row 73: 30.84M hours, 15.6T tokens."""
    got = sa.mfu(params=405_853_388_800, tokens="15.6T", gpu_hours="30.84M", device="h100")
    assert 100 * got == pytest.approx(34.5, abs=0.1)


def test_llama_3_70b_on_tpus():
    """Row 74: 435 years on one chip; 44 days on 8,960 at 40 %; 17 days on 18,823 at 50 %."""
    known = {"params": "70B", "tokens": "15T", "device": "v5p"}
    assert sa.days(**known, devices=1, mfu=1) / 365 == pytest.approx(435, abs=0.5)
    assert sa.days(**known, devices=8960, mfu=0.4) == pytest.approx(44, abs=0.5)
    assert sa.days(**known, devices=18_823, mfu=0.5) == pytest.approx(17, abs=0.5)


@pytest.mark.parametrize(
    ("params", "tokens", "devices", "speed", "days"),
    [(174.6e9, "300B", 1024, "140 TFLOP/s", 33.9), (1.0e12, "450B", 3072, "163 TFLOP/s", 83.2)],
)
def test_megatron_counts_eight_with_recompute(params, tokens, devices, speed, days):
    """Row 66: T = 8TP/(nX), X being what a GPU did; the 1T model has 1.008e12 parameters."""
    got = sa.days(params=params, tokens=tokens, devices=devices, peak=speed, mfu=1, factor=8)
    assert got == pytest.approx(days, rel=0.011)


def test_llama_1_65b():
    """Row 75: 380 tokens a second and A100."""
    known = {"params": 65_285_660_672, "layers": 80, "width": 8192, "context": 2048, "device": "a100"}
    run = sa.training_run("time", **known, tokens="1.4T", device_throughput=380, devices=2048)
    assert float(run["time"]) / 86_400 == pytest.approx(20.8, abs=0.05)
    assert 100 * float(run["mfu"]) == pytest.approx(49.7, abs=0.05)


def test_deepseek_v3_depends_on_the_peak_that_is_chosen():
    """Rows 77 and 78."""
    known = {"params": "37B", "tokens": "14.8T"}
    assert float(sa.training_run("flops", **known)["flops"]) == pytest.approx(3.29e24, rel=2e-3)
    pre = known | {"gpu_hours": "2.664M"}
    book = sa.mfu(**known, gpu_hours="2.79M", device="h100-pcie", dtype="fp8")
    assert 100 * book == pytest.approx(21.7, abs=0.1)
    assert 100 * sa.mfu(**pre, device="h800", dtype="fp8") == pytest.approx(17.3, abs=0.05)
    assert 100 * sa.mfu(**pre, device="h100", dtype="bf16") == pytest.approx(34.6, abs=0.1)
    a_trillion = sa.training_run("time", device_time="180k h", devices=2048)
    assert float(a_trillion["time"]) / 86_400 == pytest.approx(3.7, abs=0.05)
