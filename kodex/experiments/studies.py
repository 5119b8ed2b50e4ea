"""The written-out table of studies: what `kodex reproduce` can do again, each by one command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kodex.baselines import METHODS
from kodex.errors import InputError
from kodex.experiments.cells import Cell, Condition, Data
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.lookup import look_up
from kodex.policies.learners import (
    BaselinePolicyLearner,
    LiftedLearner,
    PolicyLearner,
    TrackingLearner,
)
from kodex.policies.recipes import recipe
from kodex.seeding import with_seed
from kodex.tasks import TASKS

VARIATIONS = ("heavy-object", "light-object", "light-hand", "heavy-hand")


@dataclass(frozen=True)
class Options:
    """What can be said about any study on the command line."""

    tasks: tuple[str, ...] = tuple(TASKS)
    methods: tuple[str, ...] = ()  # rows; none: all of the study's
    seeds: int = 3
    instances: int | None = None  # starts a condition; None: as the study says
    data: Data = field(default_factory=Data)

    def __post_init__(self) -> None:
        for name in self.tasks:
            look_up(name, TASKS, "tasks")
        if self.seeds < 1 or (self.instances is not None and self.instances < 1):
            raise InputError("seeds and instances must be 1 or more")


@dataclass(frozen=True)
class Row:
    """One line of a study's table."""

    name: str
    learner: PolicyLearner | None  # None: the expert
    is_random: bool = True  # False: every seed gives the same, so one is enough
    training: int | None = None  # demonstrations; None: all that are there to learn from


@dataclass(frozen=True)
class Study:
    """Rows, and the conditions that each is judged under."""

    name: str
    sentence: str
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]

    def cells(self, options: Options) -> list[Cell]:
        """Return the cells, seed by seed, so that a study that stops early is a smaller study."""
        chosen = self._chosen(options.methods)
        conditions = self.conditions
        if options.instances is not None:
            conditions = tuple(replace(each, instances=options.instances) for each in conditions)
        return [
            Cell(
                task,
                row.name,
                seed,
                None if row.learner is None else with_seed(row.learner, seed),
                conditions=tuple(
                    each for each in conditions if seed == 0 or not each.first_seed_only
                ),
                training=_training(row, options.data),
                data=options.data,
            )
            for seed in range(options.seeds)
            for task in options.tasks
            for row in chosen
            if seed == 0 or row.is_random
        ]

    def _chosen(self, names: Sequence[str]) -> tuple[Row, ...]:
        rows = {row.name: row for row in self.rows}
        return tuple(look_up(name, rows, f"rows of {self.name}") for name in names or rows)


def _training(row: Row, data: Data) -> int:
    if row.training is not None and row.training > data.training:
        raise InputError(
            f"{row.name} learns from {row.training} demonstrations; there are {data.training}"
        )
    return row.training or data.training


def _lifted(*, scale: float) -> LiftedLearner:
    """Return the default recipe with waves of another scale."""
    lifting = LiftedLearner().lifting
    assert isinstance(lifting, StandardisedLearner)
    assert isinstance(lifting.inner, FourierLearner)
    return LiftedLearner(replace(lifting, inner=replace(lifting.inner, scale=scale)))


LINEAR = StandardisedLearner(MonomialsLearner(1, constant=True), clip=6.0)
EXPERT = Row("expert", None, is_random=False)
DEFAULT = Row("default", LiftedLearner())
SET3 = Row("set3", TrackingLearner(), is_random=False)
PAPER = Row("paper", recipe("paper").learner)
IN = Condition("in")
OUT = Condition("out", instances=250, first_seed_only=True)

STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "methods",
            "the default recipe, the paper's, and every baseline in its fair setting",
            (
                EXPERT,
                DEFAULT,
                SET3,
                PAPER,
                *(Row(name, BaselinePolicyLearner(name)) for name in METHODS),
            ),
            (IN, OUT),
        ),
        Study(
            "paper-baselines",
            "the baselines as the paper describes them; NGF takes hours",
            tuple(Row(f"{name}-paper", BaselinePolicyLearner(name, "paper")) for name in METHODS),
            (IN, OUT),
        ),
        Study(
            "ablation",
            "the default recipe with one ingredient taken away at a time",
            (
                EXPERT,
                DEFAULT,
                Row("not-told", LiftedLearner(be_told=False)),
                Row("no-memory", LiftedLearner(remember_start=False)),
                Row("neither", LiftedLearner(remember_start=False, be_told=False)),
                Row("drawn-once", LiftedLearner(draw_again=False)),
                Row("small-ridge", LiftedLearner(ridges=(1e-5,))),
                Row("short-waves", _lifted(scale=1.0)),
                Row("no-waves", LiftedLearner(LINEAR), is_random=False),
                SET3,
                Row("set3-told", TrackingLearner(be_told=True), is_random=False),
                Row("observer", recipe("observer").learner),
            ),
            (IN, OUT),
        ),
        Study(
            "variations",
            "the paper's sixteen changed worlds, with what was learned in the unchanged one",
            (EXPERT, DEFAULT, SET3, PAPER),
            tuple(Condition("in", name, instances=200) for name in VARIATIONS),
        ),
        Study(
            "few",
            "fewer demonstrations: the default recipe beside the paper's",
            tuple(
                replace(row, name=f"{row.name}-{count}", training=count)
                for count in (10, 25, 50, 100, 200)
                for row in (DEFAULT, SET3)
            ),
            (IN,),
        ),
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    return look_up(name, STUDIES, "studies")
