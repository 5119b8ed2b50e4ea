"""How large the networks are: three sizes a method, and the one that the paper chose for a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Size = Literal["small", "median", "large"]
SIZES: Mapping[str, Size] = {"small": "small", "median": "median", "large": "large"}


@dataclass(frozen=True)
class LstmSize:
    """Inputs of the gates, and the length of the memory."""

    inputs: int
    hidden: int


@dataclass(frozen=True)
class NdpSize:
    """Hidden layers, and bumps of the force."""

    hidden: tuple[int, ...]
    bumps: int


@dataclass(frozen=True)
class NgfSize:
    """Hidden layers of the fabric's networks, and the width of the transformer if there is one."""

    hidden: tuple[int, ...]
    width: int


NN: Mapping[Size, tuple[int, ...]] = {
    "small": (32, 64, 32),
    "median": (64, 128, 64),
    "large": (128, 256, 128),
}
LSTM: Mapping[Size, LstmSize] = {
    "small": LstmSize(100, 200),
    "median": LstmSize(175, 250),
    "large": LstmSize(250, 300),
}
NDP: Mapping[Size, NdpSize] = {
    "small": NdpSize((32, 64, 32), bumps=10),
    "median": NdpSize((64, 128, 64), bumps=20),
    "large": NdpSize((128, 256, 128), bumps=30),
}
NGF: Mapping[Size, NgfSize] = {
    "small": NgfSize((64, 32), width=32),
    "median": NgfSize((128, 64), width=64),
    "large": NgfSize((256, 128), width=128),
}

# What won the paper's comparison on its validation set (its appendix F).
CHOSEN: Mapping[str, Mapping[str, Size]] = {
    "nn": {
        "tool": "small",
        "door": "median",
        "relocation": "median",
        "reorientation": "median",
    },
    "lstm": {
        "tool": "median",
        "door": "small",
        "relocation": "large",
        "reorientation": "small",
    },
    "ndp": {
        "tool": "large",
        "door": "large",
        "relocation": "large",
        "reorientation": "large",
    },
    "ngf": {
        "tool": "median",
        "door": "large",
        "relocation": "large",
        "reorientation": "large",
    },
}
SHARED: Mapping[str, str] = {"ngf-time": "ngf"}  # sized alike


def chosen(method: str, task: str | None) -> Size:
    """Return the size of `method` for `task`; median for a task that the paper does not have."""
    return CHOSEN.get(SHARED.get(method, method), {}).get(task or "", "median")
