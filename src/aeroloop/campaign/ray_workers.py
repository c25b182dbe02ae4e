"""Flights on a ray cluster. The driver stays on its machine and is the only writer; nodes return reports.

    driver ── task, its build ──▶ ray task on a node ── socket ──▶ worker process (`worker.py`) ──▶ report, back

A ray task holds one worker process as a local driver does, so the kernel ends a flight with all its processes when the
ray process ends: with its raylet, with the driver, or by a signal. ray flies again what a lost node had.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import platform
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.campaign import builds
from aeroloop.campaign.builds import Build
from aeroloop.campaign.driver import POLL_S, Ended
from aeroloop.campaign.local_workers import LocalWorkers
from aeroloop.campaign.worker import Report, Task, encoded
from aeroloop.core.errors import EXIT_LINK, EXIT_USAGE, ConfigError, LinkError
from aeroloop.core.paths import SCENARIOS

MAX_RETRIES = 3
"""Of ray, for a flight whose node or ray process was lost; the campaign's own `retries` come after these."""
ATTEMPTS = 2
"""To connect: the server of `ray://` forks one for each driver, which sometimes does not start."""
COUNTED_EVERY_S = 10.0
AUTH_MODE, TOKEN, TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


class NodeFlight(msgspec.Struct, frozen=True):
    """What a node gets: a flight, the driver's build, and the wall time of the flight at most."""

    task: Task
    build: Build
    limit_s: float


_workers: LocalWorkers | None = None


def fly_on_node(order: bytes) -> bytes:
    """Runs on a node, in a process of ray that flies one flight after another."""
    global _workers
    given = msgspec.json.decode(order, type=NodeFlight)
    if why := builds.refusal(builds.own(), given.build):
        return encoded(Report(given.task.key, why=f"node {platform.node()}: {why}", exit_code=EXIT_USAGE))
    if _workers is None:
        _workers = LocalWorkers(1)
    for ended in _workers.reports(deque([given.task]), given.limit_s):
        if ended is not None:
            return encoded(_named(ended[1]))
    raise AssertionError("a worker reports every flight")


def _named(report: Report) -> Report:
    """A report of what could not be flown names its node."""
    if report.outcome is not None:
        return report
    return Report(report.key, why=f"node {platform.node()}: {report.why}", exit_code=report.exit_code)


class RayWorkers:
    """`with RayWorkers("ray://head:10001", None, 1) as workers:`; `count` is by default that of the cluster's
    processors, and follows nodes that come and go."""

    def __init__(self, address: str, count: int | None, processors: int) -> None:
        """`processors`: that one flight keeps busy."""
        self._address, self._given, self._processors = address, count, processors
        self._ray: Any = None
        self._counted_s = 0.0
        self.count = count or 1

    def __enter__(self) -> RayWorkers:
        self._ray = connected(self._address)
        options = {"num_cpus": self._processors, "max_retries": MAX_RETRIES}
        self._fly = self._ray.remote(**options)(fly_on_node)
        self._count()
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()  # ends what still flies, with its processes

    def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
        flying: dict[Any, Task] = {}
        while waiting or flying:
            if time.monotonic() - self._counted_s > COUNTED_EVERY_S:
                self._count()
            while waiting and len(flying) < self.count:
                task = waiting.popleft()
                flying[self._fly.remote(msgspec.json.encode(NodeFlight(portable(task), builds.own(), limit_s)))] = task
            ready, _ = self._asked("wait", list(flying), num_returns=1, timeout=POLL_S)
            if not ready:
                yield None
            for reference in ready:
                task = flying.pop(reference)
                yield task, self._report(task, reference)

    def _report(self, task: Task, reference: Any) -> Report:
        try:
            return msgspec.json.decode(self._ray.get(reference), type=Report)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            why = f"a node of {self._address} cannot fly: {type(cause).__name__}: {_line(cause)}"
            if isinstance(cause, ImportError | AttributeError):
                why += "; expected the driver's version of aeroloop on every node"
                return Report(task.key, why=why, exit_code=EXIT_USAGE)
            return Report(task.key, why=why, exit_code=EXIT_LINK)
        except ConnectionError:
            raise self._lost() from None
        except self._ray.exceptions.RayError as error:
            return Report(task.key, why=f"lost by the cluster: {_line(error)}", exit_code=EXIT_LINK)

    def _asked(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._ray, name)(*arguments, **options)
        except (ConnectionError, self._ray.exceptions.RaySystemError):
            raise self._lost() from None

    def _lost(self) -> LinkError:
        return LinkError(f"{self._address}: the connection to the cluster was lost; what was flown is kept")

    def _count(self) -> None:
        self._counted_s = time.monotonic()
        if self._given is None:
            there = int(self._asked("cluster_resources").get("CPU", 0))
            self.count = max(1, there // self._processors)


def portable(task: Task) -> Task:
    """With the path of a shipped scenario relative to their folder, which may differ on a node, and without a
    folder of this machine."""
    task, path = msgspec.structs.replace(task, kept=None), Path(task.path)
    if not path.is_relative_to(SCENARIOS):
        return task
    return msgspec.structs.replace(task, path=str(path.relative_to(SCENARIOS)))


def connected(address: str) -> Any:
    """The module ray, as a driver of the cluster. ConfigError or LinkError says why not."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--on {address} needs ray, which is not installed: pip install 'aeroloop[cluster]'")
    if address.startswith("ray://") and importlib.util.find_spec("grpc") is None:
        raise ConfigError(f"--on {address} needs grpcio, which is not installed: pip install 'aeroloop[cluster]'")
    prepare(os.environ)
    import ray

    why = ""
    for _ in range(ATTEMPTS):
        try:
            ray.init(address, namespace="aeroloop", log_to_driver=False, logging_level=logging.ERROR)
            return ray
        except ray.exceptions.AuthenticationError as error:
            raise ConfigError(
                f"--on {address}: {_line(error)}; expected {TOKEN_FILE} with the token of the cluster"
            ) from None
        except (ConnectionError, TimeoutError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            why = _line(error)
    raise LinkError(f"--on {address}: no connection to a ray cluster: {why}")


def prepare(environment: Any) -> None:
    """Set what ray reads when it is imported: authentication by token, no statistics for its makers."""
    mode = environment.setdefault(AUTH_MODE, "token")
    if mode.lower() != "token":
        raise ConfigError(
            f"{AUTH_MODE}={mode}: a cluster without authentication executes any code that it receives; expected token"
        )
    environment["RAY_USAGE_STATS_ENABLED"] = "0"
    given = environment.get(TOKEN) or environment.get(TOKEN_FILE)
    usual = Path(environment.get("HOME", "~")).expanduser() / ".ray" / "auth_token"
    if not given and not usual.is_file():
        raise ConfigError(f"{usual}: no such file; expected the token of the cluster there or in {TOKEN_FILE}")


def _line(error: BaseException) -> str:
    """Its first line with words; of a traceback in words the last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1 if any(line.startswith("Traceback") for line in lines) else 0][:300]
