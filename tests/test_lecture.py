"""The lecture's numbers on products, precision, intensity and 6PT, each with the exact value beside it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import symacct as sa
from symacct.accounting import Quantity
from symacct.conventions import Convention, tally
from symacct.dtypes import as_format, round_to, storage_bytes
from symacct.errors import MixedUnitsError
from symacct.expr import evaluate, name

LINEAR = "b d, d k -> b k"
SQUARE = {"i": "n", "j": "n", "k": "n"}
PEAK = Fraction("989.5") * 10**12  # an H100 in dense bf16
BANDWIDTH = Fraction("3.35") * 10**12
n = sympy.Symbol("n")


def square(**options):
    return sa.account("i j, j k -> i k", **SQUARE, convention="exact", **options)


# precision


@pytest.mark.claim("S11")
def test_elements_and_bytes_of_a_tensor_of_rank_four():
    shape = (32, 16, 16, 64)
    assert storage_bytes("fp32", shape) == 2 * 2**20
    assert storage_bytes("int8", shape) == math.prod(shape) == 524_288
    assert str(Quantity(storage_bytes("fp32", shape), "B")) == "2.097 MB (2.000 MiB)"


@pytest.mark.claim("S12")
def test_memory_is_elements_times_their_size():
    assert storage_bytes("fp32", (4, 8)) == 128 == np.zeros((4, 8), np.float32).nbytes
    assert storage_bytes("bf16", (4, 8)) == 64
    assert sa.same(str(storage_bytes("fp32", (name("a"), name("b")))), "4*a*b")


@pytest.mark.claim("S14", "S15", "S16")
@pytest.mark.parametrize(
    ("dtype", "fields", "largest", "epsilon"),
    [
        ("fp32", (1, 8, 23), (2 - Fraction(1, 2**23)) * 2**127, Fraction(1, 2**23)),
        ("fp16", (1, 5, 10), 65504, Fraction(1, 2**10)),
        ("bf16", (1, 8, 7), (2 - Fraction(1, 2**7)) * 2**127, Fraction(1, 2**7)),
    ],
)
def test_bit_fields_and_what_follows(dtype, fields, largest, epsilon):
    fmt = as_format(dtype)
    assert (fmt.sign_bits, fmt.exponent_bits, fmt.mantissa_bits) == fields
    assert fmt.bits == sum(fields)
    assert fmt.max == largest
    assert fmt.epsilon == epsilon


@pytest.mark.claim("S15", "S16")
def test_what_becomes_of_1e_minus_8():
    assert round_to("fp16", 1e-8) == 0
    assert as_format("fp16").smallest_subnormal == Fraction(1, 2**24)
    assert round_to("fp16", 2.0**-25) == 0  # the tie goes to even
    assert round_to("fp16", 2.0**-25 * 1.001) == Fraction(1, 2**24)
    assert float(round_to("bf16", 1e-8)) == pytest.approx(1.0012e-8, rel=1e-4)
    assert storage_bytes("bf16", (1,)) == storage_bytes("fp16", (1,)) == 2


@pytest.mark.claim("S18")
def test_fp8_ranges_from_the_bit_fields():
    assert as_format("e4m3").max == Fraction("1.75") * 2**8 == 448
    assert as_format("e5m2").max == Fraction("1.75") * 2**15 == 57344


@pytest.mark.claim("S19")
def test_nvfp4_is_four_and_a_half_bits_a_value():
    values = 3 * 2**12
    assert storage_bytes("nvfp4", (values,)) == values // 2 + values // 16 + 4
    assert Fraction(8 * (storage_bytes("nvfp4", (values,)) - 4), values) == Fraction("4.5")
    assert storage_bytes("nvfp4", (33,)) == 17 + 3 + 4  # an odd tail and a block that is not full round up
    assert storage_bytes("nvfp4", (5, 33), "flat") == math.ceil(165 / 2) + math.ceil(165 / 16) + 4
    assert sa.same(sa.bytes("d ->", dtype=["nvfp4", "fp32"]), "ceil(d/2) + ceil(d/16) + 4 + 4")


# einsum


@pytest.mark.parametrize(
    ("pattern", "sizes", "shape", "flops"),
    [
        pytest.param("b i d, b j d -> b i j", (2, 2, 3, 2), (2, 2, 2), 48, marks=pytest.mark.claim("S21")),
        pytest.param("seq1 hidden, hidden seq2 -> seq1 seq2", (3, 4, 3), (3, 3), 72, marks=pytest.mark.claim("S22")),
        pytest.param(
            "batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2",
            (2, 3, 4, 3),
            (2, 3, 3),
            144,
            marks=pytest.mark.claim("S23"),
        ),
        pytest.param("b s (h i), i o -> b s (h o)", (1, 3, 2, 4, 4), (1, 3, 8), 192, marks=pytest.mark.claim("S27")),
    ],
)
def test_products(pattern, sizes, shape, flops):
    account = sa.account(pattern, sizes=dict(zip(sa.account(pattern).graph.ops[0].einsum.sizes, sizes, strict=True)))
    assert account.flops == flops
    assert account.graph.tensors[-1].shape == shape


@pytest.mark.claim("S24")
def test_the_ellipsis_counts_each_batch_axis_once():
    form = sa.flops("... seq1 hidden, ... seq2 hidden -> ... seq1 seq2")
    assert sa.same(form, "2*batch*seq1*seq2*hidden")
    two = sa.flops("b c seq1 hidden, b c seq2 hidden -> b c seq1 seq2")
    assert sa.same(form.subs("batch", sympy.Symbol("b") * sympy.Symbol("c")), two)


@pytest.mark.claim("S25")
def test_the_factor_two_is_there_only_where_something_is_summed():
    assert sa.same(sa.flops("i j, j k -> i k"), "2*i*j*k")
    for kept in ("i j, j k -> i j k", "i, j -> i j", "i j, i j -> i j"):
        points = sympy.prod(sympy.Symbol(s) for s in set(kept.partition("->")[2].split()))
        assert sa.flops(kept) == points


@pytest.mark.claim("S26")
def test_a_sum_over_the_last_axis():
    assert sa.flops("... hidden -> ...", sizes={"batch": 6, "hidden": 4}, convention="exact") == 18
    assert sa.flops("... hidden -> ...", sizes={"batch": 6, "hidden": 4}) == 24


@pytest.mark.claim("S27")
def test_splitting_heads_is_free_and_the_order_in_parentheses_fixes_the_flattening():
    assert sa.flops("b s (heads hidden) -> b s heads hidden") == 0
    account = sa.account("b (heads hidden) -> b heads hidden")
    split, whole = account.graph.tensors[-1].shape, account.graph.tensors[0].shape
    assert whole[1] == split[1] * split[2]
    x = np.arange(24).reshape(3, 8)
    assert x.reshape(3, 2, 4)[1, 1, 2] == x[1, 1 * 4 + 2]
    assert [str(c) for c in sa.account("s h i -> s (h i)", i="total/h").conditions] == ["h divides total"]


# FLOPs


@pytest.mark.claim("S28")
def test_one_flop_is_one_add_or_one_multiply_and_the_rest_is_a_setting():
    one = {(function, "points"): name("n") for function in ("add", "mul", "div", "sqrt", "exp")}
    assert tally(one, Convention()) == {"FLOP": 5 * name("n")}
    assert tally(one, Convention(weights={"exp": 10})) == {"FLOP": 14 * name("n")}
    assert evaluate(sa.account(LINEAR, convention="exact").total("flops"), {"b": 1, "d": 2, "k": 1}) == 3


@pytest.mark.claim("S29")
def test_work_and_speed_are_not_mixed():
    work = sa.account(LINEAR).at(b=2, d=3, k=4).flops
    assert work.unit == "FLOP"
    with pytest.raises(MixedUnitsError):
        work + Quantity(989 * 10**12, "FLOP/s")
    assert str(Quantity(314 * 10**21, "FLOP")) == "314.000 ZFLOP"


@pytest.mark.claim("S30", "S42")
def test_half_of_the_datasheet_number_over_the_bandwidth():
    square = sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
    for peak, bandwidth, ridge in ((Fraction(1979, 2) * 10**12, BANDWIDTH, 295.37), (67.5e12, 3.35e12, 20.15)):
        turns = square.solve("n", intensity=ridge).smallest
        below, above = (sa.times(square, peak=float(peak), bandwidth=float(bandwidth), n=turns + d) for d in (-2, 1))
        assert (below.bound, above.bound) == ("memory", "compute")


@pytest.mark.claim("S31")
def test_the_linear_layer():
    assert sa.same(sa.flops(LINEAR), "2*b*d*k")
    assert sa.same(sa.flops(LINEAR, convention="exact"), "b*k*(2*d - 1)")
    assert sa.flops(LINEAR, b=1024, d=256, k=64) == 33_554_432
    assert sa.flops(LINEAR, b=16384, d=32768, k=8192) == 8_796_093_022_208
    assert str(sa.account(LINEAR).at(b=16384, d=32768, k=8192).flops) == "8.796 TFLOP"


@pytest.mark.claim("D9")
@pytest.mark.parametrize("pattern", ["b d, d f -> b f", "b d, f d -> b f", "d b, f d -> f b"])
def test_which_way_round_a_matrix_is_stored_changes_nothing(pattern):
    assert sa.same(sa.flops(pattern), "2*b*d*f")
    assert sa.same(sa.bytes(pattern, dtype="bf16"), "2*(b*d + d*f + b*f)")


@pytest.mark.claim("S32")
def test_two_times_data_points_times_parameters():
    assert sa.same(sa.flops(LINEAR, d="P/k"), "2*b*P")
    assert sa.same(sa.flops(LINEAR).subs(sympy.Symbol("d"), sympy.Symbol("P") / sympy.Symbol("k")), "2*b*P")


@pytest.mark.claim("S33")
def test_element_wise_work_is_the_number_of_elements():
    for convention in ("2n", "exact", "unit"):
        assert sa.same(sa.flops("n m, n m -> n m", convention=convention), "n*m")


@pytest.mark.claim("S34")
def test_matmuls_dominate_but_not_the_memory():
    together = sa.flops("n d, d m -> n m") + sa.flops("n m, n m -> n m")
    share = sa.flops("n m, n m -> n m") / together
    assert sympy.limit(share, sympy.Symbol("d"), sympy.oo) == 0
    traffic = sa.bytes("n m, n m -> n m") / sa.bytes("n d, d m -> n m")
    assert traffic.subs({"n": 64, "m": 64, "d": 64}) == 1


@pytest.mark.claim("S35")
def test_the_classical_algorithm_is_counted():
    """Strassen does two by two with seven multiplies; the classical way is eight and four adds."""
    assert sa.flops("i j, j k -> i k", i=2, j=2, k=2) == 16
    assert sa.flops("i j, j k -> i k", i=2, j=2, k=2, convention="exact") == 8 + 4
    assert sa.account("i j, j k -> i k", i=2, j=2, k=2, convention="mac").flops == 8


# intensity


@pytest.mark.claim("S39", "S43")
def test_memory_bound_is_where_moving_takes_longer_than_computing():
    """Intensity below that of the machine, and times the other way round: the same sizes."""
    for size in (1, 64, 886, 887, 1024):
        figures = square().at(n=size)
        moving, computing = figures.bytes.value / BANDWIDTH, figures.flops.value / PEAK
        assert (moving > computing) == (figures.intensity.value < PEAK / BANDWIDTH) == (size < 887)


@pytest.mark.claim("S46")
def test_the_dot_product():
    account = sa.account("n, n ->", convention="exact")
    assert account.flops == 2 * n - 1
    assert account.bytes == 4 * n + 2
    assert sa.same(account.intensity, (2 * n - 1) / (4 * n + 2))
    assert account.limit("n") == sympy.Rational(1, 2)


@pytest.mark.claim("S47")
def test_the_matrix_vector_product():
    account = sa.account("i j, j -> i", i="n", j="n", convention="exact")
    assert sa.same(account.flops, "n*(2*n - 1)")
    assert sa.same(account.bytes, "2*n + 2*n**2 + 2*n")
    assert account.limit("n") == 1
    assert float(account.at(n=1024).intensity) == pytest.approx(0.9976, abs=5e-5)
    assert account.solve("n", intensity=1).regions == ()  # memory bound at every size
    assert sa.lower_bound("i j, j -> i").exponent == 0


@pytest.mark.claim("S48")
def test_the_matrix_product():
    account = square()
    assert sa.same(account.bytes, "6*n**2")
    assert sa.same(account.flops, "n**2*(2*n - 1)")
    assert str(account.intensity) == "n/3 - 1/6"
    assert account.leading("n", of="intensity") == n / 3
    assert account.at(n=1024).intensity == Fraction(2047, 6)
    assert float(account.at(n=1024).intensity) == pytest.approx(341.17, abs=0.005)
    solution = account.solve("n", intensity=295.37)
    assert (solution.largest, solution.smallest) == (886, 887)


@pytest.mark.claim("S49")
def test_squared_data_and_cubed_work():
    account = square()
    assert sympy.degree(account.bytes, n) == 2
    assert sympy.degree(account.flops, n) == 3
    assert account.limit("n") == sympy.oo
    layer = sa.account(LINEAR)
    assert sa.same(layer.limit("b"), "d*k/(d + k)")  # a large batch raises intensity up to the weights' own
    values = [layer.at(b=b, d=4096, k=4096).intensity.value for b in (1, 16, 256, 4096)]
    assert values == sorted(values)


@pytest.mark.claim("S50")
def test_precision_changes_both_sides():
    bf16, fp32 = square(dtype="bf16"), square(dtype="fp32")
    assert sa.same(fp32.intensity, bf16.intensity / 2)
    assert fp32.leading("n", of="intensity") == n / 6
    assert fp32.solve("n", intensity="67.5/3.35").smallest == 122  # (2n - 1)/12 >= 20.149...
    assert bf16.solve("n", intensity="989.5/3.35").smallest == 887
