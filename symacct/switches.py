"""In how many ways one can count: switches, their values and what these mean, functions to weigh, and their text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from symacct.errors import ConventionError

Contraction: TypeAlias = Literal["2n", "exact", "mac"]
Attention: TypeAlias = Literal["full", "half", "exact"]
Padding: TypeAlias = Literal["nominal", "exact"]
Embedding: TypeAlias = Literal["gather", "matmul"]

MEANING: Mapping[str, str] = {
    "2n": "a sum of n products is 2n operations; a sum of n terms is n",
    "exact": "a sum of n products is n multiplies and n - 1 adds; a sum of n terms is n - 1",
    "mac": "a sum of n products is n multiply-accumulates (MAC), shown apart from operations",
}
"""What a sum costs, by the value of `contraction`."""

SWITCHES: Mapping[str, Mapping[str | int, str]] = {
    "attention": {
        "full": "a causal mask skips no pairs: S*T",
        "half": "a causal mask halves the pairs: S*T/2",
        "exact": "a causal mask leaves the pairs that it lets through: S*(S + 1)/2 for S = T",
    },
    "padding": {
        "nominal": "a convolution's taps on padding count",
        "exact": "a convolution's taps on padding do not count",
    },
    "flash_backward": {
        4: "the gradient of attention is 4 products",
        5: "the gradient of attention is 5 products: flash kernels multiply QK^T again",
    },
    "embedding": {
        "gather": "a lookup in a table executes nothing, its gradient an addition an element",
        "matmul": "a lookup in a table of V rows is a product with one-hot rows of V, and so is its gradient",
    },
}
"""What else can be counted in more than one way: each value and what it means, the default first."""

NAMED = (
    *("batch_norm", "batch_norm_backward", "dropout", "gelu_backward", "gelu_tanh_backward", "layer_norm"),
    *("layer_norm_backward", "log_softmax", "log_softmax_backward", "logsumexp", "mse_loss", "nll_loss"),
    *("nll_loss_backward", "pow", "rms_norm", "rms_norm_backward", "running_statistics", "sigmoid_backward", "silu"),
    *("silu_backward", "softmax", "softmax_backward", "tanh_backward"),
)
"""Functions that are counted by what they are made of, unless they are given a weight."""


def read_words(text: str) -> tuple[str, dict[str, Any]]:
    """Read a convention as people write it, and as it prints: ``"exact, attention=half"``, ``"2n with gelu=9"``.

    Returns
    -------
    The preset's name (``"2n"`` where there is none), and switches and weights by name; numbers are integers.

    Raises
    ------
    ConventionError
        For a word after the first that is no ``name=value``, and for a name that is given twice.

    """
    name, *words = [word.strip() for word in text.replace(" with ", ",", 1).split(",")]
    if "=" in name:
        name, words = "2n", [name, *words]
    given: dict[str, Any] = {}
    for word in words:
        switch, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not switch or not value or switch in given:
            msg = f"cannot read {word!r} of the convention {text[:80]!r}: write a preset and switches, each once, "
            raise ConventionError(msg + "as in 'exact, attention=half, gelu=9'")
        number = value.isascii() and value.isdigit() and len(value) < 10 and switch != "contraction"
        given[switch] = int(value) if number else value
    return name, given
