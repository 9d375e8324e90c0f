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
