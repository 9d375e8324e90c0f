"""Whether two expressions are equal for all sizes."""

from __future__ import annotations

import math
from fractions import Fraction

from symacct.errors import InconclusiveError
from symacct.expr.poly import Call, Expr, add, names_in, terms_of
from symacct.expr.values import evaluate, numerator

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


def equal(a: Expr, b: Expr) -> bool:
    """Whether ``a = b`` for all sizes: by multiplying out, and by values where rounding or roots are involved.

    Raises
    ------
    InconclusiveError
        The forms differ, but no tried sizes tell them apart (rounding, roots and logarithms only).

    Examples
    --------
    >>> from symacct.expr import read
    >>> equal(read("(x + 1)*(x - 1)"), read("x**2 - 1")), equal(read("ceil(d/2)"), read("d/2"))
    (True, False)

    """
    gap = numerator(add((a, -b)))
    if gap == 0:
        return True
    special = any(isinstance(x, Call) or type(e) is Fraction for m in terms_of(gap) for x, e in m)
    if not special:
        return False
    names = sorted(set(names_in(gap)))
    for shift in range(8):
        sizes = {n: _PRIMES[(i * 5 + shift * 7) % len(_PRIMES)] + shift for i, n in enumerate(names)}
        left, right, between = evaluate(a, sizes), evaluate(b, sizes), evaluate(gap, sizes)
        if between != 0 and (type(between) is not float or not math.isclose(left, right, rel_tol=1e-9)):
            return False
    msg = f"cannot tell whether {a} and {b} are equal: they agree at all sizes tried; compare them at sizes that matter"
    raise InconclusiveError(msg)
