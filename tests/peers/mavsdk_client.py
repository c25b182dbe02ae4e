"""MAVSDK as ground station, run as a program: connects, reads, uploads, flies and lands; a JSON line for every step.

    python mavsdk_client.py PORT [--limit SECONDS] [--steps connect,health,...]

It listens on the UDP port as MAVSDK does for PX4's offboard API. The exit status is 0 if every step was done. A step
that fails is the last, and its line says why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from mavsdk import ComponentType, Configuration, Mavsdk, log_subscribe
from mavsdk.plugins.action import Action
from mavsdk.plugins.info import Info
from mavsdk.plugins.mission import Mission, MissionItem, MissionPlan
from mavsdk.plugins.offboard import Attitude, Offboard, PositionNedYaw, VelocityBodyYawspeed
from mavsdk.plugins.param import Param
from mavsdk.plugins.telemetry import LandedState, Telemetry

M_PER_DEG = 111_320.0
TAKEOFF_M = 5.0
SQUARE_M = ((5.0, 0.0), (5.0, 5.0), (0.0, 5.0), (0.0, 0.0))  # north and east of home, at TAKEOFF_M
NEAR_M = 0.5
MISSION_M = ((10.0, 0.0, 5.0), (10.0, 10.0, 8.0), (0.0, 10.0, 5.0))  # north and east of home, above home


class StepError(Exception):
    """A step did not come to its end."""


def waited(what: str, done: Callable[[], bool], limit_s: float) -> float:
    """Seconds that it took."""
    begin = time.monotonic()
    while not done():
        if time.monotonic() - begin > limit_s:
            raise StepError(f"{what}: not within {limit_s:g} s")
        time.sleep(0.05)
    return round(time.monotonic() - begin, 2)


class Client:
    """Every method is a step and returns what it found out."""

    def __init__(self, port: int, limit_s: float) -> None:
        self._limit_s = limit_s
        self._port = port
        self._sdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))

    def connect(self) -> dict[str, Any]:
        result = self._sdk.add_any_connection(f"udpin://127.0.0.1:{self._port}")
        system = self._sdk.first_autopilot(self._limit_s)
        if system is None:
            raise StepError(f"no autopilot on {self._port}: {result}")
        self._action, self._telemetry = Action(system), Telemetry(system)
        self._mission, self._param, self._info = Mission(system), Param(system), Info(system)
        self._offboard = Offboard(system)
        return {"system": system.get_system_id(), "autopilot": system.autopilot_type().name}

    def health(self) -> dict[str, Any]:
        """Until everything is well, as programs do before they arm."""
        try:
            took = waited("health", self._telemetry.health_all_ok, self._limit_s)
        except StepError as error:
            raise StepError(f"{error}; {self._telemetry.health()}") from None
        return {"waited_s": took}

    def version(self) -> dict[str, Any]:
        version = self._info.get_version()
        return {"flight_sw": [version.flight_sw_major, version.flight_sw_minor, version.flight_sw_patch]}

    def parameters(self) -> dict[str, Any]:
        everything = self._param.get_all_params()
        whole = {p.name: p.value for p in everything.int_params}
        real = {p.name: p.value for p in everything.float_params}
        before = self._param.get_param_float("MIS_TAKEOFF_ALT")
        self._param.set_param_float("MIS_TAKEOFF_ALT", TAKEOFF_M)
        after = self._param.get_param_float("MIS_TAKEOFF_ALT")
        self._param.set_param_int("NAV_DLL_ACT", 1)
        self._param.set_param_float("COM_DISARM_PRFLT", 600.0)  # simulated time: a slow client must not be disarmed
        return {
            "whole": whole,
            "real": real,
            "takeoff_alt_m": [before, after],
            "nav_dll_act": self._param.get_param_int("NAV_DLL_ACT"),
        }

    def upload(self) -> dict[str, Any]:
        home = self._telemetry.home()
        plan = MissionPlan([self._item(home, *place) for place in MISSION_M])
        self._mission.upload_mission(plan)
        back = self._mission.download_mission()
        return {"sent": len(plan.mission_items), "read_back": len(back.mission_items)}

    def arm(self) -> dict[str, Any]:
        self._action.arm()
        return {"waited_s": waited("armed", self._telemetry.armed, self._limit_s)}

    def takeoff(self) -> dict[str, Any]:
        self._action.takeoff()
        took = waited("in the air", lambda: self._telemetry.landed_state() == LandedState.IN_AIR, self._limit_s)
        waited("height", lambda: self._height_m() > 0.9 * TAKEOFF_M, self._limit_s)
        return {"waited_s": took, "height_m": round(self._height_m(), 2)}

    def mission(self) -> dict[str, Any]:
        self._mission.start_mission()
        seen = set()

        def finished() -> bool:
            progress = self._mission.mission_progress()
            seen.add(progress.current)
            return bool(self._mission.is_mission_finished())

        took = waited("mission finished", finished, self._limit_s)
        return {"waited_s": took, "items": sorted(seen)}

    def offboard_alone(self) -> dict[str, Any]:
        """The mode without a setpoint stream, asked for past the plugin, which would not ask."""
        try:
            self._offboard.start()
        except Exception as error:
            return {"refused": str(error)}
        raise StepError("offboard began without a setpoint")

    def offboard(self) -> dict[str, Any]:
        """A square by position, its corners in turn, then a second forward by body velocity, and an attitude."""
        begin = self._ned()
        self._offboard.set_position_ned(PositionNedYaw(begin[0], begin[1], begin[2], 90.0))
        self._offboard.start()
        waited("offboard", lambda: self._telemetry.flight_mode().name == "OFFBOARD", self._limit_s)
        misses = []
        for north_m, east_m in SQUARE_M:
            corner = (north_m, east_m, begin[2])
            self._offboard.set_position_ned(PositionNedYaw(*corner, 90.0))
            waited(f"corner {corner}", lambda to=corner: math.dist(self._ned(), to) < NEAR_M, self._limit_s)
            misses.append(round(math.dist(self._ned(), corner), 2))
        heading_deg = self._telemetry.attitude_euler().yaw_deg
        self._offboard.set_velocity_body(VelocityBodyYawspeed(1.0, 0.0, 0.0, 0.0))
        waited("forward", lambda: self._ned()[1] > 3.0, self._limit_s)  # the nose is east
        self._offboard.set_attitude(Attitude(0.0, 0.0, 90.0, 0.6))
        waited("climb", lambda: self._telemetry.position_velocity_ned().velocity.down_m_s < -0.5, self._limit_s)
        self._offboard.set_velocity_body(VelocityBodyYawspeed(0.0, 0.0, 0.0, 0.0))
        self._offboard.stop()
        waited("hold", lambda: self._telemetry.flight_mode().name == "HOLD", self._limit_s)
        return {"misses_m": misses, "heading_deg": round(heading_deg, 1), "active": self._offboard.is_active()}

    def _ned(self) -> tuple[float, float, float]:
        place = self._telemetry.position_velocity_ned().position
        return place.north_m, place.east_m, place.down_m

    def hold(self) -> dict[str, Any]:
        self._action.hold()
        waited("hold", lambda: self._telemetry.flight_mode().name == "HOLD", self._limit_s)
        return {"mode": self._telemetry.flight_mode().name}

    def land(self) -> dict[str, Any]:
        self._action.land()
        took = waited("on the ground", lambda: self._telemetry.landed_state() == LandedState.ON_GROUND, self._limit_s)
        return {"waited_s": took, "height_m": round(self._height_m(), 2)}

    def disarm(self) -> dict[str, Any]:
        """By itself after landing, or now."""
        if self._telemetry.armed():
            self._action.disarm()
        return {"waited_s": waited("disarmed", lambda: not self._telemetry.armed(), self._limit_s)}

    def _height_m(self) -> float:
        return float(self._telemetry.position().relative_altitude_m)

    def _item(self, home: Any, north_m: float, east_m: float, height_m: float) -> MissionItem:
        lat_deg = home.latitude_deg + north_m / M_PER_DEG
        lon_deg = home.longitude_deg + east_m / M_PER_DEG / math.cos(math.radians(home.latitude_deg))
        return MissionItem(lat_deg, lon_deg, height_m, speed_m_s=3.0, is_fly_through=True, acceptance_radius_m=1.0)


STEPS = (
    *("connect", "health", "version", "parameters", "upload", "arm", "takeoff"),
    *("mission", "hold", "land", "disarm"),
)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("port", type=int)
    arguments.add_argument("--limit", type=float, default=30.0, help="seconds that one step may take")
    arguments.add_argument("--steps", default=",".join(STEPS))
    chosen = arguments.parse_args()
    log_subscribe(lambda *_: True)  # its log goes to standard output otherwise, between our lines
    client = Client(chosen.port, chosen.limit)
    for step in chosen.steps.split(","):
        try:
            found = getattr(client, step)()
        except Exception as error:
            print(json.dumps({"step": step, "ok": False, "error": f"{type(error).__name__}: {error}"}), flush=True)
            return 1
        print(json.dumps({"step": step, "ok": True, **found}), flush=True)
    return 0


if __name__ == "__main__":
    signal.alarm(600)
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the library's threads are not waited for
