"""The short way to a sympy form gives what sympy's own constructors give, to the last argument and hash."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import sympy

from symacct.expr import terms_of, to_sympy
from symacct.expr.poly import from_terms
from symacct.expr.powers import split_content

NAMES = ("B", "E", "aa", "ab", "b", "d", "k", "n1", "seq", "x_2")


def constructed(x):
    """Build the same form through Add, Mul and Pow, which simplify."""
    content, common, rest = split_content(x)
    factors = [sympy.Symbol(a) ** sympy.Rational(e) for a, e in common]
    terms = [
        sympy.Mul(sympy.Rational(c * content), *(sympy.Symbol(a) ** sympy.Rational(e) for a, e in m))
        for m, c in terms_of(rest).items()
    ]
    return sympy.Mul(*factors, sympy.Add(*terms))


@pytest.mark.parametrize("seed", range(300))
def test_forms_are_those_of_the_constructors(seed):
    draw = random.Random(seed)  # noqa: S311
    terms = {}
    for _ in range(draw.randint(1, 5)):
        names = draw.sample(NAMES, draw.randint(0, 4))
        powers = tuple(sorted((n, draw.choice([1, 1, 1, 2, 3, -1, -2, Fraction(1, 2)])) for n in names))
        terms[powers] = draw.choice([1, 2, 3, -1, -7, Fraction(1, 3), Fraction(5, 2)])
    x = from_terms(terms)
    ours, theirs = to_sympy(x), constructed(x)
    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert sympy.srepr(ours) == sympy.srepr(theirs)
