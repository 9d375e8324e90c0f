"""Exact expressions in named sizes, their printer and reader, and the one door to sympy."""

from symacct.expr.border import from_sympy, symbol, to_sympy
from symacct.expr.functions import ceildiv, coefficient, degree, floordiv, log2, sqrt
from symacct.expr.poly import Expr, Number, Poly, Size, add, multiply, name, names_in, power, product, split_content, terms_of
from symacct.expr.printer import to_latex, to_text
from symacct.expr.reader import read, read_size
from symacct.expr.values import evaluate, float_of, substitute, whole_denominator

__all__ = [
    "Expr",
    "Number",
    "Poly",
    "Size",
    "add",
    "ceildiv",
    "coefficient",
    "degree",
    "evaluate",
    "float_of",
    "floordiv",
    "from_sympy",
    "log2",
    "multiply",
    "name",
    "names_in",
    "power",
    "product",
    "read",
    "read_size",
    "split_content",
    "sqrt",
    "substitute",
    "symbol",
    "terms_of",
    "to_latex",
    "to_sympy",
    "to_text",
    "whole_denominator",
]
