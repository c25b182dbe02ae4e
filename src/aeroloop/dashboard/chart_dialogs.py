"""Dialogs of the charts page: selection of a chart's signals, and saved layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard import from_browser
from aeroloop.dashboard.charts import LARGEST_LAYOUT_B, MOST_SIGNALS, ChartSpec, Layout, layout_of
from aeroloop.dashboard.layouts import Layouts
from aeroloop.dashboard.store import Store

READ_FILE = """(e) => {
    const file = e.target.files[0];
    if (file) (file.size < LARGEST ? file.text() : Promise.resolve("")).then(text => emit(text));
    e.target.value = "";
}""".replace("LARGEST", str(2 * LARGEST_LAYOUT_B))


def choose_signals(store: Store, spec: ChartSpec, chosen: Callable[[ChartSpec], None], *, is_xy: bool) -> None:
    """A dialog with all signals, by stream, filtered by the typed text."""
    names = list(dict.fromkeys((*store.signals(), *spec.signals)))
    title = "XY plot: signals of the vertical axis" if is_xy else "Signals of this chart"
    with ui.dialog(value=True) as dialog, ui.card().classes("al-card").style("max-width:640px;max-height:85vh"):
        x: ui.select | None = None
        if is_xy:
            x = ui.select(names, value=spec.x if spec.x in names else None, label="horizontal axis", with_input=True)
            x.props('dense outlined options-dense data-testid="x-signal"').classes("w-full")
        ui.label(f"{title}, {MOST_SIGNALS} at most").classes("text-weight-bold")
        nodes = _nodes(store, names)
        if not nodes:
            ui.label("No signals received yet: start a flight.").classes("al-soft")
        search = ui.input(placeholder="search").props(
            'dense outlined clearable autofocus data-testid="search-signals" aria-label="search signals"'
        )
        search.classes("w-full")
        with ui.scroll_area().style("height:45vh").classes("w-full"):
            tree = ui.tree(nodes, label_key="label", tick_strategy="leaf-filtered")
            tree.props('data-testid="signals" dense')
            tree.tick(list(spec.signals))
        search.on_value_change(lambda event: _narrow(tree, str(event.value or "")))

        def done() -> None:
            ticked = [name for name in tree.props["ticked"] if store.signal(name)]
            if len(ticked) > MOST_SIGNALS:
                ui.notify(f"{len(ticked)} signals are too many for one chart; expected {MOST_SIGNALS} at most.")
                return
            if x is not None and not x.value:
                ui.notify("Choose the signal of the horizontal axis first.")
                return
            dialog.close()
            kept = [name for name in spec.signals if name in ticked]
            added = [name for name in ticked if name not in spec.signals]
            chosen(ChartSpec((*kept, *added), str(x.value) if x is not None else ""))

        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
            ui.button("Show", on_click=done).props('no-caps data-testid="show-signals"')
    dialog.on("hide", dialog.delete)


def _nodes(store: Store, names: list[str]) -> list[dict[str, Any]]:
    streams: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        signal = store.signal(name)
        if signal is not None:
            unit = "" if signal.unit == "-" else f" [{signal.unit}]"
            leaf = {"id": name, "label": f"{name}{unit}: {signal.meaning}"}
            streams.setdefault(name.partition(".")[0], []).append(leaf)
    return [{"id": f"stream {stream}", "label": stream, "children": leaves} for stream, leaves in streams.items()]


def _narrow(tree: ui.tree, text: str) -> None:
    tree.set_filter(text)
    if text:
        tree.expand()


class LayoutMenu:
    """Saved layouts: shown on click, saved, deleted, exported to and imported from a file of the browser."""

    def __init__(self, current: Callable[[], Layout], show: Callable[[Layout], None], *, may_write: bool) -> None:
        self._current, self._show, self._may_write = current, show, may_write
        self._layouts = Layouts()
        with ui.button("Layouts", icon="dashboard_customize").props(
            'outline no-caps data-testid="layouts" color=inherit'
        ) as button:
            self._menu = ui.menu().props('data-testid="layout-menu"')
        button.on("click", self._list)
        self._holder = ui.element("div")
        self._file = ui.element("input").props('type=file accept=".json,application/json" data-testid="layout-file"')
        self._file.style("display:none").on("change", self._import, js_handler=READ_FILE)

    def _list(self) -> None:
        self._menu.clear()
        with self._menu:
            names = self._layouts.names()
            if not names:
                ui.item("no saved layouts").classes("al-soft").props("dense")
            for name in names:
                self._entry(name)
            ui.separator()
            if self._may_write:
                ui.menu_item("Save as …", self._save).props('data-testid="layout-save"')
            ui.menu_item("Export to a file", self._export).props('data-testid="layout-export"')
            ui.menu_item("Import from a file", lambda: self._file.run_method("click")).props(
                'data-testid="layout-import"'
            )

    def _entry(self, name: str) -> None:
        with ui.item(on_click=lambda: self._load(name)).props(f'dense data-testid="layout-{name}"'):
            with ui.item_section():
                ui.label(name)
            if self._may_write:
                with ui.item_section().props("side"):
                    ui.button(icon="delete", color=None).props(
                        f'flat round dense size=sm aria-label="delete layout {name}"'
                    ).on("click.stop", lambda: self._tried(lambda: self._layouts.delete(name)))

    def _tried(self, action: Callable[[], None]) -> bool:
        with self._holder:  # outside of the menu, which is rebuilt
            try:
                action()
            except AeroloopError as error:
                ui.notify(str(error), type="negative", multi_line=True)
                return False
        self._list()
        return True

    def _load(self, name: str) -> None:
        self._menu.close()
        self._tried(lambda: self._show(self._layouts.load(name)))

    def _save(self) -> None:
        with self._holder, ui.dialog(value=True) as dialog, ui.card().classes("al-card").style("max-width:420px"):
            ui.label("Save this layout").classes("text-weight-bold")
            entry = ui.input("name").props('dense outlined autofocus data-testid="layout-name"').classes("w-full")

            def done() -> None:
                name = from_browser.words(entry.value, 60).strip()
                if self._may_write and self._tried(lambda: self._layouts.save(name, self._current())):
                    dialog.close()

            entry.on("keydown.enter", done)
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
                ui.button("Save", on_click=done).props('no-caps data-testid="layout-save-done"')
        dialog.on("hide", dialog.delete)

    def _export(self) -> None:
        ui.download.content(self._current().text(), "aeroloop-charts.json", "application/json")

    def _import(self, event: Any) -> None:
        text = event.args if isinstance(event.args, str) else ""
        self._tried(lambda: self._show(layout_of(text, "the imported file")))
