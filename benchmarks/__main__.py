"""Run every benchmark: `python -m benchmarks`, or only some: `python -m benchmarks koopman`."""

import sys
from importlib import import_module

BENCHMARKS = (
    "koopman",
    "learning",
    "training",
    "pykoop_fit",
    "simulation",
    "latency",
    "large_fits",
    "single_precision",
    "spreading",
)


def main(wanted: list[str]) -> int:
    unknown = set(wanted) - set(BENCHMARKS)
    if unknown:
        print(f"there is no benchmark {sorted(unknown)}; choose from {', '.join(BENCHMARKS)}")
        return 2
    for name in wanted or BENCHMARKS:
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
