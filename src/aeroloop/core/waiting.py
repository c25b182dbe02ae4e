"""Waiting for descriptors, whatever their numbers: `select` takes those below 1024 alone, and the plant of a fleet has
more, about a hundred for each aircraft."""

from __future__ import annotations

import select
from collections.abc import Sequence

FD_SETSIZE = 1024


def readable(descriptors: Sequence[int], timeout_s: float) -> Sequence[int]:
    """Those that are readable, as soon as any is; none after the timeout."""
    if all(number < FD_SETSIZE for number in descriptors):
        return select.select(descriptors, [], [], timeout_s)[0]  # in microseconds; `poll` waits whole milliseconds
    poller = select.poll()
    for number in descriptors:
        poller.register(number, select.POLLIN)
    return [number for number, _ in poller.poll(1e3 * timeout_s)]
