"""MAVLink's command protocol: converts commands to requests to the flight logic, and its answers to COMMAND_ACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk import px4_modes
from aeroloop.controllers.pixhawk.limits import HEADING, SPEED, TAKEOFF_HEIGHT, place_problem, refused
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.statustext import StatusTexts
from aeroloop.controllers.pixhawk.telemetry import Geodesy
from aeroloop.controllers.pixhawk.types import AutopilotInterface, FlightMode, Refusal, Severity
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.signals import Origin
from aeroloop.protocols.mavlink import Message

FORCE = 21196
"""The parameter value with which a pilot overrides the checks of arming and disarming."""

_M = dialect
_OPEN = 2**31 - 1
_GLOBAL = frozenset((_M.MAV_FRAME_GLOBAL, _M.MAV_FRAME_GLOBAL_INT))
_RELATIVE = frozenset((_M.MAV_FRAME_GLOBAL_RELATIVE_ALT, _M.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT))
_CHANGE_MODE = 1  # flag of DO_REPOSITION


@dataclass(frozen=True, slots=True)
class Command:
    """A command of either message; NaN: the sender omitted the parameter."""

    number: int
    params: tuple[float, ...]  # seven; positions in degrees and m
    frame: int = _M.MAV_FRAME_GLOBAL

    @property
    def relative(self) -> bool:
        """Heights are above home."""
        return self.frame in _RELATIVE


Handler = Callable[[Command], Refusal | None]


def command_from(message: Message) -> Command:
    params = (message.param1, message.param2, message.param3, message.param4)
    if message.get_type() == "COMMAND_LONG":
        return Command(message.command, (*params, message.param5, message.param6, message.param7))
    scale = 1e7 if message.frame in _GLOBAL | _RELATIVE else 1.0
    x, y = (math.nan if value == _OPEN else value / scale for value in (message.x, message.y))
    return Command(message.command, (*params, x, y, message.z), message.frame)


class CommandProtocol:
    """The command protocol on one link; `others` are commands that concern the link itself."""

    def __init__(
        self,
        logic: AutopilotInterface,
        parameters: Parameters,
        geodesy: Geodesy,
        texts: StatusTexts,
        others: dict[int, Handler],
        set_current: Callable[[int], Refusal | None],
    ) -> None:
        self._logic = logic
        self._parameters = parameters
        self._geodesy = geodesy
        self._texts = texts
        self._set_current = set_current
        self._handlers: dict[int, Handler] = {
            _M.MAV_CMD_COMPONENT_ARM_DISARM: self._arm,
            _M.MAV_CMD_NAV_TAKEOFF: self._take_off,
            _M.MAV_CMD_NAV_LAND: self._land,
            _M.MAV_CMD_NAV_RETURN_TO_LAUNCH: lambda _: logic.set_mode(FlightMode.RETURN),
            _M.MAV_CMD_NAV_LOITER_UNLIM: lambda _: logic.set_mode(FlightMode.HOLD),
            _M.MAV_CMD_DO_PAUSE_CONTINUE: self._pause,
            _M.MAV_CMD_DO_SET_MODE: self._mode,
            _M.MAV_CMD_DO_REPOSITION: self._reposition,
            _M.MAV_CMD_DO_CHANGE_SPEED: self._speed,
            _M.MAV_CMD_DO_SET_MISSION_CURRENT: self._current,
            _M.MAV_CMD_MISSION_START: self._start,
            _M.MAV_CMD_RUN_PREARM_CHECKS: self._checks,
            _M.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: lambda _: Refusal(
                "A simulated autopilot restarts with its simulation", temporary=False
            ),
            _M.MAV_CMD_PREFLIGHT_CALIBRATION: lambda _: Refusal(
                "Simulated sensors need no calibration", temporary=False
            ),
            **others,
        }

    def handle(self, message: Message, sender: tuple[int, int]) -> list[Message]:
        """The acknowledgement, and a text if the command was refused."""
        command = command_from(message)
        handler = self._handlers.get(command.number)
        if handler is None:
            return [_ack(command.number, _M.MAV_RESULT_UNSUPPORTED, sender)]
        if any(math.isinf(value) for value in command.params):
            refusal: Refusal | None = Refusal(f"Command {command.number}: a parameter is infinite", temporary=False)
        else:
            refusal = handler(command)
        if refusal is None:
            return [_ack(command.number, _M.MAV_RESULT_ACCEPTED, sender)]
        told = self._texts.messages(Severity.WARNING, refusal.reason) if refusal.reason else []
        return [_ack(command.number, _result(refusal), sender), *told]

    def set_mode(self, base: int, custom: int) -> Refusal | None:
        """SET_MODE, and DO_SET_MODE from senders that put both of PX4's numbers into one."""
        if not base & _M.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return Refusal("Only PX4's custom modes are known", temporary=False)
        mode = px4_modes.from_custom_mode(custom)
        return _no_mode(custom >> 16 & 0xFF, custom >> 24) if mode is None else self._logic.set_mode(mode)

    def _arm(self, command: Command) -> Refusal | None:
        value, force = command.params[0], command.params[1] == FORCE
        if value == 1:
            return self._logic.arm(force=force)
        if value == 0:
            return self._logic.disarm(force=force)
        return Refusal(f"Arm is 1 and disarm is 0, not {value:g}", temporary=False)

    def _take_off(self, command: Command) -> Refusal | None:
        height_m = command.params[6]
        if math.isnan(height_m):
            return self._logic.take_off(None)
        if not command.relative:
            home_m = self._home_altitude_m()
            if home_m is None:
                return Refusal("Home is not known yet")
            height_m -= home_m
            if height_m < TAKEOFF_HEIGHT.low:
                return self._logic.take_off(None)  # like PX4: a height below home selects the parameter's height
        if outside := TAKEOFF_HEIGHT.problem(height_m):
            return refused(outside)
        return self._logic.take_off(height_m)

    def _land(self, command: Command) -> Refusal | None:
        precision = command.params[1]
        if math.isnan(precision) or precision == 0:
            return self._logic.set_mode(FlightMode.LAND)
        if precision not in (1, 2):
            return Refusal(f"Precision landing is 0, 1 or 2, not {precision:g}", temporary=False)
        return self._logic.land(int(precision))

    def _pause(self, command: Command) -> Refusal | None:
        value = command.params[0]
        if value not in (0, 1):
            return Refusal(f"Pause is 0 and continue is 1, not {value:g}", temporary=False)
        return self._logic.set_mode(FlightMode.MISSION if value else FlightMode.HOLD)

    def _mode(self, command: Command) -> Refusal | None:
        base, main, sub = command.params[:3]
        if not all(value.is_integer() and 0 <= value <= 255 for value in (base, main)):
            return Refusal(f"Modes are numbers from 0 to 255, not {base:g} and {main:g}", temporary=False)
        if not int(base) & _M.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return Refusal("Only PX4's custom modes are known", temporary=False)
        number = int(sub) if math.isfinite(sub) and 0 <= sub <= 255 else 0
        mode = px4_modes.from_numbers(int(main), number)
        return _no_mode(int(main), number) if mode is None else self._logic.set_mode(mode)

    def _reposition(self, command: Command) -> Refusal | None:
        status, (_, flags, _, heading, lat, lon, alt) = self._logic.status, command.params
        nav, origin = status.estimate, status.origin
        if nav is None or origin is None or not nav.position_ok:
            return Refusal("Position is not known yet")
        may_change = math.isfinite(flags) and int(flags) & _CHANGE_MODE
        if not may_change and status.mode is not FlightMode.HOLD:
            return Refusal("Reposition outside of hold needs its flag")
        here = self._geodesy(origin, nav.pos_W)
        if math.isnan(lat) or math.isnan(lon):
            lat, lon = here[:2]
        if math.isnan(alt):
            alt = here[2]
        elif command.relative:
            home_m = self._home_altitude_m()
            if home_m is None:
                return Refusal("Home is not known yet")
            alt += home_m
        if outside := place_problem(lat, lon, alt):
            return refused(outside)
        if not math.isnan(heading) and (outside := HEADING.problem(heading)):
            return refused(outside)
        yaw_rad = None if math.isnan(heading) else wrap_pi_half_open(math.pi / 2 - heading)
        return self._logic.go_to(lat, lon, alt, yaw_rad)

    def _speed(self, command: Command) -> Refusal | None:
        kind, speed_m_s = command.params[:2]
        if speed_m_s == -1:
            return None  # as it is
        if kind not in (0, 1):  # air or ground speed, which are not distinguished for a multicopter
            return Refusal("Only the horizontal speed can be changed", temporary=False)
        if outside := SPEED.problem(speed_m_s):
            return refused(outside)
        return self._parameters.set("MPC_XY_CRUISE", speed_m_s)

    def _current(self, command: Command) -> Refusal | None:
        number = command.params[0]
        if not number.is_integer():
            return Refusal(f"No mission item {number:g}", temporary=False)
        return self._set_current(int(number))

    def _start(self, command: Command) -> Refusal | None:
        first = command.params[0]
        if first.is_integer() and first > 0 and (refusal := self._set_current(int(first))):
            return refusal
        return self._logic.set_mode(FlightMode.MISSION) or (None if self._logic.status.armed else self._logic.arm())

    def _checks(self, _: Command) -> Refusal | None:
        return None if self._logic.status.ready_to_arm else Refusal("Not ready to arm")

    def _home_altitude_m(self) -> float | None:
        status = self._logic.status
        origin: Origin | None = status.origin
        if status.home_W is None or origin is None:
            return None
        return self._geodesy(origin, status.home_W)[2]


def _no_mode(main: int, sub: int) -> Refusal:
    return Refusal(f"No flight mode {main}.{sub} here", temporary=False)


def _result(refusal: Refusal) -> int:
    if not refusal.supported:
        result: int = _M.MAV_RESULT_UNSUPPORTED
    elif refusal.temporary:
        result = _M.MAV_RESULT_TEMPORARILY_REJECTED
    else:
        result = _M.MAV_RESULT_DENIED
    return result


def _ack(number: int, result: int, to: tuple[int, int]) -> Message:
    return _M.MAVLink_command_ack_message(number, result, 0, 0, *to)
