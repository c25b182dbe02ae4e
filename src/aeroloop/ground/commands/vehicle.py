"""An aircraft to command: every method blocks until the autopilot has answered, and raises CommandError on refusal or
timeout. Any thread may call."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.ground.commands.commands import Command, CommandTransaction
from aeroloop.ground.commands.errors import HeldError, InvalidError, NoAnswerError, RefusedError
from aeroloop.ground.commands.hub import GROUND
from aeroloop.ground.commands.mission_transfer import MissionClear, MissionDownload, MissionUpload
from aeroloop.ground.commands.parameter_transfer import ParameterList, ParameterRead, ParameterSet
from aeroloop.ground.commands.parameter_values import Parameter, Value
from aeroloop.ground.commands.state import VehicleState
from aeroloop.ground.commands.station import Station
from aeroloop.ground.commands.transaction import Partner, Patience
from aeroloop.ground.missions import Item
from aeroloop.ground.pilot_commands import ARDUPILOT_TAKEOFF_M, PLANE_TAKEOFF
from aeroloop.protocols.flight_modes import FLIGHT_MODES, Firmware, mode_params, modes_of

FORCE = 21196
"""The number that overrides the checks of arming and disarming."""
MODES = tuple(FLIGHT_MODES)
"""Those of all autopilots; each has some of them."""
HIGHEST_M = 20_000.0
RETRY_S = 2.0
PLACE_S = 5.0
"""How long a take-off waits for the aircraft's position."""

_M = dialect
_NAN = math.nan


class Vehicle:
    def __init__(self, station: Station, system: int, *, owns_station: bool = False) -> None:
        self.station, self.system = station, system
        self._owns_station = owns_station

    @staticmethod
    def connect(
        url: str,
        system: int | None = None,
        timeout_s: float = 10.0,
        *,
        me: Partner = GROUND,
        patience: Patience | None = None,
    ) -> Vehicle:
        """The only aircraft on its own link, which `close` closes."""
        station = Station.connect(url, timeout_s, me=me, patience=patience)
        try:
            found = station.vehicle(system, timeout_s).system
        except BaseException:
            station.close()
            raise
        return Vehicle(station, found, owns_station=True)

    def __enter__(self) -> Vehicle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owns_station:
            self.station.close()

    @property
    def state(self) -> VehicleState:
        """The last received state; it may lag behind a command by one heartbeat."""
        return self.station.state(self.system)

    def wait(self, until: Callable[[VehicleState], bool], timeout_s: float, what: str = "wait") -> VehicleState:
        """The first state that fulfils the condition; NoAnswerError after the timeout."""
        return self.station.wait_for(until, lambda: self.state, timeout_s, f"{what}: not there yet")

    def arm(self, *, force: bool = False) -> None:
        self._command("arm", _M.MAV_CMD_COMPONENT_ARM_DISARM, 1.0, FORCE if force else 0.0)

    def arm_when_ready(self, within_s: float, notify: Callable[[str], None] = lambda why: None) -> None:
        """Repeat until the autopilot accepts; `notify` gets its reason for each refusal."""
        deadline_s = time.monotonic() + within_s
        while True:
            try:
                self.arm()
            except HeldError:
                raise
            except RefusedError as error:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise RefusedError(f"{error}; not ready within {within_s:g} s") from None
                notify(str(error))
                self._await_ready(min(left_s, RETRY_S))
            else:
                return

    def _await_ready(self, at_most_s: float) -> None:
        """Until its checks have passed, or the time is over."""
        if self.state.ready:  # something else is in the way, and may be gone then
            time.sleep(at_most_s)
            return
        with suppress(NoAnswerError):
            self.wait(lambda state: bool(state.ready), at_most_s)

    def disarm(self, *, force: bool = False) -> None:
        """With force also in the air: the motors stop."""
        self._command("disarm", _M.MAV_CMD_COMPONENT_ARM_DISARM, 0.0, FORCE if force else 0.0)

    def takeoff(self, height_m: float | None = None) -> None:
        """To a height above home; None for the autopilot's default. ArduCopter takes off in GUIDED, ArduPlane in its
        mode takeoff."""
        of = self._firmware("takeoff")
        if height_m is not None and not 0 < height_m <= HIGHEST_M:
            raise InvalidError(f"takeoff: expected a height of 0 to {HIGHEST_M:g} m, not {height_m:g}")
        if of is Firmware.PLANE:
            if height_m is not None:
                self.set_parameter(PLANE_TAKEOFF, height_m)
            self._set_mode("takeoff", "takeoff")
            return
        if of is Firmware.COPTER:
            self._set_mode("guided", "takeoff")
            alt_m = height_m or ARDUPILOT_TAKEOFF_M  # above home
            self._command("takeoff", _M.MAV_CMD_NAV_TAKEOFF, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, alt_m)
            return
        alt_m = _NAN if height_m is None else self._home_altitude_m() + height_m
        self._command("takeoff", _M.MAV_CMD_NAV_TAKEOFF, _NAN, 0.0, 0.0, _NAN, _NAN, _NAN, alt_m)

    def land(self, *, precision: bool = False) -> None:
        """Land at the present position, or with precision on the target of a companion. PX4 has a mode for that;
        ArduPilot does it in every landing, by its PLND parameters."""
        if precision and self._firmware("land") is Firmware.PX4:
            self._set_mode("precland", "land")
            return
        self._command("land", _M.MAV_CMD_NAV_LAND, 0.0, 0.0, 0.0, _NAN, _NAN, _NAN, _NAN)

    def return_home(self) -> None:
        self._command("return", _M.MAV_CMD_NAV_RETURN_TO_LAUNCH)

    def hold(self) -> None:
        self._set_mode("hold", "hold")

    def set_mode(self, mode: str) -> None:
        """By its name in MODES."""
        self._set_mode(mode, f"mode {mode}")

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_deg: float | None = None) -> None:
        """Fly there and hold; altitude above mean sea level, heading clockwise from north."""
        place = (lat_deg, lon_deg, alt_m)
        if not (abs(lat_deg) <= 90 and abs(lon_deg) <= 180 and abs(alt_m) <= HIGHEST_M):
            raise InvalidError("go to: {:g} deg, {:g} deg, {:g} m is not a valid position".format(*place))
        if yaw_deg is not None and not math.isfinite(yaw_deg):
            raise InvalidError(f"go to: expected a heading in degrees, not {yaw_deg}")
        heading_rad = _NAN if yaw_deg is None else wrap_pi_half_open(math.radians(yaw_deg))
        params = (-1.0, _M.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0.0, heading_rad, *place)
        self._send("go to", Command(_M.MAV_CMD_DO_REPOSITION, params, frame=_M.MAV_FRAME_GLOBAL))

    def upload_mission(self, items: Sequence[Item]) -> None:
        """Replaces the old mission, which stays if the upload fails. An empty one ends the mission."""
        sent = (*self._home_item(items), *items)
        self.station.transact(MissionUpload(sent, self._peer, self.station.me, self._patience))

    def download_mission(self) -> tuple[Item, ...]:
        items = self.station.transact(MissionDownload(self._peer, self.station.me, self._patience))
        return items[1:] if self._is_ardupilot else items

    def clear_mission(self) -> None:
        self.station.transact(MissionClear(self._peer, self.station.me, self._patience))

    def start_mission(self, first: int | None = None) -> None:
        """Arms if necessary; from item `first`, or from the current one."""
        if self._is_ardupilot:  # it starts where it stands, and refuses a number here
            if first is not None:
                self._command("mission start", _M.MAV_CMD_DO_SET_MISSION_CURRENT, float(first + 1))
            self._command("mission start", _M.MAV_CMD_MISSION_START, 0.0, 0.0)
            return
        self._command("mission start", _M.MAV_CMD_MISSION_START, -1.0 if first is None else float(first), 0.0)

    def pause_mission(self) -> None:
        """Hold at the present position; `start_mission` continues."""
        self._set_mode("hold", "mission pause")

    def parameter(self, name: str) -> Value:
        """Its value; an int for a parameter of a whole number."""
        return self._read(name).value

    def set_parameter(self, name: str, value: Value) -> Value:
        """Returns the autopilot's value; RefusedError if it is still the old one."""
        if not math.isfinite(value):
            raise InvalidError(f"set {name}: expected a finite number, not {value}")
        before = self._read(name)
        transaction = ParameterSet(before, value, self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.transact(transaction).value

    def parameters(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Value]:
        """All of them by name; `progress` gets the number received and the total."""
        return {name: each.value for name, each in self.typed_parameters(progress).items()}

    def typed_parameters(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Parameter]:
        """As `parameters`, with their types."""
        transaction = ParameterList(self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.transact(transaction, None if progress is None else lambda: progress(*transaction.progress))

    def sticks(self, forward: float, left: float, up: float, yaw: float) -> None:
        """Each -1..1, yaw counter-clockwise from above; 0 of `up` is the middle. There is no answer: send it 20 times a
        second."""
        axes = forward, left, up, yaw
        if not all(-1 <= axis <= 1 for axis in axes):
            raise InvalidError(f"sticks: expected -1 to 1, not {axes}")
        thousand = [round(1000 * axis) for axis in (forward, -left, 0.5 * (1 + up), -yaw)]
        self.station.send(_M.MAVLink_manual_control_message(self.system, *thousand, 0))

    @property
    def _peer(self) -> Partner:
        return self.system, self.state.component

    @property
    def _patience(self) -> Patience:
        return self.station.patience

    @property
    def _is_ardupilot(self) -> bool:
        return bool(self.state.autopilot == _M.MAV_AUTOPILOT_ARDUPILOTMEGA)

    @property
    def _bytewise(self) -> bool:
        return not self._is_ardupilot

    def _home_item(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """ArduPilot keeps its home as the first item, whatever is sent there."""
        return (Item(_M.MAV_CMD_NAV_WAYPOINT),) if items and self._is_ardupilot else ()

    def _command(self, what: str, number: int, *params: float) -> None:
        self._send(what, Command(number, params))

    def _send(self, what: str, command: Command) -> None:
        self.station.transact(CommandTransaction(what, command, self._peer, self.station.me, self._patience))

    def _set_mode(self, mode: str, what: str) -> None:
        if mode not in MODES:
            raise InvalidError(f"{what}: unknown mode; expected one of: {', '.join(MODES)}")
        of = self._firmware(what)
        numbers = mode_params(of, mode)
        if numbers is None:
            raise InvalidError(f"{what}: {of.value} has no such mode; expected one of: {', '.join(modes_of(of))}")
        self._command(what, _M.MAV_CMD_DO_SET_MODE, _M.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, *numbers)

    def _firmware(self, what: str) -> Firmware:
        state = self.state
        if state.firmware is None:
            entry = _M.enums["MAV_AUTOPILOT"].get(state.autopilot)
            name = entry.name.removeprefix("MAV_AUTOPILOT_") if entry else state.autopilot
            raise InvalidError(
                f"{what}: system {self.system} reports autopilot {name} and vehicle type {state.kind}; only the modes "
                "of PX4, ArduCopter and ArduPlane are known"
            )
        return state.firmware

    def _home_altitude_m(self) -> float:
        otherwise = f"takeoff: system {self.system} has sent no position"
        state = self.station.wait_for(lambda s: s.alt_m is not None, lambda: self.state, PLACE_S, otherwise)
        assert state.alt_m is not None and state.height_m is not None
        return state.alt_m - state.height_m

    def _read(self, name: str) -> Parameter:
        transaction = ParameterRead(name, self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.transact(transaction)
