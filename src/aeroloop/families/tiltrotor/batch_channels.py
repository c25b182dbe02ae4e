"""The random streams of a tilt-rotor that a batch draws too, for replays on the bench (`sensors/streams.py`)."""

from __future__ import annotations

from aeroloop.core.signals import SENSOR_COUNT
from aeroloop.sensors.streams import Drawn

STATE = 0
"""Stream of the measured state's noise: all its numbers, once in each cycle."""
CHANNELS = {"state": Drawn(stream=STATE, count=SENSOR_COUNT)}
