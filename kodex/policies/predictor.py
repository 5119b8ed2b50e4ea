"""Any policy behind Stable-Baselines3's `predict`, for tools that evaluate or record with it.

An observation is the state, followed by the context if the policy needs one, as the environments of
kodex show it with `context=True`. Rows are episodes, which begin and end at their own times.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.trajectory import Array

Memories = tuple[Any, ...]  # one episode each


class Predictor:
    """A policy with the method that Stable-Baselines3's `evaluate_policy` calls."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        layout = policy.spec.layout
        if layout is None or policy.spec.substeps != 1:
            raise InputError("predict needs a policy that observes states, once per step")
        self._state_size = layout.size

    def predict(
        self,
        observation: Any,
        state: Memories | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[Array, Memories]:
        """Return actions and the state to hand back, (episodes, n) -> (episodes, m).

        Rows whose `episode_start` is true begin anew, all of them if there is no `state`. One
        observation, (n,), gives one action. Policies are deterministic, whatever is asked for.
        """
        rows = np.asarray(observation, dtype=np.float64)
        size = self._state_size + len(self.policy.spec.context)
        if rows.ndim not in (1, 2) or rows.shape[-1] != size:
            raise InputError(
                f"an observation has {self._state_size} numbers of the state and "
                f"{len(self.policy.spec.context)} of the context; found {rows.shape}"
            )
        batch = np.atleast_2d(rows)
        if state is not None and len(state) != len(batch):
            raise InputError(
                f"the state is of {len(state)} episodes; there are {len(batch)} observations"
            )
        begins = np.ones(len(batch), dtype=bool)
        if state is not None:
            begins[:] = False if episode_start is None else episode_start
        memories = () if state is None else state
        steps = [
            self._step(row, None if begins[at] else memories[at], bool(begins[at]))
            for at, row in enumerate(batch)
        ]
        actions = np.array([action for action, _ in steps])
        return actions if rows.ndim == 2 else actions[0], tuple(memory for _, memory in steps)

    def _step(self, row: Array, memory: Any, begins: bool) -> tuple[Array, Any]:
        """Return one episode's action, (m,), and its memory after it."""
        seen, given = row[None, : self._state_size], row[None, self._state_size :]
        if begins:
            memory = self.policy.begin(seen, given if self.policy.spec.context else None)
        step = self.policy.step(memory, seen)
        limits, action = self.policy.spec.control.action_range, step.actions[0]
        return action if limits is None else limits.clip(action), step.memory
