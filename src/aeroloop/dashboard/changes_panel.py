"""The panel of quantities that can be changed in flight: wind, mass, battery."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from aeroloop.core.change_offers import change_offers
from aeroloop.core.changes import ChangeOffer, Values
from aeroloop.core.errors import AeroloopError
from aeroloop.core.stream import KEYS
from aeroloop.dashboard import from_browser
from aeroloop.dashboard.layout import card
from aeroloop.dashboard.watched_flight import WatchedFlight

NO_CHANGES = "This aircraft has no quantities that can be changed in flight."


def element_id(offer: ChangeOffer) -> str:
    """`change-payload-mass_kg`."""
    return "-".join(("change", *offer.key.split(".")))


def present(watched: WatchedFlight, number: int, offer: ChangeOffer, vehicle: int) -> Values:
    """The value after the newest change."""
    if watched.store.names("change"):
        for row in reversed(watched.store.rows("change", vehicle).tolist()):
            index, *values = row[len(KEYS) :]
            if int(index) == number:
                return tuple(values[: len(offer.value)])
    return offer.value


class ChangesPanel:
    def __init__(self, watched: WatchedFlight, vehicle: Callable[[], int]) -> None:
        self._watched, self._vehicle = watched, vehicle
        known = change_offers(watched.scenario) if watched.scenario else ()
        self._rows: list[_ChangeRow] = []
        with card().props('data-testid="changes"'):
            ui.label("Changes in flight").classes("text-weight-bold")
            ui.label("Applied at the start of the next step, and written to the run's scenario.toml.").classes(
                "al-soft"
            )
            for number, offer in enumerate(known):
                self._rows.append(_ChangeRow(watched, number, offer, vehicle))
            if not known:
                ui.label(watched.why_nothing_flies or NO_CHANGES).classes("al-soft")
        self.show(able=watched.running and watched.may_command)

    def show(self, *, able: bool) -> None:
        for row in self._rows:
            row.show(able=able)


class _ChangeRow:
    """One quantity: its present value, the new one, and the button that sends it."""

    def __init__(self, watched: WatchedFlight, number: int, offer: ChangeOffer, vehicle: Callable[[], int]) -> None:
        self._watched, self._number, self._offer, self._vehicle = watched, number, offer, vehicle
        words = offer.words[:1].upper() + offer.words[1:]
        with ui.row().classes("items-center w-full gap-2"):
            with ui.column().classes("col gap-0").style("min-width:11em"):
                ui.label(words)
                self._now = ui.label().classes("al-soft text-caption al-num")
            self._entries = [
                ui.number(label=axis or offer.unit.strip("-") or "fraction", value=value, min=offer.low, max=offer.high)
                .props(f'dense outlined data-testid="{element_id(offer)}{f"-{axis}" if axis else ""}"')
                .style("width:7em")
                for axis, value in zip(offer.axes or ("",), offer.value, strict=True)
            ]
            self._set = ui.button("Set", on_click=self._send)
            self._set.props(f'no-caps outline data-testid="{element_id(offer)}-set" aria-label="set {offer.words}"')

    def _send(self) -> None:
        offer = self._offer
        typed = [from_browser.number(entry.value, offer.low, offer.high) for entry in self._entries]
        values = tuple(value for value in typed if value is not None)
        if len(values) < len(typed):
            ui.notify(f"{offer.words}: expected {offer.low:g} to {offer.high:g}", type="negative")
            return
        try:
            value = values if offer.axes else values[0]
            self._watched.control().change(offer.key, value, vehicle=self._vehicle())
        except AeroloopError as error:
            ui.notify(str(error), type="negative", multi_line=True)

    def show(self, *, able: bool) -> None:
        values = present(self._watched, self._number, self._offer, self._vehicle())
        numbers = ", ".join(f"{value:g}" for value in values)
        self._now.set_text(f"now {numbers} {self._offer.unit}".rstrip(" -"))
        self._set.set_enabled(able)
        for entry in self._entries:
            entry.set_enabled(able)
