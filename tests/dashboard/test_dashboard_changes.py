"""The panel of quantities that can be changed: what is typed in it is that of the flight from its next step on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client
from test_dashboard_pages import built, watching

from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.dashboard import page_faults
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.live_control import LiveControl
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.realtime.controls import ControlPort
from aeroloop.sim.loop import Craft
from aeroloop.sim.pace import Pace

NAME = "quad-hover"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of a flight; a socket's path is short."""
    made = Path(tempfile.mkdtemp(prefix="al-"))
    yield made
    shutil.rmtree(made)


def typed(watched: WatchedFlight, key: str, *values: object) -> None:
    """A browser opens the page, types into the entries of a quantity, and presses its button."""

    def type_and_set(client: Client) -> None:
        found = {element.props.get("data-testid"): element for element in client.elements.values()}
        axes = ("",) if len(values) == 1 else ("-east", "-north", "-up")
        for axis, value in zip(axes, values, strict=True):
            found[f"change-{key}{axis}"].value = value  # type: ignore[union-attr]
        button: Any = found[f"change-{key}-set"]
        (listener,) = button._event_listeners.values()
        with button.parent_slot:
            listener.handler({})

    built(watched, page_faults.build, type_and_set)


def test_what_is_typed_reaches_the_flight_before_its_next_step(tmp_path: Path, folder: Path) -> None:
    plan = load(find(NAME), ("duration_s=0.4", "checks=[]"))
    watched = watching(tmp_path, NAME)
    watched._launch = LaunchSettings(scenario=plan, folder=str(folder), log="", supervisor_pid=1, core_draw=0)
    clock = count(step=NS)  # the plant looks for commands whenever it is asked
    port = ControlPort(folder, lambda: next(clock))
    told: list[dict[str, Any]] = []
    paces: list[Pace] = []
    controls: list[LiveControl] = []
    by_hand: dict[float, Any] = {
        0.1: lambda: typed(watched, "payload-mass_kg", 0.3),
        0.2: lambda: typed(watched, "world-wind-steady_W", 2.0, -1.0, 0.0),
        0.3: lambda: [typed(watched, "payload-mass_kg", wrong) for wrong in (1000.0, -1.0, None)],
    }

    def paced(step_ns: int) -> Pace:
        paces.append(Pace(step_ns, lockstep=True))
        return paces[0]

    def attend(fleet: Sequence[Craft]) -> str | None:
        if not controls:
            controls.append(LiveControl(port, fleet, paces[0], notice=print, changed=told.append))
        for at_s in [at_s for at_s in by_hand if fleet[0].vehicle.t_ns >= at_s * NS]:
            by_hand.pop(at_s)()
        return controls[0].attend()

    flight = fly_inline(plan, attend=attend, paced=paced)
    port.close()
    assert flight.ended == "completed" and by_hand == {}
    (log,) = flight.logs
    assert [(row[0], tuple(row[3:])) for row in log.rows["change"].tolist()] == [
        (pytest.approx(0.1, abs=0.01), (pytest.approx(0.3), pytest.approx(0.0), pytest.approx(0.0))),
        (pytest.approx(0.2, abs=0.01), (2.0, -1.0, 0.0)),
    ]
    assert log.column("air", "wind_x_m_s")[-1] == 2.0
    assert [entry["changes"]["key"] for entry in told] == ["payload.mass_kg", "world.wind.steady_W"]
