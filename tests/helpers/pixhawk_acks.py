"""Results of commands, and messages by kind, for tests of the virtual Pixhawk's services."""

from __future__ import annotations

from typing import Any

from peers.ground_peer import Bench

ACCEPTED, LATER, DENIED, UNSUPPORTED = 0, 1, 2, 3


def told(bench: Bench, kind: str) -> Any:
    bench.peers[0].drain()
    bench.run(2.0)
    return bench.peers[0].drain(kind)[-1]
