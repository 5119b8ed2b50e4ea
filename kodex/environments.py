"""The tasks in Gymnasium's registry: kodex/Tool-v0, Door-v0, Relocation-v0, Reorientation-v0.

Importing this module registers them, and `import kodex` does so too if gymnasium is there already.
In one line, whatever was imported: `gymnasium.make("kodex.environments:kodex/Door-v0")`.
"""

import gymnasium

# task -> actions of an episode, written out so that registering loads no simulator
ACTIONS = {"tool": 99, "door": 69, "relocation": 99, "reorientation": 99}


def _register() -> None:
    for name, actions in ACTIONS.items():
        gymnasium.register(
            id=f"kodex/{name.capitalize()}-v0",
            entry_point="kodex.tasks.environment:TaskEnvironment",
            vector_entry_point="kodex.tasks.vector_environment:TaskVectorEnvironment",
            max_episode_steps=actions,
            kwargs={"task": name},
        )


_register()
