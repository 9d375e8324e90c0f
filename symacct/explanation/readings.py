"""The verb: one account, read under each convention or notion of traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any

from symacct.accounting import Account
from symacct.api import account
from symacct.bounds import matmul_like
from symacct.conventions import PRESETS, convention_of
from symacct.errors import ConventionError, InconclusiveError, nearest, one_of
from symacct.explanation.steps import Block, amounts_of, bytes_block, quotient_block, work_block
from symacct.explanation.value import Answer, Explanation
from symacct.expr import collect_sizes
from symacct.nests import lower_bound
from symacct.pattern import parse

_MEANING: Mapping[str, Mapping[str, str]] = {
    "2n": {
        "contract": "a sum of n products is 2n operations",
        "mul": "a multiply is one operation",
        "reduce": "a sum of n terms is n operations",
    },
    "exact": {
        "contract": "a sum of n products is n multiplies and n - 1 adds",
        "mul": "a multiply is one operation",
        "reduce": "a sum of n terms is n - 1 adds",
    },
    "mac": {
        "contract": "a sum of n products is n multiply-accumulates",
        "mul": "a multiply is one operation",
        "reduce": "a sum of n terms is n operations",
    },
}
# Who else prints the number. opt_einsum was compared on all contractions, the others on matrix products.
_ANY_PRODUCT = {"2n": "opt_einsum's count"}
_MATRIX_PRODUCT = {
    "2n": "opt_einsum and torch's FlopCounterMode print this",
    "exact": "torch-flops prints this",
    "mac": "cotengra and fvcore print this",
}


def explain(
    pattern: str,
    /,
    *,
    of: str = "flops",
    sizes: Mapping[str, Any] | None = None,
    notation: str = "einops",
    order: str = "left",
    dtype: Any = "bf16",
    **axes: Any,
) -> Explanation:
    """Explain FLOPs, bytes or intensity: the number under each convention, and how each comes about.

    Parameters
    ----------
    pattern, sizes, notation, order, dtype, **axes
        As in `symacct.account`.
    of
        ``"flops"``: under each convention; ``"bytes"``: unfused, compulsory, and the lower bound with M
        elements of fast memory; ``"intensity"``: FLOPs a byte under each convention, unfused.

    Returns
    -------
    Explanation
        Prints as text, renders in a notebook; `.latex()` and `.to_json()`.

    Raises
    ------
    ConventionError
        For a quantity that cannot be explained.
    SymacctError
        As `symacct.account` does.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.explain("b d, d k -> b k", b=4, d=5, k=6))
    flops of b d, d k -> b k   with b = 4, d = 5, k = 6
     convention   flops
     2n           240 FLOP   a sum of n products is 2n operations; opt_einsum and
                             torch's FlopCounterMode print this
     exact        216 FLOP   a sum of n products is n multiplies and n - 1 adds;
                             torch-flops prints this
     mac          120 MAC    a sum of n products is n multiply-accumulates; cotengra
                             and fvcore print this
     unit         240 FLOP   as 2n; only named functions differ
    <BLANKLINE>
    operations of b d, d k -> b k
     axes      b = 4, d = 5, k = 6; summed: d, which the output lacks
     points    b*d*k = 120, the product of all axes
     outputs   b*k = 24
     each      output is a sum of 5 products: 5 multiplies and 4 adds
     exact     120 multiplies and 96 adds: 216 FLOP
     2n        2 a point: 240 FLOP
     mac       1 MAC a point: 120 MAC

    """
    if not isinstance(of, str) or of not in _READINGS:
        hint = nearest(of, _READINGS) if isinstance(of, str) else " To size an axis called 'of', use sizes={'of': ...}."
        msg = f"cannot explain {of!r}; known: {one_of(_READINGS)}.{hint}"
        raise ConventionError(msg)
    names = parse(pattern, notation).names
    given = collect_sizes(sizes, axes, names)
    counted = account(pattern, sizes=given, notation=notation, order=order, dtype=dtype)
    answers, blocks = _READINGS[of](counted)
    if of == "bytes":
        memory = next(n for n in chain(["M"], (f"M_{i}" for i in count(2))) if n not in (*names, *counted.names))
        answers.append(_bound(pattern, memory, given, notation))
    title = f"{of} of {counted.title}" + (f"   in the order {order!r}" if order != "left" else "")
    return Explanation(of, title, tuple(answers), tuple(blocks), tuple(str(c) for c in counted.conditions))


def _under(counted: Account) -> list[Account]:
    """Return an account a convention, all of one graph: `best` is not chosen anew."""
    return [replace(counted, convention=convention_of(name)) for name in PRESETS]


def _flops(counted: Account) -> tuple[list[Answer], list[Block]]:
    meaning, others = _meaning(counted), _others(counted)
    answers = []
    for a in _under(counted):
        name = a.convention.name
        amounts = amounts_of(a.counts) or ((0, "FLOP"),)
        note = "; ".join(text for text in (meaning[name], others.get(name)) if text)
        answers.append(Answer(name, amounts, note))
    return answers, [work_block(counted, op) for op in counted.graph.ops]


def _primitives(counted: Account) -> set[str]:
    return {primitive for step in counted.steps for primitive, _ in step.work}


def _meaning(counted: Account) -> dict[str, str]:
    """Return what each convention says of this computation."""
    present = _primitives(counted)
    said = {name: "; ".join(t for p, t in texts.items() if p in present) for name, texts in _MEANING.items()}
    return {**said, "unit": "as 2n; only named functions differ"}


def _others(counted: Account) -> Mapping[str, str]:
    """Return which known tools print the same for this computation, by convention."""
    ops, present = counted.graph.ops, _primitives(counted)
    e = ops[0].einsum
    if len(ops) == 1 and e and matmul_like([frozenset(o) for o in (*e.operands, e.output)]):
        return _MATRIX_PRODUCT
    return _ANY_PRODUCT if present and "reduce" not in present else {}


def _bytes(counted: Account) -> tuple[list[Answer], list[Block]]:
    compulsory = replace(counted, traffic="compulsory")
    answers = [
        Answer("unfused", ((counted.total("bytes"), "B"),), "each step reads its operands and writes its result"),
        Answer("compulsory", ((compulsory.total("bytes"), "B"),), "operands read once, the output written once"),
    ]
    return answers, [bytes_block(counted, op) for op in counted.graph.ops]


def _bound(pattern: str, memory: str, sizes: Mapping[str, Any], notation: str) -> Answer:
    """Return what any schedule of the pattern as one loop nest moves, in elements."""
    nest = f"with {memory} elements of fast memory, as one loop nest"
    try:
        found = lower_bound(pattern, memory=memory, sizes=sizes, notation=notation)
    except InconclusiveError as error:
        return Answer("lower bound", (), str(error))
    assert not isinstance(found, list)
    if found.exponent == 0:
        return Answer("lower bound", ((found.compulsory, "elements"),), f"compulsory traffic, {nest}")
    if found.constant is None:
        order = ((found.order_form, "elements"),)
        return Answer("lower bound", order, f"the order alone, its constant is not known; {nest}")
    return Answer("lower bound", ((found.proved, "elements"),), f"and compulsory, if that is more; {nest}")


def _intensity(counted: Account) -> tuple[list[Answer], list[Block]]:
    meaning = _meaning(counted)
    answers, rows = [], []
    for a in _under(counted):
        name = a.convention.name
        if len(a.counts) > 1:
            answers.append(Answer(name, (), "MACs and operations are not added up"))
            continue
        ratio = a.total("intensity")
        answers.append(Answer(name, ((ratio, a.unit("intensity")),), meaning[name]))
        rows.append((name, a.total("flops"), ratio))
    blocks = [block(counted, op) for block in (work_block, bytes_block) for op in counted.graph.ops]
    return answers, [*blocks, quotient_block(counted, rows)]


_READINGS: Mapping[str, Callable[[Account], tuple[list[Answer], list[Block]]]] = {
    "flops": _flops,
    "bytes": _bytes,
    "intensity": _intensity,
}
