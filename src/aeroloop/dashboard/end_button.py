"""The button that ends the shown flight: its checks are then evaluated and reported, as after `aeroloop cmd end`."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard.watched_flight import WatchedFlight


def end_button(watched: WatchedFlight) -> Callable[[], None]:
    """Asks before it ends the flight; returns a function that shows the button only during a flight."""
    with ui.dialog() as dialog, ui.card().classes("al-card").style("max-width:380px"):
        ui.label("End this flight now?").classes("text-weight-bold")
        ui.label("Its checks are evaluated and its report is written. The aircraft does not land first.")

        def end() -> None:
            dialog.close()
            try:
                watched.end()
            except AeroloopError as error:
                watched.notice(str(error), "warn")

        with ui.row():
            ui.button("End flight", on_click=end).props('color=negative data-testid="end-flight-yes"')
            ui.button("Cancel", on_click=dialog.close).props("flat")
    button = ui.button("End flight", icon="stop", on_click=dialog.open)
    button.props('flat dense no-caps color=negative data-testid="end-flight"')

    def refresh() -> None:
        button.set_visibility(watched.running and watched.launch is not None)

    refresh()
    return refresh
