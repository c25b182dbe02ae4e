"""The exported law flies the bench's PX4 scenario: a PX4 stand-in whose motors come from the module, through its bus,
and equal those of the law's own C in single precision to the bit in every step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import casadi as ca
import px4_bus
import pytest
from px4_bus import Bus, SilLaw
from px4_rows import as_received, fly_on, sample, step
from quad_runs import FLIGHT_GUARD_S, collect, command, free_port
from test_px4_flights import free_udp_port

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.px4.module_law import ATTITUDE
from aeroloop.controllers.px4.module_texts import parameter_name
from aeroloop.estimation import ekf
from peers.px4_standin import StandIn

BUILD_GUARD_S = 3600.0
LEVEL = (*(0.0,) * 6, 1.0, *(0.0,) * 6)
FLIGHT = """
name = "law-in-px4"
summary = "A short mission"
duration_s = 24.0
loop = "hil"
[vehicle]
kind = "quadrotor"
[link]
start_timeout_s = 60.0
[pilot]
ending = "land"
waypoints = [{ pos_m = [0.0, 0.0, 2.0] }, { pos_m = [4.0, 0.0, 2.0] }]
commands = [{ at_s = 6.0, do = "arm" }, { at_s = 6.5, do = "takeoff", value = 2.0 }, { at_s = 9.0, do = "mission" }]
[[checks]]
metric = "waypoint_max_m"
below = 3.0
[[checks]]
metric = "landed_at_end"
equals = 1.0
"""


class OnBus(Evaluator):
    """The law of the autopilot as PX4 would run it: estimate and setpoint as messages, motors from the module."""

    def __init__(self, function: ca.Function, bus: Bus, sil: SilLaw) -> None:
        super().__init__(function)
        self._bus, self._sil, self.steps = bus, sil, 0
        self.differing: list[int] = []
        self._gains: list[float] = []
        self.run = self._fly

    def _tune(self, gains: list[float]) -> None:
        """The autopilot's parameters become the module's."""
        self._gains = gains
        self._sil.gains[:] = gains
        for gain, value in zip(GAINS, gains, strict=True):
            self._bus.set(parameter_name(gain), value)
        self._bus.put("parameter_update")

    def _fly(self) -> None:
        state, setpoint, memory, gains = self.inputs
        if gains.tolist() != self._gains:
            self._tune(gains.tolist())
        if not memory[0]:  # it has just been armed: PX4 says so, and the law begins anew
            fly_on(self._bus, armed=False)
            sample(self._bus, LEVEL)
            fly_on(self._bus)
            self._sil.restart()
        rate_B = state[ekf.LAST_RATE] - state[ekf.GYRO_BIAS]
        nav = [*state[ekf.POS], *state[ekf.VEL], *state[ekf.QUAT], *rate_B]
        motors = step(self._bus, nav, setpoint.tolist())[:4]
        if motors != self._sil(*as_received(nav, setpoint.tolist())):
            self.differing.append(self.steps)
        self.steps += 1
        rows = self._bus.get("debug_array").data
        self.outputs[0][:] = motors
        self.outputs[1][:] = rows[36 : 36 + ATTITUDE]
        self.outputs[2][0] = 1.0


@pytest.mark.soak  # short: tests/controllers/test_px4_module.py, step by step
def test_it_arms_takes_off_flies_the_mission_and_lands_as_in_sil_to_the_bit(tmp_path: Path) -> None:
    exported = px4_bus.exported(tmp_path / "module")
    bus = Bus(px4_bus.built(exported, tmp_path / "build"), exported)
    sil = SilLaw(exported, tmp_path)
    bus.time_us = 1_000_000
    assert bus.command("start") == 0, bus.said
    laws: list[OnBus] = []

    def runner(function: ca.Function) -> Any:
        if function.name() != "flight_law":
            return fastest(function)
        laws.append(OnBus(function, bus, sil))
        return laws[-1]

    hil, telemetry = free_port(), free_udp_port()
    px4 = StandIn(hil, telemetry, runner=runner)
    px4.start()
    link = (f"link.url=tcp://127.0.0.1:{hil}?listen", f"telemetry.url=udp://127.0.0.1:{telemetry}?listen")
    sets = [word for change in link for word in ("--set", change)]
    (tmp_path / "flight.toml").write_text(FLIGHT)
    flight = command(str(tmp_path / "flight.toml"), *sets, "--no-report", out=tmp_path / "run")
    done = subprocess.run(flight, capture_output=True, text=True, timeout=FLIGHT_GUARD_S, check=False)
    px4.stop()
    run = collect(tmp_path / "run", done.returncode, done.stdout + done.stderr)
    assert run.exit_code == 0, run.said
    assert [event["value"] for event in run.events("WAYPOINT_REACHED")] == [1, 2, 3]
    assert not px4.pixhawk.status.armed
    (law,) = laws
    assert law.steps > 2500, "250 a second from arming to landing"
    assert law.differing == []
    assert bus.started == []


def test_a_checkout_of_px4_builds_it_and_flies_the_square(tmp_path: Path) -> None:
    """By the lines of the module's read-me, for minutes; the checkout's build folder then has the module."""
    checkout = os.environ.get("AEROLOOP_PX4", "")
    if not checkout:
        pytest.skip("AEROLOOP_PX4 names no checkout of PX4, which would be built with the module and flown")
    px4, module, place = Path(checkout).resolve(), px4_bus.exported(tmp_path / "module"), tmp_path / "law_flight"
    make = ["make", "-C", str(px4), "px4_sitl", f"EXTERNAL_MODULES_LOCATION={module}"]
    subprocess.run(make, check=True, timeout=BUILD_GUARD_S)
    built = px4 / "build" / "px4_sitl_default"
    shutil.copytree(built / "etc", place / "law_etc")
    shutil.copytree(module / "airframes", place / "law_etc" / "init.d-posix" / "airframes", dirs_exist_ok=True)
    (model,) = re.findall(r"PX4_SIM_MODEL=(\w+)", (module / "README.md").read_text())
    started = [str(built / "bin" / "px4"), "-d", "-s", "etc/init.d-posix/rcS", str(place / "law_etc")]
    with (place / "px4.txt").open("wb") as said:
        running = subprocess.Popen(
            started,
            cwd=place,
            env={**os.environ, "PX4_SIM_MODEL": model, "PX4_SIM_SPEED_FACTOR": "10"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        flight = command("quad-px4-mission", out=tmp_path / "run")
        done = subprocess.run(flight, capture_output=True, text=True, timeout=FLIGHT_GUARD_S, check=False)
    finally:
        running.kill()
        running.wait()
    run = collect(tmp_path / "run", done.returncode, done.stdout + done.stderr)
    told = (place / "px4.txt").read_text(errors="replace")
    assert run.exit_code == 0, run.said + told
    assert "law failed" not in run.said + told, "PX4's own control has taken over"
    assert run.events("WAYPOINT_REACHED")
