"""The gains and limits of the multirotor cascade: one table, for the law and for the parameter protocol.

Mass and inertia are divided out, so that one set flies every airframe: the gains are bandwidths. A name is PX4's where
meaning and unit are PX4's; the rate loop's are our own, since PX4's give a fraction of its torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gain:
    name: str  # at most 16 characters, a limit of the parameter protocol
    default: float
    minimum: float
    maximum: float
    unit: str
    meaning: str


GAINS = (
    Gain("MPC_XY_P", 0.95, 0.1, 2.0, "1/s", "horizontal velocity commanded per error of position"),
    Gain("MPC_XY_VEL_P_ACC", 2.2, 0.5, 5.0, "1/s", "horizontal acceleration commanded per error of velocity"),
    Gain("MPC_XY_VEL_I_ACC", 0.8, 0.0, 5.0, "1/s2", "the same, by its integral: adapts to the wind"),
    Gain("MPC_XY_VEL_D_ACC", 0.1, 0.0, 2.0, "-", "the same, against its rate of change"),
    Gain("MPC_XY_VEL_MAX", 12.0, 0.5, 20.0, "m/s", "largest horizontal speed"),
    Gain("MPC_ACC_HOR", 3.0, 0.5, 15.0, "m/s2", "horizontal deceleration assumed when approaching a position"),
    Gain("MPC_Z_P", 1.0, 0.1, 2.0, "1/s", "vertical velocity commanded per error of height"),
    Gain("MPC_Z_VEL_P_ACC", 4.0, 1.0, 15.0, "1/s", "vertical acceleration commanded per error of velocity"),
    Gain("MPC_Z_VEL_I_ACC", 2.0, 0.0, 5.0, "1/s2", "the same, by its integral: adapts to the hover thrust"),
    Gain("MPC_Z_VEL_D_ACC", 0.0, 0.0, 2.0, "-", "the same, against its rate of change"),
    Gain("MPC_Z_VEL_MAX_UP", 3.0, 0.5, 8.0, "m/s", "fastest climb"),
    Gain("MPC_Z_VEL_MAX_DN", 1.5, 0.5, 4.0, "m/s", "fastest descent"),
    Gain("MPC_VELD_LP", 5.0, 0.5, 50.0, "Hz", "low-pass on the rate of change of velocity"),
    Gain("MPC_TILTMAX_AIR", 35.0, 5.0, 60.0, "deg", "largest tilt"),
    Gain(
        "MPC_THR_MIN",
        0.12,
        0.05,
        0.5,
        "-",
        "smallest fraction of the thrust of all rotors while height is held; at most half of the hover thrust",
    ),
    Gain("MPC_THR_MAX", 1.0, 0.3, 1.0, "-", "largest fraction of the thrust of all rotors"),
    Gain("MC_ROLL_P", 6.5, 0.5, 12.0, "1/s", "roll rate commanded per error of roll"),
    Gain("MC_PITCH_P", 6.5, 0.5, 12.0, "1/s", "pitch rate commanded per error of pitch"),
    Gain("MC_YAW_P", 2.8, 0.2, 5.0, "1/s", "yaw rate commanded per error of yaw"),
    Gain("MC_ROLLRATE_MAX", 220.0, 10.0, 1800.0, "deg/s", "largest commanded roll rate"),
    Gain("MC_PITCHRATE_MAX", 220.0, 10.0, 1800.0, "deg/s", "largest commanded pitch rate"),
    Gain("MC_YAWRATE_MAX", 200.0, 10.0, 1800.0, "deg/s", "largest commanded yaw rate"),
    Gain("MC_RRATE_P_ACC", 20.0, 2.0, 60.0, "1/s", "roll acceleration commanded per error of roll rate"),
    Gain("MC_RRATE_I_ACC", 80.0, 0.0, 200.0, "1/s2", "the same, by its integral"),
    Gain("MC_RRATE_D_ACC", 0.3, 0.0, 1.0, "-", "the same, against its rate of change"),
    Gain("MC_PRATE_P_ACC", 20.0, 2.0, 60.0, "1/s", "pitch acceleration commanded per error of pitch rate"),
    Gain("MC_PRATE_I_ACC", 80.0, 0.0, 200.0, "1/s2", "the same, by its integral"),
    Gain("MC_PRATE_D_ACC", 0.3, 0.0, 1.0, "-", "the same, against its rate of change"),
    Gain("MC_YRATE_P_ACC", 10.0, 1.0, 40.0, "1/s", "yaw acceleration commanded per error of yaw rate"),
    Gain("MC_YRATE_I_ACC", 8.0, 0.0, 100.0, "1/s2", "the same, by its integral"),
    Gain("MC_YRATE_D_ACC", 0.0, 0.0, 1.0, "-", "the same, against its rate of change"),
    Gain("IMU_DGYRO_CUTOFF", 30.0, 1.0, 200.0, "Hz", "low-pass on the rate of change of the body rates"),
)

DEFAULTS = tuple(gain.default for gain in GAINS)


def row(values: Mapping[str, float]) -> tuple[float, ...]:
    """The law's `gains` from values by name; those that are not named have their defaults."""
    return tuple(values.get(gain.name, gain.default) for gain in GAINS)
