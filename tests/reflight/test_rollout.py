"""Many steps in one call are the family's own steps, one after another."""

from __future__ import annotations

import numpy as np
import pytest
from made_logs import IRIS, SITE, site_motion, steps

from aeroloop.actuators.motors import gains
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS
from aeroloop.families.multirotor.step_function import MOTION, step_function
from aeroloop.reflight.numbers import Plant
from aeroloop.reflight.rollout import (
    CHUNK,
    DENSITY,
    GRAVITY,
    INPUT,
    LEAD_S,
    MOVED,
    POS,
    QUAT,
    RATE,
    STEP_S,
    TURNED,
    VEL,
    Rollout,
)

AHEAD = round(LEAD_S / STEP_S)


def drive(commands: Vec) -> Vec:
    rows = np.zeros((len(commands), INPUT + 4))
    motion = site_motion(steps(1.0))
    rows[:, QUAT], rows[:, DENSITY], rows[:, GRAVITY] = (1, 0, 0, 0), motion.density_kg_m3[0], motion.gravity_m_s2
    rows[:, INPUT:] = commands
    return rows


def commands(count: int) -> Vec:
    t = np.arange(count)[:, None]
    return np.asarray(0.55 + 0.02 * np.sin(0.01 * t + np.arange(4)))


def one_by_one(given: Vec, plant: Plant) -> Vec:
    """The family's step by itself, with rotors that turn as the first command says."""
    motor, rotors, plane = IRIS.motors, IRIS.rotors, SITE.earth.plane
    step = Evaluator(step_function(4))
    inputs = dict(zip(step_function(4).name_in(), step.inputs, strict=True))
    up, down = gains(motor, round(STEP_S * NS))
    motion = site_motion(steps(1.0))
    inputs["state"][3] = 1.0
    inputs["state"][MOTION:] = motor.speed_idle_rad_s + (motor.speed_max_rad_s - motor.speed_idle_rad_s) * given[0]
    inputs["air"][3:] = motion.density_kg_m3[0], motion.gravity_m_s2
    inputs["step"][:] = (STEP_S, *up, *down)
    inputs["cell"][:] = SITE.earth.cell
    inputs["body"][:] = (plant.mass_kg, *plant.inertia_kgm2, *IRIS.body.drag_area_m2)
    inputs["rotor_pos_B"][:] = [axis for pos in rotors.pos_B_m for axis in pos]
    inputs["rotor_spin"][:], inputs["rotor_share"][:] = rotors.spin, rotors.shares
    inputs["rotor"][:] = (
        *(rotors.thrust_Ns2, rotors.torque_to_thrust_m, rotors.inertia_kgm2, rotors.drag_Ns2_m),
        rotors.density_kg_m3,
    )
    inputs["motor"][:] = (motor.speed_idle_rad_s, motor.speed_max_rad_s)
    inputs["plane"][:] = (plane.sin_lat, plane.cos_lat, plane.lon_rad, plane.axis_distance_m, plane.z_m)
    inputs["geoid"][:], inputs["day"][:] = SITE.earth.geoid_height_m, SITE.atmosphere.day
    out = []
    for command in given:
        inputs["command"][:] = command
        step()
        out.append(step.outputs[0].copy())
        inputs["state"][:] = step.outputs[0][: MOTION + 4]
    return np.array(out)


def test_a_rollout_is_the_family_s_step_again_and_again() -> None:
    given = commands(2 * CHUNK + 17)
    plant = Plant.of(IRIS)
    rolled = Rollout(IRIS, SITE, None)(drive(np.roll(given, -AHEAD, axis=0)), plant)
    lead = np.vstack([np.tile(given[AHEAD], (AHEAD, 1)), given[AHEAD:]])  # what stands before the drive's first command
    alone = one_by_one(lead, plant)
    used = slice(0, len(given) - AHEAD)
    np.testing.assert_allclose(rolled[used, : alone.shape[1]], alone[used], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("late", [0, 3, 12])
def test_a_delay_of_whole_steps_shifts_the_commands(late: int) -> None:
    given = commands(CHUNK)
    rollout = Rollout(IRIS, SITE, None)
    plant = Plant.of(IRIS)
    delayed = rollout(drive(given), Plant(plant.mass_kg, plant.inertia_kgm2, 0.02, 0.03, late * STEP_S))
    shifted = np.vstack([np.tile(given[0], (late, 1)), given[: len(given) - late]])
    same = rollout(drive(shifted), Plant(plant.mass_kg, plant.inertia_kgm2, 0.02, 0.03, 0.0))
    np.testing.assert_allclose(delayed[:, :MOTION], same[:, :MOTION], atol=1e-12)


def test_a_restart_sets_the_motion_and_leaves_the_rotors() -> None:
    rows = drive(commands(CHUNK))
    rows[60, MOVED] = rows[60, TURNED] = 1.0
    rows[60, POS], rows[60, VEL], rows[60, RATE] = (5.0, 6.0, 7.0), (1.0, 0.0, 0.0), (0.1, 0.2, 0.3)
    rollout = Rollout(IRIS, SITE, None)
    restarted, free = rollout(rows, Plant.of(IRIS)), rollout(drive(commands(CHUNK)), Plant.of(IRIS))
    assert restarted[60, :3] == pytest.approx((5.0, 6.0, 7.0), abs=0.01)
    assert restarted[60, 10:13] == pytest.approx((0.1, 0.2, 0.3), abs=0.02)
    np.testing.assert_array_equal(restarted[:60], free[:60])
    np.testing.assert_array_equal(restarted[:, MOTION : MOTION + 4], free[:, MOTION : MOTION + 4])
