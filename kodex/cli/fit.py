"""`kodex fit`: demonstrations in, a policy out."""

import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

import tyro


def fit(
    demonstrations: Annotated[Path, tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    recipe: Annotated[str, tyro.conf.arg(aliases=["--method"])] = "default",
    training: int | None = None,
    validation: int | None = None,
    lifting: str | None = None,
    controller: str | None = None,
    replace: bool = False,
) -> None:
    """Learn a policy from a file of demonstrations.

    The training of a baseline, which can take minutes, keeps its state in OUTPUT.unfinished from
    time to time; the same command goes on from there.

    Args:
        demonstrations: the file, such as kodex collect writes
        output: the folder to write: config.json and model.safetensors
        recipe: how to learn: default is the best in closed form, paper is the paper to the letter;
            nn, lstm, ndp, ngf, ngf-time and bc are the baselines (needs torch)
        training: learn from the first so many; else from all but the last fifth
        validation: choose by the last so many; else by the last fifth
        lifting: other observables than the recipe's, such as set2, fourier, radial (open loop)
        controller: another controller than the recipe's: ridge or mlp; or pd, which needs no
            actions in the demonstrations and tracks the paper's dynamics
        replace: replace the folder if it exists
    """
    from kodex.demonstrations import read
    from kodex.errors import InputError
    from kodex.experiments.provenance import provenance
    from kodex.experiments.state_only import tracked_by_pd
    from kodex.koopman import too_little_data
    from kodex.policies import fit as fit_policy
    from kodex.policies import save
    from kodex.policies.recipes import recipe as recipe_named

    if output.exists() and not replace:
        raise InputError(f"{output} exists already; choose another --output, or add --replace")
    everything = read(demonstrations)
    if controller == "pd":
        chosen = tracked_by_pd(everything).changed(lifting=lifting)
    else:
        chosen = recipe_named(recipe).changed(lifting=lifting, controller=controller)
    if validation is None:
        validation = len(everything) // 5
    if training is None:
        training = len(everything) - validation
    learned_from, _, chosen_by = everything.split(
        training, max(0, len(everything) - training - validation), validation
    )
    unfinished = output.with_name(f"{output.name}.unfinished")
    began = time.perf_counter()
    policy = fit_policy(
        learned_from, chosen_by if validation else None, recipe=chosen, checkpoint=unfinished
    )
    seconds = time.perf_counter() - began
    record = getattr(getattr(policy, "dynamics", None), "record", None)
    for sentence in [] if record is None else too_little_data(record):
        print(f"note: {sentence}", file=sys.stderr)
    save(policy, output, provenance=provenance({}) | {"recipe": chosen.name}, replace=replace)
    shutil.rmtree(unfinished, ignore_errors=True)
    print(
        f"learned from {training} demonstrations, chose by {validation}, "
        f"in {seconds:.2f} s (recipe {chosen.name}) -> {output}"
    )
