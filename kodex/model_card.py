"""The model card: what a saved policy is and is not, in words, beside its arrays.

Every number in it is read from the policy or from what is stored with it, so it cannot say
something else than the files do. What nobody measured is said to be unknown.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from kodex.errors import expect
from kodex.interfaces import PolicySpec, Storable
from kodex.storage import write_model

CARD_FILE = "README.md"


class HasCard(Storable, Protocol):
    """A policy that can be kept."""

    @property
    def spec(self) -> PolicySpec:
        """What it observes, which context it needs, what it returns."""


def write_policy(
    policy: HasCard,
    folder: str | Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `policy` to `folder`, whole or not at all; an existing one only if `replace`.

    A model card, README.md, describes it in words.
    """
    expect("a policy is", policy, "kodex.save(policy, folder)")
    stored = policy.stored()
    card = model_card(policy.spec, stored.type, provenance or {})
    return write_model(
        stored, folder, provenance=provenance, documents={CARD_FILE: card}, replace=replace
    )


def model_card(spec: PolicySpec, kind: str, provenance: Mapping[str, Any]) -> str:
    """Return the card of a policy of a stored `kind`, in Markdown with a header for model hubs."""
    task = spec.task or "unknown"
    recipe = provenance.get("recipe", "unknown")
    lines = [
        "---",
        "library_name: kodex",
        "tags:",
        *(f"- {tag}" for tag in ("robotics", "imitation-learning", "koopman-operator")),
        "---",
        "",
        f"# A policy for {task}" if spec.task else "# A policy",
        "",
        f"Learned by kodex, recipe `{recipe}`, stored as `{kind}`. It needs NumPy to act.",
        "",
        "| | |",
        "| --- | --- |",
        f"| task | {task} |",
        f"| success | {_success(provenance.get('evaluation'))} |",
        f"| demonstrations | {_demonstrations(provenance.get('counts'))} |",
        f"| observes | {_observes(spec)} |",
        f"| context | {_listed(spec.context) or 'none'} |",
        f"| action | {_action(spec)} |",
        f"| time step | {_time_step(spec)} |",
        f"| prediction | {'with `policy.predict`' if spec.reference else 'none: it acts only'} |",
        f"| missing measurements | {'accepted as NaN' if spec.accepts_missing else 'refused'} |",
        "",
        "## Use",
        "",
        *_use(spec),
        "",
        "## State",
        "",
        *_state(spec),
        "",
        "## Limits",
        "",
        "- It imitates: where no demonstration has been, it is a guess. Watch it first.",
        "- It knows nothing of joint limits, forces or people; the robot's own safety must.",
        f"- {_measured_where(provenance.get('evaluation'))}",
        *_origin(provenance),
    ]
    return "\n".join(lines) + "\n"


def _success(evaluation: Any) -> str:
    if not isinstance(evaluation, Mapping):
        return "not measured when it was saved: `kodex evaluate` measures it"
    rate = 100.0 * evaluation["successes"] / evaluation["episodes"]
    low, high = (100.0 * evaluation[side] for side in ("low", "high"))
    return (
        f"{rate:.1f} % [{low:.1f}, {high:.1f}] of {evaluation['episodes']} unseen starts "
        "(Wilson's 95 % interval)"
    )


def _measured_where(evaluation: Any) -> str:
    if not isinstance(evaluation, Mapping):
        return "Its success has not been measured."
    which = {"in": "the distribution of the demonstrations", "out": "outside of it"}
    return (
        f"Success was measured in simulation, with starts from {which[evaluation['distribution']]} "
        f"(seed {evaluation['seed']}); a real hand is another matter."
    )


def _demonstrations(counts: Any) -> str:
    if not isinstance(counts, Mapping):
        return "unknown"
    return f"{counts['training']} to learn from, {counts['validation']} for validation"


def _observes(spec: PolicySpec) -> str:
    if spec.observes != "state" or spec.layout is None:
        return "the task's observation"
    return (
        f"the state: {len(spec.layout.robot)} numbers of the robot and "
        f"{len(spec.layout.object)} of the object"
    )


def _action(spec: PolicySpec) -> str:
    limits = spec.control.action_range
    if limits is None:
        return f"{spec.action_size} numbers; their range was not recorded, so nothing clips them"
    ends = set(zip(limits.low, limits.high, strict=True))
    if len(ends) == 1:
        low, high = ends.pop()
        return f"{spec.action_size} numbers from {low:g} to {high:g}; a session clips them"
    each = ", ".join(f"{low:g} to {high:g}" for low, high in zip(*limits, strict=True))
    return f"{spec.action_size} numbers, which a session clips: {each}"


def _time_step(spec: PolicySpec) -> str:
    seconds = spec.control.time_step
    return "not recorded" if seconds is None else f"{seconds:g} s"


def _use(spec: PolicySpec) -> list[str]:
    given = ", ".join(f'"{name}": ...' for name in spec.context)
    context = f", context={{{given}}}" if spec.context else ""
    return [
        "```python",
        "import kodex",
        "",
        'session = kodex.Session(kodex.load("this-folder"))',
        f"session.reset(first_state{context})",
        "action = session.act(measured_state)  # once per step",
        "```",
    ]


def _state(spec: PolicySpec) -> list[str]:
    if spec.layout is None:
        return ["It does not look at states."]
    return [
        "In this order, in the units of the demonstrations (kodex's own tasks: rad, m and s):",
        "",
        f"- robot: {_with_units(spec, spec.layout.robot)}",
        f"- object: {_with_units(spec, spec.layout.object) or 'none'}",
    ]


def _origin(provenance: Mapping[str, Any]) -> list[str]:
    facts = []
    versions = provenance.get("versions")
    if isinstance(versions, Mapping):
        facts.append("- Versions: " + ", ".join(f"{name} {n}" for name, n in versions.items()))
    seeds = provenance.get("seeds")
    if isinstance(seeds, Mapping) and seeds:
        facts.append("- Seeds: " + ", ".join(f"{name} {seed}" for name, seed in seeds.items()))
    return ["", "## Origin", "", *facts] if facts else []


def _with_units(spec: PolicySpec, names: Sequence[str]) -> str:
    units = spec.control.units
    return ", ".join(f"`{name}`" + (f" ({units[name]})" if name in units else "") for name in names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
