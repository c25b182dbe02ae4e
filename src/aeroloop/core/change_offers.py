"""Quantities that can be changed in flight: what the family's row offers, and the check of a change."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.changes import Change, ChangeOffer, PlannedChange, Values
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.suggest import did_you_mean
from aeroloop.core.tables import part


def change_offers(scenario: Scenario) -> tuple[ChangeOffer, ...]:
    """In the order of their numbers in the stream `change`."""
    reference = scenario.family.changes
    offered: tuple[ChangeOffer, ...] = part(reference)(scenario) if reference else ()
    return offered


def checked(change: Change | PlannedChange, scenario: Scenario, known: Sequence[ChangeOffer]) -> tuple[int, Values]:
    """Number of the quantity and its values; ConfigError in one sentence that begins with the key."""
    by_key = {offer.key: offer for offer in known}
    if change.key not in by_key:
        like = did_you_mean(change.key, by_key)
        expected = ", ".join(by_key) or "none"
        raise ConfigError(f"{change.key}: cannot be changed in this flight{like}; expected one of: {expected}")
    if change.vehicle >= scenario.aircraft.count:
        raise ConfigError(
            f"{change.key}: vehicle {change.vehicle}: there are {scenario.aircraft.count} aircraft, the first is 0"
        )
    try:
        return list(by_key).index(change.key), by_key[change.key].checked(change.value)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def check_planned_changes(scenario: Scenario) -> None:
    """Check the planned changes; ConfigError names the key in the file."""
    known = change_offers(scenario) if scenario.changes else ()
    for index, change in enumerate(scenario.changes):
        try:
            checked(change, scenario, known)
        except ConfigError as error:
            raise ConfigError(f"changes[{index}]: {error}") from None


def change_words(row: Sequence[float], known: Sequence[ChangeOffer]) -> str:
    """Description of a row of the stream `change`, from its number on."""
    number, *values = row
    if not 0 <= int(number) < len(known):
        return f"change {int(number)}"
    return known[int(number)].said(tuple(values))
