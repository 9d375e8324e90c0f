"""How calls are timed, on a clock that is a script: nothing here depends on how fast the machine is."""

from __future__ import annotations

import contextlib
import gc
import math
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import symacct as sa
from symacct.errors import ConventionError, MissingPackageError, ShapeError, SizeError
from symacct.measuring import clock as clocks
from symacct.measuring import timing
from symacct.measuring.clock import Clock
from symacct.measuring.pool import device_of


class Script:
    """A clock that writes down what happens and reads its times from a list."""

    def __init__(self, times: Iterator[float], cache: int = 0) -> None:
        self.events: list[str] = []
        self.times = times
        self.clock = Clock("cpu", cache, self.seconds, lambda: self.events.append("flush"), lambda: ("it is hot",))

    def seconds(self, call: Callable[[], object]) -> float:
        self.events.append("start")
        call()
        self.events.append("stop")
        return next(self.times)


def counting() -> Iterator[float]:
    yield from (float(n) for n in range(1, 10**6))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script(counting())
    monkeypatch.setattr(timing, "clock_of", lambda _device: made.clock)
    ticks = iter(range(10**9))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks) / 10)
    return made


@pytest.mark.claim("S36")
def test_the_first_calls_count_for_nothing(script: Script) -> None:
    took = sa.measure(lambda: script.events.append("call"), device="cpu", samples=4)
    warm = script.events.index("flush")
    assert script.events[:warm].count("call") >= 3
    assert took.samples[0] == script.events[:warm].count("call") + 1
    assert took.samples == tuple(took.samples[0] + i for i in range(4))


def test_caches_are_emptied_before_each_sample_and_off_the_clock(script: Script) -> None:
    sa.measure(lambda: script.events.append("call"), device="cpu", samples=4)
    taken = script.events[script.events.index("flush") :]
    assert taken == ["flush", "start", "call", "stop"] * 4


def test_warm_samples_flush_nothing_and_are_many_calls_together(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(iter([1e-4] * 1000))
    monkeypatch.setattr(timing, "clock_of", lambda _device: script.clock)
    took = sa.measure(lambda: script.events.append("call"), device="cpu", samples=3, seconds=1e-3, cold=False)
    assert "flush" not in script.events
    assert script.events[-12:] == ["start", *["call"] * 10, "stop"]
    assert took.samples == pytest.approx([1e-5] * 3)


def test_at_least_five_samples_whatever_the_time(script: Script) -> None:
    assert len(sa.measure(lambda: None, device="cpu", samples=30, seconds=1e-6).samples) == 5
    assert len(sa.measure(lambda: None, device="cpu", samples=2, seconds=1e-6).samples) == 2
    assert script.clock.complaints() == sa.measure(lambda: None, device="cpu", samples=1).notes


def test_the_collector_rests_and_wakes_even_after_an_error(script: Script) -> None:
    seen = []

    def fn() -> None:
        seen.append(gc.isenabled())
        if "flush" in script.events and len(seen) > 30:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        sa.measure(fn, device="cpu", samples=60, seconds=100)
    assert gc.isenabled()
    assert not seen[-1]


class TestInputs:
    torch = pytest.importorskip("torch")

    def test_shapes_become_random_tensors(self, script: Script) -> None:
        seen: list[Any] = []
        sa.measure(lambda a, b: seen.append((a, b)), (3, 4), [5], dtype="bf16", samples=1)
        a, b = seen[-1]
        assert (tuple(a.shape), tuple(b.shape)) == ((3, 4), (5,))
        assert a.dtype == self.torch.bfloat16
        assert len(set(a.flatten().tolist())) > 6
        assert script.events

    def test_copies_take_turns_until_they_exceed_the_cache_fourfold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        script = Script(iter([1.0] * 1000), cache=1000)
        monkeypatch.setattr(timing, "clock_of", lambda _device: script.clock)
        given, seen = self.torch.arange(100, dtype=self.torch.float32), []
        sa.measure(lambda x: seen.append(x.data_ptr()), given, samples=40, seconds=1e-3)
        assert len(set(seen)) == 11  # 400 bytes each
        assert given.data_ptr() not in seen
        assert all(a != b for a, b in pairwise(seen))

    def test_a_warm_measurement_stays_with_one(self, script: Script) -> None:
        seen: set[int] = set()
        sa.measure(lambda x: seen.add(x.data_ptr()), self.torch.rand(7), samples=3, cold=False)
        assert len(seen) == 1
        assert script.events

    def test_constant_inputs_are_told(self, script: Script) -> None:
        took = sa.measure(lambda *_: None, self.torch.zeros(9), self.torch.rand(9), samples=1)
        assert "input 1 is constant" in took.notes[0]
        assert "input" not in sa.measure(lambda *_: None, self.torch.rand(9), samples=1).notes[0]
        assert script.events

    def test_what_is_given_is_left_as_it_was(self, script: Script) -> None:
        given = self.torch.rand(7)
        before = given.clone()
        took = sa.measure(lambda x: x.mul_(2), given, samples=3)
        assert self.torch.equal(given, before)
        assert "input 1 is changed" in took.notes[0]
        assert not any("changed" in n for n in sa.measure(lambda x: x * 2, given, samples=3).notes)
        assert script.events

    @pytest.mark.parametrize(
        "view", [lambda x: x, lambda x: x.T, lambda x: x[::2, 1:], lambda x: x[0].expand(5, 6)], ids=str
    )
    def test_copies_have_the_same_strides_and_numbers(self, script: Script, view: Callable[[Any], Any]) -> None:
        given, seen = view(self.torch.rand(6, 6)), []
        sa.measure(seen.append, given, samples=3)
        assert all(x.stride() == given.stride() and self.torch.equal(x, given) for x in seen)
        assert script.events

    def test_two_views_of_one_storage_stay_so(self, script: Script) -> None:
        given, seen = self.torch.rand(4, 4), []
        sa.measure(lambda x, y: seen.append((x, y)), given, given.T, samples=3)
        assert all(x.data_ptr() == y.data_ptr() != given.data_ptr() for x, y in seen)
        assert script.events

    def test_gradients_go_to_the_copies(self, script: Script) -> None:
        given = self.torch.rand(4, requires_grad=True)
        sa.measure(lambda x: (x * x).sum().backward(), given, samples=2)
        assert given.grad is None
        assert script.events

    @pytest.mark.parametrize(
        ("given", "device", "told"),
        [
            (lambda torch: torch.eye(3).to_sparse(), None, "with strides"),
            (lambda torch: torch.ones(3, device="meta"), "cpu", "are on meta, to be timed on cpu"),
            (lambda torch: torch.ones(3), "cuda", "are on cpu, to be timed on cuda"),
        ],
        ids=["sparse", "meta", "elsewhere"],
    )
    def test_tensors_that_cannot_be_timed(self, given: Any, device: str | None, told: str) -> None:
        with pytest.raises(ShapeError, match=told):
            sa.measure(lambda x: x, given(self.torch), device=device)

    def test_each_gpu_has_a_clock_of_its_own(self) -> None:
        """Events of one tell nothing of what runs on another."""
        given = [SimpleNamespace(device="cuda:1")]
        assert device_of(given, None) == device_of(given, "cuda") == device_of(given, "cuda:1") == "cuda:1"
        with pytest.raises(ShapeError, match="are on cuda:1, to be timed on cuda:0"):
            device_of(given, "cuda:0")

    def test_a_shape_beyond_memory(self) -> None:
        with pytest.raises(SizeError, match="no tensor of the shape"):
            sa.measure(lambda x: x, (10**7, 10**7))

    @pytest.mark.parametrize("wrong", ["3 4", 3, (2.5,), None])
    def test_neither_tensor_nor_shape(self, wrong: Any) -> None:
        with pytest.raises(ShapeError, match="a tensor with strides or a shape"):
            sa.measure(lambda _: None, wrong)

    def test_an_empty_size(self) -> None:
        with pytest.raises(SizeError, match="below 1"):
            sa.measure(lambda _: None, (0, 3))

    def test_no_cuda_here(self) -> None:
        if self.torch.cuda.is_available():
            pytest.skip("there is a GPU")
        with pytest.raises(MissingPackageError, match="no CUDA device"):
            sa.measure(lambda: None, device="cuda")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: sa.measure(3), ConventionError),
        (lambda: sa.measure(lambda: None, device="abacus"), ConventionError),
        (lambda: sa.measure(lambda: None, samples=0), SizeError),
        (lambda: sa.measure(lambda: None, samples=2.5), SizeError),
        (lambda: sa.measure(lambda: None, samples="3"), SizeError),
        (lambda: sa.measure(lambda: None, seconds=0.0), SizeError),
        (lambda: sa.measure(lambda: None, seconds=math.inf), SizeError),
        (lambda: sa.measure(lambda: None, seconds="2 s"), SizeError),
    ],
)
def test_mistakes(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


class FakeCuda:
    """torch as the clock of a GPU sees it: writes down the order of what is asked."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.uint8 = "uint8"
        self.cuda = SimpleNamespace(
            is_available=lambda: True,
            device=contextlib.nullcontext,
            get_device_properties=lambda _d: SimpleNamespace(L2_cache_size=50, uuid="u-1"),
            synchronize=lambda _d: self.log.append("synchronize"),
            Event=self.event,
        )

    def empty(self, size: int, **_options: Any) -> Any:
        assert size == 200
        return SimpleNamespace(zero_=lambda: self.log.append("flush"))

    def event(self, *, enable_timing: bool) -> Any:
        assert enable_timing
        return SimpleNamespace(record=lambda: self.log.append("record"), elapsed_time=lambda _end: 250.0)


@pytest.mark.claim("S36")
def test_a_gpu_is_synchronised_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = FakeCuda()
    monkeypatch.setattr(clocks, "import_torch", lambda: torch)
    clock = clocks.clock_of("cuda")
    clock.flush()
    assert clock.seconds(lambda: torch.log.append("call")) == 0.25
    assert torch.log == ["synchronize", "flush", "record", "call", "record", "synchronize"]


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("0x0000000000000004\n", "a power cap"),
        ("0x0000000000000028\n", "hardware slowdown"),
        ("0x1\n", ""),
        ("N/A", ""),
    ],
)
def test_what_a_gpu_reports(monkeypatch: pytest.MonkeyPatch, printed: str, told: str) -> None:
    asked = []
    monkeypatch.setattr(clocks, "import_torch", FakeCuda)
    monkeypatch.setattr(clocks.shutil, "which", lambda _name: "nvidia-smi")
    monkeypatch.setattr(
        clocks.subprocess, "run", lambda words, **_: asked.append(words) or SimpleNamespace(stdout=printed)
    )
    complaints = clocks.clock_of("cuda").complaints()
    assert bool(complaints) == bool(told)
    assert told in " ".join(complaints)
    assert asked[0][-1] == "GPU-u-1"


def test_without_torch_plain_functions_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert sa.measure(lambda: 1, samples=5, seconds=0.01).device == "cpu"
    with pytest.raises(MissingPackageError, match="need torch"):
        sa.measure(lambda _: None, (3,))
