"""The commands about steps of training: `train`, `memory` and `fit`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

import typer

from symacct.cli.options import ConventionName, Json, ParamNames, SizeWords, examples
from symacct.cli.output import emit
from symacct.cli.words import read_policy, read_sizes, read_values
from symacct.dtypes import POLICIES
from symacct.errors import ConventionError, SizeError, one_of
from symacct.expr import as_size, names_in
from symacct.memory import GROUPS, MemoryFigures
from symacct.optimizers import KERNELS, NAMED
from symacct.show import table
from symacct.worked import account_of_file

steps = typer.Typer(rich_markup_mode=None)

FileWord: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="A worked graph, file.py or file.py:function; it is executed.")
]
OptimizerName: TypeAlias = Annotated[
    str, typer.Option("--optimizer", help=f"{', '.join(NAMED)}.", autocompletion=lambda: list(NAMED))
]
PolicyName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--policy",
        "-p",
        help=f"Storage formats by role: {', '.join(POLICIES)}; or 'param=bf16,grad=fp32,state=fp32'.",
        autocompletion=lambda: list(POLICIES),
    ),
]
KernelName: TypeAlias = Annotated[
    str | None, typer.Option("--kernel", help=f"How the update runs: {', '.join(KERNELS)}.")
]
AccumulateWord: TypeAlias = Annotated[
    str, typer.Option("--accumulate", help="Micro-batches before an update: a number or a name.")
]
WrtWords: TypeAlias = Annotated[
    str | None, typer.Option("--wrt", help="What is trained, apart by commas; by default all parameters.")
]


@steps.command(
    epilog=examples(
        "train graphs/gpt2.py --optimizer adamw --policy bf16 b=8 s=1024",
        "train graphs/deep_network.py --accumulate 4 b=16 d=1024 L=16 --json",
    )
)
def train(
    file: FileWord,
    sizes: SizeWords = None,
    *,
    optimizer: OptimizerName = "adamw",
    policy: PolicyName = "bf16",
    kernel: KernelName = None,
    accumulate: AccumulateWord = "1",
    params: ParamNames = None,
    wrt: WrtWords = None,
    convention: ConventionName = "2n",
    json: Json = False,
) -> None:
    """Print what a step of training costs: operations and bytes of each phase, and the memory with its peak."""
    how: dict[str, Any] = {"optimizer": optimizer, "policy": policy, "kernel": kernel, "accumulate": accumulate}
    found, numbers = _trained(file, sizes, params, wrt, convention=convention, **how)
    if numbers:
        figures = found.at(sizes=numbers)
        emit(lambda: str(figures), figures.to_json, as_json=json)
        return
    emit(lambda: str(found), found.to_json, as_json=json)


@steps.command(
    epilog=examples(
        "memory graphs/deep_network.py --optimizer adagrad b=2 d=4 L=3 --by tensor",
        "memory graphs/gpt2.py s=1024 d=768 h=12 k=64 f=3072 v=50257 c=1024 L=12 --largest b --in '80 GB'",
        "memory graphs/deep_network.py d=1024 L=16 --largest b --in '300 MB' --batch 256",
        "memory graphs/deep_network.py b=64 d=1024 L=16 --plot memory.svg",
    )
)
def memory(
    file: FileWord,
    sizes: SizeWords = None,
    *,
    optimizer: OptimizerName = "adamw",
    policy: PolicyName = "bf16",
    kernel: KernelName = None,
    accumulate: AccumulateWord = "1",
    params: ParamNames = None,
    wrt: WrtWords = None,
    by: Annotated[str, typer.Option("--by", help=f"At given sizes: {', '.join(GROUPS)}.")] = "role",
    largest: Annotated[str | None, typer.Option("--largest", help="The size whose largest value is asked.")] = None,
    into: Annotated[str | None, typer.Option("--in", help="The memory that it must fit into, such as '80 GB'.")] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", help="With --largest: how many micro-batches this many need.")
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--plot", help="Draw what is alive when: a .svg, .png or .pdf file.")
    ] = None,
    json: Json = False,
) -> None:
    """Print what is alive in a step of training: by role, the peak and where it is; or the largest size that fits."""
    how: dict[str, Any] = {"optimizer": optimizer, "policy": policy, "kernel": kernel, "accumulate": accumulate}
    found, numbers = _trained(file, sizes, params, wrt, asked=largest, **how)
    _together(largest, into, batch, by, picture)
    if picture is not None:
        from symacct.plot import draw

        draw(found.memory, picture, sizes=numbers)
    if largest is not None:
        asked = (
            found.memory.largest(largest, into, sizes=numbers)
            if batch is None
            else found.accumulation(largest, batch, into, sizes=numbers)
        )
        emit(lambda: str(asked), asked.to_json, as_json=json)
    elif found.memory.names and not numbers:
        _in_numbers(by, found.memory.names)
        emit(lambda: str(found.memory), found.memory.to_json, as_json=json)
    else:
        figures = found.memory.at(sizes=numbers)
        emit(lambda: _by(figures, by), figures.to_json, as_json=json)


@steps.command(
    epilog=examples(
        "fit devices=8 'memory=80 GB'",
        "fit params=10B 'memory=80 GB' --policy megatron --stage 1",
        "fit params=P devices=n --optimizer adam8bit",
    )
)
def fit(
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Two of params, devices and memory (of one device)."),
    ] = None,
    *,
    optimizer: OptimizerName = "adamw",
    policy: PolicyName = "bf16",
    stage: Annotated[
        int, typer.Option("--stage", help="What is divided: 0 nothing, 1 state, 2 gradients too, 3 parameters too.")
    ] = 3,
    json: Json = False,
) -> None:
    """Print the largest model that fits, or the devices or the memory that a model takes at least."""
    from symacct.memory import fit as fit_of

    given = read_values(values)
    if unknown := [name for name in given if name not in ("params", "devices", "memory")]:
        msg = f"{unknown[0]!r} is none of params, devices, memory"
        raise ConventionError(msg)
    found = fit_of(**given, optimizer=optimizer, policy=read_policy(policy), stage=stage)
    emit(lambda: str(found), found.to_json, as_json=json)


def _trained(
    file: str,
    sizes: list[str] | None,
    params: str | None,
    wrt: str | None,
    *,
    asked: str | None = None,
    convention: str = "2n",
    **how: Any,
) -> tuple[Any, dict[str, str]]:
    """Return the step of training of a file, and the numbers of its sizes.

    Numbers for all sizes (but the one that is asked) stay out of the step, so that it is told in names.
    """
    if ".py" not in file:
        msg = f"{file[:60]!r} is no file of Python; a step of training is that of a layer, such as graphs/gpt2.py"
        raise ConventionError(msg)
    given = read_sizes(sizes)
    numbers = {name: size for name, size in given.items() if size.isdecimal()}
    account_at = partial(account_of_file, file, convention=convention, params=params)
    account = account_at(sizes={name: size for name, size in given.items() if name not in numbers})
    parts = names_in(as_size(how["accumulate"], "accumulate"))
    if {*account.names, *parts} - {asked} - set(numbers):
        account, numbers = account_at(sizes=given), {}
    return account.training(wrt, **how | {"policy": read_policy(how["policy"])}), numbers


def _together(largest: str | None, into: str | None, batch: int | None, by: str, picture: str | None) -> None:
    if largest is not None and (by != "role" or picture is not None):
        told = f"--by {by}" if picture is None else "--plot"
        raise ConventionError(f"{told} is of what is alive at given sizes; leave it out with --largest")
    if (largest is None) != (into is None) or (batch is not None and largest is None):
        msg = "give --largest and --in together, as in --largest b --in '80 GB'; --batch goes with them"
        raise ConventionError(msg)


def _in_numbers(by: str, names: tuple[str, ...]) -> None:
    if by != "role":
        msg = f"--by {by} is at given sizes; {one_of(names)} are still names"
        raise SizeError(msg)


def _by(figures: MemoryFigures, group: str) -> str:
    """Return what is alive at the peak, by role or otherwise."""
    if group == "role":
        return str(figures)
    return figures.head + "\n" + table([group, "alive then"], [[key, str(q)] for key, q in figures.by(group).items()])
