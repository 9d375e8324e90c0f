"""The questions of the lecture's envelope, and of budgets, each solved for any unknown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import (
    EquationError,
    HardwareError,
    MixedUnitsError,
    SizeError,
    UndefinedSizeError,
    UnitError,
    UtilisationError,
)
from symacct.runs import checked_utilisation
from symacct.units import Quantity, Range

LECTURE = {"params": "70B", "tokens": "15T", "devices": 1024, "device": "h100", "mfu": 0.5}


@pytest.mark.claim("S4", "S5", "S6", "S7")
def test_the_lectures_first_question():
    run = sa.training_run(**LECTURE)
    assert run.target == "time"
    assert run["flops"] == 6_300_000_000_000_000_000_000_000
    assert float(run["time"]) / 86_400 == pytest.approx(6 * 70e9 * 15e12 / (1024 * 989.5e12 * 0.5 * 86_400))
    assert sa.days(**LECTURE) == pytest.approx(143.93, abs=0.005)
    per_day = sa.training_run("flops", devices=1024, device="h100", mfu=0.5, days=1)["flops"]
    assert float(per_day) == pytest.approx(4.377e22, rel=1e-3)


@pytest.mark.claim("S7")
def test_other_readings_stand_beside_the_answer():
    run = sa.training_run(**LECTURE)
    days = {what: float(value) / 86_400 for what, value in run.readings}
    assert list(days.values()) == pytest.approx([71.96, 47.98, 2125.6], abs=0.005)
    assert [word in what for word, what in zip(("sparsity", "forward", "fp32"), days, strict=True)] == [True] * 3
    # with the lecture's own fp32 peak of 67.5e12
    assert pytest.approx(2110, abs=1) == 143.93 * 989.5 / 67.5


@pytest.mark.claim("S6")
def test_no_utilisation_is_assumed():
    with pytest.raises(EquationError, match=r"time does not follow from .*\n- flops = devices\*peak\*mfu\*time \(give"):
        sa.days(**{k: v for k, v in LECTURE.items() if k != "mfu"})


@pytest.mark.claim("S3")
def test_the_six_is_a_quantity_like_the_others():
    run = sa.training_run(**LECTURE)
    assert run.how["factor"].startswith("assumed: 2 forward, 4 backward")
    assert sa.days(**LECTURE, factor=8) == pytest.approx(143.93 * 8 / 6, abs=0.01)
    step = sa.flops("t d, d k -> t k") * 3
    factor = step / sa.dims("t")[0] / sa.dims("d")[0] / sa.dims("k")[0]
    assert sa.days(**LECTURE, factor=int(factor)) == sa.days(**LECTURE)
    assert sa.training_run("factor", flops=800, params=10, tokens=10)["factor"] == 8


@pytest.mark.claim("S3")
def test_the_factor_of_a_network_follows_from_its_gradients():
    """Six, but for the gradient of the first input, which nobody needs."""

    def network(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)

    step = sa.account(network, params=["w"], b=2, d=8, L=4).training()
    run = sa.training_run("factor", flops=step.matmul_flops, params=4 * 8 * 8, tokens=2)
    assert float(run["factor"]) == 6 - 2 / 4


@pytest.mark.claim("D5", "D6")
def test_the_precision_stands_with_the_answer():
    run = sa.training_run(**LECTURE)
    assert run.how["peak"] == "h100: bf16, fp32 sums, matrix, dense"
    assert "h100: bf16, fp32 sums, matrix, dense" in " ".join(str(run).split())
    assert sa.days(**LECTURE, dtype="fp8") == pytest.approx(143.93 / 2, abs=0.005)
    assert sa.days(**LECTURE, dtype="fp32") == pytest.approx(2125.6, abs=0.05)


@pytest.mark.parametrize("unknown", ["params", "tokens", "devices", "mfu", "factor"])
def test_every_quantity_can_be_the_unknown(unknown):
    known = {"params": "70B", "tokens": "15T", "devices": 1024, "mfu": 0.5, "factor": 6, "device": "h100"}
    time = sa.training_run(**known)["time"]
    wanted = sa.training_run(**known)[unknown]
    del known[unknown]
    assert sa.training_run(unknown, **known, time=time)[unknown] == wanted
    assert sa.training_run("peak", params=1, tokens=1, devices=2, mfu=0.5, time="3 s")["peak"] == 2


def test_budgets():
    run = sa.training_run("tokens", params="7B", cost="$1M", price="$2/h", device="h100", mfu=0.4)
    hours = 10**6 / 2
    assert float(run["device_time"]) == hours * 3600
    assert float(run["tokens"]) == pytest.approx(hours * 3600 * 989.5e12 * 0.4 / (6 * 7e9))
    assert sa.training_run("cost", **LECTURE, price="$2/h")["cost"] == pytest.approx(143.93 * 24 * 1024 * 2, rel=1e-4)
    budget = sa.training_run("tokens", params="70B", flops="3640 PFLOP/s*day")
    assert float(budget["tokens"]) == pytest.approx(3640e15 * 86_400 / 6 / 70e9)


def test_ranges_in_and_out():
    assert sa.days(**LECTURE | {"mfu": "0.3..0.5"}) == pytest.approx((143.93, 143.93 * 5 / 3), abs=0.01)
    both = sa.days(**LECTURE | {"mfu": (0.25, 0.5), "tokens": "7.5..15T"})
    assert both == pytest.approx((143.93 / 2, 143.93 * 2), abs=0.01)
    run = sa.training_run(**LECTURE | {"mfu": "0.3..0.5"})
    assert isinstance(run["time"], Range)
    assert run["flops"] == Quantity(63 * 10**23, "FLOP")  # does not depend on it
    assert not run.readings
    assert "143.93 days to 239.8" in str(run)
    low, high = sa.mfu(flops=100, time="1 s", devices=1, peak="200..400 FLOP/s")
    assert (low, high) == (0.25, 0.5)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 0.4), st.floats(0.41, 1), st.floats(0, 1), st.integers(1, 9), st.integers(10, 99))
def test_a_range_holds_every_value_between(low, high, share, few, many):
    between = min(max(low + share * (high - low), low), high)
    known = {"params": "7B", "tokens": "1T", "devices": (few, many), "peak": 1e15}
    least, most = sa.days(**known, mfu=(low, high))
    inside = sa.days(**known | {"devices": few}, mfu=between)
    assert least <= inside * (1 + 1e-12)
    assert inside <= most * (1 + 1e-12)


@pytest.mark.claim("S37", "S38")
def test_utilisation_is_work_over_time_and_peak():
    assert sa.mfu(flops=100, time="2 s", devices=1, peak=80) == 100 / 2 / 80
    n = 16_384
    matmul = sa.flops("i j, j k -> i k", i=n, j=n, k=n)
    measured = sa.mfu(flops=matmul, seconds=0.01111, devices=1, device="h100")
    assert measured == sa.mfu(flops=int(matmul), time="11.11 ms", devices=1, device="h100")
    assert measured == pytest.approx(2 * n**3 / 0.01111 / 989.5e12)


@pytest.mark.claim("S36", "S38")
def test_a_utilisation_above_1_names_causes():
    causes = ["synchronise", "sparsity", "dtype", "causal", "devices"]
    for ask in (
        lambda: sa.mfu(flops=201, time="1 s", devices=1, peak=200),
        lambda: sa.days(**LECTURE | {"mfu": 1.2}),
        lambda: sa.days(**LECTURE | {"mfu": "0.5..1.2"}),
        lambda: sa.training_run("time", **LECTURE | {"mfu": 0.9}, recompute="1/3"),
        lambda: checked_utilisation(1.0001),
    ):
        with pytest.raises(UtilisationError, match="no device does more than its peak") as caught:
            ask()
        assert all(cause in str(caught.value) for cause in causes)
    assert sa.mfu(flops=200, time="1 s", devices=1, peak=200) == 1
    with pytest.raises(SizeError, match="mfu: it is 0"):
        sa.days(**LECTURE | {"mfu": 0})


REFUSED = {
    "tokens for params": ({"params": "15T tokens"}, MixedUnitsError, "params: '15T tokens' is a number of tokens"),
    "bytes for params": ({"params": "70 GB"}, MixedUnitsError, "params: '70 GB' is a size in bytes"),
    "work for speed": ({"device": None, "peak": "989 TFLOP"}, MixedUnitsError, "peak: .* is work"),
    "either": ({"device": None, "peak": "989 TFLOPS"}, UnitError, "peak: TFLOPS reads as work or as speed"),
    "a time without unit": ({"mfu": None, "time": 30}, SizeError, "time: 30 has no unit; write time='30 days'"),
    "a price without unit": ({"price": "2"}, SizeError, r"price: '2' has no unit; write price='\$2/h'"),
    "device twice": ({"peak": 1e15}, EquationError, "peak is given twice"),
    "days twice": ({"mfu": None, "days": 3, "time": "3 days"}, EquationError, "time is given twice"),
    "a name": ({"param": "70B", "params": None}, EquationError, "no 'param'. Did you mean 'params'"),
    "a device": ({"device": "h1000"}, HardwareError, "unknown device 'h1000'"),
    "a dtype": ({"dtype": "nvfp4"}, HardwareError, "h100 has no peak of nvfp4"),
    "zero": ({"devices": 0}, SizeError, "devices: it is 0"),
    "a contradiction": ({"time": "100 days"}, EquationError, "contradict .* leave one out"),
    "two counts of the work": ({"flops": 6.2e24}, EquationError, "contradict .* leave one out"),
    "half of attention": ({"layers": 80}, EquationError, "time does not follow"),
    "more than is": ({"params": None, "flops_per_token": 5, "attention": 6}, EquationError, "params would be -0.16"),
    "beyond all": ({"tokens": "1e40"}, SizeError, "tokens: .* beyond what a run can have"),
    "a range as a difference": ({"mfu": "0.3-0.5"}, SizeError, r"a range is written 0.3..0.5"),
    "a range backwards": ({"mfu": "0.5..0.3"}, SizeError, "smaller end first"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    change, error, says = REFUSED[what]
    known = {k: v for k, v in (LECTURE | change).items() if v is not None}
    with pytest.raises(error, match=says):
        sa.training_run("time", **known)


def test_many_ranges_are_refused():

    known = dict.fromkeys(["params", "tokens", "devices", "peak", "layers", "width", "context"], (1, 2))
    with pytest.raises(EquationError, match="more than 8 ranges"):
        sa.days(**known, factor=(5, 6), attention_factor=(6, 12), mfu="0.1..0.2")


def test_what_is_not_known_is_no_quantity_of_a_run():
    run = sa.training_run(**LECTURE)
    with pytest.raises(EquationError, match="nothing tells 'cost' of this run"):
        run["cost"]
    with pytest.raises(EquationError, match="a run has no 'speed'"):
        sa.training_run("speed", **LECTURE)


def test_the_run_as_json():
    data = json.loads(json.dumps(sa.training_run(**LECTURE).to_json()))
    assert data["target"] == "time"
    assert data["quantities"]["flops"] == {
        "value": 63 * 10**23,
        "float": 6.3e24,
        "unit": "FLOP",
        "how": "flops = flops_per_token*tokens",
        "meaning": "operations of the run",
    }
    assert data["quantities"]["time"]["float"] == pytest.approx(143.93 * 86_400, rel=1e-4)
    assert [r["unit"] for r in data["readings"]] == ["s"] * 3
    ranged = sa.training_run(**LECTURE | {"mfu": "0.3..0.5"}).to_json()["quantities"]["mfu"]
    assert (ranged["low"], ranged["high"]) == (0.3, 0.5)


def test_times_takes_rates_with_units():
    account = sa.account("i j, j k -> i k", i="n", j="n", k="n")
    h100 = sa.device("h100")
    typed = sa.times(account, peak=h100.peak("bf16").speed, bandwidth=h100.bandwidth, n=1024)
    assert typed == sa.times(account, peak="989.5 TFLOP/s", bandwidth="3.35 TB/s", n=1024)
    assert typed == sa.times(account, peak=989.5e12, bandwidth=3.35e12, n=1024)
    with pytest.raises(MixedUnitsError, match="a bandwidth"):
        sa.times(account, peak=h100.bandwidth, bandwidth=h100.bandwidth, n=1024)
    with pytest.raises(UndefinedSizeError):
        sa.times(account, peak=1, bandwidth=1)


@pytest.mark.parametrize(
    ("given", "missing"),
    [({"layers": 32, "width": 4096}, "context"), ({"layers": 32}, "width, context"), ({"context": 9}, "layers, width")],
)
def test_what_attention_lacks_is_named(given, missing):
    known = {"params": "7B", "tokens": "2T", "devices": 512, "device": "h100", "mfu": 0.5}
    with pytest.raises(EquationError, match=f"give {missing}, or leave {', '.join(given)} out"):
        sa.days(**known, **given)
    assert sa.days(**known, layers=32, width=4096, context=9) > sa.days(**known)


def test_a_contradiction_is_told_in_units():
    with pytest.raises(EquationError) as caught:
        sa.days(params="70B", tokens="15T", cost="$10M", price="$2/h", device="h100", mfu=0.4, devices=1024)
    assert "cost = $10,000,000.00, device_time = 4,421,425 device-hours, price = $2/h; leave one out" in str(
        caught.value
    )


def test_whole_devices_and_percentages() -> None:
    text = str(sa.training_run(params="70B", tokens="15T", time="100 days", device="h100", mfu="50%"))
    devices = 6 * 70e9 * 15e12 / (100 * 86400 * 989.5e12 * 0.5)
    assert text.splitlines()[0].endswith(f", so {int(devices) + 1:,} whole ones")
    with pytest.raises(UtilisationError, match="a percentage was meant, which is written '50%'"):
        sa.training_run(params="70B", tokens="15T", devices=1024, device="h100", mfu=50)
