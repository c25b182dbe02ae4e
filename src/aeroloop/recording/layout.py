"""A Foxglove layout for our logs and for `aeroloop live`: 3D view, map, plots of position and attitude, log, states."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence

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

from aeroloop.recording.well_known import LOG_TOPIC, OBJECTS, TERRAIN, frame_of, topic

STATES = {
    "event": ("event", "code"),
    "board event": ("board_event", "code"),
    "armed": ("autopilot_state", "armed"),
    "mode": ("autopilot_state", "mode"),
}
"""Streams and columns of the state panel, by label; an autopilot has the last two."""
PLACES, ATTITUDE = ("pose", "setpoint"), {"roll": "x", "pitch": "y", "yaw": "z"}


def layout(aircraft: Sequence[str] = ("0",), prefix: str = "", present: Container[str] | None = None) -> str:
    """As JSON for import in Foxglove. `aircraft`: their names in topics; plots and states are of the first, whose
    streams begin with `prefix`. `present`: the topics of one log; the layout names no others."""

    def there(name: str) -> bool:
        return present is None or name in present

    first = aircraft[0]
    once = (f"/{prefix}{kind}" for kind in (TERRAIN, OBJECTS))
    own = (topic(name, kind) for name in aircraft for kind in ("shape", "path"))
    setpoints = (topic(name, "setpoint") for name in aircraft)
    drawn = {
        **{name: BaseRendererSceneUpdateTopicSettings(visible=True) for name in (*once, *own) if there(name)},
        **{
            name: BaseRendererPoseTopicSettings(visible=True, type="axis", axis_scale=0.5)
            for name in setpoints
            if there(name)
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
    location = topic(first, "location")
    world = MapPanel(title="Map", config=MapConfig(follow_topic=location if there(location) else None, zoom_level=17.0))
    places = {
        f"{kind} {axis}": f"{topic(first, kind)}.pose.position.{axis}"
        for kind in PLACES
        if there(topic(first, kind))
        for axis in "xyz"
    }
    angles = {
        angle: f"{topic(first, 'attitude')}.{axis}"
        for angle, axis in ATTITUDE.items()
        if there(topic(first, "attitude"))
    }
    # The streams of a part have the rows of all its aircraft.
    states = StateTransitionsPanel(
        title="States",
        config=StateTransitionsConfig(
            paths=[
                StateTransitionsSeries(value=f"{prefix}{stream}{{vehicle==0}}.{column}", label=label)
                for label, (stream, column) in STATES.items()
                if there(f"{prefix}{stream}")
            ]
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
