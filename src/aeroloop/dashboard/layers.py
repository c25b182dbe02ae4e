"""Layers of the 3D view that processes of the flight offer (`flight/live_view.py`), each with a switch: the map and the
loops of SLAM, for example. The dashboard keeps the last ones of a flight that has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, Response
from nicegui import ui
from nicegui.elements.scene.scene_object3d import Object3D

from aeroloop.dashboard.kept_layers import KeptLayers


def register(outer: FastAPI, kept: Callable[[], KeptLayers]) -> None:
    """`GET /layer/NAME.bin` of the shown flight."""

    @outer.get("/layer/{file}")
    async def layer(file: str) -> Response:
        known = kept().kept
        found = known.get(file.removesuffix(".bin")) if file.endswith(".bin") else None
        if found is None:
            return PlainTextResponse(f"There is no layer {file}; expected one of: {', '.join(known) or 'none'}.\n", 404)
        return Response(found.data, media_type="application/octet-stream", headers={"cache-control": "no-store"})


class LayerObject(Object3D, component="layer.js"):
    def __init__(self, url: str) -> None:
        super().__init__(url)


class Layers:
    """The layers in one page's scene, and their switches."""

    def __init__(self, scene: ui.scene, row: ui.row) -> None:
        self._scene, self._row = scene, row
        self._off: set[str] = set()
        self._shown: dict[str, tuple[LayerObject, int]] = {}

    def clear(self) -> None:
        """The scene's objects are deleted already."""
        self._shown.clear()
        self._row.clear()

    def update(self, kept: KeptLayers, flight: str) -> None:
        for name, newest in kept.kept.items():
            # The version makes the browser load it again; the flight, since versions of the next one begin anew.
            url = f"/layer/{name}.bin?flight={flight}&version={newest.version}"
            if name not in self._shown:
                with self._scene:
                    layer = LayerObject(url)
                self._add_switch(name, layer)
                self._shown[name] = layer, newest.version
            elif self._shown[name][1] != newest.version:
                layer = self._shown[name][0]
                layer.args[0] = url  # a browser that lost its scene rebuilds it from these
                layer.run_method("load", url)
                self._shown[name] = layer, newest.version

    def _add_switch(self, name: str, layer: LayerObject) -> None:
        def turn() -> None:
            self._off ^= {name}
            mark()

        def mark() -> None:
            on = name not in self._off
            layer.visible(on)
            button.classes(add="al-on" if on else "", remove="" if on else "al-on")
            button.props(f"aria-pressed={'true' if on else 'false'}")

        with self._row:
            button = ui.button(name, color=None, on_click=turn)
            button.props(f'dense no-caps data-testid="layer-{name}"').tooltip(f"show the layer {name}")
        mark()
