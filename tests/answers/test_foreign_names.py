"""Letters and words of another quantity than the question's: none is swallowed, none is bent into a symbol."""

from __future__ import annotations

from string import ascii_uppercase

import pytest

import symacct as sa

BTK = {"B": "batch", "T": "tokens", "K": "head dimension"}
WIDTHS = {"F": "hidden width", "D": "model width", "B": "batch"}
EXPERTS = {"F": "expert dimension", "D": "model dimension"}
LENGTHS = {"T": "query length", "S": "key length"}


def of(text):
    return dict(pair.split("=") for pair in text.split(","))


@pytest.mark.parametrize(
    ("answer", "truth", "symbols", "foreign"),
    [
        ("2BTDK", "2*B*T*K", BTK, "D"),
        ("2BTDHK", "2*B*T*K", BTK, "D, H"),
        ("2BNL", "2*B*L", of("B=batch,L=layers"), "N"),
        ("2BNH", "2*B*H", of("B=batch,H=heads"), "N"),
        ("2BNE", "2*B*E", of("B=batch,E=experts"), "N"),
        ("2BDM", "2*B*D", of("B=batch,D=model width"), "M"),
        ("2BDF", "2*B*F", of("B=batch,F=d_ff"), "D"),
        ("BDFF", "B*F", of("B=batch,F=d_ff"), "D"),
        ("2BSL", "2*B*L", of("B=batch,L=sequence length"), "S"),
        ("2TBS", "2*T*B", of("T=tokens,B=batch size"), "S"),
        ("2BDNL", "2*B*D*L", of("B=batch,D=d_model,L=layers"), "N"),
        ("O(NL^2)", "L**2", of("L=layers"), "N"),
        ("6P + 12LHDKT", "6*P + 12*L*H*K*T", of("P=parameters,L=layers,H=heads,K=head dimension,T=context"), "D"),
        ("4BTLHK", "4*B*T*L*G*K", of("B=batch,T=tokens,L=layers,G=kv heads,K=head dimension"), "H"),
        ("4*B*T*H*K", "4*B*T*G*K", of("B=batch,T=tokens,G=kv heads,K=head dimension"), "H"),
        ("2BH", "2*B*K", of("B=batch,K=head dimension"), "H"),
        ("2*n*dH", "2*n*d", of("n=blocks,d=head size"), "H"),
        ("2A*P", "2*P", of("P=parameters"), "A"),
        ("2*In", "2*n", of("n=elements"), "I"),
    ],
)
def test_a_foreign_letter_in_a_product_is_named(answer, truth, symbols, foreign):
    verdict = sa.check(answer, truth, symbols)
    assert (verdict.correct, verdict.findings[0]) == (False, ("unknown_symbol", foreign))


@pytest.mark.parametrize(
    ("answer", "truth", "symbols"),
    [
        ("2*n_heads*K", "2*G*K", of("G=key-value heads,K=head dimension")),
        ("2*n_q_heads*K", "2*G*K", of("G=key-value heads,K=head dimension")),
        ("2*num_kv_heads", "2*H", of("H=query heads")),
        ("2*n_kv_heads", "2*H", of("H=heads")),
        ("2*seq_len_q", "2*S", of("S=key length,D=width")),
        ("2*S_q", "2*S", of("S=key length")),
        ("2*n_shared_experts", "2*E", of("E=routed experts")),
        ("2*E_shared", "2*E", of("E=routed experts")),
        ("2*encoder_layers", "2*L", of("L=decoder layers")),
        ("2*L_enc", "2*L", of("L=decoder layers")),
        ("2*in_features", "2*M", of("M=out features")),
        ("2*micro_batch", "2*B", of("B=global batch")),
        ("2*active_params", "2*P", of("P=total parameters")),
        ("2*n_layers", "2*P", of("P=layers per stage")),
        ("2*d_v", "2*K", of("K=key dimension")),
        ("2*d_expert", "2*D", EXPERTS),
        ("2*d_ff", "2*D", of("D=hidden width")),
        ("2*hidden_size", "2*F", WIDTHS),
        ("2*Qheads", "2*heads", of("heads=heads")),
    ],
)
def test_a_word_for_another_quantity_is_no_symbol(answer, truth, symbols):
    assert not sa.check(answer, truth, symbols).correct


@pytest.mark.parametrize(
    ("answer", "formula", "symbols"),
    [
        ("2BTd_k", "2*B*T*K", BTK),
        ("2*B*n_l", "2*B*L", of("B=batch,L=layers")),
        ("2*B*N_L", "2*B*L", of("B=batch,L=layers")),
        ("S/BW", "S/W", of("S=bytes,W=bytes/s")),
        ("2*n_q_heads", "2*H", of("H=query heads,G=kv heads")),
        ("2*n_kv_heads", "2*G", of("H=query heads,G=kv heads")),
        ("2*n_haeds", "2*H", of("H=heads")),
        ("seq_len_q*kv_len", "T*S", LENGTHS),
        ("2*d_expert", "2*F", EXPERTS),
        ("2*d_expert*d_model", "2*F*D", EXPERTS),
        ("2*d_model*d_ff", "2*D*F", WIDTHS),
        ("2*model_dim", "2*D", WIDTHS),
        ("2*d_ff", "2*F", of("B=batch,F=hidden dimension")),
        ("2*d_model", "2*D", of("B=batch,D=hidden width")),
    ],
)
def test_a_symbol_by_another_name_is_read_with_a_warning(answer, formula, symbols):
    reading = sa.read_answer(answer, symbols)
    assert reading.formula == formula
    assert {w.code for w in reading.warnings} <= {"alias", "near_miss"}
    assert reading.warnings


@pytest.mark.parametrize(
    ("answer", "symbols"),
    [
        ("2*seq_len*D", {**LENGTHS, "D": "d_model"}),
        ("2*seq_len*S*D", {**LENGTHS, "D": "d_model"}),
        ("2*tokens*D", {**LENGTHS, "D": "d_model"}),
        ("2*seq_len*D", of("T=query tokens,S=key tokens,D=d_model")),
        ("2*seq_len*D", of("T=queries,S=keys,D=d_model")),
        ("2*layers*D", of("L=encoder layers,M=decoder layers,D=d_model")),
    ],
)
def test_a_name_that_fits_two_symbols_is_refused(answer, symbols):
    reading = sa.read_answer(answer, symbols)
    assert reading.unknown
    assert "two_meanings" in {w.code for w in reading.warnings}
    for symbol in symbols:
        truth = f"2*{symbol}*S*D" if "S*D" in answer else f"2*{symbol}*D"
        assert sa.check(answer, truth, symbols).mistakes == ("symbol_with_two_meanings",)


def test_a_plain_length_is_that_of_the_queries():
    assert sa.read_answer("2*seq_len*D", of("T=sequence length,S=key length,D=d_model")).formula == "2*T*D"


@pytest.mark.parametrize(
    ("right", "symbols"),
    [
        ("2BTK", BTK),
        ("2*B*T*K", BTK),
        ("2BLD", of("B=batch size,L=layers,D=model width")),
        ("4*H*F + 2*E", of("H=heads,F=d_ff,E=experts")),
        ("(S - 1)*P/C", of("S=sequence length,P=parameters,C=FLOP/s")),
    ],
)
def test_no_letter_put_into_a_right_answer_is_swallowed(right, symbols):
    forms = {f"{right[:i]}{letter}{right[i:]}" for i in range(len(right) + 1) for letter in ascii_uppercase}
    truth = right if "*" in right else "*".join(right)
    wrong = [f for f in sorted(forms) if sa.check(f, truth, symbols).correct]
    assert wrong == []


def test_one_size_for_another_comes_before_the_term_that_it_swallows():
    verdict = sa.check("8BTDHK", "4*B*T*D*K*(H + G)", "B T D K H G")
    assert verdict.findings[0] == ("axis_swapped", "H for G")
