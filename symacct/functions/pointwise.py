"""Element-wise functions."""

from __future__ import annotations

from typing import Any

from symacct.errors import ConventionError
from symacct.symbolic import apply


def relu(x: Any) -> Any:
    """Return ``max(x, 0)``: one comparison an element.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "n"):
    ...     return sa.relu(x)
    >>> sa.account(layer).intensity
    1/4

    """
    return apply("relu", x)


def gelu(x: Any, approximate: str = "none") -> Any:
    """Return ``x * Phi(x)``, by erf or by its tanh formula: 20 operations an element in the lecture's weights.

    ``0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x**3)))`` is 6 multiplies, 2 adds and a tanh.

    Parameters
    ----------
    x
        A tensor of any shape.
    approximate
        ``"none"`` (erf) or ``"tanh"``.

    Returns
    -------
    A tensor of the same shape. Its gradient needs x.

    Raises
    ------
    ConventionError
        For another approximation.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "n"):
    ...     return sa.gelu(x)
    >>> sa.account(layer).intensity
    5

    """
    if approximate not in ("none", "tanh"):
        msg = f"unknown approximation {approximate!r} of gelu; known: none, tanh"
        raise ConventionError(msg)
    return apply("gelu", x, approximate=approximate)


def silu(x: Any) -> Any:
    """Return ``x * sigmoid(x)``: a sigmoid and a multiply, 2 operations an element.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs x.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.silu, x="n").flops
    2*n

    """
    return apply("silu", x)


def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.sigmoid, x="n").flops
    n

    """
    return apply("sigmoid", x)


def tanh(x: Any) -> Any:
    """Return ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.tanh, x="n").flops
    n

    """
    return apply("tanh", x)


def exp(x: Any) -> Any:
    """Return ``e**x``: one call an element, of weight 1 in the lecture's weights.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.exp, x="n").flops, sa.account(sa.exp, x="n", convention=sa.Convention(weights={"exp": 8})).flops
    (n, 8*n)

    """
    return apply("exp", x)


def log(x: Any) -> Any:
    """Return the natural logarithm: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs x.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.log, x="n").flops
    n

    """
    return apply("log", x)


def sqrt(x: Any) -> Any:
    """Return ``x**(1/2)``: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.sqrt, x="n").flops
    n

    """
    return apply("sqrt", x)


def rsqrt(x: Any) -> Any:
    """Return ``1 / sqrt(x)``: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.rsqrt, x="n").flops
    n

    """
    return apply("rsqrt", x)


def erf(x: Any) -> Any:
    """Return ``2/sqrt(pi) * integral of exp(-t**2) from 0 to x``: one call an element, of weight 1.

    Parameters
    ----------
    x
        A symbolic or a torch tensor of any shape.

    Returns
    -------
    A tensor of the same shape. Its gradient needs x.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.erf, x="n").flops
    n

    """
    return apply("erf", x)


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two elements: one comparison an output element.

    Parameters
    ----------
    x, y
        Tensors that broadcast, or a tensor and a number.

    Returns
    -------
    A tensor of the broadcast shape.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n", y: "n"):
    ...     return sa.maximum(x, y)
    >>> sa.account(layer).flops
    b*n

    """
    return _either("maximum", x, y)


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two elements: one comparison an output element.

    Parameters
    ----------
    x, y
        Tensors that broadcast, or a tensor and a number.

    Returns
    -------
    A tensor of the broadcast shape.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.minimum, x="b n", y="n").flops
    b*n

    """
    return _either("minimum", x, y)


def _either(kind: str, x: Any, y: Any) -> Any:
    if isinstance(y, int | float):
        return apply(kind, x, scalar=y, side="right")
    return apply(kind, y, scalar=x, side="left") if isinstance(x, int | float) else apply(kind, x, y)


def where(mask: Any, x: Any, y: Any) -> Any:
    """Return x where the mask holds, else y: a selection, no arithmetic.

    Parameters
    ----------
    mask
        A boolean tensor.
    x, y
        Tensors that broadcast with it, or numbers.

    Returns
    -------
    A tensor of the broadcast shape, in the dtype of the values. Its gradient needs the mask.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast; names them.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n"):
    ...     return sa.where(x > 0, x, 0.0)
    >>> [step.kind for step in sa.account(layer).steps], sa.account(layer).flops  # the comparison's
    (['gt', 'where'], b*n)

    """
    numbers = {name: v for name, v in (("x", x), ("y", y)) if isinstance(v, int | float)}
    return apply("where", mask, *(v for v in (x, y) if not isinstance(v, int | float)), **numbers)


def dropout(x: Any, p: float = 0.5, training: bool = True) -> Any:  # noqa: FBT001, FBT002 # torch's arguments
    """Return ``x * mask``, the mask 0 with probability p, else ``1/(1 - p)``: 2 operations an element.

    A division scales the mask, a multiply applies it; the mask is drawn, written and kept in the dtype of x, as torch
    does on a CPU. Nothing is done with ``p=0`` or out of training.

    Parameters
    ----------
    x
        A symbolic or a torch tensor.
    p
        The probability of a zero, from 0 to 1.
    training
        Whether to drop at all.

    Returns
    -------
    A tensor of the same shape, or x itself.

    Raises
    ------
    ConventionError
        For a p that is no probability.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "n"):
    ...     return sa.dropout(x, 0.1)
    >>> sa.account(layer, dtype="fp32").flops, sa.account(layer, dtype="fp32").bytes
    (2*n, 12*n)

    """
    if not 0 <= p <= 1:
        msg = f"dropout: p is {p}; a probability is from 0 to 1"
        raise ConventionError(msg)
    if not training or p == 0:
        return x
    return x * 0.0 if p == 1 else apply("dropout", x, p=p)[0]
