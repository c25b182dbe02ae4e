"""How well time is kept is logged for whichever aircraft flies: the worst of 20 ms, and every deadline missed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aeroloop.core import tables
from aeroloop.core.signals import NS, Event
from aeroloop.core.streams import streams_of_kind
from aeroloop.core.tables import FAMILIES
from aeroloop.families.fixedwing.rows import FixedWingRows
from aeroloop.families.freebody.build import Rows as FreeBodyRows
from aeroloop.families.helicopter.build import Rows as HelicopterRows
from aeroloop.families.helicopter.reference import Reference as HelicopterReference
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.rrr.build import Rows as RobotRows
from aeroloop.families.rrr.reference import Reference, Wanted
from aeroloop.families.rrr.robot import Robot
from aeroloop.families.tiltrotor.rows import TiltrotorRows
from aeroloop.flight.live_control import PaceLog

STEP_NS = 4_000_000


class Kept(dict[str, Any]):
    """Publishers that keep their rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, tuple[float, ...]]] = []

    def __missing__(self, name: str) -> Any:
        return lambda *row: self.rows.append((name, row))


def rows_of(family: str, kept: Kept) -> Any:
    return {
        "tiltrotor": lambda: TiltrotorRows(kept, 3 * STEP_NS, lambda: None),
        "quadrotor": lambda: MultirotorRows(kept, 4),
        "fixedwing": lambda: FixedWingRows(kept),
        "helicopter": lambda: HelicopterRows(kept, HelicopterReference(), lambda: None),
        "freebody": lambda: FreeBodyRows(kept),
        "rrr": lambda: RobotRows(kept, Wanted(Robot(), Reference())),
    }[family]()


@pytest.mark.parametrize("family", [name for name in FAMILIES if tables.family(name).name == name])
def test_every_aircraft_logs_the_worst_lateness_and_the_deadlines_missed(family: str) -> None:
    kept = Kept()
    rows = rows_of(family, kept)
    pace: Any = SimpleNamespace(lockstep=False, lateness_s=0.0, missed_deadlines=0)
    vehicle: Any = SimpleNamespace(t_ns=0)
    vehicle.log_event = lambda event, value: rows.event(vehicle.t_ns, event, value)
    vehicle.note_pace = lambda lateness_s, missed: rows.pace(vehicle.t_ns, lateness_s, missed)
    log = PaceLog(pace, vehicle)
    for step in range(11):
        vehicle.t_ns, pace.lateness_s = step * STEP_NS, 0.003 if step == 7 else 0.001
        pace.missed_deadlines = 3 if step >= 7 else 0
        log.attend()
    paces = [row for name, row in kept.rows if name == "pace"]
    assert [row[0] for row in paces] == pytest.approx([0.0, 0.02, 0.04])
    assert [row[-2:] for row in paces] == [(0.001, 0), (0.001, 0), (0.003, 3)]
    (event,) = [row for name, row in kept.rows if name == "event"]
    assert (event[0], *event[-2:]) == (7 * STEP_NS / NS, Event.DEADLINE_MISSED, 3)
    names = {stream.name: stream.names for stream in streams_of_kind(family)}
    assert all(len(row) + 1 == len(names[name]) for name, row in kept.rows), "but for the aircraft's number"


def test_in_lockstep_there_is_nothing_to_log() -> None:
    vehicle: Any = SimpleNamespace(t_ns=0)
    PaceLog(SimpleNamespace(lockstep=True), vehicle).attend()  # type: ignore[arg-type]
    assert vars(vehicle) == {"t_ns": 0}
