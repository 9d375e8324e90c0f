"""Property tests of formulas that students write as code: at many sizes, against the truth and real executions."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from symacct.errors import MissingPackageError, StudentEndedError, StudentError, SymacctError
from symacct.testing.attempts import OwnFunction, attempt, sizes_of_inputs
from symacct.testing.cases import Case
from symacct.testing.corners import large_corners, small_corners
from symacct.testing.students import Limits, Student, StudentFunction
from symacct.testing.truths import truth_of

FLOAT_ERROR = 1e-9
SMALL = 13
LARGE = 4096
MOST_SECONDS = 60
SOON = 0.2
"""Seconds; where a call takes longer, larger sizes are not tried."""


class Held(NamedTuple):
    """How much was tried: sizes against the truth, and real executions in torch."""

    examples: int
    executions: int


def assert_formula(
    student: Callable[..., Any] | StudentFunction | str | Path,
    truth: Any,
    *,
    of: str | None = None,
    arguments: Mapping[str, str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    execute: bool | None = None,
    rtol: float = FLOAT_ERROR,
    examples: int = 200,
    limits: Limits | None = None,
    **options: Any,
) -> Held:
    """Assert ``student(sizes) == truth(sizes)`` at many sizes, and that real executions in torch agree.

    Parameters
    ----------
    student
        A function of sizes, ``def flops(B, D, K): ...``; with `inputs`, a ``torch.nn.Module``, or a class or function
        that makes one of sizes, whose execution is counted. ``"alice.py:flops"``, or a function of a `Student`,
        runs in a process of its own with limits; a function given as such runs here.
    truth
        A formula (text or sympy), a pattern (text with ``->``), a graph, an account, an annotated function, a
        `Worked`, or the path of a worked file (which is executed here).
    of
        Which quantity of a pattern, a graph or a worked file: ``"flops"``, ``"matmul_flops"``, ``"bytes"``,
        ``"intensity"``; ``"flops"`` by default. Of a module: ``"matmul_flops"`` (the default, as torch's counter sees
        them) or ``"params"``.
    arguments
        What is given for an argument that is called unlike the truth's size: ``{"batch": "B", "d_model": "h*k"}``.
    inputs
        Shapes of a module's tensors: ``{"x": "B T D"}``; ``("B T", "V")`` are integers below V. Sizes that the truth
        lacks, as those of parameters lack B and T, are drawn too.
    execute
        Whether a function must agree with real executions of the truth too. None: where torch is installed and counts
        `of` (``matmul_flops``, or ``flops`` where there are no others, under the convention ``2n``).
    rtol
        How far a float may be off, relative; integers and fractions must be equal.
    examples
        How many sizes are drawn, up to 4096 each; less where calls take long, and no longer than a minute. Torch runs
        at one in 50 as many. Besides, always, with `symacct.testing.corners`: the smallest sizes, each size 1, equal
        sizes, powers of two, and, where a call takes no time, sizes above a million.
    limits
        Of the process of a student's file.
    **options
        `symacct.account`'s, for what is not a formula: ``sizes``, ``convention``, ``dtype``.

    Returns
    -------
    Held
        How much was tried.

    Raises
    ------
    AssertionError
        With the smallest sizes that were found at which they differ, and both values: distinct, from 2 on, where
        they differ at such.
    SymacctError
        For a truth that cannot be read or counted, `rtol` outside [0, 1), `examples` below 1.
    MissingPackageError
        Without Hypothesis: ``pip install symacct[test]``.

    Examples
    --------
    >>> from symacct.testing import assert_formula
    >>> assert_formula(lambda B, D, K: B * K * (D + D), "2*B*D*K").examples
    200
    >>> assert_formula(lambda b, d, k: b * d * k, "b d, d k -> b k")
    Traceback (most recent call last):
        ...
    AssertionError: <lambda>(b=2, d=3, k=4) gives 24, 1/2 of the truth 2*b*d*k = 48

    """
    of = of or ("matmul_flops" if inputs else "flops")
    _check_options(rtol, examples)
    held_against = truth_of(truth, of, options, execute=execute).with_sizes(sizes_of_inputs(inputs or {}))
    with contextlib.ExitStack() as processes:
        if isinstance(student, str | Path):
            file, _, name = str(student).rpartition(":")
            if not file:
                msg = f"{str(student)[:80]!r} names no function; write file.py:function"
                raise StudentError(msg)
            student = processes.enter_context(Student(file, limits))[name]
        function = student if isinstance(student, StudentFunction) else OwnFunction(student)
        case = Case(
            function.name, attempt(function, held_against.names, arguments or {}, inputs or {}, of), held_against, rtol
        )
        largest = SMALL if inputs else _answered_soon(case, LARGE)
        tried = _search(case, largest, examples)
        _hold_at(case, small_corners(held_against.names, ones=not inputs))  # at 1 some layers of torch do not run
        executions = 0 if inputs else case.executions(examples // 50)
        if largest == LARGE:
            _hold_at(case, large_corners(held_against.names), failing=True)
        return Held(tried, executions)


def _check_options(rtol: float, examples: int) -> None:
    if not 0 <= rtol < 1:
        msg = f"rtol = {rtol!r}: a relative tolerance is from 0 to below 1"
        raise SymacctError(msg)
    if isinstance(examples, bool) or not isinstance(examples, int) or examples < 1:
        msg = f"examples = {examples!r}: a whole number of sizes to draw, at least 1"
        raise SymacctError(msg)


def _hold_at(case: Case, corners: Iterable[Mapping[str, int]], *, failing: bool = False) -> None:
    """Hold a function against the truth at given sizes, where it is defined; `failing`: it may give nothing there.

    Raises
    ------
    AssertionError
        At the first sizes at which it is wrong.

    """
    until = time.monotonic() + MOST_SECONDS
    for sizes in corners:
        if time.monotonic() > until or not case.truth.defined(sizes):
            continue
        try:
            if wrong := case.wrong(sizes, failing=failing):
                raise AssertionError(wrong)
        except StudentEndedError as error:
            if failing:  # it counted by recursion, or took too much time or memory
                return
            raise AssertionError(str(error)) from None


def _answered_soon(case: Case, largest: int) -> int:
    """Return up to which sizes a call takes no time to speak of: a function may count by loops over all of them.

    Raises
    ------
    AssertionError
        If a limit of the process is met on the way, where a call before took no time.

    """
    top = SMALL
    while top < largest and not all(_takes_long(case, top) for _ in range(2)):  # once may be the machine's
        top += top // 2
    return min(top, largest)


def _takes_long(case: Case, size: int) -> bool:
    began = time.monotonic()
    try:
        case.wrong({name: size + i for i, name in enumerate(case.truth.names)})
    except StudentEndedError as error:
        raise AssertionError(str(error)) from None
    except SymacctError:  # sizes that are not legal: only the time matters here
        pass
    return time.monotonic() - began > SOON


def _settings(examples: int) -> Any:
    import hypothesis

    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def _search(case: Case, largest: int, examples: int) -> int:
    """Let Hypothesis look for sizes at which something is wrong, and shrink them; return how many were tried."""
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        msg = "property tests need Hypothesis; install it: pip install 'symacct[test]'"
        raise MissingPackageError(msg) from None
    names = case.truth.names
    size = st.integers(2, SMALL) | st.integers(2, largest)
    values = st.lists(size, min_size=len(names), max_size=len(names), unique=True)
    drawn = values.map(lambda v: dict(zip(names, v, strict=True))).filter(case.truth.legal)
    tried, ended, wrong = 0, "", ""
    until = time.monotonic() + MOST_SECONDS

    def differs(sizes: Mapping[str, int]) -> bool:
        nonlocal tried, ended, wrong
        if ended or time.monotonic() > until:
            return False
        tried += 1
        try:
            found = case.wrong(sizes)
        except StudentEndedError as error:
            ended, found = str(error), ""
        wrong = found or wrong
        return bool(found)

    try:
        # the same draws on every run: a mark must not depend on luck
        smallest = hypothesis.find(drawn, differs, settings=_settings(examples), random=random.Random(0))  # noqa: S311
    except hypothesis.errors.Flaky:
        twice = f"{case.name} gives one value and then another for the same sizes"
        raise AssertionError(ended or (wrong if time.monotonic() > until else twice)) from None
    except hypothesis.errors.NoSuchExample:
        if ended:
            raise AssertionError(ended) from None
        if not tried:
            raise SymacctError(f"no sizes were found that meet {case.truth.conditions}") from None
        return tried
    raise AssertionError(case.wrong(smallest) or f"{case.called(smallest)} is wrong at times and right at others")
