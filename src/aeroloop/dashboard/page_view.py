"""View: the aircraft in three dimensions, with the pilot's instruments beside it."""

from __future__ import annotations

import math
import time
from collections import deque

from nicegui import ui

from aeroloop.dashboard import family_page, instruments, readings
from aeroloop.dashboard.boards_panel import BoardsPanel
from aeroloop.dashboard.camera_panel import CameraPanel
from aeroloop.dashboard.family_page import Status
from aeroloop.dashboard.fly_page_state import state_of
from aeroloop.dashboard.layers import Layers
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.readings import Pose
from aeroloop.dashboard.scene import Camera, View
from aeroloop.dashboard.watched_flight import WatchedFlight

SCENE_S = 0.05
PANEL_S = 0.1
NUMBERS_S = 0.25
FACTOR_OVER_S = 3.0
CAMERAS: tuple[tuple[Camera, str, str], ...] = (
    ("follow", "videocam", "Follow: behind the aircraft; drag to turn, scroll to zoom"),
    ("free", "open_with", "Free: stays where it is; drag to turn, scroll to zoom"),
    ("top", "vertical_align_bottom", "From above, north up"),
)
CSS = """
.al-view { display:grid; grid-template-columns:minmax(0,1fr) 400px; gap:12px; width:100%; align-items:start; }
.al-scene { position:relative; width:100%; height:calc(100vh - 150px); min-height:340px; border-radius:8px;
        overflow:hidden; border:1px solid var(--al-line); }
.al-scene .nicegui-scene { width:100% !important; height:100% !important; touch-action:none;
        isolation:isolate; }  /* its labels are stacked by their distance, some in front of all that is ours */
.al-over { position:absolute; top:8px; left:8px; z-index:2; gap:4px; }
.al-layers { top:50px; }
.al-over .q-btn { background:var(--al-card); color:var(--al-text); }
.al-over .q-btn.al-on { background:var(--al-accent); color:var(--al-card); }
.al-pick .q-field__control { background:var(--al-card); height:34px; min-height:34px; }
.al-pick .q-field__marginal { height:34px; } .al-pick .q-field__native { min-height:34px; color:var(--al-text); }
.al-legend { position:absolute; left:8px; bottom:8px; z-index:2; font-size:12px; padding:2px 8px; border-radius:6px;
        background:var(--al-card); color:var(--al-text); opacity:.9; }
.al-nothing { position:absolute; inset:0; margin:auto; width:fit-content; height:fit-content; max-width:80%;
        z-index:2; padding:12px 16px; border-radius:8px; background:var(--al-card); color:var(--al-text); }
.al-side { display:flex; flex-direction:column; gap:12px; min-width:0; }
.al-facts { display:grid; grid-template-columns:auto 1fr; gap:2px 14px; width:100%; font-size:14px; }
.al-facts > :nth-child(even) { text-align:right; font-variant-numeric:tabular-nums; }
@media (max-width:1023px) { .al-view { grid-template-columns:minmax(0,1fr); } .al-scene { height:52vh; }
        .al-side { max-width:520px; width:100%; margin:0 auto; } }
"""
LEGEND = (
    '<span style="color:#1e88e5">━</span> flown &nbsp;<span style="color:#f59e0b">━</span> setpoint &nbsp;'
    '<span style="color:#94a3b8">━</span> plan &nbsp;<span style="color:#d946ef">━</span> mission'
)
FACTS = ("position", "velocity", "airspeed", "attitude", "tilt", "ground", "wind", "mode", "battery")


class Factor:
    """Simulated seconds a second, over the last few."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def feed(self, now_s: float, t_s: float) -> float:
        """NaN until it can be computed."""
        if self._seen and t_s < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now_s, t_s))
        while now_s - self._seen[0][0] > FACTOR_OVER_S:
            self._seen.popleft()
        wall_s = now_s - self._seen[0][0]
        return (t_s - self._seen[0][1]) / wall_s if wall_s > 0.8 else math.nan


def build(watched: WatchedFlight) -> None:
    """The page's content."""
    ui.add_css(CSS)
    Page(watched)


class Page:
    """One browser's view; three timers update it, and send only changes."""

    def __init__(self, watched: WatchedFlight) -> None:
        self.watched = watched
        self.vehicle = 0
        self.shown: str | None = None  # the flight in the scene
        self.factor = Factor()
        with ui.element("div").classes("al-view"):
            with ui.element("div").classes("al-scene").props('data-testid="scene"'):
                background = "#888888"  # until the scene's own script has run
                camera = ui.scene.perspective_camera(fov=45, near=0.05, far=8000)
                self.view = View(ui.scene(grid=False, camera=camera, background_color=background, fps=30))
                self._controls()
                self.layers = Layers(self.view.scene, ui.row().classes("al-over al-layers"))
                ui.html(LEGEND, sanitize=False).classes("al-legend")
                self.nothing = ui.label().classes("al-nothing").props('data-testid="nothing-flies"')
            with ui.element("div").classes("al-side"):
                CameraPanel(watched)
                self.panel = ui.html(instruments.panel(instruments.Readings()), sanitize=False).classes("w-full")
                with card():
                    self._facts()
                BoardsPanel(watched)
        self._follow_flight()
        self._tell()
        every(SCENE_S, self._fly)
        every(PANEL_S, self._show)
        every(NUMBERS_S, self._tell)

    def _controls(self) -> None:
        self.buttons: dict[Camera, ui.button] = {}
        with ui.row().classes("al-over"):
            for camera, icon, words in CAMERAS:
                button = ui.button(icon=icon, color=None, on_click=lambda camera=camera: self._look(camera))
                button.props(f'dense data-testid="camera-{camera}" aria-label="{words}"').tooltip(words)
                self.buttons[camera] = button
            ui.button(icon="restart_alt", color=None, on_click=lambda: self._look(self.view.camera)).props(
                'dense data-testid="camera-reset" aria-label="Reset the camera"'
            ).tooltip("Reset the camera")
            self.picker = ui.select({0: "1"}, value=0, on_change=lambda event: self._pick(event.value))
            self.picker.props('dense outlined options-dense data-testid="vehicle" aria-label="aircraft"').classes(
                "al-pick"
            )
        self._mark(self.view.camera)

    def _facts(self) -> None:
        with ui.row().classes("items-center gap-2"):
            self.pace = chip(testid="factor").tooltip("real-time factor: simulated seconds per second")
            self.missed = chip(testid="missed").tooltip("missed deadlines of the plant")
        self.facts: dict[str, tuple[ui.label, ui.label]] = {}
        with ui.element("div").classes("al-facts"):
            for name in FACTS:
                words = ui.label(name).classes("al-soft")
                self.facts[name] = words, ui.label().props(f'data-testid="fact-{name}"')

    def _look(self, camera: Camera) -> None:
        self.view.look(camera)
        self._mark(camera)

    def _mark(self, camera: Camera) -> None:
        for each, button in self.buttons.items():
            button.classes(add="al-on" if each == camera else "", remove="" if each == camera else "al-on")

    def _pick(self, vehicle: int) -> None:
        self.vehicle = int(vehicle)
        self.view.follow(self.vehicle)

    def _follow_flight(self) -> None:
        if self.shown == self.watched.flight_id:
            return
        self.shown = self.watched.flight_id
        self.vehicle = 0
        self.factor = Factor()
        count = readings.vehicles(self.watched.scenario)
        self.picker.set_options({number: f"aircraft {number + 1}" for number in range(count)}, value=0)
        self.picker.set_visibility(count > 1)
        fleet = self.watched.fleet
        others = [part.scenario for part in fleet.beside]
        self.view.show(self.watched.scenario, list(zip(others, fleet.origins_W(), strict=True)))
        self.layers.clear()
        self._mark(self.view.camera)

    def _fly(self) -> None:
        self._follow_flight()
        self.view.update(self.watched.store, [part.store for part in self.watched.fleet.beside])
        if self.watched.scenario is not None:
            self.view.show_mission([point.pos_m for point in state_of(self.watched).plan])

    def _show(self) -> None:
        scenario, store = self.watched.scenario, self.watched.store
        if scenario is None:
            return
        self.panel.set_visibility(family_page.of(scenario).attitude)
        pose = readings.pose(store, scenario, self.vehicle)
        picture = instruments.panel(_readings(pose, readings.setpoint_height_m(store, scenario, self.vehicle)))
        if picture != self.panel.content:
            self.panel.set_content(picture)

    def _tell(self) -> None:
        watched, scenario = self.watched, self.watched.scenario
        self.layers.update(watched.layers, watched.flight_id)
        self.nothing.set_text(watched.why_nothing_flies)
        self.nothing.set_visibility(bool(watched.why_nothing_flies))
        if scenario is None:
            set_chip(self.pace, "", "info")
            set_chip(self.missed, "", "info")
            return
        status = readings.status(watched.store, scenario, self.vehicle)
        factor = self.factor.feed(time.monotonic(), watched.store.t_s)
        known = watched.running and math.isfinite(factor)
        behind = not scenario.lockstep and factor < 0.95 * scenario.speed
        set_chip(self.pace, f"{factor:.2f}x" if known else "", "warn" if behind else "ok")
        missed = readings.missed_deadlines(watched.store)
        set_chip(self.missed, "" if missed is None else f"{missed} missed", "warn" if missed else "ok")
        pose = readings.pose(watched.store, scenario, self.vehicle)
        wind = readings.wind_W(watched.store, self.vehicle)
        page = family_page.of(scenario)
        found = facts(pose, status, wind, page.tilts)
        for name, words in found.items() if page.attitude else {**found, "attitude": ""}.items():
            label, value = self.facts[name]
            label.set_visibility(bool(words))
            value.set_visibility(bool(words))
            value.set_text(words)


def _readings(pose: Pose | None, setpoint_height_m: float) -> instruments.Readings:
    if pose is None:
        return instruments.Readings()
    return instruments.Readings(
        roll_rad=pose.roll_rad,
        nose_up_rad=pose.nose_up_rad,
        heading_deg=pose.heading_deg,
        height_m=pose.pos_W[2],
        speed_m_s=pose.speed_m_s,
        climb_m_s=pose.vel_W[2],
        setpoint_height_m=setpoint_height_m,
    )


def facts(
    pose: Pose | None, status: Status, wind_W: tuple[float, float, float] | None, tilts: tuple[str, ...] = ()
) -> dict[str, str]:
    """Numbers as text; empty if this aircraft does not have them."""
    words = dict.fromkeys(FACTS, "")
    if pose is not None:
        x, y, z = (_plain(value, 2) for value in pose.pos_W)
        words["position"] = f"E {x}  N {y}  up {z} m"
        if all(map(math.isfinite, pose.vel_W)):
            x, y, z = (_plain(value, 2) for value in pose.vel_W)
            words["velocity"] = f"E {x}  N {y}  up {z} m/s"
        words["attitude"] = (
            f"roll {_plain(math.degrees(pose.roll_rad), 1)}°  nose {_plain(math.degrees(pose.nose_up_rad), 1)}°  "
            f"{pose.heading_deg:03.0f}°"
        )
        angles = (_plain(math.degrees(tilt), 1) for tilt in pose.hinges_rad)
        words["tilt"] = "  ".join(f"{name} {angle}°" for name, angle in zip(tilts, angles, strict=False))
        if math.isfinite(pose.airspeed_m_s):
            words["airspeed"] = f"{pose.airspeed_m_s:.1f} m/s"
        if math.isfinite(pose.ground_m):
            words["ground"] = f"{_plain(pose.pos_W[2] - pose.ground_m, 0)} m below"
    if wind_W is not None:
        strength_m_s = math.hypot(*wind_W[:2])
        comes_from_deg = math.degrees(math.atan2(-wind_W[0], -wind_W[1])) % 360.0
        words["wind"] = f"{strength_m_s:.1f} m/s from {comes_from_deg:03.0f}°" if strength_m_s > 0.05 else "calm"
    words["mode"] = ", ".join(part for part in (status.mode, status.armed, status.landed, status.failsafe) if part)
    if math.isfinite(status.battery):
        words["battery"] = f"{100.0 * status.battery:.0f} %"
    return words


def _plain(value: float, places: int) -> str:
    """Without a minus sign for a number that is shown as zero."""
    words = f"{value:.{places}f}"
    return words.removeprefix("-") if float(words) == 0 else words
