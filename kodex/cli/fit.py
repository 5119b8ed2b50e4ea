"""`kodex fit`: demonstrations in, a policy out; or all methods, some seeds each."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from kodex.cli.terminal import say

if TYPE_CHECKING:
    from kodex.demonstrations import Stream
    from kodex.interfaces import PolicyLearner
    from kodex.policies.recipes import Recipe
    from kodex.trajectory import Trajectory

ENOUGH_FOR_NOTES = 1000  # demonstrations
FEW = 50  # demonstrations, of which it is asked whether they are enough
IN_MEMORY = 2**28  # bytes of files that are read at once


def fit(
    demonstrations: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    recipe: Annotated[str, tyro.conf.arg(aliases=["--method"])] = "default",
    seed: int = 0,
    seeds: int = 1,
    training: int | None = None,
    validation: int | None = None,
    lifting: str | None = None,
    controller: str | None = None,
    replace: bool = False,
    skip_bad: bool = False,
    single_precision: bool = False,
    scheduler: str | None = None,
) -> None:
    """Learn a policy from files of demonstrations, which need not fit in memory.

    The training of a baseline, which can take minutes, keeps its state in OUTPUT.unfinished from
    time to time; the same command resumes there. With --method all, or several seeds, each
    policy goes to a folder of its own, OUTPUT/METHOD/seed-N, and those that are there are kept.

    Args:
        demonstrations: files such as kodex collect writes, a folder of them, or a pattern such as
            'demos/*.h5'
        output: the folder to write: config.json and model.safetensors
        recipe: how to learn, such as default, koopman, set3 (kodex recipes lists all); paper is the
            paper to the letter; nn, lstm, ndp, ngf, ngf-time and bc are the baselines (bc alone
            needs no torch); all is default, set3, paper and the baselines
        seed: seed of whatever is random in the method
        seeds: how many policies to learn, with the seeds --seed, --seed + 1, …
        training: how many demonstrations, the first ones, to learn from; else all the others
        validation: how many demonstrations, the last ones, are for validation; else the last fifth
            for recipes that select by them (set3, paper, the baselines), and none for the others
        lifting: other observables than the recipe's, such as set2, fourier, radial (open loop)
        controller: another controller than the recipe's: ridge or mlp; or pd, which needs no
            actions in the demonstrations and tracks the paper's dynamics
        replace: replace the folder if it exists; of several, those of other demonstrations or
            settings
        skip_bad: leave out files that are damaged or of another layout, and name them
        single_precision: multiply lifted states in single precision and sum in double, which takes
            four fifths of the time: for millions of transitions, with the recipe default
        scheduler: let the workers of this Dask scheduler read and sum the demonstrations, such as
            tcp://10.0.0.1:8786; they must see the same files (docs/cluster.md)
    """
    from kodex.cluster import executor_at
    from kodex.demonstrations import TrajectorySet, stream
    from kodex.demonstrations.spreading import spread
    from kodex.demonstrations.sufficiency import shortcomings
    from kodex.errors import InputError
    from kodex.experiments.provenance import digest_of, settings_of
    from kodex.policies.recipes import COMPARED, check_installed
    from kodex.policies.recipes import recipe as recipe_named
    from kodex.storage import check_output
    from kodex.trajectory import task_of

    if seeds < 1:
        raise InputError(f"--seeds must be 1 or more; found {seeds}")
    single = recipe != "all" and seeds == 1
    if single:
        check_output(output, replace=replace, folder=True)
    if recipe == "all" and controller is not None:
        raise InputError("--controller changes one recipe: name it instead of --method all")
    if not demonstrations:
        raise InputError("name a file, a folder of files, or a pattern such as 'demos/*.h5'")
    found = stream(demonstrations, skip_bad=skip_bad)
    everything: Sequence[Trajectory] = found
    if controller == "pd":
        from kodex.experiments.conditions import tracked_by_pd  # which tries it in a simulation

        recipes = [tracked_by_pd(everything).changed(lifting=lifting, single=single_precision)]
    else:
        names = COMPARED if recipe == "all" else (recipe,)
        recipes = [
            recipe_named(name).changed(
                lifting=lifting, controller=controller, single=single_precision
            )
            for name in names
        ]
    for each in recipes:
        check_installed(each.learner)
    # Several recipes learn from the same demonstrations.
    validates = any(getattr(each.learner, "validates", True) for each in recipes)
    if validation is None:
        validation = len(everything) // 5 if validates else 0
    if training is None:
        training = len(everything) - validation
    if min(training, validation) < 0:
        raise InputError(
            f"--training {training} and --validation {validation} cannot be negative: they count "
            "demonstrations"
        )
    if training + validation > len(everything):
        raise InputError(
            f"--training {training} and --validation {validation} need "
            f"{training + validation} demonstrations; found {len(everything)}"
        )
    if training == 0:
        raise InputError(f"there is nothing to learn from: {training} of {len(everything)}")
    if validation and not validates:
        say(
            f"note: the recipe {recipes[0].name} selects nothing by validation, so the policy "
            f"learns nothing from the {validation} demonstrations of --validation: leave it out, "
            f"and all {len(everything)} can be for training",
            stderr=True,
        )
    streamed = _is_large(found) and not any(_needs_all(each.learner) for each in recipes)
    if scheduler is None and not streamed:
        # To read it once is faster than once for every pass over it.
        everything = TrajectorySet(found, layout=found.layout)
    with executor_at(scheduler) as executor:
        if executor is not None:
            everything = spread(everything, executor)
        training_set = everything[:training]
        validation_set = everything[len(everything) - validation :]
        for sentence in shortcomings(_some(training_set)):
            say(f"note: the demonstrations: {sentence}", stderr=True)
        task, digest = task_of(training_set[0]), digest_of(training_set, validation_set)
        todo = []
        for number in range(seed, seed + seeds):
            for each in recipes:
                seeded = each.seeded(number)
                identity = {
                    "recipe": each.name,
                    "settings": settings_of(seeded.learner, task),
                    "demonstrations": digest,
                }
                folder = output if single else output / each.name / f"seed-{number}"
                if single or not _is_there(folder, seeded, task, digest, replace=replace):
                    check_output(folder, replace=replace, folder=True)
                    todo.append((seeded, number, identity, folder))
        for seeded, number, identity, folder in todo:  # every one of them can be written
            _fit_one(
                seeded, number, identity, training_set, validation_set, folder, replace=replace
            )


def _is_large(demonstrations: "Stream") -> bool:
    """Return whether the files are more than a computer should hold at once without need."""
    return sum(Path(part.path).stat().st_size for part in demonstrations.parts) > IN_MEMORY


def _some(demonstrations: "Sequence[Trajectory]") -> "list[Trajectory]":
    """Return as many as notes need: they are held in memory."""
    return list(demonstrations[:: max(1, len(demonstrations) // ENOUGH_FOR_NOTES)])


def _needs_all(learner: "PolicyLearner") -> bool:
    """Return whether `learner` passes over its data too often to read it anew each time."""
    return "torch" in getattr(learner, "requires", ())


def _is_there(
    output: Path, recipe: "Recipe", task: str | None, digest: str, *, replace: bool
) -> bool:
    """Return whether `output` holds the policy of `recipe`; refuse another one."""
    from kodex.errors import InputError
    from kodex.experiments.provenance import was_learned_with

    if not output.exists():
        return False
    others = {"recipe": recipe.name, "demonstrations": digest}
    if was_learned_with(output, recipe.learner, task, **others):
        say(f"{output} is there already")
        return True
    if not replace:
        raise InputError(
            f"{output} was learned from other demonstrations or with other settings; "
            "choose another --output, or add --replace"
        )
    return False


def _fit_one(
    recipe: "Recipe",
    seed: int,
    identity: Mapping[str, Any],
    training_set: "Sequence[Trajectory]",
    validation_set: "Sequence[Trajectory]",
    output: Path,
    *,
    replace: bool,
) -> None:
    """Learn one policy and write it to `output`, with what it was learned from and how."""
    from kodex.experiments.provenance import provenance
    from kodex.koopman import too_little_data
    from kodex.policies import dynamics_of, save
    from kodex.policies import fit as fit_policy
    from kodex.policies.diagnostics import doubts
    from kodex.policies.recipes import WITH_CONTEXT, WITHOUT_CONTEXT
    from kodex.storage import remove_output

    unfinished = output.with_name(f"{output.name}.unfinished")
    # With other demonstrations or settings nothing can be resumed, so each has its own folder.
    checkpoint = unfinished / hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]
    began = time.perf_counter()
    policy = fit_policy(training_set, validation_set or None, recipe=recipe, checkpoint=checkpoint)
    seconds = time.perf_counter() - began
    dynamics = dynamics_of(policy)
    record = None if dynamics is None else dynamics.record
    asked, shown, held_out = policy, training_set, validation_set
    if not getattr(recipe.learner, "validates", True) and not held_out and 5 <= len(shown) <= FEW:
        # All were learned from, so what is asked is learned from four fifths of them.
        kept = len(shown) - len(shown) // 5
        shown, held_out = shown[:kept], shown[kept:]
        asked = fit_policy(shown, recipe=recipe)
    for sentence in (
        *([] if record is None else too_little_data(record)),
        *doubts(asked, _some(shown), _some(held_out)),
    ):
        say(f"note: {sentence}", stderr=True)
    ignored = [name for name in training_set[0].context if name not in policy.spec.context]
    if ignored and WITHOUT_CONTEXT not in recipe.name:
        say(
            f"note: the demonstrations have the context {', '.join(ignored)}, which the recipe "
            f"{recipe.name} does not use: --recipe {recipe.name.split('+')[0]}{WITH_CONTEXT} gives "
            "it to the policy",
            stderr=True,
        )
    counts = {"training": len(training_set), "validation": len(validation_set)}
    notes = provenance({"learner": seed}) | dict(identity) | {"counts": counts}
    save(policy, output, provenance=notes, replace=replace)
    remove_output(checkpoint)
    with suppress(OSError):  # what another training left there stays
        unfinished.rmdir()
    beside = f", validated on {len(validation_set)}," if validation_set else ""
    say(
        f"learned from {len(training_set)} demonstrations{beside} in {seconds:.2f} s "
        f"(recipe {recipe.name}) -> {output}",
    )
