"""The parts of an account of a graph, their shares, what is free, and what is passed over and makes totals partial."""

from __future__ import annotations

from fractions import Fraction

import einops
import pytest

import symacct as sa
from symacct.accounting.tables import GROUPS
from symacct.errors import ConventionError, InconclusiveError, MixedUnitsError, UndefinedSizeError
from symacct.expr import add, evaluate, name, read
from tests.graph.examples import GRAPHS

FILES = {path.stem: path for path in GRAPHS}
B, D, K = name("b"), name("d"), name("k")


@sa.scope
def mlp(x, up, down):
    return sa.gelu(x @ up) @ down


@sa.scope("attention")
def attend(x, w):
    q, k, v = (x @ w[i] for i in range(3))
    return sa.softmax(einops.einsum(q, k, "b s d, b t d -> b s t")) @ v


def block(x: "b s d", w: "3 d d", up: "d f", down: "f d"):
    x = x + attend(x, w)
    return x + mlp(sa.layer_norm(x, x.shape[-1]), up, down)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("which", FILES)
def test_parts_add_up(which, group):
    account = sa.load_worked(FILES[which]).account()
    parts = account.by(group).parts
    assert add(p.flops for p in parts) == account.total("flops")
    assert add(p.bytes for p in parts) == account.total("bytes")
    assert len({p.name for p in parts}) == len(parts)


def test_groups_by_hand():
    account = sa.account(block, convention="exact")
    by_scope = {p.name: p.flops for p in account.by("scope").parts}
    assert by_scope["mlp"] == read("2*b*s*d*f - b*s*f + 20*b*s*f + 2*b*s*f*d - b*s*d")
    assert set(by_scope) == {"attention", "mlp", "(top)"}
    by_family = {p.name: p.flops for p in account.by("family").parts}
    assert by_family["contraction"] == account.total("matmul_flops")
    assert by_family["views"] == 0
    by_kind = {p.name: p.flops for p in account.by("kind").parts}
    assert by_kind["add"] == 2 * read("b*s*d")
    assert by_kind["gelu"] == 20 * read("b*s*f")
    by_op = {p.name for p in account.by("op").parts}
    assert {"b s d, d f -> b s f", "b s f, f d -> b s d", "gelu", "softmax"} <= by_op


def test_shares_are_exact_and_sorted():
    parts = sa.account(block).by("scope")
    sizes = {"b": 2, "s": 8, "d": 16, "f": 64}
    for of in ("flops", "bytes"):
        shares = parts.shares(of, **sizes)
        assert sum(shares.values()) == 1
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        whole = evaluate(parts.account.total(of), sizes)
        for part in parts.parts:
            assert shares[part.name] == Fraction(evaluate(getattr(part, of), sizes), whole)
    assert parts.top(1, **sizes) == ["mlp"]
    assert parts.top(2, **sizes) == ["mlp", "attention"]
    assert parts.top(9, of="bytes", **{**sizes, "s": 4096})[0] == "attention"
    with pytest.raises(UndefinedSizeError, match="no number for d, f"):
        parts.shares(b=1, s=2)


def test_shares_of_nothing_are_zero():
    shares = sa.account(lambda x: x.T, x="b d").by("kind").shares(b=1, d=2)
    assert shares == {"permute": 0}


def test_an_unknown_group_is_refused():
    with pytest.raises(ConventionError, match="cannot group by 'layer'; known: op, kind, scope, family"):
        sa.account(block).by("layer")
    mixed = sa.account(block, convention="mac")
    with pytest.raises(MixedUnitsError):
        mixed.by("scope")


def test_the_table_says_what_the_parts_are():
    shown = str(sa.account(block).by("family")).splitlines()
    assert shown[0].split() == ["family", "flops", "bytes"]
    starts = [line.split()[0] for line in shown[1:]]
    assert [n for n in starts if n in {p.name for p in sa.account(block).by("family").parts}] == [
        p.name for p in sa.account(block).by("family").parts
    ]


def test_what_is_free_is_listed_with_how_often_it_runs():
    def layer(table: "v d", i: "b", w: "L d d"):
        h = table[i]
        return sa.repeat("L", lambda h, w: einops.rearrange(h @ w, "b (h k) -> b (k h)", h=2), h, xs=w)

    account = sa.account(layer)
    assert account.free == {"embedding": 1, "reshape": 2 * name("L"), "permute": name("L")}
    assert "1 embedding, 2*L reshape, L permute" in " ".join(str(account).split())
    assert sa.account(lambda x: x + 1, x="n").free == {}


# -- what has no rule --------------------------------------------------------------------------------------------------


def partial(x: "b d", w: "L d d"):
    x = sa.opaque("mixer", [x], [x.shape])
    return sa.repeat("L", lambda h, w: sa.opaque("my kernel", [h @ w], [h.shape]), x, xs=w)


def test_what_is_passed_over_is_listed_with_how_often_it_runs():
    account = sa.account(partial)
    L = name("L")
    assert account.uncounted == {"mixer": 1, "my kernel": L}
    assert account.total("flops") == 2 * L * B * D * D
    assert account.total("bytes") == 4 * B * D + L * (2 * (2 * B * D + D * D) + 4 * B * D), "traffic is counted"
    assert account.free == {}
    assert [p.name for p in account.by("op").parts] == ["mixer", "b d, d d' -> b d'", "my kernel"]


def test_a_partial_total_says_so_everywhere():
    account = sa.account(partial)
    shown = str(account)
    for quantity in ("flops", "matmul_flops", "intensity"):
        assert f" {quantity} (partial) " in shown
    assert "bytes (partial)" not in shown
    assert "NOT COUNTED" in shown
    assert "L my kernel: the totals are partial" in shown
    assert "flops (partial)" in account._repr_html_()
    assert r"\text{flops (partial)}" in account.latex()
    data = account.to_json()
    assert {n: d["text"] for n, d in data["uncounted"].items()} == {"mixer": "1", "my kernel": "L"}
    figures = account.at(b=2, d=3, L=4)
    assert figures.uncounted == ("mixer", "my kernel")
    assert "NOT COUNTED   mixer, my kernel: the figures are partial" in str(figures)
    assert "partial" not in str(sa.account(block))


@pytest.mark.parametrize("of", ["flops", "matmul_flops", "intensity"])
def test_what_is_asked_of_a_partial_total_is_refused(of):
    account = sa.account(partial)
    refused = [
        lambda: account.leading("b"),
        lambda: account.leading("b", of=of),
        lambda: account.limit("b", of=of),
        lambda: account.sensitivity("b", of=of),
        lambda: account.solve("b", **{of: 10}),
        lambda: account.crossovers("b", of=of),
        lambda: account.regimes("b", of=of, d=2, L=3),
    ]
    for ask in refused:
        with pytest.raises(InconclusiveError, match=r"is partial.*not counted: mixer, my kernel"):
            ask()
    assert account.solve("b", bytes=10**6).roots
    assert sa.same(account.leading("b", of="bytes"), "b*(4*d + 8*L*d)")


def test_what_is_not_counted_is_no_zero_in_a_table():
    account = sa.account(partial, L=2)
    assert [line.split()[:3] for line in str(account).splitlines() if " mixer  " in line] == [["1", "mixer", "?"]]
    assert ["mixer", "?", "4*b*d"] in [line.split() for line in str(account.by("op")).splitlines()]
    assert "4*b*d**2 + ?" in str(account.by(lambda _: "all"))
    with pytest.raises(InconclusiveError, match="not counted"):
        account.by("op").shares(b=1, d=2)
    swept = account.sweep(b=[1, 2], d=3)
    assert swept.note("flops") == "exact; partial: mixer, my kernel not counted"
    assert swept.note("bytes") == "exact"


def test_partial_totals_compare_only_where_the_same_is_passed_over():
    def other(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: sa.opaque("my kernel", [sa.relu(h @ w)], [h.shape]), x, xs=w)

    def same(x: "b d", w: "L d d"):
        x = sa.opaque("mixer", [x], [x.shape])
        return sa.repeat("L", lambda h, w: sa.opaque("my kernel", [sa.relu(h @ w)], [h.shape]), x, xs=w)

    def once(x: "b d", w: "L d d"):
        return sa.opaque("my kernel", [sa.opaque("mixer", [x], [x.shape]) @ w[0]], [x.shape])

    one = sa.account(partial)
    for fn, told in ((other, "L my kernel"), (once, "1 mixer, 1 my kernel"), (block, "nothing")):
        for of in ("flops", "matmul_flops"):
            with pytest.raises(InconclusiveError, match=rf"different operations: .*1 mixer, L my kernel.*{told}"):
                sa.compare(one, sa.account(fn), of=of)
            with pytest.raises(InconclusiveError, match="the totals are partial"):
                sa.compare(sa.account(fn), one, of=of)
    assert sa.compare(one, sa.account(same)).cheaper == "a"
    assert sa.same(sa.compare(one, sa.account(same)).difference, "L*b*d")
    assert sa.compare(one, sa.account(other), of="bytes").region == "1 < L", "of bytes nothing is passed over"


def test_nothing_moved_has_no_intensity_and_figures_say_so():
    account = sa.account(lambda x: x.T, x="b d")
    figures = account.at(b=2, d=3)
    assert (figures.flops.value, figures.bytes.value, figures.intensity) == (0, 0, None)
    assert "intensity     none: nothing is moved" in str(figures)
    assert set(figures.to_json()) == {"flops", "matmul_flops", "bytes"}
    with pytest.raises(UndefinedSizeError, match="nothing is moved"):
        account.intensity  # noqa: B018
    assert "intensity" not in str(account)
