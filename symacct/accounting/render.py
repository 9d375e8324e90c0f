"""An account as text, HTML, LaTeX and JSON."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from symacct.accounting.flash import told_of_flash, written_out
from symacct.accounting.quantity import QUANTITIES
from symacct.accounting.steps import counts_of
from symacct.accounting.tables import Branch
from symacct.accounting.totals import is_parted, totals_of
from symacct.expr import Expr, add, to_json, to_latex, to_text
from symacct.show import aligned, html_table, table

if TYPE_CHECKING:
    from symacct.accounting.core import Account
    from symacct.accounting.steps import Step


def told(account: Account, quantity: str) -> str:
    """Name a total; bytes are counted of every operation, work not of those without a rule."""
    return f"{quantity} (partial)" if account.uncounted and quantity not in ("bytes", "params") else quantity


def not_counted(account: Account) -> list[str]:
    """Say what has no rule, so that work is partial."""
    return [f"{times} {name}: the totals are partial" for name, times in account.uncounted.items()]


def _number(x: Expr) -> str:
    """Write a total; a fraction of numbers as a decimal too."""
    return f"{float(x):.6g} = {x}" if isinstance(x, Fraction) else to_text(x)


def notes(account: Account) -> list[tuple[str, str]]:
    """Return under what the numbers hold: convention, formats, traffic, order, conditions."""
    out = [
        ("convention", account.convention.describe()),
        ("dtype", formats(account)),
        ("traffic", account.traffic),
    ]
    if account.order:
        out += [("order", account.order)] if len(account.graph.ops) > 1 or account.order != "left" else []
    else:
        out += [("layout", account.layout), ("fuse", account.fuse)]
        out += [("", flash)] if "flash" in account.fuse and (flash := told_of_flash(account.graph)) else []
    out += [("gradients", account.gradients)] if account.gradients else []
    out += [("free", ", ".join(f"{times} {kind}" for kind, times in account.free.items()))] if account.free else []
    out += [("NOT COUNTED", text) for text in not_counted(account)]
    if any(step.kind.startswith("sdpa") for step in account.steps):
        out.append(("attention", f"{account.convention.attention} pairs of queries and keys are counted"))
    if account.convention.attention != "full" and (chains := written_out(account.graph)):
        out.append(("attention", f"{chains} written out in operations, where all pairs are counted"))
    return out + [("condition", str(c)) for c in account.conditions]


def formats(account: Account) -> str:
    """Return the formats of inputs and outputs, in order; one name where they agree."""
    names = [account.formats[i].name for i in (*account.graph.inputs, *account.graph.outputs)]
    if len(set(names)) == 1:
        return names[0]
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    return ", ".join(name if times == 1 else f"{name} x{times}" for name, times in runs)


def _step_row(account: Account, step: Step, number: int) -> list[str]:
    counted = " and ".join(f"{to_text(v)} {u}" for u, v in counts_of([step.work], account.convention).items()) or "0"
    counted = "?" if step.kind == "opaque" else counted
    return [str(number), step.label, counted.removesuffix(" FLOP"), to_text(step.bytes)]


def _steps_table(account: Account) -> str:
    """Print what each operation executes and moves; compulsory bytes tensor by tensor."""
    rows = [_step_row(account, s, i) for i, s in enumerate(account.steps, 1)]
    headers = ["step", "computes", "flops", "bytes"]
    if is_parted(account):
        return table(headers, rows)
    moved = [[name, to_text(amount)] for name, amount in account.traffic_terms()]
    return table(headers[:-1], [row[:-1] for row in rows]) + "\n\n" + table(["once, of all steps", "bytes"], moved)


def account_table(account: Account) -> str:
    """See `Account.__str__`."""
    if any(b.counted is None for b in account.branches.parts):
        undecided = "which branch counts depends on the sizes: give some as numbers"
        return f"{account.title}\n\n{account.branches}\n\n{undecided}"
    rows = [[told(account, q), _number(account.total(q)), account.unit(q)] for q in totals_of(account)]
    if "flops" not in totals_of(account):
        rows[:0] = [["work", to_text(amount), unit] for unit, amount in account.counts.items()]
    out = table(["quantity", "closed form", "unit"], rows, account.title)
    if len(account.steps) > 1:
        out += f"\n\n{_steps_table(account)}"
    if account.branches.parts:
        out += f"\n\n{account.branches}"
    return out + "\n\n" + table(["under", ""], [list(n) for n in notes(account)])


def account_html(account: Account) -> str:
    """See `Account._repr_html_`."""
    rows = [[told(account, q), f"${to_latex(account.total(q))}$", account.unit(q)] for q in totals_of(account)]
    return html_table(["quantity", "closed form", "unit"], rows, account.title) + html_table(
        ["under", ""], [list(n) for n in notes(account)]
    )


def latex(account: Account) -> str:
    """See `Account.latex`."""
    return aligned([(told(account, q), to_latex(account.total(q))) for q in totals_of(account)])


def account_json(account: Account) -> dict[str, Any]:
    """See `Account.to_json`."""
    parted = is_parted(account)
    out: dict[str, Any] = {
        "title": account.title,
        **{q: to_json(account.total(q)) if q in totals_of(account) else None for q in QUANTITIES},
        "counts": {unit: to_json(amount) for unit, amount in account.counts.items()},
        "units": {q: account.unit(q) for q in totals_of(account)},
        "convention": account.convention.to_json(),
        "dtype": [account.formats[i].name for i in (*account.graph.inputs, *account.graph.outputs)],
        "traffic": account.traffic,
        "order": account.order,
        "layout": account.layout,
        "fuse": account.fuse,
        "gradients": account.gradients,
        "free": {kind: to_json(times) for kind, times in account.free.items()},
        "uncounted": {name: to_json(times) for name, times in account.uncounted.items()},
        "conditions": [str(c) for c in account.conditions],
        "steps": [
            {
                "computes": s.label,
                "counts": {u: to_json(v) for u, v in counts_of([s.work], account.convention).items()},
                "bytes": to_json(add([s.bytes])) if parted else None,
            }
            for s in account.steps
        ],
        "moved": None if parted else {name: to_json(amount) for name, amount in account.traffic_terms()},
    }
    if "flash" in account.fuse:
        out["not_fused"] = told_of_flash(account.graph)
    if account.branches.parts:
        out["branches"] = [_branch_json(b) for b in account.branches.parts]
    return out


def _branch_json(b: Branch) -> dict[str, Any]:
    return {
        "conditional": b.conditional,
        "branch": b.branch,
        "runs": to_json(b.times),
        "counted": b.counted,
        "counts": {unit: to_json(amount) for unit, amount in b.account.counts.items()},
        "bytes": to_json(b.account.total("bytes")),
    }
