"""How one counts: a convention is a linear map from a work vector to numbers, applied as late as possible.

A rule says what is *executed*: a work vector such as ``{("contract", "points"): b*d*k, ("contract", "outputs"): b*k}``.
`points` are the products (or summands, or elements) an operation visits, `outputs` the elements it yields.

What a switch changes is an amount of its own: ``("contract@attention=exact", "points")`` is added to the plain amount
under that value alone (it is negative where a mask skips pairs); several switches must all hold. An amount that has no
closed form is ``("contract@padding=exact@unknown", "taps on padding")``: the convention that asks for it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from symacct.errors import ConventionError, InconclusiveError, UnknownOpError, nearest, one_of
from symacct.expr import Expr, add, multiply
from symacct.switches import MEANING, NAMED, SWITCHES, Attention, Contraction, Embedding, Padding, read_words

Key: TypeAlias = tuple[str, str]
Work: TypeAlias = Mapping[Key, Expr]
Formulas: TypeAlias = Mapping[Key, Mapping[Key, int]]
Unit: TypeAlias = Literal["FLOP", "MAC"]
Functions: TypeAlias = Literal["formula", "unit"]

MATMUL = "contract"
"""The primitive that matrix multiplications are made of; `matmul_flops` counts nothing else."""

UNKNOWN = "unknown"
"""Marks an amount without a closed form, in place of a switch."""

_CONTRACTIONS: Mapping[str, Mapping[Key, tuple[Unit, int]]] = {
    "2n": {("contract", "points"): ("FLOP", 2), ("reduce", "points"): ("FLOP", 1)},
    "exact": {
        ("contract", "points"): ("FLOP", 2),
        ("contract", "outputs"): ("FLOP", -1),
        ("reduce", "points"): ("FLOP", 1),
        ("reduce", "outputs"): ("FLOP", -1),
    },
    "mac": {("contract", "points"): ("MAC", 1), ("reduce", "points"): ("FLOP", 1)},
}
LECTURE_WEIGHTS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "add",
            "sub",
            "mul",
            "div",
            "compare",
            "max",
            "abs",
            "sqrt",
            "rsqrt",
            "exp",
            "log",
            "tanh",
            "erf",
            "sigmoid",
        ),
        1,
    ),
    "gelu": 20,
}
"""Operations a call of each function, as in the lecture: gelu is 20 (its tanh formula with tanh at 12), the rest 1."""

UNIT_WEIGHTS: Mapping[str, int] = dict.fromkeys(LECTURE_WEIGHTS, 1)


@dataclass(frozen=True, slots=True)
class Convention:
    """One way to count: what a sum of products costs, and what a call of each named function costs.

    Parameters
    ----------
    name
        A preset to start from: ``"2n"`` (the default), ``"exact"``, ``"mac"``, ``"unit"``.
    contraction
        ``"2n"``, ``"exact"`` or ``"mac"``; None keeps the preset's.
    weights
        Operations a call, by function name, laid over the preset's. A function that is made of others (``"softmax"``,
        ``"layer_norm"``) is not taken apart where it has a weight: so much an element, and nothing a row.
    attention
        Pairs of a query and a key under a causal mask: ``"full"``, ``"half"`` or ``"exact"``. What a window does not
        see is never counted.
    padding
        ``"nominal"`` or ``"exact"``: whether a convolution's taps on padding count.
    flash_backward
        4 or 5: the products in the gradient of attention.
    embedding
        ``"gather"`` or ``"matmul"``: whether looking rows of a table up is free, or a product with one-hot rows. Bytes
        are those of the lookup.

    Raises
    ------
    ConventionError
        For an unknown preset, switch value or function, or a weight that is not a natural number.

    Examples
    --------
    >>> Convention("exact").describe()
    'exact: a sum of n products is n multiplies and n - 1 adds; a sum of n terms is n - 1'
    >>> Convention("2n", weights={"gelu": 9}).weights["gelu"]
    9
    >>> Convention("exact", attention="half").label
    'exact with attention=half'
    >>> convention_of("exact, attention=half, softmax=1").label
    'exact with softmax=1, attention=half'

    """

    name: str = "2n"
    contraction: Contraction | None = None
    weights: Mapping[str, int] = field(default_factory=dict)
    attention: Attention = "full"
    padding: Padding = "nominal"
    flash_backward: Literal[4, 5] = 4
    embedding: Embedding = "gather"

    def __post_init__(self) -> None:
        """Fill in what the preset says and check the rest; ``"lecture"`` is another name of the default."""
        if self.name == "lecture":
            object.__setattr__(self, "name", "2n")
        if self.name not in PRESETS:
            msg = f"unknown convention {self.name!r}; known: {one_of(PRESETS)}.{nearest(str(self.name), PRESETS)}"
            raise ConventionError(msg)
        contraction, weights, _ = PRESETS[self.name]
        chosen = self.contraction or contraction
        if chosen not in _CONTRACTIONS:
            msg = f"unknown contraction {chosen!r}; known: {one_of(_CONTRACTIONS)}"
            raise ConventionError(msg)
        for switch, values in SWITCHES.items():
            if getattr(self, switch) not in values:
                msg = f"unknown {switch} {getattr(self, switch)!r}; known: {one_of(map(str, values))}"
                raise ConventionError(msg)
        for function, weight in self.weights.items():
            if function not in weights and function not in NAMED:
                known = [*weights, *NAMED]
                msg = f"no function {function!r} to weigh; known: {one_of(known)}.{nearest(function, known)}"
                raise ConventionError(msg)
            if type(weight) is not int or weight < 0:
                msg = f"the weight of {function} is {weight!r}; it is a natural number of operations a call"
                raise ConventionError(msg)
        object.__setattr__(self, "contraction", chosen)
        object.__setattr__(self, "weights", MappingProxyType({**weights, **self.weights}))

    def __hash__(self) -> int:
        """Hash what usually tells conventions apart; weights would cost a pass over all of them."""
        return hash((self.name, self.contraction, self.attention, self.padding, self.flash_backward, self.embedding))

    def __reduce__(self) -> tuple[type[Convention], tuple[object, ...]]:
        """Pickle and copy what makes it; a read-only mapping cannot be pickled."""
        return Convention, tuple(self.to_json().values())

    @property
    def functions(self) -> Functions:
        """Whether named functions are taken apart by their formula, or counted once an element."""
        return PRESETS[self.name][2]

    @property
    def label(self) -> str:
        """The preset's name, with what was changed."""
        contraction, weights, _ = PRESETS[self.name]
        changed = [f"{f}={w}" for f, w in self.weights.items() if weights.get(f) != w]
        changed += [f"{switch}={value}" for switch, value in self._switched()]
        if self.contraction != contraction:
            changed.insert(0, f"contraction={self.contraction}")
        return self.name + (f" with {', '.join(changed)}" if changed else "")

    def describe(self) -> str:
        """Return the convention as a sentence, with what each switch that was changed means."""
        switched = [SWITCHES[switch][value] for switch, value in self._switched()]
        return f"{self.label}: {'; '.join([MEANING[self.contraction or '2n'], *switched])}"

    def _switched(self) -> list[tuple[str, str | int]]:
        """Return the switches that are not at their default, with their values."""
        chosen = [(switch, getattr(self, switch), next(iter(values))) for switch, values in SWITCHES.items()]
        return [(switch, value) for switch, value, usual in chosen if value != usual]

    def to_json(self) -> dict[str, object]:
        """Return a JSON-able form; ``Convention(**form)`` is the same convention."""
        switches = {switch: getattr(self, switch) for switch in SWITCHES}
        return {"name": self.name, "contraction": self.contraction, "weights": dict(self.weights), **switches}


PRESETS: Mapping[str, tuple[Contraction, Mapping[str, int], Functions]] = {
    "2n": ("2n", LECTURE_WEIGHTS, "formula"),
    "exact": ("exact", LECTURE_WEIGHTS, "formula"),
    "mac": ("mac", LECTURE_WEIGHTS, "formula"),
    "unit": ("2n", UNIT_WEIGHTS, "unit"),
}


@lru_cache(maxsize=64)
def _read(text: str) -> Convention:
    if text in PRESETS:
        return Convention(text)
    name, given = read_words(text)
    switches = ("contraction", *SWITCHES)
    if unknown := [word for word in given if word not in (*switches, *LECTURE_WEIGHTS, *NAMED)]:
        known = [*switches, *LECTURE_WEIGHTS, *NAMED]
        msg = f"no switch or function {unknown[0]!r} in the convention {text[:80]!r}; switches: {one_of(switches)}"
        raise ConventionError(
            msg + f"; functions to weigh: {one_of(known[len(switches) :])}.{nearest(unknown[0], known)}"
        )
    weights = {word: given.pop(word) for word in list(given) if word not in switches}
    return Convention(name, weights=weights, **given)


def convention_of(chosen: str | Convention) -> Convention:
    """Return the convention of a preset's name, with switches or without (``"exact, attention=half"``), or itself."""
    if isinstance(chosen, Convention):
        return chosen
    if not isinstance(chosen, str):
        msg = f"a convention is a preset's name or a Convention, not {chosen!r}; known: {one_of(PRESETS)}"  # type: ignore[unreachable]
        raise ConventionError(msg)
    return _read(chosen)


def tally(work: Work, convention: Convention, formulas: Formulas = MappingProxyType({})) -> dict[Unit, Expr]:
    """Apply a convention to a work vector: the amount in each unit, units never mixed.

    `formulas` say what named functions are made of; a function with a weight of its own is not taken apart.

    Raises
    ------
    UnknownOpError
        For a primitive with neither a weight nor a formula.
    InconclusiveError
        For an amount that has no closed form and that the convention asks for.

    Examples
    --------
    >>> from symacct.expr import name
    >>> work = {("contract", "points"): 6 * name("b"), ("contract", "outputs"): 2 * name("b")}
    >>> tally(work, Convention("2n")), tally(work, Convention("exact")), tally(work, Convention("mac"))
    ({'FLOP': 12*b}, {'FLOP': 10*b}, {'MAC': 6*b})

    """
    sums = _CONTRACTIONS[convention.contraction or "2n"]
    out: dict[Unit, Expr] = {}
    for key, amount in work.items():
        primitive, role = key
        if primitive in ("contract", "reduce"):
            unit, weight = sums.get(key, ("FLOP", 0))
        elif primitive in convention.weights:
            unit, weight = "FLOP", convention.weights[primitive] if role == "points" else 0
        else:
            for unit, part in _named(key, amount, convention, formulas).items():
                out[unit] = add((out[unit], part)) if unit in out else part
            continue
        if weight:
            part = multiply(weight, amount)
            out[unit] = add((out[unit], part)) if unit in out else part
    return out if len(out) < 2 else {unit: amount for unit, amount in out.items() if amount != 0}


def _named(key: Key, amount: Expr, convention: Convention, formulas: Formulas) -> dict[Unit, Expr]:
    """Count a named function: once an element under `unit`, else by its formula; or what depends on a switch."""
    function, *switches = key[0].split("@")
    if switches:
        if not all(holds(switch, convention) for switch in switches if switch != UNKNOWN):
            return {}
        if UNKNOWN in switches:
            msg = f"under {convention.label}, {key[1]} have no closed form here; give sizes as numbers"
            raise InconclusiveError(msg)
        return tally({(function, key[1]): amount}, convention, formulas)
    if (key[0], "points") not in formulas:
        msg = f"no weight and no formula for {key[0]!r}; weights are known for {one_of(convention.weights)}"
        raise UnknownOpError(msg)
    if convention.functions == "unit":
        return {"FLOP": amount} if key[1] == "points" else {}
    parts = {part: multiply(times, amount) for part, times in formulas.get(key, {}).items()}
    return tally(parts, convention, formulas)


def holds(switch: str, convention: Convention) -> bool:
    """Whether a convention has a switch at a value, such as ``"attention=exact"``."""
    name, _, value = switch.partition("=")
    return str(getattr(convention, name)) == value


def matmul_work(work: Work) -> Work:
    """Return the part of a work vector that is matrix multiplication: contractions."""
    return {key: amount for key, amount in work.items() if key[0].partition("@")[0] == MATMUL}
