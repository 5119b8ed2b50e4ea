"""Write a policy of kodex in LeRobot's form: python -m lerobot_policy_kodex POLICY FOLDER."""

import sys
from pathlib import Path

from lerobot_policy_kodex.modeling_kodex import KodexPolicy
from lerobot_policy_kodex.processor_kodex import make_kodex_pre_post_processors


def main(policy: str, folder: str) -> None:
    """Write what `--policy.path=FOLDER` of LeRobot's commands needs."""
    run = Path(policy) / "policy"
    learned = KodexPolicy.from_pretrained(run if run.is_dir() else policy)
    learned.save_pretrained(folder)
    before, after = make_kodex_pre_post_processors(learned.config)
    before.save_pretrained(folder)
    after.save_pretrained(folder)
    print(f"{folder}: for LeRobot's --policy.path")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
