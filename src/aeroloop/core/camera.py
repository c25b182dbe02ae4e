"""Cameras of an aircraft (`[[cameras]]`): the table, its presets, and what a camera is once its preset is applied.

Not rotated, a camera looks along the nose with the image's top up; `angles_deg` are roll, pitch and yaw of that frame
in the body's (FLU, ZYX), so a pitch of 90 degrees looks down with the image's top towards the nose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from aeroloop.core import frame_load
from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Quat, Vec3, quat_from_euler
from aeroloop.core.impairment import Impairment
from aeroloop.core.lens import can_be_undone
from aeroloop.core.suggest import did_you_mean
from aeroloop.core.view import MOST_PORT

MOST_PX = (1920, 1080)
FOVY_DEG = (5.0, 150.0)
MOST_HZ = 120.0
MOST_CAMERAS = 8
DEFAULT_LATENCY_S = 0.08
SENSORS = {"kinect": (None, 0.075, (0.5, 4.5)), "realsense": (0.08, 0.05, (0.3, 6.0))}
"""Standard deviation of the disparity in px (None: KINECT_DISPARITY f b), baseline in m, range in m."""
KINECT_DISPARITY = 1.425e-3
"""1/m; Khoshelham and Elberink 2012."""
_LISTEN = re.compile(r"tcp://([\w.-]+):(\d{1,5})\?listen", re.ASCII)

Size = tuple[int, int]


class Depth(Config, frozen=True):
    """Depth image of a camera, and its errors."""

    sensor: Annotated[Literal["kinect", "realsense"], note("whose disparity noise, baseline and range apply")] = (
        "kinect"
    )
    range_m: Annotated[tuple[float, float] | None, meta("m", "nearest and farthest reading; default: the sensor's")] = (
        None
    )
    noise_px: Annotated[
        float | None, meta("px", "standard deviation of the disparity; default: the sensor's; 0: none")
    ] = None
    baseline_m: Annotated[float | None, meta("m", "between its two eyes; default: the sensor's")] = None
    scale_error: Annotated[float, meta("-", "standard deviation of the scale, drawn once a flight", ge=0, le=0.2)] = (
        0.005
    )
    field_error: Annotated[
        float, meta("-", "standard deviation of a smooth error over the image, drawn once a flight", ge=0, le=0.2)
    ] = 0.01
    dropout: Annotated[float, meta("-", "fraction of 4x4 blocks without a reading", ge=0, le=1)] = 0.01

    def __post_init__(self) -> None:
        if self.range_m is not None and not 0.0 < self.range_m[0] < self.range_m[1]:
            raise ValueError(f"range_m: expected 0 < nearest < farthest, not {list(self.range_m)}")
        if self.noise_px is not None and not 0.0 <= self.noise_px <= 10.0:
            raise ValueError(f"noise_px: expected 0 to 10 px, not {self.noise_px:g}")
        if self.baseline_m is not None and not 0.0 < self.baseline_m <= 1.0:
            raise ValueError(f"baseline_m: expected more than 0 and at most 1 m, not {self.baseline_m:g}")


class Camera(Config, frozen=True):
    """One camera; keys that are not set have the preset's values."""

    name: Annotated[
        str,
        Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$", description="its name, once in a flight", extra={"unit": "-"}),
    ]
    preset: Annotated[str, note("`down`: looks down, for landing; `rgbd`: looks forward, with depth")] = "down"
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0)] = 0
    size_px: Annotated[Size | None, meta("px", "width and height, both even")] = None
    rate_hz: Annotated[float | None, meta("Hz", "frames per simulated second, at most 120")] = None
    start_s: Annotated[float, meta("s", "simulated time of the first frame, or soon after it", ge=0, le=86400)] = 0.0
    focal_px: Annotated[float | None, meta("px", "focal length; or set `fovy_deg`")] = None
    fovy_deg: Annotated[float | None, meta("deg", "vertical field of view; or set `focal_px`")] = None
    pos_m: Annotated[Vec3 | None, meta("m", "position in the body: forward, left, up")] = None
    angles_deg: Annotated[
        Vec3 | None, meta("deg", "roll, pitch, yaw in the body; 0 0 0 looks along the nose, pitch 90 looks down")
    ] = None
    latency_s: Annotated[float, meta("s", "from the frame's time to its delivery", le=10)] = DEFAULT_LATENCY_S
    lens: Annotated[
        tuple[float, float, float, float, float], meta("-", "distortion k1 k2 p1 p2 k3, as in OpenCV; 0: none")
    ] = (0.0, 0.0, 0.0, 0.0, 0.0)
    exposure_s: Annotated[float, meta("s", "exposure time, for motion blur; 0: none", ge=0, le=0.1)] = 0.0
    blur_samples: Annotated[int, meta("-", "renders over the exposure time", ge=1, le=32)] = 4
    readout_s: Annotated[float, meta("s", "rolling shutter: from the first row to the last; 0: none", ge=0, le=0.1)] = (
        0.0
    )
    bands: Annotated[int, meta("-", "rolling shutter: bands with a pose of their own", ge=2, le=32)] = 8
    vignette: Annotated[float, meta("-", "loss of brightness in the corners", ge=0, le=1)] = 0.0
    gain: Annotated[float, meta("-", "factor on the brightness", gt=0, le=10)] = 1.0
    read_noise: Annotated[float, meta("grey levels", "noise in the dark, standard deviation", ge=0, le=100)] = 2.0
    shot_noise: Annotated[float, meta("grey levels", "variance of the noise per grey level", ge=0, le=100)] = 0.08
    depth: Annotated[Depth | None, note("depth image; `rgbd` has one")] = None
    link: Annotated[
        str, note("`tcp://HOST:PORT?listen`: serves the frames (docs/cameras.md); empty: nowhere, they are only logged")
    ] = ""
    jpeg_quality: Annotated[int, meta("-", "of the images on the link", ge=1, le=100)] = 90
    impairment: Annotated[Impairment, note("impairment of the link, of whole frames and in simulated time")] = (
        Impairment()
    )

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            like = did_you_mean(self.preset, PRESETS)
            raise ValueError(f"preset: unknown {self.preset!r}{like}, expected one of: {', '.join(PRESETS)}")
        model = fitted(self)
        width, height = model.size_px
        if not (2 <= width <= MOST_PX[0] and 2 <= height <= MOST_PX[1]) or width % 2 or height % 2:
            raise ValueError(
                f"size_px: expected even numbers up to {MOST_PX[0]} and {MOST_PX[1]}, not {[width, height]}"
            )
        if self.focal_px is not None and self.fovy_deg is not None:
            raise ValueError("fovy_deg: focal_px is set too; expected one of them")
        if self.focal_px is not None and not self.focal_px > 0:
            raise ValueError(f"focal_px: expected a positive number, not {self.focal_px:g}")
        low, high = FOVY_DEG
        if not low <= model.fovy_deg <= high:
            key = "focal_px" if self.focal_px is not None else "fovy_deg"
            raise ValueError(
                f"{key}: expected a vertical field of view from {low:g} to {high:g} deg, not {model.fovy_deg:g}"
            )
        if any(self.lens) and not can_be_undone(self.lens, width / 2.0 / model.focal_px, height / 2.0 / model.focal_px):
            raise ValueError(
                f"lens: expected a distortion that can be undone over the whole image, not {list(self.lens)}; "
                "weaken it, or narrow the field of view"
            )
        if not 0.0 < model.rate_hz <= MOST_HZ:
            raise ValueError(f"rate_hz: expected more than 0 and at most {MOST_HZ:g} Hz, not {model.rate_hz:g}")
        if self.latency_s < 0:
            raise ValueError(f"latency_s: expected 0 or more, not {self.latency_s:g}")
        if self.link.startswith("serial:"):
            raise ValueError(
                f"link: a serial line does not carry frames, here up to {link_bytes_s(self) * 8e-6:.2g} Mbit/s; "
                "expected tcp://HOST:PORT?listen"
            )
        if self.link:
            address(self.link)
        elif self.impairment.active:
            raise ValueError('impairment: no link is set; expected link = "tcp://HOST:PORT?listen" with it')
        if missing := frame_load.refusal(link_bytes_s(self), self.impairment.baud):
            raise ValueError(f"impairment.baud: {missing}")


def address(url: str) -> tuple[str, int]:
    """Host and port of a link that serves frames; port 0: any that is free. ValueError says what is wrong."""
    match = _LISTEN.fullmatch(url)
    if match is None or int(match.group(2)) > MOST_PORT:
        raise ValueError(f"link: expected tcp://HOST:PORT?listen, for example tcp://0.0.0.0:5600?listen, not {url!r}")
    return match.group(1), int(match.group(2))


@dataclass(frozen=True)
class DepthModel:
    range_m: tuple[float, float]
    noise_px: float
    baseline_m: float
    scale_error: float
    field_error: float
    dropout: float


@dataclass(frozen=True)
class CameraModel:
    """A camera with its preset applied."""

    name: str
    vehicle: int
    size_px: Size
    rate_hz: float
    focal_px: float
    pos_B: Vec3
    quat_BM: Quat  # body from mount: x of the mount is where the camera looks, z the image's top
    latency_s: float
    depth: DepthModel | None
    start_s: float = 0.0

    @property
    def first(self) -> int:
        """Number of the first frame."""
        return math.ceil(self.start_s * self.rate_hz - 1e-9)

    @property
    def fovy_deg(self) -> float:
        return math.degrees(2.0 * math.atan2(self.size_px[1] / 2.0, self.focal_px))


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "down": {
        "size_px": (640, 480),
        "rate_hz": 30.0,
        "focal_px": 460.0,
        "pos_m": (0.0, 0.0, -0.02),
        "angles_deg": (0.0, 90.0, 0.0),
        "depth": None,
    },
    "rgbd": {
        "size_px": (640, 480),
        "rate_hz": 30.0,
        "focal_px": 525.0,
        "pos_m": (0.10, 0.0, 0.0),
        "angles_deg": (0.0, 7.0, 0.0),
        "depth": Depth(),
    },
}


def fitted(camera: Camera) -> CameraModel:
    """The camera with its preset applied; a focal length is kept in degrees when only the size changes."""
    preset = PRESETS[camera.preset]
    size_px = camera.size_px or preset["size_px"]
    if camera.focal_px is not None:
        focal_px = camera.focal_px
    elif camera.fovy_deg is not None:
        focal_px = size_px[1] / 2.0 / math.tan(math.radians(camera.fovy_deg) / 2.0)
    else:
        focal_px = preset["focal_px"] * size_px[1] / preset["size_px"][1]
    roll, pitch, yaw = (math.radians(angle) for angle in camera.angles_deg or preset["angles_deg"])
    depth = camera.depth or preset["depth"]
    rate_hz = preset["rate_hz"] if camera.rate_hz is None else camera.rate_hz
    return CameraModel(
        name=camera.name,
        vehicle=camera.vehicle,
        size_px=size_px,
        rate_hz=rate_hz,
        focal_px=focal_px,
        pos_B=camera.pos_m or preset["pos_m"],
        quat_BM=quat_from_euler(roll, pitch, yaw),
        latency_s=camera.latency_s,
        depth=_depth(depth, focal_px) if depth is not None else None,
        start_s=camera.start_s,
    )


def link_bytes_s(camera: Camera) -> float:
    """What its frames need of a link, at most."""
    model = fitted(camera)
    return model.rate_hz * frame_load.frame_bytes(model.size_px, camera.jpeg_quality, depth=model.depth is not None)


def _depth(depth: Depth, focal_px: float) -> DepthModel:
    noise_px, baseline_m, range_m = SENSORS[depth.sensor]
    baseline_m = depth.baseline_m or baseline_m
    own_px = KINECT_DISPARITY * focal_px * baseline_m if noise_px is None else noise_px
    return DepthModel(
        range_m=depth.range_m or range_m,
        noise_px=own_px if depth.noise_px is None else depth.noise_px,
        baseline_m=baseline_m,
        scale_error=depth.scale_error,
        field_error=depth.field_error,
        dropout=depth.dropout,
    )


def lacking(cameras: Sequence[Camera], *, lockstep: bool, step_s: float, aircraft: int) -> str:
    """What does not match between the cameras and their flight, in one sentence; "": nothing."""
    if len(cameras) > MOST_CAMERAS:
        return f"cameras: expected at most {MOST_CAMERAS}, not {len(cameras)}"
    names: dict[str, int] = {}
    for index, camera in enumerate(cameras):
        key = f"cameras[{index}]"
        if names.setdefault(camera.name, index) != index:
            return f"{key}.name: {camera.name!r} is the name of cameras[{names[camera.name]}] too; expected another"
        if lockstep and camera.latency_s == 0:
            return f"{key}.latency_s: expected more than 0 in lockstep"
        if fitted(camera).rate_hz * step_s > 1.0:
            return (
                f"{key}.rate_hz: expected at most one frame a step of {step_s:g} s, not {fitted(camera).rate_hz:g} Hz"
            )
        if camera.vehicle >= aircraft:
            return f"{key}.vehicle: expected 0 to {aircraft - 1}, not {camera.vehicle}"
    return ""
