"""Which images of a descent the report gets."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.core.camera_streams import DESCENT_METADATA
from aeroloop.recording.descent_images import DescentImages

COLUMNS = ("t_s", "vehicle", "x_m", "y_m", "z_m")


def kept(height_m: Callable[[float], float], east_m: Callable[[float], float] = lambda t_s: 3.0) -> dict[float, float]:
    """The time of the image kept for each height; the pad is at (3, 0, 100), and there are 5 images a second."""
    images = DescentImages(0, 1, lambda t_s: (3.0, 0.0, 100.0), COLUMNS)
    see = images.taker("truth")
    assert see is not None and images.taker("air") is None
    for i in range(400):
        t_s = 0.05 * i
        see([t_s, 0, 3.0, 0.0, 100.3])  # another aircraft
        see([t_s, 1, east_m(t_s), 0.0, 100.0 + height_m(t_s)])
        if i % 4 == 2:  # late, as in real time
            for camera in (0, 1):
                images.take(camera, round((t_s - 0.1) * 1e9), b"%d" % camera)
    name, found = images.kept()
    assert name == DESCENT_METADATA
    return {float(key.split()[0]): float(key.split()[1]) for key in found}


def test_the_nearest_to_each_height_of_the_last_descent() -> None:
    climbing_between = kept(lambda t_s: 12.0 - 1.5 * t_s if t_s < 7 else 20.0 - 1.5 * (t_s - 7.0) if t_s < 20 else 0.1)
    assert climbing_between.keys() == {10.0, 5.0, 2.0, 1.0}
    assert abs(climbing_between[10.0] - (7.0 + 10 / 1.5)) < 0.2
    assert abs(climbing_between[2.0] - (7.0 + 18 / 1.5)) < 0.2


def test_not_without_the_pad_below() -> None:
    descent = lambda t_s: 10.0 - 0.5 * t_s  # noqa: E731
    assert 10.0 in kept(descent)
    assert kept(descent, lambda t_s: -20.0 if t_s < 8.0 else 3.0).keys() == {5.0, 2.0, 1.0, 0.3}
