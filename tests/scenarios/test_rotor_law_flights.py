"""The law of the rotor speeds under external autopilots: it is on the actuators' side, so PX4 and ArduPilot, whose
places the strict peers take, fly with it unchanged; a motor loses 20 % of its speed in flight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import test_ardupilot_flights as ardupilot
import test_px4_flights as px4
from quad_runs import Run

from peers.ardupilot_standin import StandIn

LAW = "smc-sync-pidnn"
GAIN = (0.96, 1.03, 0.98, 1.05)
Flown = Callable[[str, Path], Run]


def drive(law: str, sensors: str, rate_hz: float, weak_s: float) -> tuple[str, ...]:
    return (
        f"synchronisation.law={law}",
        f"synchronisation.evaluate_from_s={weak_s}",
        f"sensors.fitted=[{sensors}, 'tachometer']",
        f"sensors.tachometer.rate_hz={rate_hz}",
        f"motors.spread.gain={list(GAIN)}",
        "motors.spread.lag=[1.1, 0.9, 1.15, 0.95]",
        f"faults=[{{target='rotor', kind='effectiveness', channel='rotor1', from_s={weak_s}, value=0.8}}]",
        f"duration_s={weak_s + 1.0}",
        "checks=[]",
    )


def under_px4(law: str, folder: Path) -> Run:
    sensors = "'imu', 'magnetometer', 'barometer', 'gnss'"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(px4, "TIMES_S", {"10.0": 2.0, "11.0": 2.2, "20.0": 60.0})
        flown = px4.fly(folder, *drive(law, sensors, 250.0, 5.0))
    assert flown.px4.unfinished == []
    return flown.run


def under_ardupilot(law: str, folder: Path) -> Run:
    port, telemetry = ardupilot.free_udp_port(), ardupilot.free_udp_port()
    peer = StandIn(ardupilot.peer(), port, telemetry)
    peer.start()
    words = ardupilot.words(port, f"udp://127.0.0.1:{telemetry}?listen", *drive(law, "'imu'", 400.0, 4.0))
    run = ardupilot.flown(folder, str(ardupilot.shortened(folder)), *words)
    peer.stop()
    assert peer.peer.finish() == []
    return run


FLOWN = [under_px4, under_ardupilot]


@pytest.mark.parametrize("flown", [under_px4, pytest.param(under_ardupilot, marks=pytest.mark.soak)])
def test_a_weak_motor_is_held_with_the_others_under_an_external_autopilot(flown: Flown, tmp_path: Path) -> None:
    run = flown(LAW, tmp_path)
    assert run.exit_code == 0, run.said
    assert run.summary["ended"] == "completed" and run.metrics["height_max_m"] > 1.0
    assert len(run.log.rows["fault"]) == 1
    assert run.metrics["rotor_sync_rms_rad_s"] < 10.0  # 110 without a law
    assert run.metrics["rotor_kick_deg"] < 1.0  # 3 under PX4 and 13 under ArduPilot without a law
    late = run.log.column("rotor_law", "t_s") > run.metrics["flown_s"] - 0.3
    command, setpoint = (run.log.column("rotor_law", f"{name}_1_rad_s")[late] for name in ("command", "setpoint"))
    assert command / setpoint == pytest.approx(1 / (0.8 * GAIN[0]), rel=0.05), "what the weak motor needs"


# In short: the test above, whose limits are far below what is found here without a law.
@pytest.mark.soak
@pytest.mark.parametrize("flown", FLOWN)
def test_the_law_acts_against_the_same_flight_without_it(flown: Flown, tmp_path: Path) -> None:
    found = []
    for law in (LAW, "none"):
        (tmp_path / law).mkdir()
        found.append(flown(law, tmp_path / law).metrics)
    full, none = found
    assert none["rotor_sync_rms_rad_s"] > 10.0 * full["rotor_sync_rms_rad_s"] > 0.0
    assert none["rotor_kick_deg"] > 3.0 * full["rotor_kick_deg"] > 0.0
