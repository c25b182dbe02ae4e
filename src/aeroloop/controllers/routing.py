"""The router of a flight, a feature of every controller: between its aircraft and ground stations, in real time.

    vehicle-0 ─┬─ ground     udp 14550      all aircraft; and what else the scenario's [router] names
    vehicle-1 ─┤
               └─ bench                     dashboard and `aeroloop cmd`, all aircraft

Nothing is forwarded between aircraft. In lockstep there is no router, since ground stations run in wall time, unless it
carries the HIL link of an autopilot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from aeroloop.core.config import Config, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.tables import Role
from aeroloop.links.url import LinkUrl
from aeroloop.router.config import EndpointConfig, Forward, RouterConfig, SetRate

ROUTER = Role("router", "aeroloop.flight.processes.router", vital=False)
"""If it ends, ground stations are disconnected, as with a radio that fails."""
HIL_ROUTER = replace(ROUTER, vital=True, holds_link=True)
"""It carries the link between plant and autopilot."""
BENCH = "bench"
COMPANION = "companion"


class RouterLinks(Config, frozen=True):
    """Links of the flight's router besides its own (see docs/router.md); in real time only."""

    endpoints: Annotated[
        tuple[EndpointConfig, ...],
        note(
            "links to ground stations; a tilt-rotor, fixed wing or own aircraft has a router with the first of them; "
            "for an autopilot on `hil`, name its link here, with role `vehicle`"
        ),
    ] = ()
    forward: Annotated[tuple[Forward, ...], note("forwarding rules")] = ()
    rates: Annotated[tuple[SetRate, ...], note("set rates")] = ()


class RoutedTables(ControllerTables, frozen=True):
    """The tables of a controller whose aircraft can have ground stations."""

    router: Annotated[RouterLinks, note("links of the router between aircraft and ground stations")] = RouterLinks()

    def routed(self, flight: Scenario) -> bool:
        return not flight.lockstep and bool(self.router.endpoints)


def private_ends(folder: Path, number: int) -> tuple[str, str]:
    """The link between an aircraft and the router: the aircraft's end, and the router's."""
    return _socket(folder, f"ground{number}")


def plant_ends(folder: Path, number: int) -> tuple[str, str]:
    """The HIL link between the plant and the router: the plant's end, and the router's."""
    return _socket(folder, f"plant{number}")


def bench_ends(folder: Path) -> tuple[str, str]:
    """The link for the bench's own programs: the router's end, and theirs."""
    return _socket(folder, BENCH)


def companion_ends(folder: Path) -> tuple[str, str]:
    """The link of the flight's companion computer: the router's end, and its own."""
    return _socket(folder, COMPANION)


def composed(
    name: str,
    lines: RouterLinks,
    folder: Path,
    vehicles: Sequence[EndpointConfig],
    *,
    grounds: Sequence[EndpointConfig] = (),
    forward: Sequence[Forward] = (),
    rates: Sequence[SetRate] = (),
    lockstep: bool = False,
) -> RouterConfig:
    """The flight's own links and those of its file; the rules of the file apply first. In lockstep neither the bench's
    programs nor the router itself send anything to an aircraft."""
    apart = [Forward(a.name, b.name, max_rate_hz=0.0) for a in vehicles for b in vehicles if a.name != b.name]
    bench = () if lockstep else (EndpointConfig(BENCH, bench_ends(folder)[0], role="command"),)
    try:
        return RouterConfig(
            (*vehicles, *grounds, *bench, *lines.endpoints),
            name,
            (*lines.forward, *forward, *apart),
            (*lines.rates, *rates),
            timesync_hz=0.0 if lockstep else 1.0,
        )
    except ValueError as error:
        raise ConfigError(f"router: {error}") from None


def settings(router: RouterConfig | None, folder: Path, aircraft: int) -> dict[str, Any]:
    """The router's part of the launch settings."""
    if router is None:
        return {"ground_links": [], "router": None, "dash_link": ""}
    return {
        "ground_links": [private_ends(folder, number)[0] for number in range(aircraft)],
        "router": msgspec.to_builtins(router),
        "dash_link": bench_ends(folder)[1],
        "companion_link": companion_ends(folder)[1],
    }


def _socket(folder: Path, name: str) -> tuple[str, str]:
    link = LinkUrl("loopback", path=str(folder.absolute() / f"{name}.sock"))
    return f"{link}?listen", str(link)
