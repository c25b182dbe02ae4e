"""Wall time spent in single calls of an object that is at work. The watch itself costs some of what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def watched(call: Callable[..., Any], spent_ns: dict[str, int], stage: str) -> Callable[..., Any]:
    """The same call; its time is added to that of the stage."""
    spent_ns.setdefault(stage, 0)

    def timed(*arguments: object, **named: object) -> Any:
        began_ns = time.perf_counter_ns()
        result = call(*arguments, **named)
        spent_ns[stage] += time.perf_counter_ns() - began_ns
        return result

    return timed


def watch(root: object, path: str, spent_ns: dict[str, int], stage: str) -> None:
    """Put a watch on the method that `path` leads to from `root`."""
    *owners, method = path.split(".")
    owner: Any = root
    for name in owners:
        owner = getattr(owner, name)
    setattr(owner, method, watched(getattr(owner, method), spent_ns, stage))
