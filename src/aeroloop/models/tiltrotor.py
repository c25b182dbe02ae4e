"""Design model of the tilt-rotor: three rigid bodies, eight coordinates, Euler-Lagrange.

    M(q) qdd + C(q, qd) qd + G(q) = B(q) u + J(q)' R_WB F_B
    q = (x, y, z, roll, pitch, yaw, tilt R, tilt L),  u = (thrust R, thrust L, tilt torque R, tilt torque L)
    F_B = -rho/2 |v_B| S v_B,  v_B: velocity of the drag centre through the air, S: drag areas of the three axes

The paper has no air, so the gain is designed without it: `dynamics` has no drag, `dynamics_in_air` has it. Nor have
the paper's rotors angular momentum; with `rotor_inertia_kgm2` they have (`rotor_forces`).

Reference: Lara et al., "Hardware-in-the-loop simulation environment for testing of tilt-rotor UAV's control
strategies"; Donadel et al. 2014 for the kinematics. The world describes the same aircraft independently.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from msgspec import Struct

Row3 = tuple[float, float, float]

COORDINATES = 8
INPUTS = 4


class Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter set of `params.toml`; pairs are (right, left)."""

    fuselage_mass_kg: float
    pod_mass_kg: tuple[float, float]
    fuselage_com_B_m: Row3
    pod_pivot_B_m: tuple[Row3, Row3]
    fuselage_inertia_kgm2: tuple[Row3, Row3, Row3]
    pod_inertia_kgm2: tuple[Row3, Row3]
    gravity_m_s2: float
    drag_to_thrust_m: float
    spin: tuple[float, float]
    cant_rad: float
    drag_area_m2: Row3 = (0.0, 0.0, 0.0)
    drag_centre_B_m: Row3 = (0.0, 0.0, 0.0)
    thrust_Ns2: float = 9.5e-6
    rotor_inertia_kgm2: float = 0.0
    rotor_drag_Ns2_m: float = 0.0

    @property
    def mass_kg(self) -> float:
        return self.fuselage_mass_kg + sum(self.pod_mass_kg)


def _rot_x(a: ca.SX) -> ca.SX:
    return ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, ca.cos(a), -ca.sin(a)), ca.horzcat(0, ca.sin(a), ca.cos(a)))


def _rot_y(a: ca.SX) -> ca.SX:
    return ca.vertcat(ca.horzcat(ca.cos(a), 0, ca.sin(a)), ca.horzcat(0, 1, 0), ca.horzcat(-ca.sin(a), 0, ca.cos(a)))


def _rot_z(a: ca.SX) -> ca.SX:
    return ca.vertcat(ca.horzcat(ca.cos(a), -ca.sin(a), 0), ca.horzcat(ca.sin(a), ca.cos(a), 0), ca.horzcat(0, 0, 1))


def _euler_to_body_rates(roll: ca.SX, pitch: ca.SX) -> ca.SX:
    """W in omega_B = W (roll rate, pitch rate, yaw rate)."""
    return ca.vertcat(
        ca.horzcat(1, 0, -ca.sin(pitch)),
        ca.horzcat(0, ca.cos(roll), ca.cos(pitch) * ca.sin(roll)),
        ca.horzcat(0, -ca.sin(roll), ca.cos(roll) * ca.cos(pitch)),
    )


def _attitude(q: ca.SX) -> tuple[ca.SX, ca.SX]:
    """R_WB, and W of `_euler_to_body_rates`."""
    roll, pitch, yaw = q[3], q[4], q[5]
    return _rot_z(yaw) @ _rot_y(pitch) @ _rot_x(roll), _euler_to_body_rates(roll, pitch)


def _velocity_jacobian(R_WB: ca.SX, W: ca.SX, point_B: Row3) -> ca.SX:
    """J in v_W = J qd, of a point of the fuselage."""
    return ca.horzcat(ca.DM.eye(3), -R_WB @ ca.skew(ca.vertcat(*point_B)) @ W, ca.DM.zeros(3, 2))


def equations(p: Parameters) -> tuple[ca.Function, ca.Function, ca.Function]:
    """M(q), h(q, qd) = C qd + G, and B(q), as CasADi functions."""
    q, qd = ca.SX.sym("q", COORDINATES), ca.SX.sym("qd", COORDINATES)
    M, h, B = matrices(p, q, qd)
    return ca.Function("M", [q], [M]), ca.Function("h", [q, qd], [h]), ca.Function("B", [q], [B])


def matrices(p: Parameters, q: ca.SX, qd: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """M, h and B as expressions of symbols; masses, inertias and positions in `p` may be symbols too."""
    R_WB, W = _attitude(q)
    e2, e3 = ca.DM([0, 1, 0]), ca.DM([0, 0, 1])
    fuselage = (
        p.fuselage_mass_kg,
        _velocity_jacobian(R_WB, W, p.fuselage_com_B_m),
        ca.horzcat(ca.DM.zeros(3, 3), W, ca.DM.zeros(3, 2)),
        ca.SX(ca.vertcat(*(ca.horzcat(*row) for row in p.fuselage_inertia_kgm2))),
    )
    bodies = [fuselage]
    B = ca.SX.zeros(COORDINATES, INPUTS)
    for i, inward in enumerate((-1.0, 1.0)):  # right, left: the cant angle changes sign
        canted = _rot_x(ca.SX(inward * p.cant_rad))
        R_BP = canted @ _rot_y(q[6 + i])
        tilt_axis = ca.horzcat(*(canted @ e2 if j == i else ca.DM.zeros(3) for j in range(2)))
        Jv = _velocity_jacobian(R_WB, W, p.pod_pivot_B_m[i])
        Jw = ca.horzcat(ca.DM.zeros(3, 3), W, tilt_axis)
        bodies.append((p.pod_mass_kg[i], Jv, Jw, R_BP @ ca.diag(ca.vertcat(*p.pod_inertia_kgm2[i])) @ R_BP.T))
        thrust_axis_B = R_BP @ e3
        B[:, i] = Jv.T @ R_WB @ thrust_axis_B + p.spin[i] * p.drag_to_thrust_m * Jw.T @ thrust_axis_B
        B[6 + i, 2 + i] = 1

    M = ca.SX.zeros(COORDINATES, COORDINATES)
    G = ca.SX.zeros(COORDINATES)
    for mass, Jv, Jw, inertia_B in bodies:
        M += mass * Jv.T @ Jv + Jw.T @ inertia_B @ Jw
        G += mass * p.gravity_m_s2 * Jv.T @ e3
    # C qd = d(M qd)/dq qd - 1/2 d(qd' M qd)/dq: the Christoffel form without forming its 512 symbols.
    momentum = M @ qd
    coriolis = ca.jtimes(momentum, q, qd) - 0.5 * ca.gradient(qd.T @ momentum, q)
    return M, coriolis + G, B


def rotor_speeds(p: Parameters, u: ca.SX) -> ca.SX:
    """(2,) From the thrusts: T = b W^2."""
    return ca.sqrt(ca.fmax(u[:2], 1e-6) / p.thrust_Ns2)


def _pods(p: Parameters, q: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """Rotation from pod to body, and tilt axis in the body, of both."""
    canted = [_rot_x(ca.SX(inward * p.cant_rad)) for inward in (-1.0, 1.0)]
    return [(turned @ _rot_y(q[6 + i]), turned @ ca.DM([0, 1, 0])) for i, turned in enumerate(canted)]


def rotor_forces(p: Parameters, q: ca.SX, qd: ca.SX, speed: ca.SX, spin_up: ca.SX | None = None) -> ca.SX:
    """Generalised forces of the rotors' angular momentum relative to their pods, by virtual work:

        tau_i = -I s_i (W_i omega_i x a_i + dW_i/dt a_i),   Q = sum of (d omega_i / d qd)' tau_i

    a: axis of the rotor, omega: rate of its pod, W: speed of the rotor. s = -spin: `spin` is the direction of the
    torque on the aircraft, against the rotation. The inertia of rotors that do not turn is in that of the pods.
    """
    _, W = _attitude(q)
    forces = ca.SX.zeros(COORDINATES)
    for i, (R_BP, tilt_axis_B) in enumerate(_pods(p, q)):
        axis_B, unit = R_BP @ ca.DM([0, 0, 1]), ca.DM([float(i == j) for j in range(2)]).T
        Jw = ca.horzcat(ca.DM.zeros(3, 3), W, tilt_axis_B @ unit)
        change = speed[i] * ca.cross(Jw @ qd, axis_B)
        if spin_up is not None:
            change += spin_up[i] * axis_B
        forces += p.spin[i] * p.rotor_inertia_kgm2 * Jw.T @ change
    return forces


def rotor_drag(p: Parameters, q: ca.SX, qd: ca.SX, speed: ca.SX, wind_W: ca.SX) -> ca.SX:
    """Generalised forces of -c W_i v_i at the pivots, v: velocity through the air across the rotor's axis."""
    R_WB, W = _attitude(q)
    forces = ca.SX.zeros(COORDINATES)
    for i, (R_BP, _) in enumerate(_pods(p, q)):
        J = _velocity_jacobian(R_WB, W, p.pod_pivot_B_m[i])
        R_WP = R_WB @ R_BP
        across_W = R_WP @ ca.diag(ca.DM([1, 1, 0])) @ R_WP.T @ (J @ qd - wind_W)
        forces -= p.rotor_drag_Ns2_m * speed[i] * J.T @ across_W
    return forces


def applied(p: Parameters, q: ca.SX, qd: ca.SX, u: ca.SX, B: ca.SX) -> ca.SX:
    """Generalised forces of the input; with rotors that turn at constant speeds, those of their momentum too."""
    own = B @ u
    return own + rotor_forces(p, q, qd, rotor_speeds(p, u)) if p.rotor_inertia_kgm2 else own


def dynamics_with_rotors(p: Parameters) -> ca.Function:
    """(state (18,), acting (10,)) -> state derivative; state = (q, qd, rotor speeds), acting = (input (4,), rates of
    the rotor speeds (2,), wind_W (3,), density). The speeds change with their rates, not with the thrusts."""
    M, h, B = equations(p)
    state, acting = ca.SX.sym("state", 2 * COORDINATES + 2), ca.SX.sym("acting", INPUTS + 6)
    q, qd, speed = ca.vertsplit(state, [0, COORDINATES, 2 * COORDINATES, 2 * COORDINATES + 2])
    u, spin_up, wind_W, density_kg_m3 = ca.vertsplit(acting, [0, INPUTS, INPUTS + 2, INPUTS + 5, INPUTS + 6])
    of_air = drag(p)(q, qd, wind_W, density_kg_m3) + rotor_drag(p, q, qd, speed, wind_W)
    qdd = ca.solve(M(q), B(q) @ u + rotor_forces(p, q, qd, speed, spin_up) + of_air - h(q, qd))
    made = ca.vertcat(qd, qdd, spin_up)
    return ca.Function("dynamics_with_rotors", [state, acting], [made], ["state", "acting"], ["state_dot"])


def dynamics(p: Parameters) -> ca.Function:
    """(state (16,), input (4,)) -> state derivative; state = (q, qd)."""
    M, h, B = equations(p)
    state, u = ca.SX.sym("state", 2 * COORDINATES), ca.SX.sym("u", INPUTS)
    q, qd = state[:COORDINATES], state[COORDINATES:]
    qdd = ca.solve(M(q), applied(p, q, qd, u, B(q)) - h(q, qd))
    return ca.Function("dynamics", [state, u], [ca.vertcat(qd, qdd)], ["state", "u"], ["state_dot"])


def drag(p: Parameters) -> ca.Function:
    """(q, qd, wind_W, density) -> generalised forces of the air, eight."""
    q, qd = ca.SX.sym("q", COORDINATES), ca.SX.sym("qd", COORDINATES)
    wind_W, density_kg_m3 = ca.SX.sym("wind_W", 3), ca.SX.sym("density")
    R_WB, W = _attitude(q)
    J = _velocity_jacobian(R_WB, W, p.drag_centre_B_m)
    vel_air_B = R_WB.T @ (J @ qd - wind_W)
    force_B = -0.5 * density_kg_m3 * ca.norm_2(vel_air_B) * ca.DM(p.drag_area_m2) * vel_air_B
    return ca.Function("drag", [q, qd, wind_W, density_kg_m3], [J.T @ R_WB @ force_B])


def dynamics_in_air(p: Parameters) -> ca.Function:
    """(state (16,), acting (8,)) -> state derivative; acting = (input (4,), wind_W (3,), density)."""
    M, h, B = equations(p)
    state, acting = ca.SX.sym("state", 2 * COORDINATES), ca.SX.sym("acting", INPUTS + 4)
    q, qd = state[:COORDINATES], state[COORDINATES:]
    u, wind_W, density_kg_m3 = acting[:INPUTS], acting[INPUTS : INPUTS + 3], acting[INPUTS + 3]
    of_air = drag(p)(q, qd, wind_W, density_kg_m3)
    if p.rotor_drag_Ns2_m:
        of_air += rotor_drag(p, q, qd, rotor_speeds(p, u), wind_W)
    qdd = ca.solve(M(q), applied(p, q, qd, u, B(q)) + of_air - h(q, qd))
    return ca.Function("dynamics_in_air", [state, acting], [ca.vertcat(qd, qdd)], ["state", "acting"], ["state_dot"])


def energy(p: Parameters) -> ca.Function:
    """(state) -> kinetic plus potential energy in J, for the conservation test."""
    M, _, _ = equations(p)
    state = ca.SX.sym("state", 2 * COORDINATES)
    q, qd = state[:COORDINATES], state[COORDINATES:]
    R_WB = _rot_z(q[5]) @ _rot_y(q[4]) @ _rot_x(q[3])
    height = p.fuselage_mass_kg * (q[2] + (R_WB @ ca.DM(p.fuselage_com_B_m))[2])
    for mass, pivot in zip(p.pod_mass_kg, p.pod_pivot_B_m, strict=True):
        height += mass * (q[2] + (R_WB @ ca.DM(pivot))[2])
    return ca.Function("energy", [state], [0.5 * qd.T @ M(q) @ qd + p.gravity_m_s2 * height])


def equilibrium(p: Parameters, *, tolerance: float = 1e-12) -> tuple[np.ndarray, np.ndarray, float]:
    """Hover: (q, u, residual), from the eight static equations G(q) = B(q) u by Newton's method.

    The eight unknowns are roll, pitch, both tilts and the four inputs; position and yaw are free.
    """
    _, h, B = equations(p)
    unknown = ca.SX.sym("unknown", 8)
    q = ca.vertcat(ca.SX.zeros(3), unknown[0], unknown[1], 0, unknown[2], unknown[3])
    static = B(q) @ unknown[4:] - h(q, ca.DM.zeros(COORDINATES))
    newton = ca.Function("newton", [unknown], [static, ca.jacobian(static, unknown)])
    guess = np.zeros(8)
    guess[4:6] = p.mass_kg * p.gravity_m_s2 / 2
    for _ in range(50):
        residual, jacobian = (np.array(part) for part in newton(guess))
        if np.max(np.abs(residual)) < tolerance:
            break
        guess = guess - np.linalg.solve(jacobian, residual).ravel()
    worst = float(np.max(np.abs(np.array(newton(guess)[0]))))
    q_eq = np.array([0.0, 0.0, 0.0, guess[0], guess[1], 0.0, guess[2], guess[3]])
    return q_eq, guess[4:], worst
