"""A viewer commands nothing: what its pages hold, what its flight refuses, and what its socket may speak for."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client
from test_dashboard_pages import built, watching

from aeroloop.core.fault_offers import offers
from aeroloop.dashboard import page_faults, page_fly, page_view, plant_commands, simulation_bar
from aeroloop.dashboard.app import PAGES
from aeroloop.dashboard.fly_commands import take_command
from aeroloop.dashboard.fly_page_state import state_of
from aeroloop.dashboard.roles import SCOPE_KEY, ViewOnlyError
from aeroloop.dashboard.socket_roles import EVENTS, guard_sockets
from aeroloop.dashboard.stick_driver import autopilot_driver
from aeroloop.dashboard.viewed_flight import ViewedFlight
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.realtime.flight_clock import ClockOut

COMMANDS = {"arm", "disarm", "takeoff", "land", "return", "hold", "goto", "set-mode", "mission-upload", "mission-start"}
COMMANDS |= {"take-command", "stick-take", "param-set", "param-load", "plan-clear", "end-flight", "end-flight-yes"}


def handled(client: Client) -> set[str]:
    """Marks of the elements that are shown and act on events of the browser."""
    return {
        element.props["data-testid"]
        for element in client.elements.values()
        if element._event_listeners and "data-testid" in element.props and element.visible
    }


def commanded(tmp_path: Path) -> WatchedFlight:
    """A flight that runs, as far as its pages know."""
    watched = watching(tmp_path, "quad-free")
    assert watched.scenario is not None
    watched._launch = LaunchSettings(
        scenario=watched.scenario, folder=str(tmp_path), log="", supervisor_pid=1, core_draw=0
    )
    return watched


def test_a_viewers_pages_have_no_handler_that_commands(tmp_path: Path) -> None:
    watched = commanded(tmp_path)
    assert built(watched, page_fly.build, handled) >= COMMANDS - {"take-command"}  # shown once another commands
    for each in PAGES:
        found = built(ViewedFlight(watched), each.build, handled)
        assert not found & COMMANDS, each.title
    assert "camera-top" in built(ViewedFlight(watched), page_view.build, handled), "it may look"


def test_a_viewers_flight_refuses_every_command_and_shares_all_state(tmp_path: Path) -> None:
    watched = commanded(tmp_path)
    viewed = ViewedFlight(watched)
    assert watched.scenario is not None
    assert viewed.store is watched.store and state_of(viewed) is state_of(watched)
    watched.flight_id = "two"
    assert viewed.flight_id == "two"
    with pytest.raises(ViewOnlyError):
        asyncio.run(viewed.command(lambda aircraft: aircraft.arm()))
    with pytest.raises(ViewOnlyError):
        viewed.switch(offers(watched.scenario)[0].switch(on=True))
    with pytest.raises(ViewOnlyError):
        viewed.choose("three")
    with pytest.raises(ViewOnlyError):
        viewed.end()
    with pytest.raises(ViewOnlyError):
        viewed.control()
    with pytest.raises(ViewOnlyError):
        take_command(viewed)
    assert viewed.launch is None and viewed.station is None, "nothing that a page could command with"
    with pytest.raises(Exception, match="no flight is running"):
        asyncio.run(autopilot_driver(viewed, state_of(viewed).hands, 0))
    told = len(watched.notices)
    viewed.notice("spam")
    assert len(watched.notices) == told


def test_a_commander_ends_the_flight_at_its_plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = commanded(tmp_path)
    ended: list[Any] = []
    monkeypatch.setattr(
        plant_commands, "Controls", lambda folder: SimpleNamespace(end=lambda by: ended.append((folder, by)))
    )

    def press(client: Client) -> None:
        (button,) = (e for e in client.elements.values() if e.props.get("data-testid") == "end-flight-yes")
        (listener,) = button._event_listeners.values()
        with button.parent_slot:  # type: ignore[union-attr]
            listener.handler({})  # type: ignore[misc]

    built(watched, page_view.build, press)
    assert ended == [(tmp_path, "page")]


def test_a_viewer_cannot_switch_a_fault_by_an_event_of_its_own_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = commanded(tmp_path)
    switched: list[Any] = []
    monkeypatch.setattr(plant_commands, "Controls", lambda _folder: SimpleNamespace(switch=switched.append))

    def press(client: Client) -> None:
        (switch,) = (e for e in client.elements.values() if e.props.get("data-testid") == "fault-gnss-silent")
        switch.value = True  # type: ignore[attr-defined]  # as its event would

    built(watched, page_faults.build, press)
    assert len(switched) == 1
    built(ViewedFlight(watched), page_faults.build, press)
    assert len(switched) == 1


SIMULATION = ("sim-pause", "sim-step", "sim-speed", "sim-restart", "sim-restart-yes", "change-payload-mass_kg-set")


async def pressed(client: Client) -> dict[str, bool]:
    """Presses everything that controls the simulation, whatever is greyed out; whether each was active."""
    found = {e.props.get("data-testid"): e for e in client.elements.values()}
    active = {}
    for name in SIMULATION:
        element: Any = found[name]
        active[name] = element.enabled
        if name == "sim-speed":
            element.value = "0.25"
            continue
        (listener,) = element._event_listeners.values()
        with element.parent_slot:
            listener.handler({})
    for _ in range(10):  # what was pressed is done in tasks
        await asyncio.sleep(0)
    return active


def test_the_simulation_is_controlled_by_commanders_and_only_shown_to_viewers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = commanded(tmp_path)
    watched._folder = tmp_path
    out = ClockOut((tmp_path,), 1.0)
    asked: list[str] = []

    class Control:
        def __init__(self, launch: LaunchSettings) -> None: ...
        def __getattr__(self, name: str) -> Any:
            return lambda *args, **more: asked.append(name)

    async def at_once(action: Any, control: Any) -> None:
        asked.append(action.__name__) if action.__name__ != "<lambda>" else action(control)

    monkeypatch.setattr(plant_commands, "FlightControl", Control)
    monkeypatch.setattr(simulation_bar.asyncio, "to_thread", at_once)
    for paused, toggled in ((False, "pause"), (True, "resume")):
        out.tell(paused=paused, speed=1.0, t_ns=0)
        asked.clear()
        active = built(watched, page_faults.build, pressed)
        assert all(active.values())
        assert {*asked} == {toggled, "step", "set_speed", "restart", "change"}
    asked.clear()
    active = built(ViewedFlight(watched), page_faults.build, pressed)
    assert asked == [], "refused by the server"
    assert [name for name, able in active.items() if able] == ["sim-restart-yes"], "in a dialog that cannot be opened"
    out.close()


class Sockets:
    """Stands in for the server of websockets: one of a commander and one of a viewer."""

    def __init__(self) -> None:
        self.passed: list[tuple[str, str]] = []
        self.handlers = {"/": {event: self._handler(event) for event in EVENTS}}

    def _handler(self, event: str) -> Any:
        def handle(sid: str, data: Any) -> bool:
            self.passed.append((sid, event))
            return True

        return handle

    def get_environ(self, sid: str) -> dict[str, Any]:
        return {"asgi.scope": {SCOPE_KEY: sid} if sid == "command" else {}}

    def send(self, sid: str, event: str, client_id: str) -> None:
        data = {"client_id": client_id}
        if event == "connect":
            data = {**self.get_environ(sid), "QUERY_STRING": f"client_id={client_id}&implicit_handshake=true"}
        asyncio.run(self.handlers["/"][event](sid, data))


@pytest.mark.parametrize("event", EVENTS)
def test_a_viewers_socket_speaks_for_pages_of_viewers_alone(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {role: SimpleNamespace(request=SimpleNamespace(scope={SCOPE_KEY: role})) for role in ("command", "view")}
    monkeypatch.setattr(Client, "instances", pages)
    sockets, refused = Sockets(), Counter[str]()
    guard_sockets(sockets, refused)
    guard_sockets(sockets, refused)  # a second server of the process
    for sid in ("command", "view"):
        for page in ("command", "view"):
            sockets.send(sid, event, page)
    assert sockets.passed == [("command", event), ("command", event), ("view", event)]
    assert refused == {"role": 1}


def test_every_message_that_nicegui_takes_is_guarded() -> None:
    from nicegui import core

    assert set(core.sio.handlers["/"]) == {*EVENTS, "disconnect"}, "a new message of nicegui needs a guard"
