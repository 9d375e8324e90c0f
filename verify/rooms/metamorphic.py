"""What must not change a cost, and what must multiply it: no second way to a number, but a way to catch a wrong one."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.pattern import parse
from symacct.testing.spec import Spec, spec_of, write_spec
from symacct.testing.strategies import ELLIPSIS, patterns, sizes_for
from verify.check import Check, agree, number


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]
    way: str
    order: str
    shuffle: tuple[int, ...]

    def costs(self, text: str, **options: Any) -> dict[str, object]:
        """Work and elements of a pattern, as numbers where there are sizes for all its names."""
        options = {"convention": self.way, "order": self.order, "dtype": "int8"} | options
        account = sa.account(text, **options)
        forms = {**account.counts, "elements": account.total("bytes")}
        return {unit: number(x, self.sizes) for unit, x in forms.items() if x != 0}

    def __str__(self) -> str:
        return f"{self.spec.text!r} at {self.sizes}, {self.way}, {self.order}"


@st.composite
def cases(draw: st.DrawFn, **restrictions: bool) -> Case:
    spec = draw(patterns(**restrictions))
    way, order = draw(st.sampled_from(("2n", "exact", "mac"))), draw(st.sampled_from(("left", "naive")))
    return Case(spec, draw(sizes_for(spec)), way, order, tuple(draw(st.permutations(range(len(spec.operands))))))


def _mapped(spec: Spec, rename: dict[str, str], ellipsis: str | None = None) -> Spec:
    *operands, output = (
        [tuple(rename.get(n, n) for n in axis) for axis in axes] for axes in (*spec.operands, spec.output)
    )
    return write_spec(operands, output, ellipsis)


def read_back(case: Case) -> None:
    """The pattern was drawn with its meaning; the parser must find the same."""
    parsed = parse(case.spec.text)
    agree((parsed.operands, parsed.output, parsed.names), case.spec[1:], f"reading {case.spec.text!r}")
    agree(parsed.ellipsis, ELLIPSIS if ELLIPSIS in case.spec.names else None, f"... of {case.spec.text!r}")


def renamed(case: Case) -> None:
    """New names, and the old ones as their sizes."""
    rename = {n: f"axis_{i}" for i, n in enumerate(case.spec.names)}
    other = _mapped(case.spec, rename)
    agree(
        case.costs(other.text, sizes={new: old for old, new in rename.items()}), case.costs(case.spec.text), str(case)
    )


def reordered(case: Case) -> None:
    """Operands change places: nothing in one loop nest or a pair; the best order of more costs the same."""
    operands = [case.spec.operands[i] for i in case.shuffle]
    other = write_spec(operands, case.spec.output, ELLIPSIS)
    if len(operands) < 3 or case.order == "naive":
        agree(case.costs(other.text), case.costs(case.spec.text), f"{case} as {other.text!r}")
    else:
        best = [
            sa.flops(s.text, sizes=case.sizes, order="best", convention="exact" if case.way == "exact" else "2n")
            for s in (case.spec, other)
        ]
        agree(*best, f"best order of {case} as {other.text!r}")


def split(case: Case) -> None:
    """Composite axes as their names, and no axes 1."""
    *operands, output = ([(n,) for axis in axes for n in axis] for axes in (*case.spec.operands, case.spec.output))
    other = write_spec(operands, output, ELLIPSIS)
    agree(case.costs(other.text), case.costs(case.spec.text), f"{case} as {other.text!r}")


def spelt_out(case: Case) -> None:
    """`...` as two axes."""
    if ELLIPSIS not in case.spec.names:
        return
    other = case.spec.text.replace("...", "first second")
    sized = case._replace(sizes={**case.sizes, "first": 3, "second": 5, ELLIPSIS: 15})
    at_once = sized.costs(case.spec.text, sizes={ELLIPSIS: "first*second"})
    agree(sized.costs(other), at_once, f"{case} as {other!r}")


def numpy_notation(case: Case) -> None:
    letters = dict(zip(case.spec.names, "zyxwvutsr", strict=False))
    flat = ["".join(letters[n] for axis in axes for n in axis) for axes in (*case.spec.operands, case.spec.output)]
    text = f"{','.join(flat[:-1])}->{flat[-1]}"
    sizes = {letter: n for n, letter in letters.items()}
    agree(case.costs(text, notation="numpy", sizes=sizes), case.costs(case.spec.text), f"{case} as {text!r}")


def batched(case: Case) -> None:
    """A batch of n costs n times one, in work and in elements."""
    *operands, output = ([("batch_size",), *axes] for axes in (*case.spec.operands, case.spec.output))
    other = write_spec(operands, output, ELLIPSIS)
    sized = case._replace(sizes={**case.sizes, "batch_size": 17})
    expected = {unit: 17 * x for unit, x in case.costs(case.spec.text).items()}
    agree(sized.costs(other.text), expected, f"17 times {case}")


_FIXED = tuple(
    Case(spec_of(text), {"i": 3, "j": 4, "k": 5, "l": 7}, "exact", "left", (2, 0, 1))
    for text in ("i j, j k, k l -> i l", "i (j i), l k, k j -> (i l)")
)


def _check(name: str, formula: str, agrees: Any, **restrictions: bool) -> Check:
    return Check(name, formula, "the same pattern, written otherwise", agrees, cases(**restrictions), _FIXED)


CHECKS = (
    _check("read back", "parse(pattern)", read_back),
    _check("other names", "account(pattern with new names)", renamed),
    _check("operands in another order", "account(operands shuffled)", reordered),
    _check("composite axes split", "account(b (h d) ...) = account(b h d ...)", split),
    _check("batch axes spelt out", "account(... i) = account(first second i)", spelt_out),
    _check("numpy notation", 'account("ij,jk->ik", notation="numpy")', numpy_notation, composites=False, units=False),
    _check("a batch of n costs n times one", "account(n with every tensor) = n * account(pattern)", batched),
)
