"""6PT, six operations a parameter and token: a result of counting the gradients, never an axiom."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy

import symacct as sa


def gradients(pattern):
    """The gradient of each operand is an einsum of the output's gradient and the other operand."""
    operands, output = pattern.split(" -> ")
    first, second = operands.split(", ")
    return f"{output}, {second} -> {first}", f"{first}, {output} -> {second}"


LAYERS = ["t d, d k -> t k", "b s d, d k -> b s k", "b s d, d h k -> b s h k", "... d, f d -> ... f"]


def einsum(pattern, *operands):
    return np.einsum(pattern.replace(" ", ""), *operands)


@pytest.mark.claim("S3")
@pytest.mark.parametrize("pattern", [*LAYERS[:3], "b h s d, h d k -> b h s k"])
def test_the_gradients_are_those_of_the_product(pattern):
    """The product is linear in each operand, so a change E of one changes <g, y> by exactly <gradient, E>."""
    draw = np.random.default_rng(3)
    operands, _ = pattern.split(" -> ")
    sizes = dict(zip(sorted(set("".join(operands.replace(",", "").split()))), (2, 3, 4, 5, 6), strict=False))
    x, w = (draw.integers(-9, 9, [sizes[a] for a in o.split()]) for o in operands.split(", "))
    y = einsum(pattern, x, w)
    g = draw.integers(-9, 9, y.shape)
    dx, dw = (einsum(p, *o) for p, o in zip(gradients(pattern), ((g, w), (x, g)), strict=True))
    change_x, change_w = draw.integers(-9, 9, x.shape), draw.integers(-9, 9, w.shape)
    assert (g * (einsum(pattern, x + change_x, w) - y)).sum() == (dx * change_x).sum()
    assert (g * (einsum(pattern, x, w + change_w) - y)).sum() == (dw * change_w).sum()


@pytest.mark.claim("S3")
@pytest.mark.parametrize("pattern", LAYERS)
def test_training_a_layer_is_six_operations_a_parameter_and_token(pattern):
    """Two forward; and two for the gradient of each operand."""
    weights = pattern.split(", ")[1].split(" -> ")[0].split()
    tokens = [a for a in pattern.split(",")[0].split() if a not in weights]
    P = sympy.prod(sympy.Symbol(a) for a in weights)
    T = sympy.prod(sympy.Symbol("batch" if a == "..." else a) for a in tokens)
    forward = sa.flops(pattern)
    backward = [sa.flops(p) for p in gradients(pattern)]
    assert sa.same(forward, 2 * P * T)
    assert all(sa.same(part, 2 * P * T) for part in backward)
    assert sa.same(forward + sum(backward), 6 * P * T)
    assert sa.matmul_flops(pattern) == forward  # there is no other work in it


@pytest.mark.claim("S3")
def test_training_a_chain_is_six_operations_but_for_the_gradient_of_the_first_input():
    widths = ["d0", "d1", "d2", "d3"]
    layers = [f"t {a}, {a} {b} -> t {b}" for a, b in itertools.pairwise(widths)]
    P = sum(sympy.Symbol(a) * sympy.Symbol(b) for a, b in itertools.pairwise(widths))
    T = sympy.Symbol("t")
    forward = sum(sa.flops(p) for p in layers)
    of_inputs, of_weights = zip(*(map(sa.flops, gradients(p)) for p in layers), strict=True)
    assert sa.same(forward + sum(of_inputs) + sum(of_weights), 6 * P * T)
    without = forward + sum(of_inputs[1:]) + sum(of_weights)
    assert sa.same(without, 6 * P * T - 2 * T * sympy.Symbol("d0") * sympy.Symbol("d1"))


@pytest.mark.claim("S3")
def test_attention_scores_are_not_in_it():
    """They have no parameters, and grow with the square of the sequence."""
    scores = sa.flops("b h s k, b h t k -> b h s t", t="s") + sa.flops("b h s t, b h t k -> b h s k", t="s")
    assert sa.same(scores, "4*b*h*k*s**2")
    assert sympy.degree(scores, sympy.Symbol("s")) == 2
