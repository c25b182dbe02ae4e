"""A Foxglove layout for our logs and for `aeroloop live`: 3D view, map, plots of position and attitude, log, states."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from foxglove.layouts import (
    BaseRendererGridLayerSettings,
    BaseRendererPoseTopicSettings,
    BaseRendererSceneUpdateTopicSettings,
    Layout,
    LogConfig,
    LogPanel,
    MapConfig,
    MapPanel,
    PlotConfig,
    PlotPanel,
    PlotSeries,
    SplitContainer,
    SplitItem,
    StateTransitionsConfig,
    StateTransitionsPanel,
    StateTransitionsSeries,
    ThreeDeeCameraState,
    ThreeDeeConfig,
    ThreeDeePanel,
)

from aeroloop.recording.well_known import LOG_TOPIC, TERRAIN, frame_of, topic

STATES = ("event.code", "board_event.code", "autopilot_state.armed", "autopilot_state.mode")
"""Panels of a virtual Pixhawk; for other aircraft the events."""
PLACES, ATTITUDE = ("pose", "setpoint"), ("roll", "pitch", "yaw")


def layout(aircraft: Sequence[str] = ("0",), prefix: str = "") -> str:
    """As JSON for import in Foxglove. `aircraft`: their names in topics; `prefix` begins the streams of the first."""
    first = aircraft[0]
    drawn = {
        f"/{prefix}{TERRAIN}": BaseRendererSceneUpdateTopicSettings(visible=True),
        **{
            topic(name, kind): BaseRendererSceneUpdateTopicSettings(visible=True)
            for name in aircraft
            for kind in ("shape", "path")
        },
        **{
            topic(name, "setpoint"): BaseRendererPoseTopicSettings(visible=True, type="axis", axis_scale=0.5)
            for name in aircraft
        },
    }
    view = ThreeDeePanel(
        title="3D",
        config=ThreeDeeConfig(
            follow_tf=frame_of(first),
            follow_mode="follow-position",
            camera_state=ThreeDeeCameraState(distance=8.0, phi=65.0, theta_offset=45.0, perspective=True),
            layers={"grid": BaseRendererGridLayerSettings(visible=True, size=100.0, divisions=50)},
            topics=drawn,
        ),
    )
    world = MapPanel(title="Map", config=MapConfig(follow_topic=topic(first, "location"), zoom_level=17.0))
    places = {f"{kind} {axis}": f"{topic(first, kind)}.pose.position.{axis}" for kind in PLACES for axis in "xyz"}
    angles = {angle: f"{prefix}truth.{angle}_rad" for angle in ATTITUDE}
    states = StateTransitionsPanel(
        title="States",
        config=StateTransitionsConfig(
            paths=[StateTransitionsSeries(value=f"{prefix}{path}", label=path) for path in STATES]
        ),
    )
    texts = LogPanel(title="Log", config=LogConfig(topic_to_render=LOG_TOPIC, show_name=True))
    above = _split("row", (2.0, view), (1.0, world))
    beside = _split("column", (1.0, states), (1.0, texts))
    below = _split("row", (1.0, _plot("Position (m)", places)), (1.0, _plot("Attitude (rad)", angles)), (1.0, beside))
    whole = Layout(content=_split("column", (2.0, above), (1.0, below)))
    return json.dumps(json.loads(whole.to_json()), indent=2) + "\n"


def _plot(title: str, series: Mapping[str, str]) -> PlotPanel:
    paths = [PlotSeries(value=path, label=label) for label, path in series.items()]
    return PlotPanel(title=title, config=PlotConfig(paths=paths))


def _split(direction: str, *items: tuple[float, object]) -> SplitContainer:
    return SplitContainer(
        direction=direction, items=[SplitItem(proportion=share, content=content) for share, content in items]
    )
