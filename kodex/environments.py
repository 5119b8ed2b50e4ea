"""The tasks in Gymnasium's registry: kodex/Tool-v0, Door-v0, Relocation-v0, Reorientation-v0.

`import kodex` is enough, before or after `import gymnasium`: what Gymnasium does not know yet is
registered as soon as it is imported. Without it: `gymnasium.make("kodex:kodex/Door-v0")`.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# task -> actions of an episode, written out so that registering loads no simulator
ACTIONS = {"tool": 99, "door": 69, "relocation": 99, "reorientation": 99}


def register() -> None:
    """Let Gymnasium know the tasks."""
    import gymnasium

    for name, actions in ACTIONS.items():
        gymnasium.register(
            id=f"kodex/{name.capitalize()}-v0",
            entry_point="kodex.tasks.environment:TaskEnvironment",
            vector_entry_point="kodex.tasks.vector_environment:TaskVectorEnvironment",
            max_episode_steps=actions,
            kwargs={"task": name},
        )


class WhenImported(MetaPathFinder):
    """Finds gymnasium as Python would, once, and registers the tasks when it has been loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where gymnasium is, with a loader that registers afterwards."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(name, path, target)
        if found is not None and found.loader is not None:
            found.loader = ThenRegister(found.loader)
        return found


class ThenRegister(Loader):
    """Loads gymnasium with its own loader, and registers the tasks."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the loader creates."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as ever, and then tell it about the tasks."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        register()


if "gymnasium" in sys.modules:
    register()
else:
    sys.meta_path.insert(0, WhenImported())
