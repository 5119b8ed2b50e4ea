"""What travels between machines: `python -m tests.cluster.machines_apart`, as root on Linux.

Three workers have a network each, with a cable that counts bytes. They sum the same blocks twice:
once each sum comes to this process, and once the workers add them in a tree. Both totals, and that
of this process alone, must be the same to the last bit.
"""

import distributed

from benchmarks.large_fits import Endless
from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import made_demonstrations
from kodex.cluster import ClusterExecutor
from kodex.demonstrations.spreading import BLOCK, spread
from kodex.koopman import TransitionMoments
from kodex.least_squares import one_blas_thread
from kodex.lifting import PaperPolynomial
from tests.cluster.own_cluster import bytes_through, own_cluster

WORKERS, BLOCKS = 3, 16
DEVICES = ("kodex-bridge", *(f"kodex-cable-{number}" for number in range(WORKERS)))


def main():
    some = with_actions(made_demonstrations("door", 20))
    shown = Endless(some, range(BLOCKS * BLOCK))
    lifting = PaperPolynomial(some[0].layout, number=3)

    @one_blas_thread()
    def total(demonstrations):
        return TransitionMoments.with_actions(lifting, demonstrations, len(some[0].layout.robot))

    alone = total(shown)
    size = sum(each.nbytes for each in (alone.gram, alone.cross, alone.after, alone.outputs))
    print(f"{BLOCKS} sums of p = {len(alone.gram)}, {size / 1e6:.1f} MB each", flush=True)
    with (
        own_cluster(WORKERS, apart=True) as (address, _),
        distributed.Client(address, set_as_default=False) as client,
    ):
        for name, executor in (
            ("every sum comes here", client.get_executor(pure=False)),
            ("workers add", ClusterExecutor(client)),
        ):
            before = [bytes_through(device) for device in DEVICES]
            found = total(spread(shown, executor))
            after = [bytes_through(device) for device in DEVICES]
            here, *sent = [(now - then) / 1e6 for now, then in zip(after, before, strict=True)]
            assert found.gram.tobytes() == alone.gram.tobytes()
            assert found.cross.tobytes() == alone.cross.tobytes()
            assert found.transitions == alone.transitions
            print(
                f"{name}: {sum(sent):.1f} MB sent by {WORKERS} workers, {here:.1f} MB of them to "
                "this process; the same bits as alone",
                flush=True,
            )


if __name__ == "__main__":
    main()
