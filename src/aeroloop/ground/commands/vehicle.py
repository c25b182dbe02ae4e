"""An aircraft to be commanded: every method blocks until the autopilot has answered, and raises CommandError if it did
not or said no. Any thread may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.ground.commands.commands import Command, CommandTalk
from aeroloop.ground.commands.conversation import Partner, Patience
from aeroloop.ground.commands.errors import InvalidError
from aeroloop.ground.commands.hub import GROUND
from aeroloop.ground.commands.mission_transfer import MissionClear, MissionDownload, MissionUpload
from aeroloop.ground.commands.parameter_talks import ParameterList, ParameterRead, ParameterSet
from aeroloop.ground.commands.parameter_values import Parameter, Value
from aeroloop.ground.commands.state import VehicleState
from aeroloop.ground.commands.station import Station
from aeroloop.ground.missions import Item
from aeroloop.protocols.px4_modes import MORE_PX4_MODES, PX4_MODES

FORCE = 21196
"""The number with which a pilot overrules the checks of arming and disarming."""
MODES = {**PX4_MODES, **MORE_PX4_MODES}
HIGHEST_M = 20_000.0
PLACE_S = 5.0
"""How long a take-off waits for the aircraft to say where it is."""

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
        """The aircraft alone on its own link, which `close` closes."""
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
        """What it told last; a heartbeat behind what was just commanded."""
        return self.station.state(self.system)

    def wait(self, until: Callable[[VehicleState], bool], timeout_s: float, what: str = "wait") -> VehicleState:
        """The first state that fulfils; NoAnswerError after the time-out."""
        return self.station.wait_for(until, lambda: self.state, timeout_s, f"{what}: not there yet")

    def arm(self, *, force: bool = False) -> None:
        self._command("arm", _M.MAV_CMD_COMPONENT_ARM_DISARM, 1.0, FORCE if force else 0.0)

    def disarm(self, *, force: bool = False) -> None:
        """By force also in the air: the motors stop."""
        self._command("disarm", _M.MAV_CMD_COMPONENT_ARM_DISARM, 0.0, FORCE if force else 0.0)

    def takeoff(self, height_m: float | None = None) -> None:
        """To a height above home; None for the autopilot's own."""
        self._need_px4("takeoff")  # others take the altitude for a height
        alt_m = _NAN
        if height_m is not None:
            if not 0 < height_m <= HIGHEST_M:
                raise InvalidError(f"takeoff: expected a height of 0 to {HIGHEST_M:g} m, not {height_m:g}")
            alt_m = self._home_altitude_m() + height_m
        self._command("takeoff", _M.MAV_CMD_NAV_TAKEOFF, _NAN, 0.0, 0.0, _NAN, _NAN, _NAN, alt_m)

    def land(self) -> None:
        """Where it is."""
        self._command("land", _M.MAV_CMD_NAV_LAND, 0.0, 0.0, 0.0, _NAN, _NAN, _NAN, _NAN)

    def return_home(self) -> None:
        self._command("return", _M.MAV_CMD_NAV_RETURN_TO_LAUNCH)

    def hold(self) -> None:
        self._set_mode("hold", "hold")

    def set_mode(self, mode: str) -> None:
        """By its name in MODES."""
        self._set_mode(mode, f"mode {mode}")

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_deg: float | None = None) -> None:
        """And hold there; altitude above mean sea level, nose clockwise from north."""
        place = (lat_deg, lon_deg, alt_m)
        if not (abs(lat_deg) <= 90 and abs(lon_deg) <= 180 and abs(alt_m) <= HIGHEST_M):
            raise InvalidError("go to: {:g} deg, {:g} deg, {:g} m is no place to fly to".format(*place))
        if yaw_deg is not None and not math.isfinite(yaw_deg):
            raise InvalidError(f"go to: expected a heading in degrees, not {yaw_deg}")
        heading_rad = _NAN if yaw_deg is None else wrap_pi_half_open(math.radians(yaw_deg))
        params = (-1.0, _M.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0.0, heading_rad, *place)
        self._send("go to", Command(_M.MAV_CMD_DO_REPOSITION, params, frame=_M.MAV_FRAME_GLOBAL))

    def upload_mission(self, items: Sequence[Item]) -> None:
        """In place of the old one, which stays if the upload fails. Ends the mission if there are none."""
        self.station.talk(MissionUpload(items, self._peer, self.station.me, self._patience))

    def download_mission(self) -> tuple[Item, ...]:
        return self.station.talk(MissionDownload(self._peer, self.station.me, self._patience))

    def clear_mission(self) -> None:
        self.station.talk(MissionClear(self._peer, self.station.me, self._patience))

    def start_mission(self, first: int | None = None) -> None:
        """Arms if need be; from item `first`, or from where it was."""
        self._command("mission start", _M.MAV_CMD_MISSION_START, -1.0 if first is None else float(first), 0.0)

    def pause_mission(self) -> None:
        """Hold where it is; `start_mission` goes on."""
        self._set_mode("hold", "mission pause")

    def parameter(self, name: str) -> Value:
        """Its value; an int for a parameter of a whole number."""
        return self._read(name).value

    def set_parameter(self, name: str, value: Value) -> Value:
        """The value that stands now; RefusedError if it is still the old one."""
        if not math.isfinite(value):
            raise InvalidError(f"set {name}: expected a finite number, not {value}")
        before = self._read(name)
        talk = ParameterSet(before, value, self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.talk(talk).value

    def parameters(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Value]:
        """All of them by name; `progress` is told how many have come, of how many."""
        return {name: each.value for name, each in self.typed_parameters(progress).items()}

    def typed_parameters(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Parameter]:
        """As `parameters`, with their types."""
        talk = ParameterList(self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.talk(talk, None if progress is None else lambda: progress(*talk.progress))

    def sticks(self, forward: float, left: float, up: float, yaw: float) -> None:
        """Each -1..1, yaw counter-clockwise from above; 0 of `up` is the middle. Nobody answers: send it 20 times a
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
    def _bytewise(self) -> bool:
        return bool(self.state.autopilot != _M.MAV_AUTOPILOT_ARDUPILOTMEGA)

    def _command(self, what: str, number: int, *params: float) -> None:
        self._send(what, Command(number, params))

    def _send(self, what: str, command: Command) -> None:
        self.station.talk(CommandTalk(what, command, self._peer, self.station.me, self._patience))

    def _set_mode(self, mode: str, what: str) -> None:
        if mode not in MODES:
            raise InvalidError(f"{what}: no such mode; expected one of: {', '.join(MODES)}")
        self._need_px4(what)
        self._command(what, _M.MAV_CMD_DO_SET_MODE, _M.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, *map(float, MODES[mode]))

    def _need_px4(self, what: str) -> None:
        state = self.state
        if not state.is_px4:
            entry = _M.enums["MAV_AUTOPILOT"].get(state.autopilot)
            name = entry.name.removeprefix("MAV_AUTOPILOT_") if entry else state.autopilot
            raise InvalidError(f"{what}: system {self.system} says its autopilot is {name}; only PX4's modes are known")

    def _home_altitude_m(self) -> float:
        otherwise = f"takeoff: system {self.system} has not said where it is"
        state = self.station.wait_for(lambda s: s.alt_m is not None, lambda: self.state, PLACE_S, otherwise)
        assert state.alt_m is not None and state.height_m is not None
        return state.alt_m - state.height_m

    def _read(self, name: str) -> Parameter:
        talk = ParameterRead(name, self._peer, self.station.me, self._patience, bytewise=self._bytewise)
        return self.station.talk(talk)
