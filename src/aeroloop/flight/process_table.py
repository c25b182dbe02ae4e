"""The processes of a flight: recorder and plant, those of each part's controller and cameras, and intentional
background load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aeroloop.core import trust
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan, parts_of, prefix
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import MEMORY, OURS, Role, made, part
from aeroloop.flight import camera_link

RECORDER = Role("recorder", "aeroloop.flight.processes.recorder")
PLANT = "aeroloop.flight.processes.plant"
CAMERA = Role(
    "camera",
    "aeroloop.flight.processes.camera",
    peers=("recorder",),
    vital=False,
    without="camera images",
    # Without these MuJoCo looks for a display, and Mesa takes the plant's cores.
    environment=(("MUJOCO_GL", "egl"), ("LP_NUM_THREADS", "1")),
    ends_by_recorder=True,
    restarts=1,
)
COMPANION = Role(
    "companion",
    "aeroloop.flight.processes.companion",
    peers=("camera",),
    vital=False,
    without="its companion computer",
    ends_by_recorder=True,
)
SHARED = ("recorder", "plant")
"""Processes that serve all parts."""
BUSY = "aeroloop.flight.processes.busy"


@dataclass(frozen=True)
class Process:
    """A process of a flight: its role, and the part whose launch settings it gets."""

    role: Role
    part: int | None = None  # None: it serves all parts, with the launch settings of the first
    prefix: str = ""  # of the part's processes; within a part, peers are named without it


def processes(plan: Plan) -> tuple[Process, ...]:
    """In the order in which their links open: servers before clients."""
    others: list[Process] = []
    for number, scenario in enumerate(parts_of(plan)):
        own = prefix(plan, scenario)
        others += [Process(_prefixed(role, own), number, own) for role in _own_roles(scenario)]
    plant = Role("plant", PLANT, tuple(each.role.name for each in others if "plant" in each.role.peers))
    burners = (Process(Role(f"busy-{i}", BUSY)) for i in range(plan.busy_processes))
    return (Process(RECORDER), Process(plant), *others, *burners)


def roles(plan: Plan) -> tuple[Role, ...]:
    return tuple(process.role for process in processes(plan))


def modules(plan: Plan) -> list[str]:
    """Modules of this package that processes of the flight are going to import; the order does not matter."""
    named = [process.role.main for process in processes(plan) if not process.role.environment]
    for scenario in parts_of(plan):
        family, controller = scenario.family, scenario.flown_by
        named += [family.tables, family.streams, family.vehicle, family.shape, family.faults, family.law]
        named += [controller.tables, controller.inline if scenario.inline else controller.exchange]
    return [module for module in dict.fromkeys(name.partition(":")[0] for name in named) if module.startswith(OURS)]


def _own_roles(scenario: Scenario) -> tuple[Role, ...]:
    own = _controllers_roles(scenario)
    if scenario.cameras:
        own += (CAMERA,)
    if scenario.watched_camera is not None:
        own += (COMPANION if scenario.slam is not None else replace(COMPANION, peers=_turning(scenario)),)
    return own


def _turning(scenario: Scenario) -> tuple[str, ...]:
    """In lockstep a landing companion takes turns with the process in which the autopilot runs."""
    return "camera", "plant" if scenario.inline else "board"


def _controllers_roles(scenario: Scenario) -> tuple[Role, ...]:
    """None if the controller runs in the plant's process."""
    found: tuple[Role, ...] = () if scenario.inline else part(scenario.flown_by.roles)(scenario)
    return found


def _prefixed(role: Role, prefix: str) -> Role:
    peers = tuple(peer if peer in SHARED else f"{prefix}{peer}" for peer in role.peers)
    return replace(role, name=f"{prefix}{role.name}", peers=peers)


def check_links(settings: Sequence[Mapping[str, Any]]) -> None:
    """Check that no two parts use the same link; `settings` are the launch settings of each."""
    taken: dict[str, int] = {}
    for number, own in enumerate(settings):
        links = [own.get("link_server", ""), own.get("reference_server", "")]
        for url in (*links, *(server for server, _ in own.get("vehicle_links", ()))):
            if url and taken.setdefault(url, number) != number:
                raise ConfigError(
                    f"aircraft[{number}].link.url: {url} is a link of aircraft[{taken[url]}] too; "
                    "expected another port for each, or port 0 for any that is free"
                )


def launch_settings(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """The controller's part of `LaunchSettings`; ConfigError if the scenario cannot be flown."""
    row = scenario.flown_by
    for key, file in scenario.files().items():
        if scenario.file_names[key].endswith(".py"):  # executed by a process of the flight
            trust.check(Path(file), key)
    if scenario.inline:
        if not (row.inline and scenario.lockstep):
            raise ConfigError(
                f"link.url: {MEMORY} is for lockstep on mil, sil and pil; expected a link between processes"
            )
        scenario = with_value(scenario, "link.url", "loopback://")  # whose ends no process opens
    if scenario.cameras and (missing := camera_link.lacks(streams_of(scenario))):
        raise ConfigError(missing)
    check = scenario.family.check
    if check:
        made(check, scenario)
    settings: dict[str, Any] = part(row.launch)(scenario, folder)
    return settings
