"""By how much the C of a policy differs from NumPy, step by step along four episodes of its task.

python -m tests.export.along_an_episode POLICY
"""

import sys

import numpy as np

from kodex.export.acting import program_of
from kodex.export.c import Compiled, c_source
from kodex.export.samples import samples_of
from kodex.policies import load


def main(folder):
    """Print the largest difference of an action up to some steps, and of the whole episodes."""
    policy = load(folder)
    program, samples = program_of(policy), samples_of(policy)
    compiled = Compiled(c_source(program, samples, "float64"), program)
    found = np.empty_like(samples.actions)
    for states, context, row in zip(samples.states, samples.context, found, strict=True):
        compiled.reset(states[0], context)
        for at, state in enumerate(states):
            row[at] = compiled.step(state)
    by_step = np.abs(found - samples.actions).max(axis=(0, 2))
    for step in (1, 10, 20, 40, len(by_step)):
        print(f"up to step {step:3}: {by_step[:step].max():.1e}")
    print(f"the largest action is {np.abs(samples.actions).max():.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
