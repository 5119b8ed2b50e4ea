"""`kodex fit`: demonstrations in, a policy out; or all methods, some seeds each."""

import hashlib
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from kodex.demonstrations import TrajectorySet
    from kodex.policies.recipes import Recipe


def fit(
    demonstrations: Annotated[Path, tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    recipe: Annotated[str, tyro.conf.arg(aliases=["--method"])] = "default",
    seed: int = 0,
    seeds: int = 1,
    training: int | None = None,
    validation: int | None = None,
    lifting: str | None = None,
    controller: str | None = None,
    replace: bool = False,
) -> None:
    """Learn a policy from a file of demonstrations.

    The training of a baseline, which can take minutes, keeps its state in OUTPUT.unfinished from
    time to time; the same command goes on from there. With --method all, or several seeds, each
    policy goes to a folder of its own, OUTPUT/METHOD/seed-N, and those that are there are kept.

    Args:
        demonstrations: the file, such as kodex collect writes
        output: the folder to write: config.json and model.safetensors
        recipe: how to learn: default is the best in closed form, paper is the paper to the letter;
            nn, lstm, ndp, ngf, ngf-time and bc are the baselines (needs torch); all is default,
            set3, paper and the baselines
        seed: of whatever is random in the method
        seeds: learn with so many seeds, from --seed on
        training: learn from the first so many; else from all but the last fifth
        validation: choose by the last so many; else by the last fifth
        lifting: other observables than the recipe's, such as set2, fourier, radial (open loop)
        controller: another controller than the recipe's: ridge or mlp; or pd, which needs no
            actions in the demonstrations and tracks the paper's dynamics
        replace: replace the folder if it exists; of several, those of other demonstrations or
            settings
    """
    from kodex.demonstrations import read
    from kodex.errors import InputError
    from kodex.experiments.learned_with import digest_of, written_out
    from kodex.experiments.state_only import tracked_by_pd
    from kodex.policies.learners import check_installed, task_of
    from kodex.policies.recipes import COMPARED
    from kodex.policies.recipes import recipe as recipe_named

    if seeds < 1:
        raise InputError(f"--seeds must be 1 or more; found {seeds}")
    single = recipe != "all" and seeds == 1
    if single and not output.name:
        raise InputError(f"--output is a folder of its own, such as policy; found {output}")
    if single and output.exists() and not replace:
        raise InputError(f"{output} exists already; choose another --output, or add --replace")
    if recipe == "all" and controller is not None:
        raise InputError("--controller changes one recipe: name it instead of --method all")
    everything = read(demonstrations)
    if validation is None:
        validation = len(everything) // 5
    if training is None:
        training = len(everything) - validation
    learned_from, _, chosen_by = everything.split(
        training, max(0, len(everything) - training - validation), validation
    )
    if len(learned_from) == 0:
        raise InputError(f"there is nothing to learn from: {training} of {len(everything)}")
    if controller == "pd":
        recipes = [tracked_by_pd(everything).changed(lifting=lifting)]
    else:
        names = COMPARED if recipe == "all" else (recipe,)
        recipes = [
            recipe_named(name).changed(lifting=lifting, controller=controller) for name in names
        ]
    for each in recipes:
        check_installed(each.learner)
    task, digest = task_of(learned_from[0]), digest_of(learned_from, chosen_by)
    for number in range(seed, seed + seeds):
        for each in recipes:
            seeded = each.seeded(number)
            said = {
                "recipe": each.name,
                "settings": written_out(seeded.learner, task),
                "demonstrations": digest,
            }
            place = output if single else output / each.name / f"seed-{number}"
            if single or not _is_there(place, said, replace=replace):
                _fit_one(seeded, number, said, learned_from, chosen_by, place)


def _is_there(output: Path, said: Mapping[str, str], *, replace: bool) -> bool:
    """Return whether `output` holds the policy that says `said`; refuse another one."""
    from kodex.errors import InputError
    from kodex.experiments.learned_with import was_learned_with

    if not output.exists():
        return False
    if was_learned_with(output, said):
        print(f"{output} is there already", flush=True)
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
    said: Mapping[str, str],
    learned_from: "TrajectorySet",
    chosen_by: "TrajectorySet",
    output: Path,
) -> None:
    """Learn one policy and write it to `output`, with what it has `said` of itself."""
    from kodex.experiments.provenance import provenance
    from kodex.koopman import too_little_data
    from kodex.policies import fit as fit_policy
    from kodex.policies import save

    unfinished = output.with_name(f"{output.name}.unfinished")
    # Of other demonstrations or settings nothing can be gone on with, so each has its own folder.
    checkpoint = unfinished / hashlib.sha256(repr(said).encode()).hexdigest()[:12]
    began = time.perf_counter()
    policy = fit_policy(learned_from, chosen_by or None, recipe=recipe, checkpoint=checkpoint)
    seconds = time.perf_counter() - began
    record = getattr(getattr(policy, "dynamics", None), "record", None)
    for sentence in [] if record is None else too_little_data(record):
        print(f"note: {sentence}", file=sys.stderr)
    save(policy, output, provenance=provenance({"learner": seed}) | dict(said), replace=True)
    shutil.rmtree(unfinished, ignore_errors=True)
    print(
        f"learned from {len(learned_from)} demonstrations, chose by {len(chosen_by)}, "
        f"in {seconds:.2f} s (recipe {recipe.name}) -> {output}",
        flush=True,
    )
