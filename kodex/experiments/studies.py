"""The written-out table of studies: what `kodex reproduce` can do again, each by one command."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kodex.baselines import METHODS
from kodex.controllers import InverseMlpLearner
from kodex.errors import InputError
from kodex.experiments.cells import Cell, Condition, Data
from kodex.koopman import KoopmanLearner
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.lookup import look_up
from kodex.policies.learners import (
    BaselinePolicyLearner,
    LiftedLearner,
    PolicyLearner,
    TrackingLearner,
)
from kodex.policies.recipes import recipe
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
    learner: Callable[[int], PolicyLearner] | None  # of a seed; None: the expert
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
                None if row.learner is None else row.learner(seed),
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


def lifted(seed: int, *, scale: float | None = None) -> LiftedLearner:
    """Return the default recipe with another draw of its waves, and perhaps of another scale."""
    lifting = LiftedLearner().lifting
    assert isinstance(lifting, StandardisedLearner)
    assert isinstance(lifting.inner, FourierLearner)
    waves = replace(lifting.inner, seed=seed, scale=scale or lifting.inner.scale)
    return LiftedLearner(replace(lifting, inner=waves))


def _set3(seed: int) -> TrackingLearner:
    return TrackingLearner()


def _set3_told(seed: int) -> TrackingLearner:
    return TrackingLearner(be_told=True)


def _observer(seed: int) -> PolicyLearner:
    return recipe("observer").learner


def _paper(seed: int) -> TrackingLearner:
    return TrackingLearner(KoopmanLearner(), InverseMlpLearner(seed=seed))


def _baseline(name: str, setting: str = "fair") -> Callable[[int], BaselinePolicyLearner]:
    return lambda seed: BaselinePolicyLearner(name, setting, seed)


def _with(
    *, be_told: bool = True, remember_start: bool = True, draw_again: bool = True
) -> Callable[[int], LiftedLearner]:
    return lambda seed: replace(
        lifted(seed), be_told=be_told, remember_start=remember_start, draw_again=draw_again
    )


def _linear(seed: int) -> LiftedLearner:
    return replace(
        lifted(seed), lifting=StandardisedLearner(MonomialsLearner(1, constant=True), clip=6.0)
    )


def _small_ridge(seed: int) -> LiftedLearner:
    return replace(lifted(seed), ridges=(1e-5,))


def _short_waves(seed: int) -> LiftedLearner:
    return lifted(seed, scale=1.0)


EXPERT = Row("expert", None, is_random=False)
DEFAULT = Row("default", lifted)
SET3 = Row("set3", _set3, is_random=False)
PAPER = Row("paper", _paper)
IN = Condition("in")
OUT = Condition("out", instances=250, first_seed_only=True)

STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "methods",
            "the default recipe, the paper's, and every baseline in its fair setting",
            (EXPERT, DEFAULT, SET3, PAPER, *(Row(name, _baseline(name)) for name in METHODS)),
            (IN, OUT),
        ),
        Study(
            "paper-baselines",
            "the baselines as the paper describes them; NGF takes hours",
            tuple(Row(f"{name}-paper", _baseline(name, "paper")) for name in METHODS),
            (IN, OUT),
        ),
        Study(
            "ablation",
            "the default recipe with one ingredient taken away at a time",
            (
                EXPERT,
                DEFAULT,
                Row("not-told", _with(be_told=False)),
                Row("no-memory", _with(remember_start=False)),
                Row("neither", _with(remember_start=False, be_told=False)),
                Row("drawn-once", _with(draw_again=False)),
                Row("small-ridge", _small_ridge),
                Row("short-waves", _short_waves),
                Row("no-waves", _linear, is_random=False),
                SET3,
                Row("set3-told", _set3_told, is_random=False),
                Row("observer", _observer, is_random=False),
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
                Row(f"{name}-{count}", learner, is_random, count)
                for count in (10, 25, 50, 100, 200)
                for name, learner, is_random in (("default", lifted, True), ("set3", _set3, False))
            ),
            (IN,),
        ),
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    return look_up(name, STUDIES, "studies")
