"""An octorotor from a parameter file alone: two descriptions of it agree, and both autopilots fly it.

Five seconds of tumbling leave 0.2 mm between design model and world; a hundredth less thrust of one lower rotor leaves
more than a metre.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hil_flight import EXPECTED, HOME, STEP_NS, Wire, quad_sensors
from msgspec import structs
from quad_pilot import BRISK, Pilot
from test_quadrotor_world import tumble_both

from aeroloop.actuators.motors import Motors
from aeroloop.analysis.summary import summarise
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.controllers.pixhawk.flight_law import frame
from aeroloop.core import scenario_files
from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.core.signals import NS
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.families.multirotor import airframe
from aeroloop.flight.inline import fly_inline
from aeroloop.models import quadrotor
from aeroloop.recording.log import log_sha256
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Suite
from aeroloop.world import shapes
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth
from aeroloop.world.wind import Wind, WindConfig
from peers.hil_loop import HilLoop
from peers.px4_peer import Px4Peer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "aircraft"
OCTO = airframe.load(str(EXAMPLES / "octo-coax.toml"))
RUNGS_APART_M = 0.005
FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}


def test_design_model_and_world_agree_and_tell_a_lower_rotors_loss() -> None:
    weaker = structs.replace(OCTO.rotors, thrust_share=(*OCTO.rotors.thrust_share[:-1], 0.79))
    assert tumble_both(OCTO, OCTO, 0).worst < 5e-4
    assert tumble_both(OCTO, structs.replace(OCTO, rotors=weaker), 0).worst > 0.1


def test_in_hover_upper_and_lower_rotors_carry_the_weight_with_balanced_torques() -> None:
    rotors = OCTO.rotors
    squared = quadrotor.hover_speeds_rad_s(OCTO.flight) ** 2
    thrust_N = rotors.thrust_Ns2 * squared * np.array(rotors.thrust_share)
    assert thrust_N.sum() == pytest.approx(OCTO.body.mass_kg * GRAVITY_M_S2)
    assert squared @ np.array(rotors.spin) == pytest.approx(0.0, abs=1e-6)
    assert thrust_N[4:].sum() < thrust_N[:4].sum()
    assert frame(OCTO).thrust_all_N == pytest.approx(4 * (1.0 + 0.8) * rotors.thrust_Ns2 * 700.0**2)


def test_its_picture_has_eight_rotors_at_their_own_heights() -> None:
    shape = shapes.of_model(airframe.build(OCTO, 0.004))
    assert [rotor.pos_m for rotor in shape.rotors] == [pytest.approx(pos) for pos in OCTO.rotors.pos_B_m]
    assert [rotor.direction for rotor in shape.rotors] == [float(spin) for spin in OCTO.rotors.spin]


def test_the_virtual_pixhawk_takes_it_off_holds_it_and_lands_it() -> None:
    plan = scenario_files.load(EXAMPLES / "octo-hover.toml")
    flight = fly_inline(plan)
    log = flight.logs[0]
    summary = summarise(plan, log, outcome=FLOWN)
    assert summary["ok"], summary["checks"]
    assert summary["metrics"]["landed_at_end"] == 1.0
    assert summary["metrics"]["height_max_m"] == pytest.approx(3.0, abs=0.5)
    assert np.isfinite(log.column("effort", "speed_8_rad_s")).all()


def test_with_a_dead_rotor_it_still_holds_its_place_and_lands() -> None:
    dead = 'faults=[{target="rotor", kind="dead", channel="rotor1", from_s=10.0}]'
    plan = scenario_files.load(EXAMPLES / "octo-hover.toml", (dead,))
    log = fly_inline(plan).logs[0]
    assert log.column("effort", "speed_1_rad_s")[log.column("effort", "t_s") > 11.0].max() < 1.0
    summary = summarise(plan, log, outcome=FLOWN)
    assert summary["ok"] and summary["metrics"]["landed_at_end"] == 1.0, summary["checks"]


def test_on_sil_it_flies_as_on_mil() -> None:
    shorter = ("duration_s=10", "checks=[]")
    flown = [
        fly_inline(scenario_files.load(EXAMPLES / "octo-hover.toml", (*shorter, f'loop="{rung}"'))).logs[0]
        for rung in ("mil", "sil")
    ]
    mil, sil = (np.column_stack([log.column("truth", axis) for axis in ("x_m", "y_m", "z_m")]) for log in flown)
    assert mil[-1, 2] > 2.0
    assert np.max(np.abs(mil - sil)) < RUNGS_APART_M


def test_both_names_of_its_family_are_one_flight() -> None:
    shorter = ("duration_s=1", "checks=[]")
    hashes = {
        log_sha256(fly_inline(scenario_files.load(EXAMPLES / "octo-hover.toml", (*shorter, *name))).logs[0])
        for name in ((), ("vehicle.kind=quadrotor",))
    }
    assert len(hashes) == 1


def goal_W(t_s: float) -> Vec3:
    """Up to 3 m, and down again from 14 s on."""
    return (0.0, 0.0, min(3.0, 1.0 * max(0.0, t_s - 4.0)) if t_s < 14.0 else max(-0.5, 3.0 - 0.7 * (t_s - 14.0)))


def test_the_strict_px4_flies_it_with_eight_channels_and_does_not_complain() -> None:
    pilot = Pilot(OCTO, STEP_NS, BRISK)
    flying: list[HilLoop] = []

    def command(t_us: int) -> tuple[bool, tuple[float, ...]]:
        t_s = t_us / 1e6
        armed = 3.0 <= t_s < 19.8
        return (True, pilot.controls(flying[0].state, goal_W(t_s))) if armed else (False, ())

    peer = Px4Peer(command=command, expected=EXPECTED, home_deg=(HOME.lat_deg, HOME.lon_deg), year=2026.4)
    streams = Streams(1)
    loop = HilLoop(
        motors=Motors(OCTO.motors, OCTO.rotors.count),
        world=airframe.world(OCTO, STEP_NS / NS),
        earth=Earth(HOME),
        atmosphere=Atmosphere(Day()),
        wind=Wind(WindConfig(), streams.generator("wind"), Evaluator),
        sensors=Suite(quad_sensors(), streams),
        link=Wire(peer),
        timing=Timing(readable=lambda timeout_s: False),
        rotors=OCTO.rotors.count,
        step_ns=STEP_NS,
    )
    flying.append(loop)
    rest_m = loop.state.pos_W[2]
    loop.fly(13 * NS)
    assert loop.state.pos_W == pytest.approx((0.0, 0.0, 3.0), abs=0.6), "it has no integral for the thinner air"
    assert len(loop.controls) == 8 and min(loop.controls) > 0.2, "every rotor is driven by a channel of its own"
    loop.fly(22 * NS)
    assert loop.state.pos_W[2] == pytest.approx(rest_m, abs=0.02), "landed"
    assert max(loop.controls) == 0.0
    assert peer.finish() == []
