"""What a machine is seen to do: products by dtype, element-wise work in its caches, bytes to and from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from symacct.eager.dtypes import torch_dtype
from symacct.measuring.clock import Call, Clock, import_torch
from symacct.measuring.samples import Measurement
from symacct.measuring.timing import measure

Meter: TypeAlias = Literal["matmul", "vector", "function", "memory", "launch"]

MATMUL_DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16")
"""The formats of products that are tried; tf32 is fp32 with products rounded, and only CUDA has it."""

MATMUL_SECONDS = {"cpu": 0.1, "cuda": 2e-3}
"""A product is made larger until it takes so long: a peak is not reached by small ones."""

LARGEST = 16384
ELEMENTS = 2**20
"""So many elements of element-wise work stay in the caches, and take long beside the call itself."""

LONG = 2**24
"""torch divides some functions among a CPU's cores only where arrays are long, and computing outweighs moving them."""

FMA_CHAIN, CALLS = 1024, 64
ARRAY = 2**27
"""Bytes, at least, of the arrays that go to and from memory."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate that was measured: FLOP/s, B/s or launches/s, from which amount of work in which time."""

    meter: Meter
    name: str
    value: float
    unit: str
    measurement: Measurement

    @property
    def spread(self) -> float:
        """How far the quartiles lie apart, as a share of the median; that of the time and of the rate alike."""
        return self.measurement.spread


def rate(meter: Meter, name: str, amount: float, unit: str, measurement: Measurement) -> Rate:
    """Return an amount of work over the shortest of its times: a peak is what can be done at best."""
    return Rate(meter, name, amount / measurement.best, unit, measurement)


def matmul_rates(clock: Clock, device: str, seconds: float) -> Iterator[Rate]:
    """Yield the rate of square products in each format that this device multiplies."""
    for dtype in MATMUL_DTYPES:
        if dtype == "tf32" and clock.device == "cpu":
            continue
        with _fp32_products("high" if dtype == "tf32" else "highest"):
            n, inputs = _large_enough("fp32" if dtype == "tf32" else dtype, clock, device)
            took = measure(_matmul(*inputs), *inputs, cold=False, seconds=seconds)
        yield rate("matmul", dtype, 2 * n**3, "FLOP/s", took)


@contextmanager
def _fp32_products(precision: str) -> Iterator[None]:
    torch = import_torch()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _matmul(a: Any, b: Any) -> Callable[..., Any]:
    torch = import_torch()
    out = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    return lambda x, y: torch.mm(x, y, out=out)


def _large_enough(dtype: str, clock: Clock, device: str) -> tuple[int, list[Any]]:
    """Return the size and operands of a square product that takes long enough to show the peak."""
    n = 256
    while True:
        inputs = _random(2, (n, n), dtype, device)
        call = _matmul(*inputs)
        call(*inputs)
        if n >= LARGEST or clock.seconds(lambda c=call, i=inputs: c(*i)) >= MATMUL_SECONDS[clock.device]:  # type: ignore[misc]
            return n, inputs
        n *= 2


def _random(count: int, shape: tuple[int, ...], dtype: str, device: str) -> list[Any]:
    torch = import_torch()
    return [torch.randn(shape, device=device, dtype=torch.float32).to(torch_dtype(dtype)) for _ in range(count)]


def vector_rates(clock: Clock, device: str, seconds: float) -> Iterator[Rate]:
    """Yield the rates of element-wise arithmetic in fp32 on what the caches hold.

    On CUDA also a chain of multiply-adds in registers, which is what the vector engine can do.
    """
    torch = import_torch()
    n = ELEMENTS
    x, y, out = _random(3, (n,), "fp32", device)
    kernels: tuple[tuple[str, int, Call], ...] = (
        ("add", 1, lambda: torch.add(x, y, out=out)),
        ("multiply-add", 2, lambda: torch.addcmul(x, x, y, out=out)),
    )
    for name, weight, call in kernels:
        yield rate("vector", name, weight * n, "FLOP/s", measure(call, device=device, cold=False, seconds=seconds))
    if clock.device == "cuda":
        chain = _chain(torch, "y * T(0.999) + x", FMA_CHAIN)
        took = measure(lambda: chain(x), device=device, cold=False, seconds=seconds)
        yield rate("vector", "chain of multiply-adds", 2 * FMA_CHAIN * n, "FLOP/s", took)


FUNCTIONS = {
    "exp": "exp(y * T(0.5))",
    "log": "log(y + T(2))",
    "tanh": "tanh(y)",
    "erf": "erf(y)",
    "sigmoid": "T(1) / (T(1) + exp(-y))",
    "sqrt": "sqrt(y + T(1))",
    "gelu": "T(0.5) * y * (T(1) + tanh(T(0.7978845608) * (y + T(0.044715) * y * y * y)))",
}
"""The functions that have a weight and a kernel in torch, and what a call is in a chain of them on CUDA."""


def function_rates(clock: Clock, device: str, seconds: float) -> Iterator[Rate]:
    """Yield calls a second in fp32: on a CPU on arrays, the best of two lengths; on CUDA in chains in registers."""
    torch = import_torch()
    lengths = (ELEMENTS,) if clock.device == "cuda" else (ELEMENTS, LONG)
    inputs = [x.abs() + 0.1 for n in lengths for x in _random(1, (n,), "fp32", device)]
    for name, body in FUNCTIONS.items():
        if clock.device == "cuda":
            times, call = CALLS, _chain(torch, body, CALLS)
        else:
            times, call = 1, getattr(torch, name, torch.nn.functional.gelu)
        found = [(x, measure(partial(call, x), device=device, cold=False, seconds=seconds)) for x in inputs]
        rates = [rate("function", name, times * x.numel(), "calls/s", took) for x, took in found]
        yield max(rates, key=lambda r: r.value)


def _chain(torch: Any, body: str, times: int) -> Any:
    """Return a CUDA kernel that works out `body` many times an element, each from the one before.

    torch compiles it when it is first called; it is the one way to a kernel of one's own without a compiler.
    """
    loop = f"for (int i = 0; i < {times}; ++i) y = {body};"
    return torch.cuda.jiterator._create_jit_fn(f"template <typename T> T chain(T x) {{ T y = x; {loop} return y; }}")  # noqa: SLF001


def memory_rates(clock: Clock, device: str, seconds: float) -> Iterator[Rate]:
    """Yield bytes a second of a copy, of reading alone and of writing alone; of arrays that no cache holds."""
    torch = import_torch()
    n = max(4 * clock.cache, ARRAY) // 4
    source, target = _random(2, (n,), "fp32", device)
    size = source.numel() * source.element_size()
    kernels: Sequence[tuple[str, int, Call]] = (
        ("copy", 2, lambda: target.copy_(source)),
        ("read", 1, lambda: torch.sum(source)),
        ("write", 1, lambda: target.fill_(1.5)),
        ("add", 3, lambda: torch.add(target, source, out=target)),
    )
    for name, passes, call in kernels:
        yield rate("memory", name, passes * size, "B/s", measure(call, device=device, cold=False, seconds=seconds))


def launch_rate(device: str, seconds: float) -> Rate:
    """Return how many smallest kernels a second are launched one after the other."""
    torch = import_torch()
    x = torch.zeros(1, device=device)
    count = 200

    def call() -> None:
        for _ in range(count):
            x.add_(1.0)

    took = measure(call, device=device, cold=False, seconds=seconds)
    return rate("launch", "add to one element", count, "launches/s", took)
