"""Normalisation: a row less its mean, over its standard deviation; then a weight and a bias.

A row is what shares a mean: the last axes (layer_norm, rms_norm), a group of channels of one sample (group_norm), a
channel of the whole batch (batch_norm). Terms, for rows of n elements:

    layer_norm, group_norm and batch_norm in training
        mean        sum of a row, / n                                   n sum, div
        centred     x - mean                                            n sub
        variance    centred * centred, sum of a row, / n                n mul, n sum, div
        rstd        1 / sqrt(variance + eps)                            add, rsqrt
        normal      centred * rstd                                      n mul
        output      normal * weight + bias, where they are given        n mul, n add
    so 5n + 4 a row under ``2n`` (5n + 2 under ``exact``), 7n + 4 with weight and bias
    rms_norm
        mean square x * x, sum of a row, / n                            n mul, n sum, div
        rstd        1 / sqrt(mean square + eps)                         add, rsqrt
        normal      x * rstd                                            n mul
        output      normal * weight                                     n mul
    so 3n + 3 a row (3n + 2 under ``exact``), 4n + 3 with weight
    batch_norm with running statistics
        in use      (x - mean) * (1 / sqrt(variance + eps))             n sub, n mul; a channel: add, rsqrt
        in training old*(1 - momentum) + new*momentum, of the mean and of the variance that divides by n - 1:
                    a channel 4 mul, 2 add, div

The statistics are outputs (mean and rstd after the normalised tensor), because the gradient reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symacct.conventions import Key, Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Size, divide, product
from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.norm_gradients import (
    gradient_of_batch_norm,
    gradient_of_group_norm,
    gradient_of_layer_norm,
    gradient_of_rms_norm,
)
from symacct.rules.rule import Attrs, Out, Read, Residual, Rule, show_shape, whole, write_all

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("layer_norm", "points"): {("reduce", "points"): 2, ("sub", "points"): 1, ("mul", "points"): 2},
    ("layer_norm", "outputs"): {
        ("reduce", "outputs"): 2,
        ("div", "points"): 2,
        ("add", "points"): 1,
        ("rsqrt", "points"): 1,
    },
    ("layer_norm", "weighted"): {("mul", "points"): 1},
    ("layer_norm", "shifted"): {("add", "points"): 1},
    ("rms_norm", "points"): {("reduce", "points"): 1, ("mul", "points"): 2},
    ("rms_norm", "outputs"): {
        ("reduce", "outputs"): 1,
        ("div", "points"): 1,
        ("add", "points"): 1,
        ("rsqrt", "points"): 1,
    },
    ("rms_norm", "weighted"): {("mul", "points"): 1},
    ("batch_norm", "points"): {("sub", "points"): 1, ("mul", "points"): 1},
    ("batch_norm", "outputs"): {("add", "points"): 1, ("rsqrt", "points"): 1},
    ("batch_norm", "weighted"): {("mul", "points"): 1},
    ("batch_norm", "shifted"): {("add", "points"): 1},
    ("running_statistics", "points"): {("mul", "points"): 4, ("add", "points"): 2, ("div", "points"): 1},
}
"""What an element (`points`), a row (`outputs`), an element with a weight (`weighted`) or a bias is made of.

Those of layer_norm are also group_norm's and, in training, batch_norm's.
"""
