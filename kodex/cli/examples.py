"""Examples that `kodex COMMAND --help` shows; the tests parse every one of them."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": (
        "kodex run door --quick --out runs/door-quick",
        "kodex run reorientation --recipe koopman",
    ),
    "tasks": ("kodex tasks",),
    "recipes": ("kodex recipes",),
    "experts": ("kodex experts",),
    "collect": (
        "kodex collect door --episodes 250 -o door.h5",
        "kodex collect --env FetchReach-v4 --expert my_experts:reach -o reach.h5",
    ),
    "train-expert": ("kodex train-expert door --demonstrations door.h5 -o runs/expert",),
    "convert": (
        "kodex convert recording.csv -o recording.h5",
        "kodex convert door.h5 --to lerobot -o door-lerobot",
    ),
    "describe": ("kodex describe door.h5",),
    "fit": (
        "kodex fit door.h5 -o door-policy",
        "kodex fit 'demos/*.h5' -o policy --recipe koopman+monitor",
    ),
    "evaluate": (
        "kodex evaluate door-policy --task door --instances 200",
        "kodex evaluate door-policy --task door --observe-every 10 --noise 0.03",
        "kodex evaluate door-policy --task door --variation heavy-hand",
    ),
    "compare": ("kodex compare door-policy other-policy --task door",),
    "reproduce": ("kodex reproduce observables --seeds 1", "kodex reproduce operator"),
    "inspect": ("kodex inspect door-policy", "kodex inspect runs/door"),
    "render": ("kodex render rollouts.h5 -o rollouts.mp4",),
    "play": ("kodex play runs/door", "kodex play expert --task relocation"),
    "serve": ("kodex serve door-policy",),
    "export": (
        "kodex export door-policy --to onnx -o door.onnx",
        "kodex export runs/door --to web -o site",
    ),
    "doctor": ("kodex doctor",),
    "report": ("kodex report runs/door",),
    "completion": ("kodex completion bash > ~/.local/share/bash-completion/completions/kodex",),
}
