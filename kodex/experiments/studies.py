"""The written-out table of studies: what `kodex reproduce` can do again, each by one command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kodex.baselines import BASELINES as METHODS
from kodex.baselines import SIZES, Size, baseline_learner
from kodex.errors import InputError, look_up
from kodex.evaluation import CONFIRMING_SEED, PUBLISHED_SEED, VALIDATION_SEED
from kodex.experiments.cells import Cell
from kodex.experiments.conditions import Condition
from kodex.experiments.store import Data
from kodex.interfaces import PolicyLearner
from kodex.koopman import KoopmanLearner
from kodex.lifting import (
    MonomialsLearner,
    StandardisedLearner,
    lifting_learner,
)
from kodex.policies import ConditionedLearner, LiftedLearner, TrackingLearner
from kodex.policies.parts import with_part
from kodex.policies.recipes import (
    COMPARED,
    WITH_CONTEXT,
    WITHOUT_CONTEXT,
    PresetLearner,
    recipe,
)
from kodex.rollout import Sensors
from kodex.seeding import with_seed
from kodex.tasks import TASKS

VARIATIONS = ("heavy-object", "light-object", "light-hand", "heavy-hand")
COUNTS = (10, 25, 50, 100, 150, 200)  # of demonstrations, as in the paper
BUDGETS = (3, 10, 30, 100, 300)  # epochs
REFERENCES = ("nn", "lstm", "ndp", "ngf")  # the baselines that the paper sizes, and tracks


@dataclass(frozen=True)
class Options:
    """What can be said about any study on the command line."""

    tasks: tuple[str, ...] = tuple(TASKS)
    methods: tuple[str, ...] = ()  # rows; none: all of the study's
    seeds: int = 3  # repetitions, each with demonstrations, learner and starts of its own
    first_seed: int = 0  # the number of the first repetition
    instances: int | None = None  # starts of a condition per seed; None: as the study says
    data: Data | None = None  # None: as the study says

    def __post_init__(self) -> None:
        for name in self.tasks:
            look_up(name, TASKS, "tasks")
        if self.seeds < 1 or (self.instances is not None and self.instances < 1):
            raise InputError("seeds and instances must be 1 or more")
        if self.first_seed < 0:
            raise InputError(f"the first seed must be 0 or more; found {self.first_seed}")


@dataclass(frozen=True)
class Row:
    """One line of a study's table."""

    name: str
    learner: PolicyLearner | None  # None: the expert
    training: int | None = None  # demonstrations; None: all that are there to learn from
    reference: int | None = None  # of them, those that a tracked reference learns from; None: all

    def can_face(self, condition: Condition) -> bool:
        """Return whether it can be evaluated there: an expert has no state to lose an object of."""
        return self.learner is not None or condition.sensors.object_lost == 0.0


@dataclass(frozen=True)
class Study:
    """Rows, and the conditions that each is evaluated under."""

    name: str
    sentence: str
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]
    with_spectra: bool = False  # of the operators, beside the table
    data: Data = field(default_factory=Data)
    main: str = "default"  # the row that the others are compared with

    def data_for(self, options: Options) -> Data:
        """Return how many demonstrations there are."""
        return options.data or self.data

    def conditions_for(self, options: Options) -> tuple[Condition, ...]:
        """Return the conditions, with as many starts as the options say."""
        if options.instances is None:
            return self.conditions
        return tuple(replace(each, instances=options.instances) for each in self.conditions)

    def cells(self, options: Options) -> list[Cell]:
        """Return the cells, seed by seed, so that a study that stops early is a smaller study."""
        chosen, data = self._chosen(options.methods), self.data_for(options)
        conditions = self.conditions_for(options)
        return [
            Cell(
                task,
                row.name,
                seed,
                _learner(row, data, seed),
                conditions=tuple(filter(row.can_face, conditions)),
                training=_training(row, data),
                reference=row.reference,
                data=data,
                analysed=self.with_spectra and seed == 0,
            )
            for seed in range(options.first_seed, options.first_seed + options.seeds)
            for task in options.tasks
            for row in chosen
        ]

    def _chosen(self, names: Sequence[str]) -> tuple[Row, ...]:
        rows = {row.name: row for row in self.rows}
        return tuple(look_up(name, rows, f"rows of {self.name}") for name in names or rows)


def _training(row: Row, data: Data) -> int:
    for wanted in (row.training, row.reference):
        if wanted is not None and wanted > data.training:
            raise InputError(
                f"{row.name} learns from {wanted} demonstrations; there are {data.training}"
            )
    return row.training or data.training


def _learner(row: Row, data: Data, seed: int) -> PolicyLearner | None:
    """Return the learner of `row` with its seed.

    A reference that learns from all demonstrations is one of which nothing is said, so that studies
    that learn the same share one policy.
    """
    learner = row.learner
    if learner is not None and row.reference == _training(row, data):
        learner = with_part(learner, "reference", None)
    return None if learner is None else with_seed(learner, seed)


def _lifted(*, scale: float) -> ConditionedLearner:
    """Return the default recipe with random Fourier features of another scale."""
    lifting = with_part(LiftedLearner().lifting, "scale", scale)
    assert lifting is not None
    return ConditionedLearner(LiftedLearner(lifting, sharpness=(1.0,)))


def _sized(name: str, size: Size, setting: str = "fair") -> PolicyLearner:
    """Return the baseline with networks of the given size, in its fair or its paper's setting."""
    named = recipe(name if setting == "fair" else f"{name}-{setting}")
    return named.with_parts(dynamics=PresetLearner(name, setting, size=size)).learner


def _for_epochs(name: str, epochs: int) -> PolicyLearner:
    """Return the baseline in its fair setting, with the training of a shorter budget."""
    learner = with_part(recipe(name).learner, "epochs", epochs)
    assert learner is not None
    return learner


LINEAR = StandardisedLearner(MonomialsLearner(1, constant=True), clip=6.0)
EXPERT = Row("expert", None)
ROWS = {name: Row(name, recipe(name).learner) for name in COMPARED}
DEFAULT, SET3, PAPER = ROWS["default"], ROWS["set3"], ROWS["paper"]
BASELINES = tuple(ROWS[name] for name in METHODS)
IN = Condition("in")
OUT = Condition("out")
WORLDS = tuple(Condition("in", name, instances=50) for name in VARIATIONS)


def _sensed(*sensors: Sensors) -> tuple[Condition, ...]:
    return tuple(
        Condition(instances=20, sensors=replace(each, seed=PUBLISHED_SEED)) for each in sensors
    )


SENSES = _sensed(
    *(Sensors(every=steps) for steps in (2, 5, 10, 20)),
    *(Sensors(delay=steps) for steps in (1, 3, 5)),
    *(Sensors(noise=share) for share in (0.01, 0.03, 0.1)),
    Sensors(object_lost=0.5),
)


def _rows(*names: str) -> tuple[Row, ...]:
    return tuple(Row(name, recipe(name).learner) for name in names)


SIMPLE = _rows("bc", "knn", "kernel-ridge")  # what a strict reader would try first


def _of_all(name: str) -> Row:
    """Return the baseline that learns from all demonstrations, where it would hold some out."""
    alone: Any = baseline_learner(name)
    learner = with_part(recipe(name).learner, "inner", replace(alone, held_out=0.0))
    assert learner is not None
    return Row(f"{name}-of-all", learner)


def _with_fewer(*rows: Row) -> tuple[Row, ...]:
    """Return `rows` once for every number of demonstrations."""
    return tuple(_fewer(row, count) for row in rows for count in COUNTS)


def _fewer(row: Row, count: int) -> Row:
    """Return `row` with `count` demonstrations; of one that tracks, the reference alone has fewer.

    The paper has one controller, learned from everything, for all points of its curves.
    """
    name, fewer = f"{row.name}-{count}", with_part(row.learner, "reference", count)
    if fewer is None:
        return replace(row, name=name, training=count)
    return replace(row, name=name, learner=fewer, reference=count)


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "methods",
            "the default recipe, the paper's, and every baseline in its fair setting",
            (
                EXPERT,
                *_rows("koopman", *ROWS, "knn", "kernel-ridge", "bc-10-epochs"),
            ),
            (IN, OUT),
        ),
        Study(
            "context",
            "every method with and without the goal as context; only Reorientation has one",
            _rows(
                *(
                    f"{name}{suffix}"
                    for name in ("koopman", *ROWS, "knn", "kernel-ridge", "bc-10-epochs")
                    for suffix in (WITH_CONTEXT, WITHOUT_CONTEXT)
                )
            ),
            (IN, OUT),
            main="koopman+context",
        ),
        Study(
            "operator",
            "the operator that acts, where it is well and where others fail: out of distribution, "
            "under physical variations, and behind slow, late, noisy or blind sensors",
            (EXPERT, *_rows("koopman", "default", "set3", "set3+context", "paper"), *SIMPLE),
            (IN, replace(OUT, instances=167), *WORLDS, *SENSES),
            main="koopman",
        ),
        Study(
            "outside",
            "out of distribution and under physical variations once more, with more starts, none "
            "of which was there when a recipe was changed",
            (EXPERT, *_rows("koopman", "default", "set3"), *SIMPLE),
            tuple(
                replace(each, instances=count, seed=CONFIRMING_SEED)
                for each, count in ((IN, 334), (OUT, 334), *((world, 167) for world in WORLDS))
            ),
            main="koopman",
        ),
        Study(
            "ten",
            "ten demonstrations in all, and none beside them for validation",
            (*_rows("koopman", "default", "set3+context"), *SIMPLE, _of_all("bc")),
            (IN,),
            data=Data(10, 0),
            main="koopman",
        ),
        Study(
            "paper-baselines",
            "the baselines as the paper describes them; the smallest NGF takes an hour",
            (
                *_rows(*(f"{name}-paper" for name in METHODS)),
                Row("ngf-time-paper-small", _sized("ngf-time", "small", "paper")),
            ),
            (IN, OUT),
        ),
        Study(
            "ablation",
            "the default recipe with one ingredient taken away at a time",
            (
                EXPERT,
                DEFAULT,
                Row("default-context", recipe("default-context").learner),
                Row("no-first-state", ConditionedLearner(LiftedLearner(), first_state=False)),
                Row("state-only", LiftedLearner()),
                Row("no-resampling", ConditionedLearner(LiftedLearner(resample=False))),
                Row("small-ridge", ConditionedLearner(LiftedLearner(ridges=(1e-5,)))),
                Row("high-frequencies", _lifted(scale=1.0)),
                Row("linear", ConditionedLearner(LiftedLearner(LINEAR))),
                SET3,
                Row("set3+context", recipe("set3+context").learner),
                Row("observer", recipe("observer").learner),
            ),
            (IN, OUT),
        ),
        Study(
            "variations",
            "the paper's sixteen physical variations, with policies learned without them",
            (EXPERT, DEFAULT, SET3, PAPER, *BASELINES),
            WORLDS,
        ),
        Study(
            "relearned",
            "the physical variations, with the tracking controller learned again for each of them, "
            "or the policy that tracks nothing",
            (
                EXPERT,
                *_rows("koopman"),
                DEFAULT,
                SET3,
                PAPER,
                *BASELINES,
                *(row for row in SIMPLE if row.name not in METHODS),
            ),
            tuple(replace(each, relearned=True) for each in WORLDS),
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
            _with_fewer(
                *(row for row in BASELINES if row.name in (*REFERENCES, "bc")), *_rows("bc-paper")
            ),
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
            main="set2",
        ),
        Study(
            "budgets",
            "success over the seconds to learn: networks trained for 3 to 300 epochs, on "
            "validation starts",
            (
                *_rows("koopman", "default", "set3+context", "knn", "kernel-ridge"),
                *(
                    Row(f"{name}-{epochs}-epochs", _for_epochs(name, epochs))
                    for name in ("bc", "nn", "ndp", "lstm")
                    for epochs in BUDGETS
                ),
            ),
            (Condition("in", instances=100, seed=VALIDATION_SEED),),
        ),
        Study(
            "sizes",
            "three sizes of each baseline's networks, on starts for validation; hours",
            tuple(
                Row(f"{name}-{size}", _sized(name, size))
                for name in REFERENCES
                for size in SIZES.values()
            ),
            (Condition("in", instances=50, seed=VALIDATION_SEED),),
        ),
    )
}


def study_named(name: str) -> Study:
    """Return the study called `name`."""
    return look_up(name, STUDIES, "studies")
