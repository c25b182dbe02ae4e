"""The whole process against a PX4 that judges it: `aeroloop fly quad-px4`, the strict peer, a real socket.

The peer has PX4's habits: it is there first and tries until somebody listens, answers nothing to the first samples, and
its first answer is a step old. What it commands comes from the virtual Pixhawk, whose estimator, like PX4's, refuses
sensors that do not agree.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect
from quad_runs import FLIGHT_GUARD_S, NO_TELEMETRY, OutsideAutopilot, collect, command, free_port

from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.world.earth import Home
from peers.px4_peer import Command, Px4Peer

HEIGHT_M = 5.0
ARM_US, TAKE_OFF_US, LAND_US, END_S = 6_000_000, 6_500_000, 10_000_000, 22
DISAGREE = 0.5
"""PX4 does not arm when a test ratio stays above this (COM_ARM_EKF_POS, _VEL, _HGT, _YAW)."""
TRUTH_US = 5000


class JudgingPx4(OutsideAutopilot):
    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.commanded: Command = (False, ())
        self.peer = Px4Peer(
            command=lambda _t_us: self.commanded,
            first_answer_late=True,
            home_deg=(Home().lat_deg, Home().lon_deg),
        )
        self.kinds: Counter[str] = Counter()
        self.early_truth = 0  # before the first answer
        self.ratios: dict[str, float] = {}  # the largest on the ground, once the position is good
        self._mine = dialect.MAVLink(None)
        self._theirs = dialect.MAVLink(None)

    def talk(self) -> None:
        with self.connected() as line:
            line.sendall(self.peer.connect())
            while chunk := line.recv(65536):
                for message in self._theirs.parse_buffer(chunk) or ():
                    self.kinds[message.get_type()] += 1
                if not self.peer.answers:
                    self.early_truth = self.kinds["HIL_STATE_QUATERNION"]
                for message in self._mine.parse_buffer(self.pixhawk.receive(chunk, self._step)) or ():
                    self.commanded = bool(message.mode & 128), message.controls
                self._note_ratios()
                if answer := self.peer.receive(chunk):
                    line.sendall(answer)

    def _note_ratios(self) -> None:
        estimate = self.pixhawk.estimate
        if estimate is None or not estimate.position_ok or self.commanded[0]:
            return
        for name, ratio in self.pixhawk.navigation.innovation_ratio.items():
            self.ratios[name] = max(self.ratios.get(name, 0.0), ratio)


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[JudgingPx4, Any]:
    port, folder = free_port(), tmp_path_factory.mktemp("px4") / "run"
    px4 = JudgingPx4(port)
    px4.orders = {
        ARM_US: lambda logic: logic.arm(),
        TAKE_OFF_US: lambda logic: logic.take_off(HEIGHT_M),
        LAND_US: lambda logic: logic.set_mode(FlightMode.LAND),
    }
    link, duration = f"tcp://127.0.0.1:{port}?listen", f"duration_s={END_S}"
    with px4:
        done = subprocess.run(
            command(
                "quad-px4",
                "--link",
                link,
                "--set",
                duration,
                "--set",
                "link.start_timeout_s=60",
                *NO_TELEMETRY,
                out=folder,
            ),
            capture_output=True,
            text=True,
            timeout=FLIGHT_GUARD_S,
            check=False,
        )
    return px4, collect(folder, done.returncode, done.stdout + done.stderr)


def test_px4_has_nothing_to_complain_about(flown: tuple[JudgingPx4, Any]) -> None:
    px4, run = flown
    assert px4.peer.finish() == []
    assert run.exit_code == 0, run.said
    assert px4.kinds["HIL_SENSOR"] == END_S * 250
    assert px4.peer.answers == END_S * 250 - 17, "one answer for each sample"


def test_it_arms_takes_off_and_lands(flown: tuple[JudgingPx4, Any]) -> None:
    px4, run = flown
    heights = run.positions()[:, 2]
    assert heights[: ARM_US // 4000].max() - heights[: ARM_US // 4000].min() < 1e-3, "it stands still"
    assert heights.max() == pytest.approx(HEIGHT_M, abs=0.6)
    assert heights[-1] == pytest.approx(heights[0], abs=0.02)
    assert not px4.pixhawk.status.armed


def test_an_estimator_on_the_ground_believes_every_sensor(flown: tuple[JudgingPx4, Any]) -> None:
    px4, _ = flown
    assert set(px4.ratios) == {"magnetometer", "barometer", "position", "velocity", "height"}
    assert max(px4.ratios.values()) < DISAGREE, px4.ratios
    assert max(map(abs, px4.pixhawk.navigation.accel_bias_B)) < 0.15, "PX4 warns above 0.3"
    assert max(map(abs, px4.pixhawk.navigation.gyro_bias_B)) < 0.02


def test_ground_truth_comes_as_often_as_it_was_asked_for_and_in_lockstep_only(flown: tuple[JudgingPx4, Any]) -> None:
    px4, _ = flown
    assert px4.early_truth == 0
    assert px4.kinds["HIL_STATE_QUATERNION"] == pytest.approx(END_S * 1e6 / TRUTH_US, rel=0.02)
