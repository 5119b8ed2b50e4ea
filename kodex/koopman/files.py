"""Koopman models on disk: a folder each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.koopman.dynamics import STORED_TYPE, KoopmanDynamics
from kodex.storage import Stored, read_model, write_model


def save(
    dynamics: KoopmanDynamics,
    folder: str | Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `dynamics` to `folder`, whole or not at all; an existing one only if `replace`."""
    return write_model(dynamics.stored(), folder, provenance=provenance, replace=replace)


def load(folder: str | Path) -> KoopmanDynamics:
    """Return the Koopman dynamics in `folder`: saved by themselves, or as part of a policy."""
    stored = _koopman_part(read_model(folder))
    if stored is None:
        raise InputError(f"{folder} holds a kodex model, but no Koopman dynamics")
    try:
        return KoopmanDynamics.restore(stored)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder} does not describe Koopman dynamics: {error!r}") from None


def _koopman_part(stored: Stored) -> Stored | None:
    if stored.type == STORED_TYPE:
        return stored
    part = stored.parts.get("dynamics", stored.parts.get("inner"))
    return None if part is None else _koopman_part(part)
