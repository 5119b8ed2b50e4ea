"""Tasks and results in plain words, for somebody who has not read the paper.

The four tasks are described here, because a report is written without a simulator; a test holds the
words to what the tasks compute. A task or environment of somebody's own is described by what its
run stored.
"""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from kodex.evaluation import Rate, Results

UNKNOWN = "unit of the data"
HAND = {"wrist": "rad", "index": "rad", "middle": "rad", "ring": "rad", "little": "rad"} | {
    "thumb": "rad",
    "arm_slide": "m",
    "arm_turn": "rad",
}
GYMNASIUM = "gymnasium-robotics reports success after the last action"
DAPG = "the goal is achieved after more than {} actions, as DAPG counts (for episodes of 200 steps)"
DAPG_DOOR = (
    f"{DAPG.format(25)}; here an episode has 70 states, a smooth expert needs most of them, and "
    "few doors are open for that long"
)


@dataclass(frozen=True)
class TaskFacts:
    """Words and numbers about one task."""

    done: str  # what an episode that succeeded did
    goal: str  # what is to be done, one sentence
    criterion: str  # when an episode succeeds
    progress: str  # what is measured at every state
    unit: str | None = None  # of the progress
    threshold: float | None = None  # of the progress
    definitions: Mapping[str, str] = field(default_factory=dict)  # other criteria, in words
    units: Mapping[str, str] = field(default_factory=dict)  # by how a component's name begins

    @property
    def sentence(self) -> str:
        """What is to be done, and when an episode has succeeded."""
        return f"{self.goal} An episode succeeds if: {self.criterion}."

    @property
    def progress_axis(self) -> str:
        """What the progress measures, with its unit."""
        return self.progress if self.unit is None else f"{self.progress} ({self.unit})"

    @property
    def threshold_label(self) -> str:
        """The threshold of success, with its unit."""
        unit = "" if self.unit in (None, "no unit") else f" {self.unit}"
        return f"success: {self.threshold:g}{unit}"

    def unit_of(self, name: str, given: Mapping[str, str]) -> str:
        """Return the unit of a component: the one that its data name, or the task's."""
        if name in given:
            return given[name]
        known = [start for start in self.units if name.startswith(start)]
        return self.units[max(known, key=len)] if known else UNKNOWN


TASKS: Mapping[str, TaskFacts] = {
    "door": TaskFacts(
        done="Opened the door",
        goal="Turn the latch and pull the door open, wherever the door stands.",
        criterion="open by more than 1.35 rad at the end",
        progress="angle of the door",
        unit="rad",
        threshold=1.35,
        definitions={"gymnasium": GYMNASIUM, "dapg": DAPG_DOOR},
        units=HAND | {"handle": "m", "door": "m", "door_velocity": "rad/s"},
    ),
    "tool": TaskFacts(
        done="Drove the nail home",
        goal="Pick up the hammer and drive the nail into the board, however high the board hangs.",
        criterion="nail within 0.01 m of its goal at the end",
        progress="distance of the nail to its goal",
        unit="m",
        threshold=0.01,
        definitions={"gymnasium": GYMNASIUM, "dapg": DAPG.format(25)},
        units=HAND
        | {"hammer_head": "m", "hammer_turn": "rad", "hammer_velocity": "m/s"}
        | {"hammer_spin": "rad/s", "nail_goal": "m", "board": "m"},
    ),
    "relocation": TaskFacts(
        done="Carried the ball to its target",
        goal="Grasp the ball and carry it to the target, wherever the target is.",
        criterion="ball within 0.1 m of its target at more than 10 states",
        progress="distance of the ball to its target",
        unit="m",
        threshold=0.1,
        definitions={"gymnasium": GYMNASIUM, "dapg": DAPG.format(25)},
        units=HAND
        | {"ball_from_target": "m", "ball_turn": "rad", "ball_velocity": "m/s"}
        | {"ball_spin": "rad/s", "target": "m"},
    ),
    "reorientation": TaskFacts(
        done="Turned the pen to its goal",
        goal="Turn the pen in the hand until it points as the goal does.",
        criterion="pen and goal aligned above 0.9 at more than 10 states",
        progress="cosine of the angle from pen to goal",
        unit="no unit",
        threshold=0.9,
        definitions={
            "gymnasium": GYMNASIUM,
            "dapg": DAPG.format(20),
            "authors": "aligned after more than 10 actions, and the pen held still in the hand at "
            "the end, as the paper's authors compute it",
        },
        units=HAND
        | {"pen": "m", "pen_direction": "no unit", "pen_velocity": "m/s", "pen_spin": "rad/s"}
        | {"goal": "rad"},
    ),
}


def facts_of(results: Results) -> TaskFacts:
    """Return what is known of the task of `results`."""
    known = TASKS.get(results.task)
    if known is not None:
        return known
    stored = results.provenance.get("task")
    said = stored if isinstance(stored, Mapping) else {}
    threshold = said.get("threshold")
    return TaskFacts(
        done=f"Succeeded at {results.task}",
        goal=f"{said.get('title', results.task)}.",
        criterion=str(said.get("criterion", "as the task itself decides")),
        progress="progress, as the task measures it",
        threshold=float(threshold) if isinstance(threshold, int | float) else None,
        definitions={
            "end": "the goal is achieved at the last state",
            "ever": "the goal is achieved at any state",
        },
    )


def headline(results: Results) -> str:
    """Return the one sentence that a reader should take away."""
    done, success = facts_of(results).done, results.success
    return f"{done} in {success.successes} of {success.instances} {_starts(results)}."


def interval(rate: Rate) -> str:
    """Return a rate's 95 % interval in words."""
    return f"95 % interval {100 * rate.low:.1f} to {100 * rate.high:.1f} %"


def percent(rate: float) -> str:
    """Return a rate as per cent."""
    return f"{100 * rate:.1f} %"


def seconds(value: float) -> str:
    """Return a duration as a person would say it."""
    if value < 10.0:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def number(value: float) -> str:
    """Return a measured number with three digits."""
    return f"{value:.3g}"


def decimal(value: float) -> str:
    """Return a number in the column of a table."""
    return f"{value:.3f}".replace("-", "−") if math.isfinite(value) else "–"


def world_option(results: Results) -> str:
    """Return the option that says where the policy acts: `--task door`, or `--env ID`."""
    if results.task in TASKS:
        return f"--task {results.task}"
    words = str(results.provenance.get("command", "")).split()
    # A task of one's own is named as module:NAME; anything else is an environment.
    own = words[2] if words[1:2] == ["run"] and ":" in "".join(words[2:3]) else None
    return f"--env {shlex.quote(results.task)}" if own is None else f"--task {shlex.quote(own)}"


def title(results: Results) -> str:
    """Return a name for the page."""
    return f"kodex: {results.task}, {results.recipe} recipe"


def subtitle(results: Results) -> str:
    """Return how the skill was learned, in one sentence."""
    learned = results.seconds.get("learn")
    training = results.demonstrations.get("training")
    source = "" if training is None else f" from {training} demonstrations"
    time = "" if learned is None else f" in {seconds(learned)}"
    return f"Learned{source}{time} with the {results.recipe} recipe."


def _starts(results: Results) -> str:
    starts = {
        "in": "unseen starts",
        "out": "starts outside the range of training",
    }.get(results.distribution, "starts")
    return starts if results.variation is None else f"{starts} with {results.variation}"


def steps_axis(time_step: float | None) -> str:
    """Return what a time axis counts."""
    return "step" if time_step is None else f"step ({1000 * time_step:g} ms each)"
