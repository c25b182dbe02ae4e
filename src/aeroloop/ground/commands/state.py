"""Telemetry of an aircraft as one frozen snapshot: SI, degrees on the map, world ENU."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import Vec3
from aeroloop.core.frames import ned_from_enu as enu_from_ned
from aeroloop.core.signals import NS
from aeroloop.ground.commands.texts import TEXT, Text, Texts
from aeroloop.ground.commands.transaction import Partner, read
from aeroloop.protocols.flight_modes import Firmware, firmware, mode_name
from aeroloop.protocols.mavlink import Frame, Message

TEXTS_KEPT = 20
SILENT_S = 3.0
"""Time without a heartbeat after which an aircraft counts as disconnected."""

LANDED = ("unknown", "on_ground", "in_air", "takeoff", "landing")
MISSION_STATES = ("unknown", "no_mission", "not_started", "active", "paused", "complete")

_M = dialect
_U16 = 65535


@dataclass(frozen=True, slots=True)
class VehicleState:
    """None for values not received yet. Times are the ground station's clock."""

    system: int
    component: int
    heard_ns: int  # any message
    heartbeat_ns: int
    autopilot: int = _M.MAV_AUTOPILOT_INVALID
    kind: int = _M.MAV_TYPE_GENERIC  # MAV_TYPE
    armed: bool = False
    mode: str = ""  # PX4's and ArduPilot's modes by name; `custom N` for other autopilots
    status: str = ""  # MAV_STATE: standby, active, critical, ...
    lat_deg: float | None = None
    lon_deg: float | None = None
    alt_m: float | None = None  # above mean sea level
    height_m: float | None = None  # above home
    pos_W: Vec3 | None = None  # from the estimator's origin
    vel_W: Vec3 | None = None
    roll_deg: float | None = None  # as pilots read it: right wing down
    pitch_deg: float | None = None  # nose up
    heading_deg: float | None = None  # clockwise from north
    ground_speed_m_s: float | None = None
    air_speed_m_s: float | None = None
    climb_m_s: float | None = None
    throttle: float | None = None  # 0..1
    battery_V: float | None = None
    battery_A: float | None = None
    battery_remaining: float | None = None  # 0..1
    landed: str = LANDED[0]
    ready: bool | None = None  # to arm, by its own checks; None if it does not report them
    fix_type: int = 0  # GPS_FIX_TYPE: 3 is a position in space
    satellites: int | None = None
    mission_current: int | None = None
    mission_count: int | None = None
    mission_state: str = MISSION_STATES[0]
    home: Vec3 | None = None  # degrees, degrees, m above mean sea level
    texts: tuple[Text, ...] = ()  # the last ones, newest at the end

    @property
    def firmware(self) -> Firmware | None:
        """None for an autopilot whose modes are not known."""
        return firmware(self.autopilot, self.kind)

    def silent(self, now_ns: int) -> bool:
        return now_ns - self.heartbeat_ns > SILENT_S * NS


def is_autopilot(frame: Frame) -> bool:
    """Whether a heartbeat comes from an aircraft's autopilot, and not from a ground station, a camera or a radio."""
    message = read(frame)
    return message is not None and message.autopilot != _M.MAV_AUTOPILOT_INVALID and message.type != _M.MAV_TYPE_GCS


class Tracker:
    """Keeps one aircraft's snapshot from its messages."""

    def __init__(self, partner: Partner, t_ns: int) -> None:
        self.state = VehicleState(*partner, t_ns, t_ns)
        self._texts = Texts()
        self._has_battery = False

    @property
    def next_ns(self) -> int | None:
        return self._texts.next_ns

    def handle(self, frame: Frame, t_ns: int) -> list[Text]:
        """Handle a frame; returns the texts that are now complete."""
        if frame.msg_id == TEXT:
            return self._keep(self._texts.handle(frame, t_ns))
        change = _CHANGES.get(frame.msg_id)
        if change is None or (message := read(frame)) is None:
            return []
        changes = change(message)
        if frame.msg_id == _M.MAVLINK_MSG_ID_BATTERY_STATUS:
            self._has_battery = True
        elif frame.msg_id == _M.MAVLINK_MSG_ID_SYS_STATUS and self._has_battery:
            changes = {"ready": changes["ready"]}  # BATTERY_STATUS is more precise for the rest
        elif frame.msg_id == _M.MAVLINK_MSG_ID_HEARTBEAT:
            changes["heartbeat_ns"] = t_ns
        self.state = replace(self.state, heard_ns=t_ns, **changes)
        return []

    def step(self, t_ns: int) -> list[Text]:
        return self._keep(self._texts.step(t_ns))

    def _keep(self, texts: list[Text]) -> list[Text]:
        if texts:
            kept = (*self.state.texts, *texts)[-TEXTS_KEPT:]
            self.state = replace(self.state, texts=kept, heard_ns=max(self.state.heard_ns, texts[-1].t_ns))
        return texts


Changes = dict[str, Any]


def _heartbeat(m: Message) -> Changes:
    state = _M.enums["MAV_STATE"].get(m.system_status)
    return {
        "autopilot": m.autopilot,
        "kind": m.type,
        "armed": bool(m.base_mode & _M.MAV_MODE_FLAG_SAFETY_ARMED),
        "mode": mode_name(firmware(m.autopilot, m.type), m.custom_mode),
        "status": state.name.removeprefix("MAV_STATE_").lower() if state else "",
    }


def _global_position(m: Message) -> Changes:
    changes: Changes = {
        "lat_deg": m.lat / 1e7,
        "lon_deg": m.lon / 1e7,
        "alt_m": m.alt / 1000,
        "height_m": m.relative_alt / 1000,
        "vel_W": enu_from_ned((m.vx / 100, m.vy / 100, m.vz / 100)),
    }
    if m.hdg != _U16:
        changes["heading_deg"] = m.hdg / 100
    return changes


def _local_position(m: Message) -> Changes:
    if not all(map(math.isfinite, (m.x, m.y, m.z, m.vx, m.vy, m.vz))):
        return {}
    return {"pos_W": enu_from_ned((m.x, m.y, m.z)), "vel_W": enu_from_ned((m.vx, m.vy, m.vz))}


def _attitude(m: Message) -> Changes:
    if not all(map(math.isfinite, (m.roll, m.pitch, m.yaw))):
        return {}
    roll, pitch, yaw = map(math.degrees, (m.roll, m.pitch, m.yaw))
    return {"roll_deg": roll, "pitch_deg": pitch, "heading_deg": yaw % 360}


def _hud(m: Message) -> Changes:
    told = {"ground_speed_m_s": m.groundspeed, "air_speed_m_s": m.airspeed, "climb_m_s": m.climb}
    return {"throttle": m.throttle / 100, **{name: value for name, value in told.items() if math.isfinite(value)}}


def _sys_status(m: Message) -> Changes:
    checks = _M.MAV_SYS_STATUS_PREARM_CHECK
    told = m.onboard_control_sensors_present & m.onboard_control_sensors_enabled & checks
    return {
        "ready": bool(m.onboard_control_sensors_health & checks) if told else None,
        "battery_V": m.voltage_battery / 1000 if m.voltage_battery != _U16 else None,
        "battery_A": m.current_battery / 100 if m.current_battery >= 0 else None,
        "battery_remaining": m.battery_remaining / 100 if m.battery_remaining >= 0 else None,
    }


def _battery(m: Message) -> Changes:
    if m.id != 0:
        return {}
    cells_mV = [value for value in m.voltages if value != _U16]
    return {
        "battery_V": sum(cells_mV) / 1000 if cells_mV else None,
        "battery_A": m.current_battery / 100 if m.current_battery >= 0 else None,
        "battery_remaining": m.battery_remaining / 100 if m.battery_remaining >= 0 else None,
    }


def _landed(m: Message) -> Changes:
    return {"landed": LANDED[m.landed_state] if m.landed_state < len(LANDED) else LANDED[0]}


def _mission(m: Message) -> Changes:
    state = MISSION_STATES[m.mission_state] if m.mission_state < len(MISSION_STATES) else MISSION_STATES[0]
    changes: Changes = {"mission_current": m.seq, "mission_state": state}
    if m.mission_state or m.total:  # extensions, which older autopilots leave out
        changes["mission_count"] = m.total if m.total != _U16 else 0
    return changes


def _home(m: Message) -> Changes:
    return {"home": (m.latitude / 1e7, m.longitude / 1e7, m.altitude / 1000)}


def _gps(m: Message) -> Changes:
    return {"fix_type": m.fix_type, "satellites": m.satellites_visible if m.satellites_visible != 255 else None}


_CHANGES: dict[int, Callable[[Message], Changes]] = {
    _M.MAVLINK_MSG_ID_HEARTBEAT: _heartbeat,
    _M.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: _global_position,
    _M.MAVLINK_MSG_ID_LOCAL_POSITION_NED: _local_position,
    _M.MAVLINK_MSG_ID_ATTITUDE: _attitude,
    _M.MAVLINK_MSG_ID_VFR_HUD: _hud,
    _M.MAVLINK_MSG_ID_SYS_STATUS: _sys_status,
    _M.MAVLINK_MSG_ID_BATTERY_STATUS: _battery,
    _M.MAVLINK_MSG_ID_EXTENDED_SYS_STATE: _landed,
    _M.MAVLINK_MSG_ID_MISSION_CURRENT: _mission,
    _M.MAVLINK_MSG_ID_HOME_POSITION: _home,
    _M.MAVLINK_MSG_ID_GPS_RAW_INT: _gps,
}
