"""A student's function as something to try at sizes: here, or in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from symacct.errors import StudentError, SymacctError, UnknownAxisError, one_of
from symacct.expr import Expr, evaluate, names_in, read, read_size
from symacct.testing import student_process
from symacct.testing.products import count_module
from symacct.testing.students import Number, StudentFunction, unpacked

Attempt: TypeAlias = Callable[[Mapping[str, int]], Number]

MODULE_COUNTS = ("matmul_flops", "params")


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function or module of this process, without limits, with the methods of a `StudentFunction`."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Return what it is called."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def is_module(self) -> bool:
        """Whether it is a module itself, not what makes one."""
        return hasattr(self.function, "forward") and not isinstance(self.function, type)

    def parameters(self) -> dict[str, bool]:
        """Return its parameters by name, and whether each must be given."""
        try:
            return {} if self.is_module else student_process.parameters(self.function)
        except (TypeError, ValueError) as error:
            raise StudentError(f"{self.name}: {error}") from None

    def call(self, arguments: Mapping[str, int]) -> Number:
        """Return its value for arguments by name; what it raises comes as a `StudentError`."""
        try:
            return unpacked(student_process.packed(self.function(**arguments)))
        except (Exception, SystemExit) as error:
            raise StudentError(f"{type(error).__name__}: {error}") from error

    def count(self, arguments: Mapping[str, int], inputs: Mapping[str, Any]) -> dict[str, int]:
        """Return what the module that it makes executes."""
        try:
            make = (lambda: self.function) if self.is_module else self.function
            return count_module(make, arguments, inputs)
        except (Exception, SystemExit) as error:
            raise StudentError(f"{type(error).__name__}: {error}") from error


def attempt(
    function: OwnFunction | StudentFunction,
    names: Sequence[str],
    arguments: Mapping[str, str],
    inputs: Mapping[str, Any],
    of: str,
) -> Attempt:
    """Return a function from sizes to what the student's function gives; it raises `StudentError` where that fails.

    Parameters
    ----------
    function
        The student's; with `inputs` the maker of a module, of which `of` is counted.
    names
        The sizes of the truth.
    arguments, inputs
        Those of `assert_formula`.
    of
        ``"matmul_flops"`` or ``"params"`` for a module.

    Raises
    ------
    AssertionError
        If the function takes other arguments than the truth has sizes.

    """
    if inputs and of not in MODULE_COUNTS:
        msg = f"of a module {of!r} is not counted; matmul_flops and params are"
        raise SymacctError(msg)
    if not inputs and isinstance(function, OwnFunction) and function.is_module:
        msg = f"{function.name} is a module: give the shapes of what it takes, such as inputs={{'x': 'B D'}}"
        raise SymacctError(msg)
    sizes_given = {name: _over(names, text) for name, text in arguments.items()}
    given = _matched(function, names, sizes_given, every=not inputs)
    shapes = {name: _shape(names, shape) for name, shape in inputs.items()}

    def compute(sizes: Mapping[str, int]) -> Number:
        numbers = {name: _whole(x, sizes) for name, x in given.items()}
        if not inputs:
            return function.call(numbers)
        tensors = {
            name: ([_whole(x, sizes) for x in shape], None if below is None else _whole(below, sizes))
            for name, (shape, below) in shapes.items()
        }
        return function.count(numbers, tensors)[of]

    return compute


def sizes_of_inputs(inputs: Mapping[str, Any]) -> list[str]:
    """Return the names in the shapes of a module's tensors.

    Examples
    --------
    >>> sizes_of_inputs({"x": "B T 2*D", "tokens": ("B T", "V")})
    ['B', 'D', 'T', 'V']

    """
    shapes = [given if isinstance(given, tuple) else (given,) for given in inputs.values()]
    words = [word for shape in shapes for part in shape for word in str(part).split()]
    return sorted({n for word in words for n in names_in(read_size(word))})


def _matched(
    function: OwnFunction | StudentFunction, names: Sequence[str], given: Mapping[str, Expr], *, every: bool
) -> dict[str, Expr]:
    """Say of which size each argument is made; where `every`, each size of the truth must reach the function."""
    takes = function.parameters()
    signature = f"{function.name}({', '.join(takes)})"
    if unknown := [n for n in given if n not in takes and "**" not in takes]:
        raise AssertionError(f"{signature} takes no {one_of(unknown)}")
    used = {n for x in given.values() for n in names_in(x)}
    own = {n: read(n) for n in names if n in takes or ("**" in takes and n not in used)}
    matched = {**own, **given}
    if unfilled := [n for n, needed in takes.items() if needed and n not in matched]:
        raise AssertionError(
            f"{signature} needs {one_of(unfilled)}; the truth has the sizes {one_of(names)}. "
            f"What has another name there is given so: arguments={{{unfilled[0]!r}: {(*names, 'B')[0]!r}}}"
        )
    if every and (unreached := [n for n in names if n not in used and n not in own]):
        raise AssertionError(f"{signature} takes no {one_of(unreached)}, on which the truth depends")
    return matched


def _over(names: Sequence[str], text: Any) -> Expr:
    size = read_size(str(text))
    if strangers := sorted(set(names_in(size)) - set(names)):
        msg = f"{str(text)!r} has {one_of(strangers)}, which the truth lacks; its sizes are {one_of(names)}"
        raise UnknownAxisError(msg)
    return size


def _shape(names: Sequence[str], given: Any) -> tuple[list[Expr], Expr | None]:
    shape, below = given if isinstance(given, tuple) else (given, None)
    return [_over(names, word) for word in str(shape).split()], None if below is None else _over(names, below)


def _whole(x: Expr, sizes: Mapping[str, int]) -> int:
    value = evaluate(x, sizes)
    if value != int(value):
        msg = f"the size {x} is {value}, not a whole number; give the truth's sizes so that it is"
        raise SymacctError(msg)
    return int(value)
