"""Closed forms of attention pairs against counting every pair of a mask, one by one."""

from __future__ import annotations

import itertools

import pytest

from symacct.errors import ConventionError
from symacct.expr import evaluate, name
from symacct.rules.pairs import conditions_of_pairs, pairs

S, T, W = name("s"), name("t"), name("w")
SMALL = range(1, 8)


def counted(s, t, align, window=None):
    """Walk over all pairs; position 0 is the first query's first key, or the last query's last key."""
    shift = 0 if align == "top-left" else t - s
    seen = 0
    for query, key in itertools.product(range(s), range(t)):
        distance = query + shift - key
        seen += distance >= 0 and (window is None or distance < window)
    return seen


def holds(conditions, sizes):
    return all(evaluate(c.left, sizes) >= evaluate(c.right, sizes) for c in conditions)


@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
@pytest.mark.parametrize("window", [None, 1, 2, 3, 5, 9])
def test_numbers_are_what_a_mask_lets_through(align, window):
    mask = "exact" if window is None else "window"
    for s, t in itertools.product(SMALL, SMALL):
        assert pairs(s, t, mask, align, window) == counted(s, t, align, window), (s, t)
        assert conditions_of_pairs(s, t, mask, align, window) == []


@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
@pytest.mark.parametrize("window", [None, W, 3])
@pytest.mark.parametrize(
    ("s", "t"), [(S, T), (S, S), (S, S + T), (S + T, T), (1, T), (S, 1), (S, 4), (2 * S, S), (S, T + 2)]
)
def test_forms_hold_wherever_their_conditions_do(s, t, window, align):
    mask = "exact" if window is None else "window"
    form = pairs(s, t, mask, align, window)
    conditions = conditions_of_pairs(s, t, mask, align, window)
    tried = 0
    for sizes in ({"s": a, "t": b, "w": c} for a, b, c in itertools.product(SMALL, SMALL, SMALL)):
        if holds(conditions, sizes):
            queries, keys, width = (evaluate(x, sizes) if x is not None else None for x in (s, t, window))
            assert evaluate(form, sizes) == counted(queries, keys, align, width), sizes
            tried += 1
    assert tried >= 7


def test_sizes_that_decide_leave_no_condition():
    assert conditions_of_pairs(S, S, "exact") == []
    assert conditions_of_pairs(S, S + T, "exact", "bottom-right") == []
    assert conditions_of_pairs(1, T, "exact", "bottom-right") == []
    assert pairs(1, T, "exact", "bottom-right") == T


def test_the_table_of_conventions():
    """S*T, S*T/2, S*T - S(S-1)/2 for S <= T, S*w - w(w-1)/2 for w <= S."""
    assert pairs(S, T, "full") == S * T
    assert pairs(S, T, "half") == S * T / 2
    assert pairs(S, T, "exact", "bottom-right") == S * T - S * (S - 1) / 2
    assert pairs(S, S, "window", window=W) == S * W - W * (W - 1) / 2
    assert pairs(S, S, "exact") == S * (S + 1) / 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("causal",), "unknown mask 'causal'"),
        (("exact", "left"), "known: top-left, bottom-right"),
        (("window",), "needs its width"),
        (("exact", "top-left", 4), "a window goes with the mask 'window'"),
        (("window", "top-left", 0), "at least itself"),
    ],
)
def test_unknown_words(arguments, said):
    with pytest.raises(ConventionError, match=said):
        pairs(S, T, *arguments)
