"""A HIL simulator as one writes it in an afternoon: MuJoCo, numpy's noise, pymavlink, one socket; no log, no bench.

`python -m benchmarks.bare_simulator PORT SECONDS` serves one autopilot in lockstep and prints its real-time factor.
"""

from __future__ import annotations

import math
import socket
import sys
import time

import mujoco
import numpy as np
from pymavlink.dialects.v20 import common as mavlink

STEP_S = 0.004
GNSS_EVERY = 25  # steps
ROTORS_B_M = ((0.13, -0.22), (-0.13, 0.20), (0.13, 0.22), (-0.13, -0.20))
SPINS = (1, 1, -1, -1)
THRUST_NS2, TORQUE_TO_THRUST_M = 5.84e-6, 0.06
MODEL = f"""
<mujoco><option timestep="{STEP_S}" integrator="RK4"/>
<worldbody><geom type="plane" size="50 50 1"/>
<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.2 0.2 0.045" mass="1.5"/></body>
</worldbody></mujoco>"""


class Iris:
    """Speeds of the rotors with their lag, and a rigid body on MuJoCo."""

    def __init__(self) -> None:
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.data = mujoco.MjData(self.model)
        self._speeds = np.zeros(4)

    def step(self, controls: list[float]) -> None:
        wanted = 100.0 + 1000.0 * np.asarray(controls[:4])
        self._speeds += (wanted - self._speeds) * (1.0 - math.exp(-STEP_S / 0.0125))
        thrusts = THRUST_NS2 * self._speeds**2
        torque = np.zeros(3)
        for (x, y), spin, thrust in zip(ROTORS_B_M, SPINS, thrusts, strict=True):
            torque += (y * thrust, -x * thrust, -spin * TORQUE_TO_THRUST_M * thrust)
        rotation = self.data.xmat[1].reshape(3, 3)
        self.data.xfrc_applied[1, :3] = rotation @ (0.0, 0.0, thrusts.sum())
        self.data.xfrc_applied[1, 3:] = rotation @ torque
        mujoco.mj_step(self.model, self.data)


def messages(iris: Iris, rng: np.random.Generator, step: int) -> list[mavlink.MAVLink_message]:
    data, time_usec = iris.data, round(step * STEP_S * 1e6)
    rotation = data.xmat[1].reshape(3, 3)
    accel = rotation.T @ (data.qacc[:3] + np.array((0.0, 0.0, 9.81))) + rng.normal(0.0, 0.02, 3)
    gyro = data.qvel[3:6] + rng.normal(0.0, 0.002, 3)
    field = rotation.T @ (0.0, 0.21, -0.43) + rng.normal(0.0, 0.003, 3)
    height_m = 488.0 + data.qpos[2]
    pressure_hPa = 1013.25 * (1.0 - 2.25577e-5 * height_m) ** 5.25588 + rng.normal(0.0, 0.01)
    flu_to_frd = (1.0, -1.0, -1.0)
    vectors = (*(accel * flu_to_frd), *(gyro * flu_to_frd), *(field * flu_to_frd))
    out = []
    if step % GNSS_EVERY == 0:
        east_m, north_m, _ = data.qpos[:3]
        lat, lon = round((47.397742 + north_m / 111200.0) * 1e7), round((8.545594 + east_m / 75300.0) * 1e7)
        v_cm_s = [int(100.0 * v) for v in data.qvel[:3]]
        track = (lat, lon, int(height_m * 1000), 90, 120, 0, v_cm_s[1], v_cm_s[0], -v_cm_s[2], 0, 10)
        out.append(mavlink.MAVLink_hil_gps_message(time_usec, 3, *track))
    out.append(mavlink.MAVLink_hil_sensor_message(time_usec, *vectors, pressure_hPa, 0.0, height_m, 20.0, 0x1FFF))
    return out


def main(port: int, duration_s: float) -> float:
    """Its real-time factor."""
    with socket.create_server(("127.0.0.1", port)) as server:
        line, _ = server.accept()
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire, rng, iris = mavlink.MAVLink(None, srcSystem=1, srcComponent=51), np.random.default_rng(1), Iris()
    controls, steps = [0.0] * 16, round(duration_s / STEP_S)
    began_s = time.perf_counter()
    for step in range(1, steps + 1):
        iris.step(controls)
        packed = b""
        for message in messages(iris, rng, step):
            packed += message.pack(wire)
            wire.seq = (wire.seq + 1) & 0xFF
        line.sendall(packed)
        answered = False
        while not answered:
            for message in wire.parse_buffer(line.recv(4096)) or ():
                if message.get_type() == "HIL_ACTUATOR_CONTROLS":
                    controls, answered = message.controls, True
    line.close()
    return duration_s / (time.perf_counter() - began_s)


if __name__ == "__main__":
    print(main(int(sys.argv[1]), float(sys.argv[2])))
