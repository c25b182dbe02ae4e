"""Collisions in a flight's log: how many, and with what, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aeroloop.analysis.vehicle_log import happened
from aeroloop.core.fleet import Fleet
from aeroloop.core.scenario import Check, Scenario
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log
from aeroloop.world.object_kinds import names as object_names
from aeroloop.world.objects import MOST_OBJECTS

COLLISIONS = "collisions"


def metrics(log: Log) -> dict[str, float]:
    return {COLLISIONS: happened(log, Event.COLLISION)}


def implied(scenario: Scenario, *, in_fleet: bool) -> tuple[Check, ...]:
    """A flight among objects or beside others is to touch none, unless its scenario has a check of that."""
    anything = in_fleet or scenario.aircraft.count > 1 or object_names(scenario)
    return (Check(metric=COLLISIONS, equals=0.0),) if anything else ()


def name_of(value: float, objects: Sequence[str], aircraft: Sequence[str]) -> str:
    """Of what was touched, from the value of the event; a number if the flight has no such name."""
    if value != value or abs(value) > MOST_OBJECTS:
        return f"{value:g}"
    number, names = (int(value), objects) if value >= 0.0 else (-1 - int(value), aircraft)
    return names[number] if number < len(names) else f"{'object' if value >= 0.0 else 'vehicle'} {number}"


def named(events: list[dict[str, Any]], scenario: Scenario, aircraft: Sequence[str]) -> list[dict[str, Any]]:
    """Events whose collisions have a name as their value."""
    objects = object_names(scenario)
    return [
        {**event, "value": name_of(float(event["value"]), objects, aircraft)}
        if event["event"] == Event.COLLISION.name
        else event
        for event in events
    ]


def aircraft_names(fleet: Fleet) -> tuple[str, ...]:
    """Of all aircraft of a flight, in the order of their numbers in events."""
    return tuple(
        part.name if part.aircraft.count == 1 else f"{part.name} vehicle {number}"
        for part in fleet.parts
        for number in range(part.aircraft.count)
    )
