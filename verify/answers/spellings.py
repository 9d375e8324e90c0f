"""One formula in the many ways people write it: implicit products, glyphs, LaTeX, code, labels, units, numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verify.answers.formulas import FUNCTIONS, parsed

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
FULL = str.maketrans("0123456789()+-*/=,", "０１２３４５６７８９（）＋－＊／＝，")
ITALIC = {c: chr(0x1D434 + i) for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")}

ALIASES = {
    "d_model": ("d_model", "D_model", "hidden_size", r"d_{model}", r"d_{\text{model}}", r"d\_model"),
    "d_ff": ("d_ff", "D_FF", r"D_{\mathrm{FF}}", "dff", r"d_{ff}"),
    "D_FF": ("D_FF", "d_ff", r"D_{FF}"),
    "vocab_size": ("vocab_size", r"vocab\_size", "|Vocab|", "vocab"),
    "vocab": ("vocab_size", "vocab", "|V|"),
    "context_length": ("context_length", "seq_len", "context_len", r"context\_length"),
    "num_layers": ("num_layers", "n_layers", r"n_{layers}"),
    "layers": ("num_layers", "n_layers", "n_layer"),
    "num_heads": ("num_heads", "n_heads"),
    "batch_size": ("batch_size", "bs"),
    "batch": ("batch_size", "batch"),
    "devices": ("N_DP", r"N_{DP}", r"N_{\mathrm{DP}}", "n_devices"),
    "parameters": ("n_params", "params"),
}
"""Names in use for a meaning, written down here apart from the reader's own list."""


@dataclass(frozen=True)
class Style:
    times: str
    power: str = "^"
    fraction: str = "/"
    sums: str = "()"
    minus: str = "-"
    names: Mapping[str, str] | None = None
    sqrt: str = "sqrt({})"


STYLES = {
    "implicit": Style("", "^"),
    "spaced": Style(" ", "^"),
    "dots": Style("·", "^"),
    "times": Style(" × ", "**"),
    "stars": Style("*", "**"),
    "operators": Style("⋅", "raised", minus="−"),
    "raised": Style("", "raised", sqrt="√({})"),
    "latex": Style(r" \cdot ", "^{}", "frac", r"\left( \right)", sqrt=r"\sqrt{{{}}}"),
    "latex-implicit": Style(" ", "^{}", "frac", sqrt=r"\sqrt{{{}}}"),
    "latex-times": Style(r"\times ", "^{}", "dfrac", r"\bigl( \bigr)", sqrt=r"\sqrt{{{}}}"),
}


def written(node: ast.expr, style: Style) -> str:
    return _text(node, style)[0]


def _text(node: ast.expr, style: Style) -> tuple[str, int]:
    """Return the text and how tightly it binds: 1 sum, 2 product, 3 power or atom."""
    match node:
        case ast.Constant(value=v):
            return (str(v), 3)
        case ast.Name(id=name):
            return ((style.names or {}).get(name, name), 3)
        case ast.UnaryOp(operand=x):
            return (style.minus + _at(x, 2, style), 1)
        case ast.Call(func=ast.Name(id=name), args=args):
            return (_call(name, [_text(a, style)[0] for a in args], style), 3)
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            sign = "+" if isinstance(op, ast.Add) else style.minus
            return (f"{_at(a, 1, style)} {sign} {_at(b, 2, style)}", 1)
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            return (_product(_at(a, 2, style), _at(b, 2, style), style), 2)
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            return _quotient(a, b, style)
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            return (_power(_at(a, 3, style), b, style), 3)
    raise ValueError(ast.dump(node))


def _at(node: ast.expr, level: int, style: Style) -> str:
    text, own = _text(node, style)
    if own >= level:
        return text
    left, right = style.sums.split(" ") if " " in style.sums else style.sums
    return f"{left}{text}{right}"


def _product(a: str, b: str, style: Style) -> str:
    times = style.times
    if b[:1].isdigit() and not times.strip():
        times = "*"  # a number does not follow a name without a sign
    if not times and "_" in a + b:
        times = " "
    return f"{a}{times}{b}"


def _quotient(a: ast.expr, b: ast.expr, style: Style) -> tuple[str, int]:
    if style.fraction != "/":
        return (rf"\{style.fraction}{{{_text(a, style)[0]}}}{{{_text(b, style)[0]}}}", 2)
    return (f"{_at(a, 2, style)}/{_at(b, 3, style)}", 2)


def _power(base: str, exponent: ast.expr, style: Style) -> str:
    text = _text(exponent, style)[0]
    if style.power == "raised" and text.lstrip("-").isdecimal():
        return base + text.translate(RAISED)
    if style.power == "^{}":
        return f"{base}^{{{text}}}"
    sign = "^" if style.power == "raised" else style.power
    return f"{base}{sign}{text}" if text.isalnum() else f"{base}{sign}({text})"


def _call(name: str, args: list[str], style: Style) -> str:
    latex = style.fraction != "/"
    if name == "sqrt":
        return style.sqrt.format(args[0])
    if name in ("floor", "ceil"):
        if latex:
            return rf"\l{name} {args[0]} \r{name}"
        left, right = ("⌊", "⌋") if name == "floor" else ("⌈", "⌉")
        return f"{left}{args[0]}{right}" if style.times != "*" else f"{name}({args[0]})"
    if name in ("Min", "Max"):
        inside = ", ".join(args)
        return rf"\{name.lower()}\left({inside}\right)" if latex else f"{name.lower()}({inside})"
    return f"\\{name}({args[0]})" if latex else f"{name}({args[0]})"


def spellings(form: str, symbols: Mapping[str, str], mode: str, unit: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text): right spellings of a formula."""
    node = parsed(form)
    short = all(len(n) == 1 for n in symbols)
    for kind, style in STYLES.items():
        if style.times or short:
            yield kind, written(node, style)
    plain = written(node, STYLES["stars"])
    if not any(f in form for f in FUNCTIONS):
        yield "math-letters", "".join(ITALIC.get(c, c) for c in written(node, STYLES["dots"]))
    yield "full-width", plain.translate(FULL) if "**" not in plain and "e" not in plain else plain
    yield "dollars", f"${written(node, STYLES['latex'])}$"
    yield "display", rf"\[ {written(node, STYLES['latex-implicit'])} \]"
    yield "code", f"`{plain}`"
    yield "bold", f"**{written(node, STYLES['spaced'])}**"
    yield "label", f"answer: {plain}"
    yield "chinese", f"答案是 {plain}。"
    if unit in ("FLOPs", "bytes", "parameters", "tokens", "s", "devices", "FLOPs/byte"):
        yield "unit", f"{written(node, STYLES['spaced']) if '+' not in plain else f'({plain})'} {unit}"
    if mode == "order":
        yield "order", f"O({plain})"
        yield "theta", rf"\Theta({written(node, STYLES['latex'])})"
    if mode == "asymptotic":
        yield "about", f"≈ {plain}"
        yield "tends", f"→ {plain}"
    for alias in _aliased(node, symbols):
        yield "alias", alias


def _aliased(node: ast.expr, symbols: Mapping[str, str]) -> Iterator[str]:
    choices = {s: ALIASES[m] for s, m in symbols.items() if m in ALIASES}
    for i in range(max((len(c) for c in choices.values()), default=0)):
        names = {s: c[i % len(c)] for s, c in choices.items()}
        if len(set(names.values())) == len(names):
            times = " " if any("|" in n or "{" in n for n in names.values()) else "*"
            yield written(node, Style(times, "^", names=names))


def numbers(value: float, unit: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text): a number as people write it, to four digits."""
    yield "scientific", f"{value:.4g}".replace("e+", "e")
    digits, power = f"{value:.3e}".split("e")
    yield "times-ten", f"{digits} × 10^{int(power)}"
    yield "latex-ten", rf"{digits} \times 10^{{{int(power)}}}"
    yield "raised-ten", f"{digits}·10{str(int(power)).translate(RAISED)}"
    yield "about", f"~{value:.4g}".replace("e+", "e")
    yield "label", f"x = {value:.4g}".replace("e+", "e")
    if 1000 <= value < 1e15 and value == int(value):
        yield "separators", f"{int(value):,}"
        yield "thin-spaces", f"{int(value):,}".replace(",", "\u2009")
        yield "underscores", f"{int(value):_}"
    if value >= 1e6 and unit in ("parameters", "tokens", "FLOPs", ""):
        scale, letter = max((s, u) for s, u in ((1e6, "M"), (1e9, "B"), (1e12, "T")) if value >= s)
        yield "suffix", f"{value / scale:.4g}{letter}" if value / scale < 1e4 else f"{value:.4g}".replace("e+", "e")
    if unit == "" and value < 1:
        yield "percent", f"{value * 100:.4g}%"
        yield "latex-percent", rf"{value * 100:.4g}\%"
    yield from _with_units(value, unit)


def _with_units(value: float, unit: str) -> Iterator[tuple[str, str]]:
    if unit == "bytes" and value >= 1e6:
        yield "GB", f"{value / 1e9:.5g} GB"
        yield "GiB", f"{value / 2**30:.5g} GiB"
        yield "MiB", f"{value / 2**20:.6g} MiB"
        yield "bits", f"{value * 8:.6g} bits".replace("e+", "e")
    if unit == "days":
        yield "hours", f"{value * 24:.5g} h".replace("e+", "e")
        yield "years", f"{value / 365.25:.5g} years"
        yield "chinese-days", f"约 {value:.4g} 天".replace("e+", "e")
    if unit == "s":
        yield "ms", f"{value * 1e3:.5g} ms"
        yield "us", f"{value * 1e6:.5g} µs".replace("e+", "e")
    if unit == "FLOPs":
        yield "TFLOPs", f"{value / 1e12:.5g} TFLOPs".replace("e+", "e")
    if unit == "FLOPs/byte":
        yield "per-byte", f"{value:.5g} FLOP/B"
    if unit == "GiB":
        yield "MiB", f"{value * 1024:.6g} MiB"
