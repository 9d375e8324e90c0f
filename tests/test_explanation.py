"""`explain`: numbers worked out by hand and by other tools, sentences that add up, and every form it is shown in."""

from __future__ import annotations

import dataclasses
import json
import re

import opt_einsum
import pytest

import symacct as sa
from symacct.explanation import Explanation

MATMUL = "b d, d k -> b k"
CHAIN = "i j, j k, k l -> i l"


def answers(found: Explanation) -> dict[str, str]:
    return {a.name: a.text for a in found.answers}


def notes(found: Explanation) -> dict[str, str]:
    return {a.name: a.note for a in found.answers}


@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        # 4x5 by 5x6: 24 outputs of 5 multiplies and 4 adds
        (MATMUL, {"b": 4, "d": 5, "k": 6}, {"2n": "240 FLOP", "exact": "216 FLOP", "mac": "120 MAC"}),
        # 3 rows of 7 terms: 6 adds each
        ("i j -> i", {"i": 3, "j": 7}, {"2n": "21 FLOP", "exact": "18 FLOP", "mac": "21 FLOP"}),
        ("i, j -> i j", {"i": 3, "j": 7}, {"2n": "21 FLOP", "exact": "21 FLOP", "mac": "21 FLOP"}),
        ("i j -> j i", {}, {"2n": "0 FLOP", "exact": "0 FLOP", "mac": "0 FLOP"}),
        # 10 outputs of 3 products, then 14 of 5: 10 * (3 + 2) + 14 * (5 + 4) = 176
        (CHAIN, {"i": 2, "j": 3, "k": 5, "l": 7}, {"2n": "200 FLOP", "exact": "176 FLOP", "mac": "100 MAC"}),
        # 210 points of 3 operands: 2 multiplies each, and 14 outputs of 15 products: 14 adds each
        (
            CHAIN,
            {"i": 2, "j": 3, "k": 5, "l": 7, "order": "naive"},
            {"2n": "630 FLOP", "exact": "616 FLOP", "mac": "210 MAC and 210 FLOP"},
        ),
        # a is summed first: 15 sums of 2 terms; then 21 outputs of 5 products: 15 + 21 * (5 + 4) = 204
        (
            "i j a, j k -> i k",
            {"a": 2, "i": 3, "j": 5, "k": 7},
            {"2n": "240 FLOP", "exact": "204 FLOP", "mac": "105 MAC and 30 FLOP"},
        ),
    ],
)
def test_flops_by_hand(pattern: str, options: dict[str, object], expected: dict[str, str]) -> None:
    # unit differs from 2n in named functions, which a pattern has none of
    assert answers(sa.explain(pattern, **options)) == {**expected, "unit": expected["2n"]}


@pytest.mark.parametrize(
    ("pattern", "order"),
    [
        (MATMUL, "left"),
        ("b i d, b d k -> b i k", "left"),
        ("i j, j -> i", "left"),
        ("i, i ->", "left"),
        ("i, j -> i j", "left"),
        ("i i, i j -> j", "left"),
        (CHAIN, "left"),
        (CHAIN, "naive"),
        ("i, j, i j -> i", "left"),
        ("i j a, j k -> i k", "left"),
        ("i j a, j k -> i k", "naive"),
        ("i j -> i", "left"),
        ("i j -> j i", "left"),
        ("i j -> i j", "left"),
    ],
)
def test_opt_einsum_is_named_where_it_agrees(pattern: str, order: str) -> None:
    sizes = dict(zip("abdijkl", (2, 3, 5, 7, 11, 13, 17), strict=True))
    given = {n: size for n, size in sizes.items() if n in pattern}
    found = sa.explain(pattern, order=order, **given)
    operands, output = (part.replace(" ", "") for part in pattern.split("->"))
    terms = operands.split(",")
    path = [tuple(range(len(terms)))] if order == "naive" or len(terms) < 3 else [(0, 1), (0, 1)]
    shapes = [tuple(given[n] for n in term) for term in terms]
    cost = opt_einsum.contract_path(f"{operands}->{output}", *shapes, shapes=True, optimize=path)[1].opt_cost
    assert ("opt_einsum" in notes(found)["2n"]) == (answers(found)["2n"] == f"{int(cost)} FLOP")


def test_opt_einsum_counts_otherwise_where_it_is_not_named() -> None:
    assert "opt_einsum" not in notes(sa.explain("i j -> j i"))["2n"]
    assert opt_einsum.contract_path("ab->ba", (4, 5), shapes=True)[1].opt_cost == 20


def test_torch_prints_what_is_said() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        torch.ones(4, 5, device="meta") @ torch.ones(5, 6, device="meta")
    found = sa.explain(MATMUL, b=4, d=5, k=6)
    assert "FlopCounterMode" in notes(found)["2n"]
    assert answers(found)["2n"] == f"{counter.get_total_flops()} FLOP"


def test_derivation_of_a_matrix_product() -> None:
    (block,) = sa.explain(MATMUL).derivation
    assert dict(block.lines) == {
        "axes": "b, d, k; summed: d, which the output lacks",
        "points": "b*d*k, the product of all axes",
        "outputs": "b*k",
        "each": "output is a sum of d products: d multiplies and d - 1 adds",
        "exact": "b*d*k multiplies and b*k*(d - 1) adds: b*k*(2*d - 1) FLOP",
        "2n": "2 a point: 2*b*d*k FLOP",
        "mac": "1 MAC a point: b*d*k MAC",
    }


@pytest.mark.parametrize(
    ("pattern", "options", "label", "says"),
    [
        (MATMUL, {"b": 4, "d": 5, "k": 6}, "points", "b*d*k = 120"),
        (MATMUL, {"b": 4, "d": 5, "k": 6}, "each", "5 multiplies and 4 adds"),
        (MATMUL, {"d": 1}, "each", "1 product: 1 multiply and 0 adds"),
        (MATMUL, {"d": "4*k"}, "axes", "b, d = 4*k, k; summed: d"),
        ("i j a, j k -> i k", {"a": 2, "i": 3, "j": 5, "k": 7}, "first", "a of operand 1, which nothing else has"),
        ("i j a, j k -> i k", {"a": 2, "i": 3, "j": 5, "k": 7}, "first", "30 terms into 15 sums, 15 adds"),
        ("i a, j c -> i j", {}, "first", "sum a of operand 1 and c of operand 2"),
        (CHAIN, {"order": "naive"}, "each", "j*k products of 3 operands: 2*j*k multiplies and j*k - 1 adds"),
        (CHAIN, {"order": "naive"}, "2n", "2 a point, 1 multiply more a point: 3*i*j*k*l FLOP"),
        ("i, j -> i j", {}, "each", "one product of 2 operands"),
        ("i j -> i", {}, "each", "a sum of j terms: j - 1 adds"),
        ("i j -> j i", {}, "count", "0 FLOP in every convention"),
        (", ->", {}, "axes", "none, these are scalars"),
    ],
)
def test_sentences(pattern: str, options: dict[str, object], label: str, says: str) -> None:
    assert says in dict(sa.explain(pattern, **options).derivation[0].lines)[label]


@pytest.mark.parametrize("pattern", [MATMUL, CHAIN, "i j a, j k -> i k", "i j -> i", "i a, j -> i j", "i, i j, j ->"])
def test_multiplies_and_adds_of_all_steps_make_the_exact_count(pattern: str) -> None:
    sizes = dict(zip("abdijkl", (2, 3, 5, 7, 11, 13, 17), strict=True))
    found = sa.explain(pattern, **{n: size for n, size in sizes.items() if n in pattern})
    lines = [dict(block.lines)["exact"] for block in found.derivation]
    parts = [re.fullmatch(r"(\d+) multipl(?:y|ies) and (\d+) adds?: (\d+) FLOP", line) for line in lines]
    assert all(int(p[1]) + int(p[2]) == int(p[3]) for p in parts)
    assert answers(found)["exact"] == f"{sum(int(p[3]) for p in parts)} FLOP"


def test_bytes_by_hand() -> None:
    found = sa.explain(CHAIN, of="bytes", i=2, j=3, k=5, l=7)
    # elements: 6 + 15 -> 10, then 10 + 35 -> 14; two bytes each
    assert answers(found)["unfused"] == "180 B"
    assert answers(found)["compulsory"] == "140 B"
    assert [dict(b.lines)["together"] for b in found.derivation] == ["62 B", "118 B"]
    assert dict(found.derivation[0].lines)["step 1, written"] == "10 elements, bf16 of 2 B each: 20 B"


def test_bytes_of_packed_and_scaled_formats() -> None:
    found = sa.explain(MATMUL, of="bytes", dtype=["bf16", "nvfp4", "int4"], b=3, d=17, k=2)
    lines = dict(found.derivation[0].lines)
    assert lines["operand 1, read"] == "51 elements, bf16 of 2 B each: 102 B"
    # 2 rows of 17 values: 9 bytes and 2 scales each, and one fp32
    assert lines["operand 2, read"] == "34 elements, nvfp4 of 4.5 bits each with the scales of full blocks: 26 B"
    assert lines["output, written"] == "6 elements, int4 of 4 bits each, packed: 3 B"
    assert answers(found)["unfused"] == "131 B"


@pytest.mark.parametrize(
    ("pattern", "bound", "note"),
    [
        (MATMUL, "2*b*d*k/sqrt(M) - 2*M elements", "and compulsory, if that is more"),
        ("M d, d k -> M k", "2*M*d*k/sqrt(M_2) - 2*M_2 elements", "with M_2 elements of fast memory"),
        ("i j, j -> i", "i*j + i + j elements", "compulsory traffic"),
        ("i j k, j r, k r -> i r", "i*j*k*r/M**(2/3) elements", "its constant is not known"),
        (", ".join(f"a{i} a{i + 1}" for i in range(17)) + " -> a0 a17", "no single number", "up to 16"),
    ],
)
def test_lower_bound(pattern: str, bound: str, note: str) -> None:
    found = sa.explain(pattern, of="bytes")
    assert answers(found)["lower bound"] == bound
    assert note in notes(found)["lower bound"]


def test_a_diagonal_is_named() -> None:
    lines = dict(sa.explain("i i, i j -> j", of="bytes", i=4, j=8).derivation[0].lines)
    assert lines["operand 1, read"] == "4 elements (the diagonal), bf16 of 2 B each: 8 B"


def test_intensity_is_operations_over_bytes() -> None:
    found = sa.explain(MATMUL, of="intensity", b=4, d=5, k=6)
    # 240, 216 and 120 over 2 * (20 + 30 + 24) = 148
    assert answers(found) == {
        "2n": "60/37 FLOP/B",
        "exact": "54/37 FLOP/B",
        "mac": "30/37 MAC/B",
        "unit": "60/37 FLOP/B",
    }
    assert dict(found.derivation[-1].lines)["exact"] == "216 / 148 = 54/37"
    assert "opt_einsum" not in str(found)  # it prints no intensity


def test_two_units_have_no_intensity() -> None:
    found = sa.explain(CHAIN, of="intensity", order="naive")
    assert answers(found)["mac"] == "no single number"
    assert "mac" not in dict(found.derivation[-1].lines)


def test_all_conventions_are_of_one_order() -> None:
    # right first is cheaper under 2n (480 against 486), left first under exact (444 against 445)
    sizes = {"i": 3, "j": 4, "k": 9, "l": 5}
    found = sa.explain(CHAIN, order="best", **sizes)
    assert (answers(found)["2n"], answers(found)["exact"]) == ("480 FLOP", "445 FLOP")
    assert sa.account(CHAIN, order="best", convention="exact", **sizes).flops == 444
    assert "in the order 'best'" in found.title


@pytest.mark.parametrize("of", ["flops", "bytes", "intensity"])
@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        (MATMUL, {}),
        (CHAIN, {"dtype": "nvfp4"}),
        ("batch_of_rows width_of_the_model, width_of_the_model outputs -> batch_of_rows outputs", {}),
        ("x" * 100 + " d, d k -> k", {}),
        ("... d, d k -> ... k", {"d": "k/2"}),
        (MATMUL, {"b": 10**30, "d": 10**30, "k": 10**30}),
        (", ".join(f"a{i} a{i + 1}" for i in range(12)) + " -> a0 a12", {}),
    ],
)
def test_fits_80_columns(pattern: str, options: dict[str, object], of: str) -> None:
    text = str(sa.explain(pattern, of=of, **options))
    assert max(map(len, text.splitlines())) <= 80


def test_conditions_are_shown() -> None:
    found = sa.explain(MATMUL, d="k/2")
    assert found.conditions == ("2 divides k",)
    assert str(found).endswith("where 2 divides k")
    assert "2 divides k" in found._repr_html_()


def test_json_is_stable_and_reads_back() -> None:
    data = json.loads(json.dumps(sa.explain(MATMUL).to_json()))
    assert list(data) == ["title", "of", "answers", "derivation", "conditions"]
    assert list(data["answers"][0]) == ["name", "amounts", "note"]
    assert list(data["derivation"][0]) == ["title", "lines"]
    b, d, k = sa.dims("b d k")
    read = {a["name"]: a["amounts"][0] for a in sa.loads(data)["answers"]}
    assert read["exact"] == {"formula": b * k * (2 * d - 1), "unit": "FLOP"}
    assert read["mac"] == {"formula": b * d * k, "unit": "MAC"}


def test_latex_and_html() -> None:
    found = sa.explain(MATMUL)
    assert r"\text{exact} &= b k \left(2 d - 1\right) \ \text{FLOP} \\" in found.latex()
    assert found.latex().startswith(r"\begin{aligned}")
    html = found._repr_html_()
    assert r"$b d k \ \text{MAC}$" in html
    assert "d multiplies and d - 1 adds" in html


def test_is_a_value() -> None:
    found = sa.explain(MATMUL)
    assert found == sa.explain(MATMUL)
    assert repr(found) == str(found)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.of = "bytes"


def test_an_axis_may_be_called_like_an_option() -> None:
    found = sa.explain("of order, order memory -> of memory", of="bytes", sizes={"of": 2, "order": 3, "memory": 5})
    assert answers(found)["unfused"] == f"{2 * (6 + 15 + 10)} B"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"of": "byte"}, "cannot explain 'byte'; known: flops, bytes, intensity. Did you mean 'bytes'?"),
        ({"of": 4}, "sizes={'of': ...}"),
        ({"of": ["flops"]}, "cannot explain ['flops']"),
        ({"q": 3}, "no axis 'q'"),
        ({"traffic": "compulsory"}, "no axis 'traffic'"),  # an explanation shows all of them
        ({"b": 3, "sizes": {"b": 4}}, "'b' has two sizes, 4 and 3"),
        ({"order": "lft"}, "unknown order 'lft'"),
        ({"dtype": "bf17"}, "unknown dtype 'bf17'"),
    ],
)
def test_mistakes(options: dict[str, object], says: str) -> None:
    with pytest.raises(sa.SymacctError, match=re.escape(says)):
        sa.explain(MATMUL, **options)


def test_only_patterns_are_explained() -> None:
    with pytest.raises(sa.SymacctError, match="a pattern is a string"):
        sa.explain(lambda x: x)
