"""A stick on this machine, through the kernel's input events; `evdev` is imported only when one is opened."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.ground.axes import AxisEvent, AxisRange

INPUT_DIR = Path("/dev/input")

# From linux/input-event-codes.h.
EV_SYN, EV_KEY, EV_ABS = 0, 1, 3
SYN_DROPPED = 3
ABS_X = 0
BTN_JOYSTICK, BTN_GAMEPAD = 0x120, 0x130


class InputEvent(Protocol):
    type: int
    code: int
    value: int


class Device(Protocol):
    """The part of `evdev.InputDevice` that is used."""

    path: Any
    name: str

    def capabilities(self) -> dict[int, list[Any]]: ...

    def absinfo(self, axis_num: int) -> Any: ...

    def read(self) -> Iterator[InputEvent]: ...

    def close(self) -> None: ...


class EvdevSource:
    """Axis events of an opened input device; `axis_names` is `evdev.ecodes.ABS`."""

    def __init__(self, device: Device, axis_names: Mapping[int, Any]) -> None:
        self.name = f"{device.path} ({device.name})"
        self._device = device
        self._axes: dict[int, str] = {}
        self.ranges: dict[str, AxisRange] = {}
        for code, info in device.capabilities().get(EV_ABS, []):
            axis = axis_names.get(code)
            if isinstance(axis, str) and info.min < info.max:
                self._axes[code] = axis
                self.ranges[axis] = AxisRange(info.min, info.max)

    def poll(self, now_s: float) -> list[AxisEvent]:
        events: list[AxisEvent] = []
        dropped = False
        try:
            for event in self._pending():
                if event.type == EV_ABS and event.code in self._axes:
                    events.append(AxisEvent(now_s, self._axes[event.code], event.value))
                dropped |= event.type == EV_SYN and event.code == SYN_DROPPED
            if dropped:  # the kernel's buffer overflowed: only the present axis values are certain
                events += [
                    AxisEvent(now_s, axis, self._device.absinfo(code).value) for code, axis in self._axes.items()
                ]
        except OSError as error:
            if error.errno == errno.ENODEV:
                raise LinkError(f"joystick {self.name} was unplugged") from None
            raise LinkError(f"joystick {self.name} cannot be read: {error.strerror}") from None
        return events

    def close(self) -> None:
        self._device.close()

    def _pending(self) -> Iterator[InputEvent]:
        while True:
            try:
                yield from self._device.read()
            except BlockingIOError:
                return


def open_stick(path: str = "") -> EvdevSource:
    """The named input device, or the first one that is a joystick or gamepad."""
    try:
        import evdev
    except ImportError:
        raise ConfigError(
            "a joystick needs the Python module evdev; install it with: pip install 'aeroloop[joystick]'"
        ) from None
    names: Mapping[int, Any] = evdev.ecodes.ABS
    if path:
        return EvdevSource(_opened(evdev, path), names)

    problems: list[str] = []
    for candidate in sorted(INPUT_DIR.glob("event*"), key=lambda p: (len(p.name), p.name)):
        try:
            device = _opened(evdev, str(candidate))
        except LinkError as error:
            problems.append(str(error))
            continue
        if _is_stick(device):
            return EvdevSource(device, names)
        device.close()
    raise LinkError("; ".join([f"no joystick or gamepad found among {INPUT_DIR}/event*", *problems[:1]]))


def _opened(evdev: Any, path: str) -> Device:
    try:
        device: Device = evdev.InputDevice(path)
    except PermissionError:
        raise LinkError(f"{path}: no permission; add yourself to the group `input` and log in again") from None
    except OSError as error:
        raise LinkError(f"{path}: cannot be opened: {error.strerror}") from None
    return device


def _is_stick(device: Device) -> bool:
    able = device.capabilities()
    axes = {code for code, _ in able.get(EV_ABS, [])}
    return ABS_X in axes and not {BTN_JOYSTICK, BTN_GAMEPAD}.isdisjoint(able.get(EV_KEY, []))
