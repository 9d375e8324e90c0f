"""Exact expressions in named sizes, their printer and reader, and the one door to sympy."""

from __future__ import annotations

from symacct.expr.border import (
    Sympy,
    SympySymbol,
    from_sympy,
    infinity,
    maximum,
    minimum,
    positive_roots,
    symbol,
    to_json,
    to_sympy,
)
from symacct.expr.division import divide
from symacct.expr.equality import equal
from symacct.expr.functions import ceildiv, coefficient, degree, floordiv, log2, sqrt
from symacct.expr.poly import (
    Call,
    Expr,
    Number,
    Poly,
    Size,
    add,
    bare_name,
    monomial,
    multiply,
    name,
    names_in,
    product,
    terms_of,
)
from symacct.expr.powers import power, split_content
from symacct.expr.printer import to_latex, to_text
from symacct.expr.reader import read, read_size
from symacct.expr.signs import at_most, derivative, inequality, sign
from symacct.expr.sizes import as_size, check_mapping, collect_sizes, numbers_for
from symacct.expr.values import evaluate, evaluator, float_of, numerator, substitute, whole_denominator

__all__ = [
    "Call",
    "Expr",
    "Number",
    "Poly",
    "Size",
    "Sympy",
    "SympySymbol",
    "add",
    "as_size",
    "at_most",
    "bare_name",
    "ceildiv",
    "check_mapping",
    "coefficient",
    "collect_sizes",
    "degree",
    "derivative",
    "divide",
    "equal",
    "evaluate",
    "evaluator",
    "float_of",
    "floordiv",
    "from_sympy",
    "inequality",
    "infinity",
    "log2",
    "maximum",
    "minimum",
    "monomial",
    "multiply",
    "name",
    "names_in",
    "numbers_for",
    "numerator",
    "positive_roots",
    "power",
    "product",
    "read",
    "read_size",
    "sign",
    "split_content",
    "sqrt",
    "substitute",
    "symbol",
    "terms_of",
    "to_json",
    "to_latex",
    "to_sympy",
    "to_text",
    "whole_denominator",
]
