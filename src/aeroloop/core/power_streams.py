"""The stream of an aircraft's battery and motors, of every family that simulates one."""

from __future__ import annotations

from aeroloop.core.stream import Column, Stream, fields

PACK: tuple[Column, ...] = (
    ("voltage_V", "V", "terminal voltage"),
    ("current_A", "A", "current of the battery"),
    ("used_Ah", "Ah", "charge used since the start"),
    ("energy_J", "J", "energy delivered since the start"),
    ("charge", "-", "state of charge, 1 full"),
    ("open_V", "V", "open-circuit voltage"),
)


DUTY = "duty_"
"""Names of the columns of the ESCs' duties begin with it."""


def current_names(motors: int) -> tuple[str, ...]:
    return tuple(f"motor_{i}_A" for i in range(1, motors + 1))


def duty_names(motors: int) -> tuple[str, ...]:
    return tuple(f"{DUTY}{i}" for i in range(1, motors + 1))


def power_stream(motors: int, rate_hz: float) -> Stream:
    """With columns for the motors; those of missing ones are NaN."""
    columns = (
        *PACK,
        *((name, "A", f"current of motor {i}") for i, name in enumerate(current_names(motors), 1)),
        *((name, "-", f"duty of the ESC of motor {i}") for i, name in enumerate(duty_names(motors), 1)),
    )
    meaning = "battery and motors over the last step, where a battery is simulated"
    return Stream("power", "plant", rate_hz, True, True, meaning, fields(*columns), optional=True)
