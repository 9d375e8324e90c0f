"""Optimizers that treat a parameter as a matrix: Muon, Shampoo, SOAP.

A tensor of two axes and more is a matrix of its first axis by all others, as torch's convolutions are flattened; one of
fewer axes is updated as by AdamW, which is what such optimizers do with biases and gains. Embeddings and heads, which
are often left to AdamW too, are not told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symacct.conventions import Work
from symacct.errors import InconclusiveError
from symacct.expr import Expr, Size, at_most, divide, multiply
from symacct.optimizers.elementwise import adamw
from symacct.optimizers.value import STEP, Buffer, Optimizer, Shape, ShapeRule, each, like, numel, together


def _matrix(shape: Shape) -> tuple[Size, Size] | None:
    """Return the rows and columns of a parameter."""
    return (shape[0], numel(shape[1:])) if len(shape) > 1 else None


def _where_matrix(rule: Callable[[Size, Size], Shape]) -> ShapeRule:
    def shaped(shape: Shape) -> Shape | None:
        sides = _matrix(shape)
        return rule(*sides) if sides else None

    return shaped


def _where_vector(shape: Shape) -> Shape | None:
    return None if _matrix(shape) else shape


_VECTORS = (Buffer("exp_avg", _where_vector), Buffer("exp_avg_sq", _where_vector))
_OF_VECTORS = (Buffer("temporary", _where_vector, "param"),) * 3
_square_rows = _where_matrix(lambda r, _c: (r, r))
_square_columns = _where_matrix(lambda _r, c: (c, c))
_whole = _where_matrix(lambda r, c: (r, c))


def _on_matrices(work: Callable[[Size, Size], Work]) -> Callable[[Shape], Work]:
    def steps(shape: Shape) -> Work:
        sides = _matrix(shape)
        return work(*sides) if sides else adamw().work(shape)

    return steps


def _product(rows: Expr, inner: Expr, columns: Expr, times: Expr = 1) -> Work:
    """``rows x inner @ inner x columns``, some times."""
    outputs = multiply(times, multiply(rows, columns))
    return {("contract", "points"): multiply(outputs, inner), ("contract", "outputs"): outputs}


def _mean_square(count: Expr) -> Work:
    """The norm of a tensor: square, sum, and a root of one number."""
    return {**each(count, mul=1), ("reduce", "points"): count, ("reduce", "outputs"): 1, ("sqrt", "points"): 1}


def _sides(rows: Size, columns: Size) -> tuple[Size, Size]:
    """Return the shorter and the longer side.

    Raises
    ------
    InconclusiveError
        Where the sizes do not decide which is which.

    """
    if at_most(rows, columns):
        return rows, columns
    if at_most(columns, rows):
        return columns, rows
    msg = (
        f"the products of Muon go along the shorter side, and whether {rows} or {columns} is shorter depends on the "
        f"sizes; put in sizes that decide, as in f='4*d', or numbers"
    )
    raise InconclusiveError(msg)


def muon(*, iterations: int = 5) -> Optimizer:
    """``b += (1 - mu)*(g - b); u = g + mu*(b - g); p -= lr*NS(u)`` with ``p *= 1 - lr*wd`` first.

    NS(u) (Newton-Schulz) is ``x = u/max(norm(u), eps)`` and then, `iterations` times, with s the shorter and l the
    longer side of x laid out as s x l: ``A = x @ x.T`` (2*s*s*l), ``U = b*A + c*A @ A`` (2*s**3), ``x = a*x + U @ x``
    (2*s*s*l). With n = r*c elements that is 1 + 3 + 3 + 2 element-wise operations each outside, a norm of 2n and a
    division of n, and in each iteration 2n (``a*x +``) and 3*s*s (``b*A + c*``). One tensor of state.
    """

    def work(rows: Size, columns: Size) -> Work:
        s, l = _sides(rows, columns)
        n = rows * columns
        products = together(_product(s, l, s, iterations), _product(s, s, s, iterations), _product(s, s, l, iterations))
        around = each(n, mul=4, add=2, sub=3, div=1)
        inside = together(each(n * iterations, mul=1, add=1), each(s * s * iterations, mul=2, add=1))
        return together(around, _mean_square(n), {("max", "points"): 1}, products, inside)

    def small(shape: Shape) -> Shape | None:
        sides = _matrix(shape)
        try:
            return (_sides(*sides)[0],) * 2 if sides else None
        except InconclusiveError:
            return sides  # s*s is at most r*c

    state = (Buffer("momentum_buffer", _whole), *_VECTORS)
    in_bf16 = [Buffer("x", _whole, "bf16"), Buffer("next x", _whole, "bf16")]
    in_bf16 += [Buffer("A", small, "bf16"), Buffer("U", small, "bf16")]
    made = (Buffer("update", _whole, "grad"), *in_bf16, *_OF_VECTORS)
    note = "for matrices; its products run in bf16, and tensors of one axis are updated as by AdamW"
    return Optimizer("muon", state, _on_matrices(work), {"forloop": (made,)}, note)


def shampoo(*, every: int = 10, iterations: int = 20) -> Optimizer:
    """``L += g @ g.T; R += g.T @ g; p -= lr * L**(-1/4) @ g @ R**(-1/4)``, for a parameter of r rows and c columns.

    Four products of ``2*r*r*c`` or ``2*r*c*c``, each twice; additions of r*r and c*c; 2*r*c for the step. The roots of
    L and R (sides k = r, c) are kept, and made anew `every` steps by `iterations` of coupled Newton steps:
    ``T = (5*I - M)/4; X = X @ T; M = (T @ T) @ (T @ T) @ M``, 4 products of 2*k**3, a subtraction and a division of
    k*k; before them M = L/norm(L), a norm and a division of k*k, after them X = X/norm(L)**(1/4), a division of k*k.
    State: L, R and their roots. At once a root makes five matrices, as M is made anew: M, X, T @ T, its square and the
    next M; the step makes two, the products with either root. Sums of L and R are added in place.
    """

    def root(k: Size) -> Work:
        products = _product(k, k, k, 4 * iterations)
        return together(products, each(k * k * iterations, sub=1, div=1), _mean_square(k * k), each(k * k, div=2))

    def work(rows: Size, columns: Size) -> Work:
        left, right = _product(rows, columns, rows), _product(columns, rows, columns)
        applied = together(_product(rows, rows, columns), _product(rows, columns, columns))
        sums = together(each(rows * rows, add=1), each(columns * columns, add=1))
        roots = together(root(rows), root(columns))
        amortized = {key: multiply(Fraction(1, every), amount) for key, amount in roots.items()}
        return together(left, right, applied, sums, each(rows * columns, mul=1, sub=1), amortized)

    sides = [("L", _square_rows), ("R", _square_columns), ("root of L", _square_rows), ("root of R", _square_columns)]
    state = (*(Buffer(name, rule) for name, rule in sides), *_VECTORS)
    of_roots = [(Buffer("part of a root", square),) * 5 for square in (_square_rows, _square_columns)]
    moments = (*of_roots, (*(Buffer("product with a root", _whole),) * 2, *_OF_VECTORS))
    note = f"the roots are made anew every {every} steps; their work is shared out among the steps"
    return Optimizer("shampoo", state, _on_matrices(work), {"forloop": moments}, note)


def soap(*, every: int = 10) -> Optimizer:
    """Adam in the eigenbasis of Shampoo: ``m += (1 - b1)*(g - m)``; with Ql, Qr the bases, ``g' = Ql.T @ g @ Qr``.

    ``m' = Ql.T @ m @ Qr; v = b2*v + (1 - b2)*g'*g'; u = m'/(sqrt(v)/c + eps); p -= lr * Ql @ u @ Qr.T`` after
    ``p *= 1 - lr*wd``: six products of 2*r*r*c or 2*r*c*c, three each, and 1 + 3 + 4 + 4 + 2 = 14 element-wise.
    ``L += (1 - b)*(g @ g.T - L)`` and R likewise: a product and 3*k*k each. `every` steps ``Q = orthonormal(L @ Q)``: a
    product of 2*k**3, and Gram-Schmidt column by column: k norms and divisions of k, and for each of the k*(k - 1)/2
    pairs of columns a dot product, k multiplies and k subtractions. State: m, v, L, R, Ql, Qr. At once it makes two
    tensors like p, as one is turned by the second basis; or g @ g.T, or L @ Q, made orthonormal in its place.
    """

    def basis(k: Size) -> Work:
        pairs = divide(k * (k - 1), 2)
        norms = {**each(k * k, mul=1, div=1), ("reduce", "points"): k * k, ("reduce", "outputs"): k}
        dots = {("contract", "points"): pairs * k, ("contract", "outputs"): pairs}
        return together(_product(k, k, k), norms, {("sqrt", "points"): k}, dots, each(pairs * k, mul=1, sub=1))

    def work(rows: Size, columns: Size) -> Work:
        turned = together(_product(rows, rows, columns, 3), _product(rows, columns, columns, 3))
        sums = together(_product(rows, columns, rows), _product(columns, rows, columns))
        means = together(each(rows * rows, sub=1, mul=1, add=1), each(columns * columns, sub=1, mul=1, add=1))
        bases = together(basis(rows), basis(columns))
        amortized = {key: multiply(Fraction(1, every), amount) for key, amount in bases.items()}
        return together(adamw().work((rows, columns)), turned, sums, means, amortized)

    sides = [("L", _square_rows), ("R", _square_columns), ("basis of L", _square_rows), ("basis of R", _square_columns)]
    state = (Buffer("exp_avg", like), Buffer("exp_avg_sq", like), *(Buffer(name, rule) for name, rule in sides), STEP)
    of_sides = [(Buffer("product", square),) for square in (_square_rows, _square_columns)]
    moments = (*of_sides, (*(Buffer("turned", _whole),) * 2, *_OF_VECTORS))
    note = f"the bases are made anew every {every} steps; their work is shared out among the steps"
    return Optimizer("soap", state, _on_matrices(work), {"forloop": moments}, note)
