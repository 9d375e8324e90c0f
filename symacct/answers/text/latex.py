"""What the commands of LaTeX mean in an answer."""

from __future__ import annotations

from symacct.answers.text.lists import listed

SPACES = frozenset([",", ";", ":", "!", " ", "\\", *listed("quad qquad space enspace thinspace hspace")])
SILENT = frozenset(
    listed("""left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr middle displaystyle textstyle limits nolimits
    ( ) [ ] begin end _ # $ &""")
)
"""Commands that change how something looks; what they stand before is read by itself."""
WRAPPERS = frozenset(
    listed("""mathrm text mathbf mathit textbf textit operatorname mathsf mathtt mbox textrm texttt boldsymbol mathcal
    mathbb mathnormal boxed emph bm rm tilde widetilde hat bar""")
)
FRACTIONS = frozenset(["frac", "tfrac", "dfrac", "cfrac"])
ANNOTATED = frozenset(["underbrace", "overbrace", "underline", "overline", "cancel"])
SIGNS: dict[str, str] = {
    **dict.fromkeys(["cdot", "times", "ast", "bullet", "star", "cdotp"], "*"),
    **dict.fromkeys(["div", "slash"], "/"),
    **dict.fromkeys(["le", "leq", "leqslant", "lesssim", "lt", "ll", "lessapprox"], "<"),
    **dict.fromkeys(["ge", "geq", "geqslant", "gtrsim", "gt", "gg", "gtrapprox"], ">"),
    **dict.fromkeys(["approx", "sim", "simeq", "cong", "approxeq"], "≈"),
    **dict.fromkeys(["to", "rightarrow", "longrightarrow", "xrightarrow"], "→"),
    **dict.fromkeys(["equiv", "coloneqq"], "="),
    **dict.fromkeys(["dots", "ldots", "cdots"], "…"),
    **dict.fromkeys(["{", "lbrace"], "("),
    **dict.fromkeys(["}", "rbrace"], ")"),
    **dict.fromkeys(["|", "vert", "lvert", "rvert", "mid", "lVert", "rVert"], "|"),
    "lceil": "⌈",
    "rceil": "⌉",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "sqrt": "√",
    "%": "%",
    "infty": "∞",
}
WORDS: dict[str, str] = {
    **{f: f for f in ("min", "max", "log", "ln", "lg", "ceil", "floor")},
    **dict.fromkeys(["Theta", "BigO", "bigO"], "O"),
    "Omega": "Ω",
    **dict.fromkeys(["implies", "Rightarrow", "Longrightarrow", "therefore"], "thus"),
    "mu": "μ",
}
GREEK = frozenset(
    listed("""alpha beta gamma delta epsilon zeta eta theta iota kappa lambda nu xi pi rho sigma tau upsilon
    phi chi psi omega
    Gamma Delta Lambda Pi Sigma Phi Psi ell""")
)
