"""The written-out table of studies: what `kodex reproduce` can do again, each by one command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kodex.baselines import METHODS
from kodex.baselines.sizes import SIZES
from kodex.errors import InputError
from kodex.experiments.cells import Cell, Condition, Data
from kodex.koopman import KoopmanLearner
from kodex.lifting import (
    FourierLearner,
    MonomialsLearner,
    StandardisedLearner,
    lifting_learner,
)
from kodex.lookup import look_up
from kodex.policies.learners import (
    BaselinePolicyLearner,
    LiftedLearner,
    PolicyLearner,
    TrackingLearner,
)
from kodex.policies.recipes import COMPARED, recipe
from kodex.seeding import with_seed
from kodex.tasks import TASKS

VARIATIONS = ("heavy-object", "light-object", "light-hand", "heavy-hand")
COUNTS = (10, 25, 50, 100, 150, 200)  # of demonstrations, as in the paper
REFERENCES = ("nn", "lstm", "ndp", "ngf")  # the baselines that the paper sizes, and tracks


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
    training: int | None = None  # demonstrations; None: all that are there to learn from

    @property
    def is_random(self) -> bool:
        """Whether another seed gives something else; if not, one is enough."""
        return with_seed(self.learner, 0) != with_seed(self.learner, 1)


@dataclass(frozen=True)
class Study:
    """Rows, and the conditions that each is judged under."""

    name: str
    sentence: str
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]
    with_spectra: bool = False  # of the operators, beside the table

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
EXPERT = Row("expert", None)
ROWS = {name: Row(name, recipe(name).learner) for name in COMPARED}
DEFAULT, SET3, PAPER = ROWS["default"], ROWS["set3"], ROWS["paper"]
BASELINES = tuple(ROWS[name] for name in METHODS)
IN = Condition("in")
OUT = Condition("out", instances=250, first_seed_only=True)
VALIDATION_STARTS = 99991  # the seed of starts to choose settings by


def _with_fewer(*rows: Row) -> tuple[Row, ...]:
    """Return `rows` once for every number of demonstrations."""
    return tuple(
        replace(row, name=f"{row.name}-{count}", training=count) for row in rows for count in COUNTS
    )


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "methods",
            "the default recipe, the paper's, and every baseline in its fair setting",
            (EXPERT, *ROWS.values()),
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
                Row("no-waves", LiftedLearner(LINEAR)),
                SET3,
                Row("set3-told", TrackingLearner(be_told=True)),
                Row("observer", recipe("observer").learner),
            ),
            (IN, OUT),
        ),
        Study(
            "variations",
            "the paper's sixteen changed worlds, with what was learned in the unchanged one",
            (EXPERT, DEFAULT, SET3, PAPER, *BASELINES),
            tuple(Condition("in", name, instances=200) for name in VARIATIONS),
        ),
        Study(
            "relearned",
            "the changed worlds, with a tracking controller learned again in each of them",
            (EXPERT, SET3, PAPER, *(row for row in BASELINES if row.name in REFERENCES)),
            tuple(Condition("in", name, instances=200, relearned=True) for name in VARIATIONS),
        ),
        Study(
            "few",
            "fewer demonstrations: the default recipe beside the paper's",
            _with_fewer(DEFAULT, SET3),
            (IN,),
        ),
        Study(
            "few-baselines",
            "fewer demonstrations: the baselines; hours",
            _with_fewer(*(row for row in BASELINES if row.name in (*REFERENCES, "bc"))),
            (IN,),
        ),
        Study(
            "observables",
            "the paper's four sets of observables, and the eigenvalues of their operators",
            tuple(
                Row(name, TrackingLearner(KoopmanLearner(lifting_learner(name))))
                for name in ("set1", "set2", "set3", "set4")
            ),
            (IN,),
            with_spectra=True,
        ),
        Study(
            "sizes",
            "three sizes of each baseline's networks, on starts for validation; hours",
            tuple(
                Row(f"{name}-{size}", BaselinePolicyLearner(name, size=size))
                for name in REFERENCES
                for size in SIZES.values()
            ),
            (Condition("in", instances=50, seed=VALIDATION_STARTS),),
        ),
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    return look_up(name, STUDIES, "studies")
