"""The commands about hardware and about training runs on it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from symacct.cli.options import Json, examples
from symacct.cli.output import emit
from symacct.cli.words import read_values
from symacct.errors import EquationError
from symacct.hardware import device as device_of
from symacct.hardware import devices as all_devices
from symacct.hardware.render import devices_text, peaks_json, peaks_text
from symacct.runs import Run, training_run
from symacct.runs.training import ALIASES

machines = typer.Typer(rich_markup_mode=None)

ValueWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME=VALUE", help="Quantities with units, such as params=70B device=h100 'time=30 days'."),
]
Wanted: TypeAlias = Annotated[
    str | None, typer.Option("--of", help="The quantity that is wanted, such as tokens, recompute or cost.")
]


@machines.command(
    epilog=examples(
        "days params=70B tokens=15T devices=1024 device=h100 mfu=0.5",
        "days params=7B tokens=2T 'price=$2/h' device=h100 mfu=0.3..0.5 devices=512",
        "days params=70B days=30 devices=1024 device=h100 mfu=0.4 --of tokens",
    )
)
def days(values: ValueWords = None, *, of: Wanted = None, json: Json = False) -> None:
    """Print how long a training run takes; with the days given, what is open instead: tokens, devices, mfu, cost.

    Quantities: params, tokens, factor, layers, width, context, flops_per_token, flops, devices, device, dtype, peak,
    mfu, recompute, hfu, throughput, device_throughput, time (days, hours, seconds), device_time (gpu_hours), price,
    cost. 0.3..0.5 is a range.
    """
    _print_run(_asked(values, "time", of), as_json=json)


@machines.command(
    epilog=examples(
        "mfu params=6658859008 layers=32 width=4096 context=2048 throughput=10643 devices=1 device=h100",
        "mfu flops=6.3e24 days=144 devices=1024 device=h100",
    )
)
def mfu(values: ValueWords = None, *, of: Wanted = None, json: Json = False) -> None:
    """Print the utilisation of a run, a step or an operation: its work over what the devices could do in its time.

    Quantities are those of `symacct days`. A utilisation above 1 is refused, with what may be the cause.
    """
    _print_run(_asked(values, "mfu", of), as_json=json)


def _asked(words: list[str] | None, target: str, of: str | None) -> Run:
    """Ask for what is wanted: by default the target, or where that is given the first quantity that is open."""
    values = read_values(words)
    if "target" in values:
        raise EquationError("a run has no 'target'; the command says what is wanted")
    given = {ALIASES.get(word, (word,))[0] for word in values}
    return training_run(of or (None if target in given else target), **values)


def _print_run(run: Run, *, as_json: bool) -> None:
    emit(lambda: str(run), run.to_json, as_json=as_json)


@machines.command(epilog=examples("devices", "devices h100 mi300x", "devices tpu-v5e --json"))
def devices(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Devices, or a .toml file; all without.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Print devices: memory, bandwidth, peaks; of those that are named every figure with its source."""
    if names:
        found = [device_of(name) for name in names]
        emit(lambda: "\n\n".join(map(str, found)), lambda: [d.to_json() for d in found], as_json=json)
    else:
        emit(lambda: devices_text(all_devices()), lambda: [d.to_json() for d in all_devices()], as_json=json)


@machines.command(epilog=examples("peak h100 bf16", "peak rtx4090 fp16 --accumulation fp16", "peak h100"))
def peak(
    name: Annotated[str, typer.Argument(metavar="DEVICE", help="A device, or a .toml file.")],
    dtype: Annotated[str | None, typer.Argument(metavar="DTYPE", help="What is multiplied; all without.")] = None,
    *,
    engine: Annotated[str | None, typer.Option("--engine", "-e", help="matrix or vector.")] = None,
    accumulation: Annotated[str | None, typer.Option("--accumulation", "-a", help="Format of the sums.")] = None,
    json: Json = False,
) -> None:
    """Print the peak of a device for a dtype, dense and with sparsity, and its ridge: peak over bandwidth."""
    found = device_of(name)
    if dtype is None:
        peaks = found.select(engine=engine, accumulation=accumulation)
    else:
        peaks = (found.peak(dtype, engine=engine, accumulation=accumulation),)
    emit(lambda: peaks_text(found, peaks), lambda: peaks_json(found, peaks), as_json=json)
