"""Accounts as chains: what blocks keep and compute, derived by hand."""

from __future__ import annotations

from pathlib import Path

import einops
import pytest
import sympy
from hypothesis import given

import symacct as sa
from symacct.checkpointing.derive import chain_of
from symacct.errors import GraphError, MixedUnitsError, SizeError, UnknownOpError
from symacct.testing.compositions import Composition, compositions
from verify.carried import NETWORKS
from verify.rooms.checkpointing import KINDS

GRAPHS = Path(__file__).resolve().parents[2] / "graphs"
B, D, L = sympy.symbols("B D L")
P = L * D**2


def layers(body, **options):
    def network(x: "B D", w: "L D D"):
        return sa.repeat("L", body, x, xs=w)

    return sa.account(network, params=["w"], dtype="fp32", **options)


RELU = layers(lambda x, w: sa.relu(x @ w))
GELU = layers(lambda x, w: sa.gelu(x @ w))
RELU_FIRST = layers(lambda x, w: sa.relu(x) @ w)


def elements(amount):
    return sympy.expand(amount / 4)


@pytest.mark.claim("S66", "D12")
def test_relu_blocks_keep_what_the_next_takes_and_gelu_blocks_twice_that() -> None:
    assert elements(sa.checkpoint(RELU, "none").memory) == sympy.expand(B * D * (L + 1))
    assert elements(sa.checkpoint(GELU, "none").memory) == 2 * B * D * L
    # by block: L tensors to start from, so no halving for ReLU; in the last block its residual comes back
    for account in (RELU, GELU):
        plan = sa.checkpoint(account, "block")
        assert elements(plan.held) == B * D * L
        assert elements(plan.memory) == sympy.expand(B * D * (L + 1))
    assert sa.checkpoint(RELU, "none").at(B=8, D=16, L=5).memory == 4 * 768
    assert sa.checkpoint(RELU, "block").at(B=8, D=16, L=5).held == 4 * 640


@pytest.mark.claim("S56", "S65")
def test_six_and_eight_times_the_parameters() -> None:
    forward, backward = RELU.matmul_flops, RELU.backward(wrt=["x", "w"]).matmul_flops
    assert sympy.expand(forward + backward) == 6 * B * P
    again = {
        name: sa.checkpoint(account, "block").recomputed_matmul
        for name, account in {"Linear, ReLU": RELU, "ReLU, Linear": RELU_FIRST}.items()
    }
    # a ReLU saves its result, so the product before it runs again: 8BP; a product that comes last does not: 6BP
    assert again == {"Linear, ReLU": 2 * B * P, "ReLU, Linear": 0}
    assert sympy.expand(forward + backward + again["Linear, ReLU"]) == 8 * B * P
    assert sa.checkpoint(RELU_FIRST, "block", early_stop=False).recomputed_matmul == 2 * B * P


def test_a_segment_that_ends_in_a_product_skips_that_one() -> None:
    plan = sa.checkpoint(RELU_FIRST, every=4)
    assert sympy.expand(plan.recomputed_matmul - (2 * B * P - 2 * B * D**2 * L / 4)) == 0
    # 12 blocks in 4s: 3 of 12 products are skipped
    assert sa.checkpoint(RELU_FIRST, every=4, L=12).recomputed_matmul == 2 * B * D**2 * (12 - 3)
    assert sa.checkpoint(RELU_FIRST, every=5, L=12).recomputed_matmul == 2 * B * D**2 * (12 - 3)


@pytest.mark.claim("S64", "S67")
def test_strategies_of_the_lectures_network() -> None:
    def slots(strategy, **options):
        return sympy.expand(sa.checkpoint(RELU, strategy, **options).memory / (4 * B * D))

    assert slots("sqrt") == 2 * sympy.sqrt(L)
    assert slots(None, every="k") == sympy.Symbol("k") + L / sympy.Symbol("k")
    assert slots("input") == 3
    assert [slots("recursive", L=n) for n in (1, 2, 4, 64)] == [2, 3, 4, 8]
    assert RELU.checkpoint("sqrt").memory == sa.checkpoint(RELU, "sqrt").memory


def test_full_recomputation_keeps_two_bytes_an_element_and_block() -> None:
    s, b, d, L = sympy.symbols("s b d L")
    account = sa.load_worked(GRAPHS / "gpt2.py").account(dtype="bf16")
    assert sympy.expand(sa.checkpoint(account, "block").held).coeff(L) == 2 * s * b * d


def test_a_mask_that_all_blocks_share_is_kept_once() -> None:
    def masked(x: "b s d", w: "L d d"):
        seen = sa.causal_mask(x.shape[1], like=x)

        def body(x, w, seen):
            scores = einops.einsum(x @ w, x, "b s d, b t d -> b s t")
            return sa.softmax(sa.where(seen, scores, float("-inf"))) @ x

        return sa.repeat("L", body, x, xs=w, consts=seen)

    s = sympy.Symbol("s")
    account = sa.account(masked, params=["w"], dtype="fp32")
    for name in ("none", "block"):
        held = sympy.expand(sa.checkpoint(account, name).held)
        assert held.coeff(s, 2).subs({"b": 0}) == 1  # one byte a pair, whatever L is


def test_an_encoder_that_every_block_reads_is_kept_whatever_is_recomputed() -> None:
    def decoder(x: "b s d", source: "b t d", inside: "d d", w: "L d d"):
        source = sa.relu(source @ inside)
        return sa.repeat("L", lambda x, w, source: x + (x @ w) * source.sum(), x, xs=w, consts=source)

    account = sa.account(decoder, params=["inside", "w"], dtype="fp32")
    b, t, d = sympy.symbols("b t d")
    assert chain_of(account).chain.outside is not None
    one, two = (sympy.expand(sa.checkpoint(account, "block", L=n).held) for n in (1, 2))
    assert one.coeff(t, 1).subs({"s": 0}) == two.coeff(t, 1).subs({"s": 0})
    assert sympy.expand(one.coeff(t, 1)) == 2 * 4 * b * d  # what the encoder takes, and what it makes


def test_a_network_without_repeats_is_cut_where_one_tensor_crosses() -> None:
    def mlp(x: "b d", up: "d f", down: "f d"):
        return sa.gelu(x @ up) @ down

    account = sa.account(mlp, params=["up", "down"], dtype="fp32")
    derived = chain_of(account)
    assert [run.stage.name for run in derived.chain.runs] == ["product", "gelu", "product"]
    assert derived.every_cut
    assert "no plan within" in sa.checkpoint(account, "least", b=2, d=3, f=5).assumptions[-1]

    def skipping(x: "b d", up: "d f", down: "f d"):
        hidden = x @ up
        return (hidden + sa.gelu(hidden)) @ down

    account = sa.account(skipping, params=["up", "down"], dtype="fp32")
    assert not chain_of(account).every_cut
    assert "others are not tried" in sa.checkpoint(account, "least", b=2, d=3, f=5).assumptions[-1]


def test_cuts_inside_blocks_hold_less_than_cuts_between_them() -> None:
    account = sa.load_worked(GRAPHS / "gpt2.py").account(dtype="bf16")
    sizes = {"b": 8, "s": 1024, "d": 768, "h": 12, "k": 64, "f": 3072, "v": 50257, "c": 1024, "L": 12}
    by_block = sa.checkpoint(account, "block", sizes=sizes).at().memory.value
    assert sa.checkpoint(account, "least", sizes=sizes).at().memory.value < by_block


def test_what_is_no_forward_pass_is_refused() -> None:
    with pytest.raises(GraphError, match="backward pass already"):
        sa.checkpoint(RELU.backward(), "block")

    def changing_places(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda c, w: (sa.relu(c[1] @ w), c[0]), (x, x), xs=w)

    with pytest.raises(GraphError, match=r"passes 'x' on as it was given, so that turns share it; .* as consts"):
        sa.checkpoint(sa.account(changing_places, params=["w"]), "block")
    with pytest.raises(GraphError, match="is no input"):
        sa.checkpoint(RELU, "block", wrt=["v"])
    with pytest.raises(UnknownOpError, match="what the opaque operation 'mystery' keeps"):
        sa.checkpoint(sa.account(mysterious, params=["w"]), "block")
    with pytest.raises(MixedUnitsError, match="two units"):
        sa.checkpoint(layers(lambda x, w: sa.relu(x @ w), convention="mac"), "block")


def mysterious(x: "b d", w: "d d"):
    return sa.opaque("mystery", [sa.relu(x @ w)], [x.shape])


def test_a_block_by_itself_is_repeated() -> None:
    def one(x: "B D", w: "D D"):
        return sa.relu(x @ w)

    account = sa.account(one, params=["w"], dtype="fp32")
    for options in ({"strategy": "none"}, {"strategy": "sqrt"}, {"every": "k"}, {"strategy": "recursive"}):
        ours, theirs = sa.checkpoint(account, layers="L", **options), sa.checkpoint(RELU, **options)
        assert (ours.memory, ours.held, ours.recomputed) == (theirs.memory, theirs.held, theirs.recomputed)
    sizes = {"B": 3, "D": 5}
    best, wanted = (
        sa.checkpoint(a, "least", sizes={**sizes, "L": 9}, **o) for a, o in ((account, {"layers": "L"}), (RELU, {}))
    )
    assert (best.memory, best.recomputed) == (wanted.memory, wanted.recomputed)
    block = sa.load_worked(GRAPHS / "transformer.py").account(dtype="fp32")
    whole = sa.load_worked(GRAPHS / "gpt2.py").account(dtype="fp32")
    ours, theirs = (
        sa.checkpoint(a, name, **o) for a, name, o in ((block, "none", {"layers": "L"}), (whole, "none", {}))
    )
    assert sympy.expand(ours.held).coeff(L) == sympy.expand(theirs.held).coeff(L)
    with pytest.raises(GraphError, match="returns one tensor in the shape of its first input"):
        sa.checkpoint(sa.account("b d, d k -> b k"), layers=3)


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.py")), ids=lambda path: path.stem)
def test_every_worked_graph_keeps_what_its_residuals_are_and_computes_what_it_does(path: Path) -> None:
    """Two ways to what is kept: stage by stage here, tensor by tensor in `Account.residuals`."""
    account = sa.load_worked(path).account(dtype="bf16")
    for device in ("cpu", "cuda"):
        plan = sa.checkpoint(account, "none", device=device)
        assert sa.same(plan.held, account.residuals(device=device).bytes)
    assert sa.same(plan.forward, account.flops)
    assert plan.recomputed == 0


@pytest.mark.parametrize("kind", ["Linear, ReLU", "Linear, GELU", "GELU, Linear"])
def test_a_repeat_and_its_unrolling_have_the_same_best_plans(kind: str) -> None:
    body = KINDS[kind]

    def unrolled(x: "B D", w: "L D D"):
        for i in range(5):
            x = body(x, w[i])
        return x

    sizes = {"B": 3, "D": 4, "L": 5}
    one = sa.account(unrolled, params=["w"], dtype="fp32", sizes=sizes)
    other = layers(body)
    assert sa.checkpoint(one, "none").at().memory == sa.checkpoint(other, "none", sizes=sizes).at().memory
    curves = [sa.checkpoint_curve(one, points=1000), sa.checkpoint_curve(other, points=1000, sizes=sizes)]
    ours, theirs = ([(p.memory, p.again) for p in curve.points] for curve in curves)
    assert ours == theirs
    assert all(curve.complete for curve in curves)


@given(compositions())
def test_random_graphs_keep_what_their_residuals_are_and_the_best_plan_holds_no_more(composition: Composition) -> None:
    account = sa.account(composition.function(), dtype="fp32")
    if not account.graph.ops:
        return
    plan = sa.checkpoint(account, "none")
    assert sa.same(plan.held, account.residuals().bytes)
    assert sa.same(plan.forward, account.flops)
    everything, least = (sa.checkpoint(account, name, sizes=composition.sizes).at() for name in ("none", "least"))
    assert least.memory.value <= everything.memory.value


@pytest.mark.parametrize("name", list(NETWORKS))
def test_carries_are_kept_each_by_itself(name: str) -> None:
    account = NETWORKS[name].account(dtype="fp32")
    plan = sa.checkpoint(account, "none")
    assert sa.same(plan.held, account.residuals().bytes)
    assert (sa.checkpoint(account, "block").recomputed == 0) == (name == "frozen")
    sizes = {"b": 2, "d": 3, "L": 2}
    least, most = (sa.checkpoint(account, how, sizes=sizes).at().memory.value for how in ("least", "none"))
    assert least <= most


def test_turns_that_differ_must_be_there() -> None:
    """After one turn the first carry needs a gradient, after two the second one, a sum, too."""
    account = NETWORKS["sums"].account(dtype="fp32")
    plan, kept = sa.checkpoint(account, "none"), account.residuals()
    assert ["L >= 2"] == [str(c) for c in plan.conditions] == [str(c) for c in kept.conditions]
    for broken in (lambda: plan.at(L=1, b=2, d=3), lambda: kept.at(L=1, b=2, d=3)):
        with pytest.raises(SizeError, match="L >= 2"):
            broken()
    with pytest.raises(SizeError, match="whose first 2 differ"):
        sa.checkpoint(account, "none", L=1)
    for turns in (1, 2, 3):
        written_out = NETWORKS["sums"].account(dtype="fp32", sizes={"L": turns})
        numbers = sa.checkpoint(written_out, "none").at(b=2, d=3).held, written_out.residuals().at(b=2, d=3)
        # x, the result of each relu, and the sum, as a factor of the product at the end
        assert numbers[0] == numbers[1] == 4 * 6 * (turns + 2)
    assert [str(c) for c in RELU.residuals().conditions] == []  # two turns differ, and yet it holds for one


def test_of_a_conditional_the_dearer_branch_runs() -> None:
    def choosing(p: "", x: "n n", w: "n n"):
        return sa.cond(p > 0, lambda x, w: x @ w, lambda x, w: sa.relu(x @ w) @ w, x, w)

    account = sa.account(choosing, params=["w"], dtype="fp32")
    plan = sa.checkpoint(account, "none")
    n = sympy.Symbol("n")
    assert (plan.held, account.residuals().bytes) == (8 * n**2, 8 * n**2)  # x, and the result of relu
    assert "of a conditional the branch runs that executes most" in plan.assumptions
    # the last product saves its factors before it runs
    assert sa.checkpoint(account, "block").recomputed_matmul == 2 * n**3


def test_a_conditional_beside_the_gradients_is_counted() -> None:
    """The dearer branch of what needs no gradient: two products of n by n, 4*n**3."""

    def layer(p: "", c: "n n", x: "n n", w: "n n"):
        mask = sa.cond(p > 0, lambda c: c @ c, lambda c: c @ c @ c, c)
        return sa.relu(x @ w) * mask

    account = sa.account(layer, params=["w"], n=8)
    assert int(account.checkpoint("none").forward) == account.flops
