"""What is fuzzed: a whole sample of each format, and what reads it.

`read` returns a word for all that it took from the files. Of a format that is digested, changed
bytes are refused or change nothing; of the others, what is accepted must at least be finite.
"""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kodex
from kodex.demonstrations import TrajectorySet, describe, write
from kodex.evaluation import Episodes, Mean, Rate, Results, Score, read_results, write_results
from kodex.evaluation.analysis import Analysis, Operator, read_analysis, write_analysis
from kodex.experts.actor import Actor, load_actor
from kodex.formats import Roles, read_as, write_as
from kodex.koopman import Spectrum
from kodex.networks.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from kodex.reports.study import StudyPlan, read_study
from kodex.reports.study_tables import markdown
from kodex.storage import Stored, read_header
from kodex.storage.archives import read_archive
from kodex.trajectory import StateLayout
from tests.formats.made_files import demonstrations as demonstrations_of_formats
from tests.formats.made_files import write_d4rl, write_minari
from tests.fuzz.mutations import change_arrays, change_bytes, change_json
from tests.fuzz.policies import LEARNERS, NETWORKS
from tests.policies.toy_skill import demonstrations


class Target(NamedTuple):
    """A format: how to make a whole sample in a folder, and what reads it."""

    make: Callable[[Path], object]
    read: Callable[[Path], str]
    ways: tuple[Callable, ...] = (change_bytes,)
    digested: bool = False  # whether changed bytes must be noticed


def word(*parts):
    """Return a word that differs when the parts do."""
    digest = hashlib.sha256()
    for part in parts:
        plain = isinstance(part, np.ndarray)
        digest.update(f"{part.shape}".encode() + part.tobytes() if plain else repr(part).encode())
    return digest.hexdigest()


def word_of_trajectories(trajectories):
    describe(trajectories, trajectories.layout)
    return word(
        trajectories.layout,
        *(
            part
            for each in trajectories
            for part in (each.states, each.actions, each.rewards, each.succeeded, each.start,
                         dict(each.context), each.time_step, dict(each.provenance))
        ),
    )  # fmt: skip


def make_demonstrations(folder):
    write(folder / "a.h5", TrajectorySet(demonstrations(3)), provenance={"seed": 3})


def read_demonstrations(folder):
    return word_of_trajectories(kodex.read(folder / "a.h5"))


def make_policy(folder, name):
    policy = {**LEARNERS, **NETWORKS}[name].fit(demonstrations(8))
    policy.save(folder / "policy", provenance={"recipe": name})


def read_policy(folder):
    policy = kodex.load(folder / "policy")
    session = kodex.Session(policy)
    first = np.linspace(-1.0, 1.0, policy.spec.layout.size)
    session.reset(first, dict.fromkeys(policy.spec.context, 0.5))
    actions = [session.act(first) for _ in range(3)]
    if not np.isfinite(actions).all():
        raise AssertionError("an action that is not finite")
    header = read_header(folder / "policy")
    return word(repr(policy), policy.spec, np.array(actions), header["provenance"])


def make_results(folder):
    succeeded = tuple(index % 3 > 0 for index in range(12))
    score = Score(
        "door",
        Rate(8, 12),
        failures=1,
        means={"imitation_error": Mean(0.5, 12)},
        rates={"dapg": Rate(8, 12)},
        episodes=Episodes("in", 7, tuple(range(12)), succeeded, {"dapg": succeeded}),
    )
    results = Results(
        "door", "default", score, "in", 7, seconds={"learn": 2.0}, provenance={"a": [1]}
    )
    write_results(folder / "results.json", results)


def read_one_results(folder):
    from kodex.reports.page.wording import headline

    results = read_results(folder / "results.json")
    return word(json.dumps(results.as_dict(), allow_nan=False), headline(results))


def make_study(folder):
    for row in ("default", "theirs"):
        for seed in (0, 1):
            place = folder / "door" / row / f"seed-{seed}"
            place.mkdir(parents=True)
            make_results(place)
            (place / "results.json").rename(place / "in.json")
        learned = json.dumps({"policy": "a" * 16, "settings": "Learner()"})
        (folder / "door" / row / "seed-0" / "learned.json").write_text(learned)
    condition = {"distribution": "in", "variation": None, "instances": 12, "seed": 7}
    rows, data = ("default", "theirs"), {"training": 200}
    StudyPlan("methods", "all", ("door",), rows, {"in": condition}, data).write(folder)


def read_one_study(folder):
    return word(markdown(read_study(folder)))


def make_expert(folder):
    random = np.random.default_rng(0)
    seen, done = random.normal(size=(20, 3)), random.normal(size=(20, 2))
    kodex.storage.write_model(Actor.untrained(seen, done, (4,)).stored(), folder / "expert")


def read_expert(folder):
    actor = load_actor(folder / "expert")
    with np.errstate(all="ignore"):
        return word(actor.act(np.ones((1, actor.observation_size))))


def make_archive(folder):
    random = np.random.default_rng(0)
    arrays = {"observations": random.normal(size=(2, 4, 3)), "actions": np.zeros((2, 3, 2))}
    np.savez_compressed(folder / "a.npz", **arrays)


def read_one_archive(folder):
    return word(*read_archive(folder / "a.npz").values())


SETTINGS = {"seed": 3, "training": {"epochs": 4}}


def make_checkpoint(folder):
    arrays = {"weight": np.arange(6.0).reshape(2, 3)}
    parts = {"best": Stored("arrays", arrays=arrays)}
    write_checkpoint(folder / "at", SETTINGS, Checkpoint({"epoch": 2, "best_loss": 0.5}, parts))


def read_one_checkpoint(folder):
    found = read_checkpoint(folder / "at", SETTINGS)
    return word(found.progress, *(part.arrays.items() for part in found.parts.values()))


def make_analysis(folder):
    random = np.random.default_rng(0)
    layout = StateLayout(("a",), ("b",))
    states = tuple(random.normal(size=(2, 5, 2)))
    operator = Operator(3, relift=False, spectrum=Spectrum(np.array([1.0, 0.5j, -0.5j])))
    write_analysis(folder / "analysis", Analysis(layout, states, states, operator))


def read_one_analysis(folder):
    analysis = read_analysis(folder / "analysis")
    order = analysis.best_median_worst() if analysis.references else ()
    values = analysis.operator.spectrum if analysis.operator else None
    known = values.histogram(3) if values is not None and len(values.values) else ()
    return word(analysis.robot_error, analysis.object_error, order, *known)


ROLES = Roles(robot=("lift", "turn"), object=("lid",))


def make_csv(folder):
    lines = ["episode,step,lift,turn,lid,action_0"]
    lines += [f"{e},{s},{0.1 * s},{e},{-s},0.5" for e in range(2) for s in range(4)]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")


def make_parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [0.1 * row for row in range(8)] for name in ("lift", "turn", "lid", "action")}
    pq.write_table(pa.table({"episode": [0] * 4 + [1] * 4, **columns}), folder / "a.parquet")


def make_minari(folder):
    random = np.random.default_rng(0)
    seen, done = list(random.normal(size=(2, 5, 3))), list(random.normal(size=(2, 4, 2)))
    write_minari(folder / "a", seen, done, qpos=list(random.normal(size=(2, 5, 3))))


def make_format(folder, name, file):
    write_as(folder / file, demonstrations_of_formats(2), name)


def make_d4rl(folder):
    write_d4rl(folder / "a.hdf5", [4, 5])


def read_format(folder, name, file, roles=None):
    return word_of_trajectories(read_as(folder / file, name, roles).trajectories)


MODEL = (change_bytes, change_json, change_arrays)
TARGETS = {
    "demonstrations": Target(make_demonstrations, read_demonstrations, digested=True),
    **{
        name: Target(partial(make_policy, name=name), read_policy, MODEL, digested=True)
        for name in (*LEARNERS, *NETWORKS)
    },
    "results": Target(make_results, read_one_results, (change_bytes, change_json)),
    "study": Target(make_study, read_one_study, (change_bytes, change_json)),
    "expert": Target(make_expert, read_expert, MODEL, digested=True),
    "checkpoint": Target(make_checkpoint, read_one_checkpoint, MODEL, digested=True),
    "analysis": Target(make_analysis, read_one_analysis, MODEL),
    "archive": Target(make_archive, read_one_archive),
    "csv": Target(make_csv, partial(read_format, name="csv", file="a.csv", roles=ROLES)),
    "parquet": Target(
        make_parquet, partial(read_format, name="parquet", file="a.parquet", roles=ROLES)
    ),
    "minari": Target(
        make_minari, partial(read_format, name="minari", file="a"), (change_bytes, change_json)
    ),
    "lerobot": Target(
        partial(make_format, name="lerobot", file="a"),
        partial(read_format, name="lerobot", file="a"),
        (change_bytes, change_json),
    ),
    "robomimic": Target(
        partial(make_format, name="robomimic", file="a.hdf5"),
        partial(read_format, name="robomimic", file="a.hdf5"),
    ),
    "d4rl": Target(make_d4rl, partial(read_format, name="d4rl", file="a.hdf5")),
}
