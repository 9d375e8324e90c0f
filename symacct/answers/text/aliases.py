"""The names that papers, code and lectures use for the sizes of a network.

A question says what each of its symbols means ("d_model", "context length"). Whatever meaning falls under a concept
below may be written under any of the concept's names, as long as the question has no other symbol of that name.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Concept(NamedTuple):
    """What a symbol may stand for: words of its meaning, and the names in use for it."""

    means: str
    names: str
    letters: str = ""


_MODEL = r"d_?model|model (width|dim)|embedding (size|width|dim)"
_FEED_FORWARD = (
    "d_ff D_FF dff d_ffn ffn_dim ff_dim hidden_dim intermediate_size d_mlp d_hidden n_inner ffn_size D_ff D_F d_f"
)
_LENGTH = (
    "context_length context_len ctx_len ctx n_ctx max_seq_len block_size seq_len seqlen sequence_length seq "
    "sequence sequence_len length tokens n_tokens num_tokens"
)
CONCEPTS: tuple[Concept, ...] = (
    Concept("micro.?batch", "micro_batch micro_batch_size mbs microbatch ubatch", "b"),
    Concept(
        r"^(global )?(mini)?-?batch\b|batch.?size|\bsequences\b", "batch batch_size bs bsz n_batch batchsize", "B b"
    ),
    Concept(
        r"^(training |total )?tokens$|data.?points",
        "tokens n_tokens num_tokens tokens_trained dataset_size data_points n_tok seq_len",
        "T D S t n",
    ),
    Concept(
        r"^keys\b|keys? (length|tokens)|kv.?len",
        f"keys kv_len kv_length key_len key_length seq_len_k seq_len_kv n_keys T_k S_k {_LENGTH}",
        "S s T",
    ),
    Concept(
        r"context|seq|\blength\b|\bqueries\b|\bquery tokens\b|^tokens$",
        f"{_LENGTH} T_q seq_len_q query_len",
        "T S s t c l n",
    ),
    Concept(r"vocab", "vocab vocab_size vocabulary vocabulary_size n_vocab Vocab", "V v"),
    Concept(
        r"^(?!.*\b(per|a|each)\b).*(layers|blocks|depth)",
        "num_layers n_layers n_layer layers n_l L_layers depth num_blocks n_blocks nlayers num_hidden_layers",
        "L N l n",
    ),
    Concept(
        r"kv.?heads|key.?value heads|kv.?groups",
        "n_kv n_kv_heads num_kv_heads kv_heads num_key_value_heads H_kv N_kv n_kv_head G_kv",
        "K G",
    ),
    Concept(
        r"head.?(size|dim|width)|d_head|d_attn",
        "head_dim d_head head_size d_h d_k d_attn dim_head head_width",
        "d",
    ),
    Concept(
        r"^(query |attention |num_|n_)?heads\b",
        "num_heads n_heads heads n_h n_head nheads num_attention_heads n_q n_q_heads num_q_heads num_query_heads "
        "n_query_heads",
        "H h N a",
    ),
    Concept(
        r"experts?'?s? .*(width|dim)|d_expert|^expert.?(width|dim|hidden|size)",
        f"d_expert expert_dim d_moe moe_intermediate_size {_FEED_FORWARD}",
        "F f",
    ),
    Concept(
        r"d_?ff|d_?ffn|feed.?forward|intermediate|ffn|mlp.*(width|dim)",
        _FEED_FORWARD,
        "F f",
    ),
    Concept(
        rf"{_MODEL}|^(hidden )?width|^hidden|contracted width",
        "d_model D_model dmodel hidden_size hidden n_embd embed_dim d_embed model_dim dim width d_emb emb_dim D_M",
        "D d h",
    ),
    Concept(
        r"active (experts)?$|experts (a|per) token|top.?k",
        "top_k topk k_active active_experts n_active num_active",
        "k",
    ),
    Concept(r"^(num_)?experts", "n_experts num_experts experts n_e", "E e"),
    Concept(
        r"param(eter)?s|\bweights\b",
        "params parameters n_params num_params num_parameters n_parameters N_params",
        "P N",
    ),
    Concept(
        r"devices|gpus|chips|ranks|accelerators|N_DP|N_TP|N_FSDP",
        "devices n_devices num_devices gpus n_gpus num_gpus chips n_chips ranks world_size N_DP N_FSDP N_TP",
        "N",
    ),
    Concept(
        r"accelerator intensity|hardware intensity|ridge|machine balance",
        "AI_hw I_hw ridge hw_intensity machine_balance",
    ),
    Concept(r"arithmetic intensity|^intensity", "AI intensity arithmetic_intensity OI"),
    Concept(r"bytes/s|bandwidth", "BW bw bandwidth mem_bw memory_bandwidth beta", "W"),
    Concept(r"flop/?s|peak", "peak peak_flops flops_per_second peak_flops_per_s FLOPS pi", "C"),
    Concept(r"mfu", "MFU mfu utilization"),
    Concept(r"^in$|input (width|dim|features)|fan.?in", "d_in in_features in_dim fan_in D_in n_in"),
    Concept(r"^out(puts)?$|output (width|dim|features)|fan.?out", "d_out out_features out_dim fan_out D_out n_out"),
    Concept(r"cin|in.?channels", "C_in Cin c_in in_channels", "i"),
    Concept(r"cout|out.?channels", "C_out Cout c_out out_channels", "o"),
    Concept(r"kernel", "kernel kernel_size ksize K", "k"),
    Concept("latency", "latency alpha α"),
    Concept(r"rank$", "rank lora_rank", "r"),
)


_SAME = {
    **dict.fromkeys(("q", "query", "queries"), "query"),
    **dict.fromkeys(("k", "key", "keys"), "key"),
    **dict.fromkeys(("v", "value", "values"), "value"),
    **dict.fromkeys(("in", "input", "inputs"), "input"),
    **dict.fromkeys(("out", "output", "outputs"), "output"),
    **dict.fromkeys(("enc", "encoder"), "encoder"),
    **dict.fromkeys(("dec", "decoder"), "decoder"),
    **{w: w for w in ("kv", "shared", "routed", "active", "total", "micro", "mini", "global", "local")},
}


def quantities(name: str) -> frozenset[str]:
    """Return the words of a name that tell one quantity from another of its kind; no slip of the pen makes them.

    Examples
    --------
    >>> sorted(quantities("n_kv_heads")), sorted(quantities("num_heads"))
    (['kv'], [])

    """
    parts = re.sub(r"key.?value", "kv", name.lower())
    return frozenset(_SAME[p] for p in re.split(r"[\W_]+", parts) if p in _SAME)


def is_another(subscript: str, meaning: str) -> bool:
    """Whether a subscript tells another quantity than a meaning does; of a plain one, its whole is no other."""
    told, meant = quantities(subscript), quantities(meaning)
    return bool(told) and told != meant and (bool(meant) or not told <= {"query", "total", "global"})


def is_model_width(meaning: str) -> bool:
    """Whether a meaning says of itself that it is the width of the model."""
    return re.search(_MODEL, meaning, re.IGNORECASE) is not None


def names_of(meaning: str, *, inner: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the longer names and the single letters in use for a meaning; none for one that is not known.

    A hidden width that is `inner` is the one of the feed-forward layer.

    Examples
    --------
    >>> names_of("vocab_size")[1]
    ('V', 'v')

    """
    if inner:
        return (*_FEED_FORWARD.split(), "hidden_size", "hidden"), ("F", "f")
    words = meaning.strip()
    for concept in CONCEPTS:
        if re.search(concept.means, words, re.IGNORECASE):
            return tuple(concept.names.split()), tuple(concept.letters.split())
    return (), ()
