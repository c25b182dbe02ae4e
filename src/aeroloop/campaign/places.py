"""Where a campaign flies, `--on`: processes of this machine, or a ray cluster."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager

from aeroloop.batch.engine import Target
from aeroloop.campaign.driver import Workers
from aeroloop.campaign.local_workers import LocalWorkers
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan

LOCAL, GPU = "local", "gpu"
_ADDRESS = re.compile(r"(ray://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")
"""Of a cluster: `ray://HOST:PORT` from any machine, `HOST:PORT` from one of its nodes."""


def workers_at(on: str, count: int | None, plan: Plan) -> AbstractContextManager[Workers]:
    """`count`: flights at a time; by default as many as the processors fly."""
    checked(on)
    if on == LOCAL:
        return LocalWorkers(count or default_workers(plan))
    from aeroloop.campaign.ray_workers import RayWorkers

    return RayWorkers(on, count, processors_of(plan))


def batch_target(on: str) -> Target:
    """What the batch engine compiles for."""
    targets: dict[str, Target] = {LOCAL: "lanes", GPU: "cuda"}
    if on not in targets:
        raise ConfigError(f"--on {on}: a batch flies on this machine; expected local or gpu")
    return targets[on]


def checked(on: str, engine: str = "bench") -> str:
    """ConfigError if it is no place to fly."""
    if engine == "batch":
        batch_target(on)
        return on
    if on == GPU:
        raise ConfigError("--on gpu: the bench flies on processors; expected --engine batch, or --on local")
    address = _ADDRESS.fullmatch(on)
    if on != LOCAL and (address is None or not 0 < int(address[3]) < 65536):
        raise ConfigError(f"--on {on}: expected local, ray://HOST:PORT, or HOST:PORT of a cluster this machine is in")
    return on


def default_workers(plan: Plan) -> int:
    """One for each processor; on pil, where an emulator runs beside the plant, one for every two."""
    return max(1, len(os.sched_getaffinity(0)) // processors_of(plan))


def processors_of(plan: Plan) -> int:
    """That one flight keeps busy."""
    return 2 if plan.loop == "pil" else 1
