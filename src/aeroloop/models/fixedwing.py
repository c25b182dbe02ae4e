"""Design model of a fixed wing: six degrees of freedom, linear derivatives with a stall, a propeller with its motor.

State: (pos_W, quat_WB, vel_W, rate_B) as in `rigid_body`. Inputs: aileron, elevator, rudder (rad), throttle (0..1),
wind, air density, gravity. The equations are those of Beard & McLain, Small Unmanned Aircraft, chapters 3 and 4 with
the supplement's propeller; they are written in body axes forward, right, down and converted to ours at the end.

    CL = (1 - s) (CL0 + CLa alpha) + s 2 sin(alpha)|sin(alpha)| cos(alpha) + CLq q c/2V + CLde de
    s  = 1 - L(-M (alpha - alpha0)) L(M (alpha + alpha0)),   L(x) = 1/(1 + exp(-x))

The literature has two drags. Polar: CD = CDp + (CL0 + CLa alpha)^2/(pi e AR). Linear: CD = CD0 + CDa alpha. Both here
add CDq q c/2V + CDde |de|, or CDde de with `elevator_signed`; the file selects one. With the polar the Aerosonde trims
at its published values (20 m/s: 5.9 deg, elevator -15.5 deg, throttle 0.57); with the linear one it would need 0.62.

Rates enter as V q c/2 instead of V^2 q c/2V, so nothing is divided by the airspeed: zero airspeed is no special case.
Where gust rates are an input, the rates of forces and moments are those relative to the rotating air.
"""

from __future__ import annotations

import math

import casadi as ca

from aeroloop.models import integrate, landing_gear, rigid_body
from aeroloop.models.fixedwing_tables import Lateral, LinearDrag, Parameters, Propulsion, Symmetric
from aeroloop.models.rigid_body import QUAT, RATE, STATES, VEL

__all__ = [
    "CONTROLS",
    "INPUTS",
    "Parameters",
    "airdata",
    "derivative",
    "dynamics",
    "forces",
    "propeller_speed",
    "state_dot",
    "step",
    "step_on_ground",
]

CONTROLS = 4
"""Aileron, elevator, rudder (rad), throttle (0..1)."""
INPUTS = CONTROLS + 5
"""The controls, wind_W (m/s), air density (kg/m3), gravity (m/s2)."""
INPUTS_IN_GUSTS = INPUTS + 3
"""The same, and the angular velocity of the air (rad/s), in W."""
FLIP = (1.0, -1.0, -1.0)
"""Forward, left, up from forward, right, down; its own inverse."""
TINY = 1e-12
"""Avoids the root of zero, which has no derivative."""


def state_dot(p: Parameters) -> ca.Function:
    """(state (13,), controls (4,), wind_W (3,), density, gravity) -> derivative of the state."""
    state, controls = ca.SX.sym("state", STATES), ca.SX.sym("controls", CONTROLS)
    wind_W, density, gravity = ca.SX.sym("wind_W", 3), ca.SX.sym("density"), ca.SX.sym("gravity")
    return ca.Function(
        "state_dot",
        [state, controls, wind_W, density, gravity],
        [derivative(p, state, controls, wind_W, density, gravity)],
        ["state", "controls", "wind_W", "density_kg_m3", "gravity_m_s2"],
        ["state_dot"],
    )


def derivative(
    p: Parameters,
    state: ca.SX,
    controls: ca.SX,
    wind_W: ca.SX,
    density: ca.SX,
    gravity: ca.SX,
    gust_rate_W: ca.SX | None = None,
    plane: ca.SX | None = None,
) -> ca.SX:
    """Of the state; mass, inertia and coefficients of `p` may be symbols. Without `gust_rate_W` the air does not
    rotate, and the expressions have no term for it: their results do not change by a bit. With the `plane` of the
    ground, as landing_gear.PLANE, the gear's forces too."""
    quat, rate_B = state[QUAT], state[RATE]
    force_B, torque_B = _wrench_B(state, controls, wind_W, density, p, gust_rate_W)
    if plane is not None:
        of_gear = landing_gear.wrench_B(p.gear, state, controls[2], plane)
        force_B, torque_B = force_B + of_gear[0], torque_B + of_gear[1]
    accel_W = rigid_body.rotation(quat) @ force_B / p.body.mass_kg - ca.vertcat(0, 0, gravity)
    # The product of inertia couples roll and yaw; rigid_body's principal axes have none.
    inertia = _inertia_B(p)
    rate_dot_B = ca.inv(inertia) @ (torque_B - ca.cross(rate_B, inertia @ rate_B))
    return ca.vertcat(state[VEL], rigid_body.quat_dot(quat, rate_B), accel_W, rate_dot_B)


def dynamics(p: Parameters) -> ca.Function:
    """The same with one stacked input, for integrators: (state, (controls, wind, density, gravity))."""
    state, u = ca.SX.sym("state", STATES), ca.SX.sym("u", INPUTS)
    dot = state_dot(p)(state, u[:4], u[4:7], u[7], u[8])
    return ca.Function("dynamics", [state, u], [dot], ["state", "u"], ["state_dot"])


def dynamics_in_gusts(p: Parameters) -> ca.Function:
    """(state, (controls, wind, density, gravity, angular velocity of the air)) -> derivative of the state."""
    state, u = ca.SX.sym("state", STATES), ca.SX.sym("u", INPUTS_IN_GUSTS)
    dot = derivative(p, state, u[:4], u[4:7], u[7], u[8], u[9:12])
    return ca.Function("dynamics_in_gusts", [state, u], [dot], ["state", "u"], ["state_dot"])


def step(p: Parameters) -> ca.Function:
    """(state, (controls, wind, density, gravity), dt) -> state after dt, its quaternion of unit length."""
    return _step("fixedwing_step", dynamics(p))


def step_in_gusts(p: Parameters) -> ca.Function:
    """The same with the angular velocity of the air as the last input."""
    return _step("fixedwing_step_in_gusts", dynamics_in_gusts(p))


def _step(name: str, dynamics: ca.Function) -> ca.Function:
    state, u, dt = ca.SX.sym("state", STATES), ca.SX.sym("u", dynamics.size1_in(1)), ca.SX.sym("dt")
    after = integrate.rk4(dynamics)(state, u, dt)
    after[QUAT] /= ca.norm_2(after[QUAT])
    return ca.Function(name, [state, u, dt], [after], ["state", "u", "dt_s"], ["state_after"])


def step_on_ground(p: Parameters) -> ca.Function:
    """The same near the ground, whose plane follows gravity in the input."""
    state, u = ca.SX.sym("state", STATES), ca.SX.sym("u", INPUTS + landing_gear.PLANE)
    dot = derivative(p, state, u[:4], u[4:7], u[7], u[8], plane=u[INPUTS:])
    return _step("fixedwing_step_on_ground", ca.Function("on_ground", [state, u], [dot]))


def forces(p: Parameters, *, in_gusts: bool = False) -> ca.Function:
    """(state, controls, wind_W, density) -> force_B (N) and torque_B (N m) of air and propeller; an accelerometer in
    the centre of mass measures force_B / mass. `in_gusts`: the angular velocity of the air is the last input."""
    state, controls = ca.SX.sym("state", STATES), ca.SX.sym("controls", CONTROLS)
    wind_W, density = ca.SX.sym("wind_W", 3), ca.SX.sym("density")
    inputs = {"state": state, "controls": controls, "wind_W": wind_W, "density_kg_m3": density}
    if in_gusts:
        inputs["air_rate_W"] = ca.SX.sym("air_rate_W", 3)
    wrench = _wrench_B(state, controls, wind_W, density, p, inputs.get("air_rate_W"))
    return ca.Function("forces", list(inputs.values()), list(wrench), list(inputs), ["force_B", "torque_B"])


def airdata() -> ca.Function:
    """(state, wind_W) -> airspeed (m/s), angle of attack (rad, nose above the flow), sideslip (rad, flow from the
    right is positive)."""
    state, wind_W = ca.SX.sym("state", STATES), ca.SX.sym("wind_W", 3)
    flow = _flow(_vel_air(state, wind_W))
    return ca.Function(
        "airdata", [state, wind_W], list(flow), ["state", "wind_W"], ["airspeed_m_s", "alpha_rad", "beta_rad"]
    )


def _wrench_B(
    state: ca.SX, controls: ca.SX, wind_W: ca.SX, density: ca.SX, p: Parameters, gust_rate_W: ca.SX | None = None
) -> tuple[ca.SX, ca.SX]:
    """All forces and torques except gravity; forward, right, down until the last line."""
    aileron, elevator, rudder, throttle = (controls[i] for i in range(CONTROLS))
    speed, alpha, beta = _flow(_vel_air(state, wind_W))
    relative_B = state[RATE]
    if gust_rate_W is not None:
        relative_B = relative_B - rigid_body.rotation(state[QUAT]).T @ gust_rate_W
    rate = ca.DM(FLIP) * relative_B
    half_chord, half_span = p.wing.chord_m / 2, p.wing.span_m / 2

    def symmetric(static: ca.SX, pitch_rate: float) -> ca.SX:
        """Coefficient times the airspeed squared."""
        return speed**2 * static + speed * pitch_rate * rate[1] * half_chord

    def lateral(c: Lateral) -> ca.SX:
        static = c.zero + c.sideslip * beta + c.aileron * aileron + c.rudder * rudder
        return speed**2 * static + speed * half_span * (c.roll_rate * rate[0] + c.yaw_rate * rate[2])

    pressure = density * p.wing.area_m2 / 2
    lift = pressure * symmetric(_lift(alpha, p) + p.lift.elevator * elevator, p.lift.pitch_rate)
    deflected = elevator if p.drag.elevator_signed else ca.fabs(elevator)
    drag = pressure * symmetric(_drag(alpha, p) + p.drag.elevator * deflected, p.drag.pitch_rate)
    thrust, shaft = _propeller(speed, throttle, density, p.propulsion)
    force = ca.vertcat(
        thrust + lift * ca.sin(alpha) - drag * ca.cos(alpha),
        pressure * lateral(p.side),
        -lift * ca.cos(alpha) - drag * ca.sin(alpha),
    )
    torque = ca.vertcat(
        pressure * p.wing.span_m * lateral(p.roll) - p.propulsion.spin * shaft,
        pressure
        * p.wing.chord_m
        * symmetric(_linear(p.pitch, alpha) + p.pitch.elevator * elevator, p.pitch.pitch_rate),
        pressure * p.wing.span_m * lateral(p.yaw),
    )
    return ca.DM(FLIP) * force, ca.DM(FLIP) * torque


def _vel_air(state: ca.SX, wind_W: ca.SX) -> ca.SX:
    """Velocity through the air, forward, right, down."""
    return ca.DM(FLIP) * (rigid_body.rotation(state[QUAT]).T @ (state[VEL] - wind_W))


def _flow(vel_air: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    u, v, w = vel_air[0], vel_air[1], vel_air[2]
    speed = ca.sqrt(ca.sumsqr(vel_air) + TINY)
    return speed, ca.atan2(w, u), ca.atan2(v, ca.sqrt(u * u + w * w + TINY))


def _linear(c: Symmetric, alpha: ca.SX) -> ca.SX:
    return c.zero + c.alpha * alpha


def _lift(alpha: ca.SX, p: Parameters) -> ca.SX:
    # A logistic as a hyperbolic tangent, which cannot overflow.
    low, high = (
        0.5 * (1 + ca.tanh(p.stall.sharpness * (p.stall.angle_rad + side * alpha) / 2)) for side in (1.0, -1.0)
    )
    plate = 2 * ca.sin(alpha) * ca.fabs(ca.sin(alpha)) * ca.cos(alpha)
    return low * high * _linear(p.lift, alpha) + (1 - low * high) * plate


def _drag(alpha: ca.SX, p: Parameters) -> ca.SX:
    if isinstance(p.drag, LinearDrag):
        return p.drag.zero + p.drag.alpha * alpha
    return p.drag.parasitic + _linear(p.lift, alpha) ** 2 / (math.pi * p.drag.oswald * p.wing.aspect_ratio)


def propeller_speed(m: Propulsion) -> ca.Function:
    """(airspeed, throttle, density) -> speed of the propeller (rad/s)."""
    speed, throttle, density = (ca.SX.sym(name) for name in ("airspeed", "throttle", "density"))
    turns, _ = _turns_in_range(speed, throttle, density, m)
    return ca.Function(
        "propeller_speed",
        [speed, throttle, density],
        [2 * math.pi * turns],
        ["airspeed_m_s", "throttle", "density_kg_m3"],
        ["speed_rad_s"],
    )


def _propeller(speed: ca.SX, throttle: ca.SX, density: ca.SX, m: Propulsion) -> tuple[ca.SX, ca.SX]:
    """Thrust (N) and torque at the shaft (N m), in equilibrium of motor and propeller."""
    n, speed = _turns_in_range(speed, throttle, density, m)
    d = m.diameter_m
    (t0, t1, t2), (q0, q1, q2) = m.thrust_fit, m.torque_fit
    thrust = density * d**2 * (t0 * (d * n) ** 2 + t1 * d * n * speed + t2 * speed**2)
    shaft = density * d**3 * (q0 * (d * n) ** 2 + q1 * d * n * speed + q2 * speed**2)
    return thrust, shaft


def _turns_in_range(speed: ca.SX, throttle: ca.SX, density: ca.SX, m: Propulsion) -> tuple[ca.SX, ca.SX]:
    """Turns of the propeller a second, and the airspeed at which its fits are evaluated."""
    n = _turns(speed, throttle, density, m, m.torque_fit)
    return (n, speed) if m.advance_range is None else _within(n, speed, throttle, density, m, m.advance_range)


def _turns(speed: ca.SX, throttle: ca.SX, density: ca.SX, m: Propulsion, fit: tuple[float, float, float]) -> ca.SX:
    """Turns a second in equilibrium, with that fit of the torque.

    The motor's torque K ((V - K W)/R - i0) equals the propeller's rho n^2 D^5 CQ(J): a quadratic in the speed W.
    """
    constant = 60 / (2 * math.pi * m.speed_constant_rpm_V)  # V s/rad, and N m/A
    d, turn = m.diameter_m, 2 * math.pi
    q0, q1, q2 = fit
    a = density * d**5 * q0 / turn**2
    b = density * d**4 * q1 / turn * speed + constant**2 / m.resistance_ohm
    c = density * d**3 * q2 * speed**2 - constant * (m.voltage_V * throttle / m.resistance_ohm - m.idle_A)
    root = ca.sqrt(ca.fmax(b * b - 4 * a * c, TINY))
    # -2c/(b + root) is (root - b)/2a, and also valid without air. A propeller does not turn backwards: it stops. A
    # maximum would ignore a throttle that is NaN; the absolute value does not.
    wanted = -2 * c / ca.fmax(b + root, TINY) / turn
    return (wanted + ca.fabs(wanted)) / 2


def _within(
    n: ca.SX, speed: ca.SX, throttle: ca.SX, density: ca.SX, m: Propulsion, limits: tuple[float, float]
) -> tuple[ca.SX, ca.SX]:
    """Turns and airspeed at which the fits are evaluated, with J clamped to its range.

    Above the range (a propeller that windmills or stands) forces keep to the airspeed: those of n = V/(J_max D), so
    the thrust is rho V^2 D^2 CT(J_max)/J_max^2. Below it (close to standing still) they keep to the turns: it is
    rho n^2 D^4 CT(J_min), in equilibrium with the motor. Both are continuous, and thrust never falls while throttle
    rises, as long as 2 CT0 + CT1 J > 0 in the range.
    """
    low, high = limits
    if low > 0.0:
        q0, q1, q2 = m.torque_fit
        slow = _turns(speed, throttle, density, m, (q0 + q1 * low + q2 * low**2, 0.0, 0.0))
        below = speed < low * m.diameter_m * slow
        n, speed = ca.if_else(below, slow, n), ca.if_else(below, low * m.diameter_m * slow, speed)
    windmilling = speed / (high * m.diameter_m)
    return ca.if_else(n < windmilling, windmilling, n), speed


def _inertia_B(p: Parameters) -> ca.DM | ca.SX:
    return ca.vertcat(*(ca.horzcat(*row) for row in p.body.inertia_rows_kgm2))
