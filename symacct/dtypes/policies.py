"""Precision policies: which storage format each role in training has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from symacct.dtypes.catalogue import as_format
from symacct.dtypes.formats import AnyFormat
from symacct.errors import ConventionError, DtypeError, nearest, one_of

ROLES: Mapping[str, str] = {
    "param": "the parameters that the model computes with",
    "grad": "their gradients, as they are summed up for the optimizer",
    "master": "the parameters once more, which the optimizer updates in place of the others; none by default",
    "state": "what the optimizer keeps; `param`'s or `master`'s by default, as in torch",
    "act": "activations, and the gradients that flow back",
    "logits": "the output of the model that the loss reads; `act`'s by default",
    "cast": "copies of the parameters that products read, made in the forward pass and kept to the end of the backward",
    "step": "a counter of steps, one a tensor; none by default",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Storage formats by role, as a frozen value.

    Parameters
    ----------
    name
        To print.
    roles
        A format for each role of `ROLES`; ``"param"`` at least. ``"state.exp_avg"`` is the format of one state tensor
        where it differs from ``"state"``.
    note
        One line on what it stands for.

    Raises
    ------
    DtypeError
        For an unknown role or format, or no format of the parameters.

    Examples
    --------
    >>> policy = Policy("mine", {"param": "bf16", "state": "fp32", "state.exp_avg": "fp8"})
    >>> policy.of("grad").name, policy.of_state("exp_avg").name, policy.of_state("exp_avg_sq").name
    ('bf16', 'fp8_e4m3fn', 'fp32')
    >>> policy.has("master")
    False

    """

    name: str
    roles: Mapping[str, str | None]
    note: str = ""
    _formats: Mapping[str, AnyFormat] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the formats, and fill in what follows from the others."""
        if unknown := [r for r in self.roles if r not in ROLES and not r.startswith("state.")]:
            msg = f"no role {unknown[0]!r} in training; known: {one_of(ROLES)}, and state.NAME of a state tensor."
            raise DtypeError(msg + nearest(unknown[0], ROLES))
        if self.roles.get("param") is None:
            msg = f"the policy {self.name!r} says nothing of the parameters; give a format to 'param' at least"
            raise DtypeError(msg)
        formats = {role: as_format(spec) for role, spec in self.roles.items() if spec is not None}
        formats.setdefault("grad", formats["param"])
        formats.setdefault("act", formats["param"])
        formats.setdefault("logits", formats["act"])
        formats.setdefault("state", formats.get("master", formats["param"]))
        object.__setattr__(self, "roles", MappingProxyType(dict(self.roles)))
        object.__setattr__(self, "_formats", MappingProxyType(formats))

    def __hash__(self) -> int:
        """Hash what makes it."""
        return hash((self.name, tuple(self.roles.items())))

    def __reduce__(self) -> tuple[type[Policy], tuple[object, ...]]:
        """Pickle and copy what makes it; a read-only mapping cannot be pickled."""
        return Policy, (self.name, dict(self.roles), self.note)

    def has(self, role: str) -> bool:
        """Whether a role has a format: there may be no master copies, no casts, no counters."""
        return role in self._formats

    def of(self, role: str) -> AnyFormat:
        """Return the format of a role.

        Raises
        ------
        DtypeError
            For a role that has none.

        """
        if role not in self._formats:
            msg = f"the policy {self.name!r} has no format for {role!r}; it has {one_of(self._formats)}"
            raise DtypeError(msg)
        return self._formats[role]

    def of_state(self, name: str) -> AnyFormat:
        """Return the format of a state tensor: by its name, else that of all state."""
        return self._formats.get(f"state.{name}") or self._formats["state"]

    @property
    def updated(self) -> AnyFormat:
        """The format of what the optimizer updates: the master copy's where there is one."""
        return self._formats.get("master", self._formats["param"])

    def with_param(self, own: AnyFormat | None) -> Policy:
        """Return the policy for a parameter in a format of its own, None for none.

        Its gradient and its state follow where the policy says nothing of them; in the format of the master copy it
        needs none, and in that of the casts it is not cast.

        Examples
        --------
        >>> own = policy_of("bf16-master").with_param(as_format("fp32"))
        >>> own.has("master"), own.of("grad").name, own.of("state").name, own.of("act").name
        (False, 'fp32', 'fp32', 'bf16')

        """
        if own is None or own == self.of("param"):
            return self
        spare = [role for role in ("master", "cast") if self.has(role) and self.of(role) == own]
        roles = {"act": self.of("act"), "logits": self.of("logits"), **self.roles, **dict.fromkeys(spare), "param": own}
        return Policy(self.name, roles, self.note)  # type: ignore[arg-type] # as_format takes formats too


POLICIES: Mapping[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("fp32", {"param": "fp32"}, "everything in fp32"),
        Policy("torch-fp32", {"param": "fp32", "step": "fp32"}, "fp32, with the counters that torch's optimizers keep"),
        Policy(
            "bf16",
            {"param": "bf16", "state": "fp32"},
            "the lecture's: needs an optimizer that keeps fp32 state for bf16 parameters; torch's own do not",
        ),
        Policy(
            "torch-bf16",
            {"param": "bf16", "step": "fp32"},
            "what torch.optim makes of a model in bf16: the state is bf16 too, and the counters are fp32",
        ),
        Policy("bf16-master", {"param": "bf16", "master": "fp32"}, "bf16 with an fp32 copy that the optimizer updates"),
        Policy(
            "megatron",
            {"param": "bf16", "grad": "fp32", "master": "fp32"},
            "bf16 with an fp32 copy, gradients summed up in fp32",
        ),
        Policy(
            "amp",
            {"param": "fp32", "act": "bf16", "cast": "bf16"},
            "torch.autocast: fp32 parameters, cast to bf16 for products, once in a forward pass, and their gradients "
            "back. Activations as if all were bf16: fp32 results of norms and losses are not told apart",
        ),
        Policy(
            "fp8",
            {"param": "bf16", "master": "fp32", "grad": "fp32", "cast": "fp8_e4m3fn"},
            "megatron, with products of fp8 copies of the parameters",
        ),
        Policy(
            "mxfp8",
            {"param": "bf16", "master": "fp32", "grad": "fp32", "cast": "mxfp8"},
            "megatron, with products of mxfp8 copies of the parameters",
        ),
        Policy(
            "nvfp4",
            {"param": "bf16", "master": "fp32", "grad": "fp32", "cast": "nvfp4"},
            "megatron, with products of nvfp4 copies of the parameters",
        ),
        Policy(
            "fp8-lm",
            {"param": "fp16", "grad": "fp8", "state.exp_avg": "fp8", "state.exp_avg_sq": "fp16", "cast": "fp8"},
            "as FP8-LM: fp16 parameters that are their own master copy, fp8 gradients and first moments",
        ),
    )
}


def policy_of(chosen: str | Policy | Mapping[str, str | None]) -> Policy:
    """Return a policy from its name, from a mapping of roles to formats, or the policy itself.

    Raises
    ------
    ConventionError
        For a name that is not known.

    Examples
    --------
    >>> policy_of("bf16").of("state").name, policy_of({"param": "bf16"}).of("state").name
    ('fp32', 'bf16')

    """
    if isinstance(chosen, Policy):
        return chosen
    if isinstance(chosen, Mapping):
        return Policy("given", chosen)
    if not isinstance(chosen, str) or chosen not in POLICIES:
        msg = f"unknown precision policy {chosen!r}; known: {one_of(POLICIES)}, or a mapping of roles to formats."
        raise ConventionError(msg + nearest(str(chosen), POLICIES))
    return POLICIES[chosen]
