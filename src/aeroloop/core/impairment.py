"""Impairment of a link in one direction, as a table of a scenario."""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, meta


class Impairment(Config, frozen=True):
    """Impairment of a link in one direction; zero is none."""

    delay_s: Annotated[float, meta("s", "constant delay", ge=0, le=10)] = 0.0
    jitter_s: Annotated[float, meta("s", "extra delay, uniform from zero to this; order is kept", ge=0, le=10)] = 0.0
    loss: Annotated[float, meta("-", "probability that a frame is lost", ge=0, le=1)] = 0.0
    corrupt: Annotated[float, meta("-", "probability that a byte is corrupted", ge=0, le=1)] = 0.0
    duplicate: Annotated[float, meta("-", "probability that a frame arrives twice", ge=0, le=1)] = 0.0
    reorder: Annotated[float, meta("-", "probability that a frame is overtaken by the next one", ge=0, le=1)] = 0.0
    baud: Annotated[int, meta("Bd", "pace the bytes like a UART (10 bits a byte); 0 for no pacing", ge=0)] = 0

    @property
    def active(self) -> bool:
        return self != Impairment()
