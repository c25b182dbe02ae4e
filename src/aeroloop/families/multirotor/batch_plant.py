"""A multirotor in the air as events of a batch: motors, loads, rigid body, stand, turbulence.

The step is that of `models/multirotor_step.py`, as the bench's compiled step; earth and air are local (`batch_air.py`).
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.actuators.motors import gains
from aeroloop.core.signals import NS
from aeroloop.families.multirotor.batch_channels import GUST_NORMALS
from aeroloop.families.multirotor.batch_setup import COLUMNS, HELD_NOW, Setup
from aeroloop.families.multirotor.step_function import MOTION
from aeroloop.models import multirotor_step as model
from aeroloop.world import dryden

LARGEST = 3e38
"""Of single precision."""


def motion(row: Any) -> model.Motion:
    return model.Motion(*ca.vertsplit(row, [0, 3, 7, 10, 13, 16, 19]))


def start(setup: Setup) -> ca.Function:
    s = setup.parts
    zeros = {name: ca.SX.zeros(size) for name, size in s.sizes.items()}
    state = s.whole(
        {
            **zeros,
            "motion": _standing(setup),
            "wind": setup.vector("world.wind.steady_W", 3),
            "x": ca.vertcat(1, ca.SX.zeros(s.sizes["x"] - 1)),
            "alive": ca.SX(1),
        }
    )
    return ca.Function("start", [setup.params], [state], ["params"], ["state"])


def _standing(setup: Setup) -> Any:
    return ca.vertcat(setup.vector("world.stand.pos_W", 3), 1, ca.SX.zeros(MOTION - 4))


def arriving(setup: Setup, age: Any) -> Any:
    """Share of what left the board `age` steps ago in what arrives now; between two steps both have a share."""
    return ca.fmax(0, 1 - ca.fabs(setup["link.to_plant.delay_s"] / setup.step_s - age))


def acting(setup: Setup) -> Any:
    """The command of this step, late by the link's delay: where it changes within the step, its mean over time."""
    kept = enumerate(ca.vertsplit(setup.parts["commands"], setup.rotors))
    command: Any = 0
    for age, each in kept:
        command += arriving(setup, age) * each
    return command


def step(setup: Setup) -> ca.Function:
    """Motors and body, unless the stand holds it."""
    s, row = setup.parts, ca.SX.sym("table", COLUMNS)
    airframe: Any = setup.airframe  # numbers where the model's functions have symbols
    dt_s: Any = setup.step_s
    before, command = motion(s["motion"]), acting(setup)
    covered: Any = gains(airframe.motors, round(dt_s * NS))
    up, down = covered
    effort = model.motors(
        s["speed"],
        command,
        dt_s,
        model.MotorGains(*up, *down),
        airframe.motors.speed_idle_rad_s,
        airframe.motors.speed_max_rad_s,
        LARGEST,
    )
    vel_air_B, rate_B = model.mid_step_air_B(before, s["wind"], dt_s)
    rotors = airframe.rotors
    shares = ca.DM(rotors.shares) * setup.vector("vehicle.scale.rotors", setup.rotors)
    symbols = model.RotorSymbols(
        ca.SX(ca.DM(rotors.pos_B_m).T),
        ca.SX(ca.DM(rotors.spin)),
        shares,
        rotors.thrust_Ns2 * setup["vehicle.scale.thrust"],
        rotors.torque_to_thrust_m,
        rotors.inertia_kgm2,
        rotors.drag_Ns2_m,
        rotors.density_kg_m3,
    )
    density = setup.air.density(before.pos_W)
    drag_area_m2 = ca.SX(ca.DM(airframe.body.drag_area_m2))
    force_B, torque_B = model.held_loads_B(vel_air_B, rate_B, effort, density, drag_area_m2, symbols)
    mass_kg = airframe.body.mass_kg * setup["vehicle.scale.mass"]
    inertia = ca.DM(airframe.body.inertia_kgm2) * setup["vehicle.scale.inertia"]
    gravity = setup.air.gravity(before.pos_W)
    after = model.rigid_step(before, force_B, torque_B, gravity, mass_kg, inertia, dt_s, model.turned_little)
    changes = {
        "motion": ca.if_else(row[HELD_NOW], _standing(setup), ca.vertcat(*after)),
        "speed": effort.after_rad_s,
        "mean_speed": effort.mean_rad_s,
        "limited": ca.mmax(ca.logic_or(command <= 0, command >= 1)),
    }
    if not setup.needs_current:
        changes.pop("mean_speed")
    return s.event("step", {"params": setup.params, "table": row}, changes)


def first_gust(setup: Setup) -> ca.Function:
    """The turbulence at the start, in its stationary distribution, as `world.dryden.Dryden` begins."""
    s, normals = setup.parts, ca.SX.sym("normals", GUST_NORMALS)
    steady_W = setup.vector("world.wind.steady_W", 3)
    vx, vy = -steady_W[0], -steady_W[1]
    speed = ca.sqrt(vx * vx + vy * vy)
    axis_x = ca.if_else(speed > 0, vx / speed, 1)
    axis_y = ca.if_else(speed > 0, vy / speed, 0)
    gust = ca.vertcat(*dryden.stationary(*ca.vertsplit(normals)), axis_x, axis_y)
    return s.event("first_gust", {"params": setup.params, "normals": normals}, {"gust": gust})


def gust(setup: Setup) -> ca.Function:
    """The wind at the new position."""
    s, normals = setup.parts, ca.SX.sym("normals", GUST_NORMALS)
    now = motion(s["motion"])
    steady_W = setup.vector("world.wind.steady_W", 3)
    moment = ca.vertcat(setup.step_s, ca.fmax(now.pos_W[2], 0), now.vel_W - steady_W, normals)
    floor = setup.scenario.aircraft.world.wind.turbulence.min_airspeed_m_s
    row = dryden.step_function()(s["gust"], moment, ca.vertcat(setup["world.wind.turbulence.w20_m_s"], floor))
    return s.event("gust", {"params": setup.params, "normals": normals}, {"gust": row[:7], "wind": steady_W + row[7:]})
