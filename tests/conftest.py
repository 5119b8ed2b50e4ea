"""Property tests draw the same examples at every run; `HYPOTHESIS_SEED=random` looks further.

What a change broke must be told apart from what another draw found, or a good change fails by
chance.
"""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if os.environ.get("HYPOTHESIS_SEED") == "random" else "repeatable")
