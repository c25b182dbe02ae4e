"""What is logged of a 3-RRR robot: the columns of its log, its charts and its report."""

from __future__ import annotations

from aeroloop.core.common_streams import common
from aeroloop.core.stream import BATCH, VELOCITY, Column, Stream, fields
from aeroloop.families.rrr.robot import LEGS
from aeroloop.protocols.board_fields import COUNTERS
from aeroloop.protocols.values import CPU_COLUMNS

STEP_HZ = 1000.0


def of_joints(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return tuple((name.format(i), unit, meaning.format(i)) for i in range(1, LEGS + 1))


ANGLE: Column = ("angle_rad", "rad", "angle of the platform")
TORQUES = of_joints("torque_{}_Nm", "N m", "torque of motor {}")
STREAMS: tuple[Stream, ...] = (
    common("truth", ANGLE, rate_hz=STEP_HZ, batch=BATCH, meaning="pose and motion of the platform in the plane"),
    common("setpoint", *VELOCITY, ANGLE, rate_hz=STEP_HZ, batch=BATCH, meaning="setpoint of the platform's pose"),
    Stream(
        "joints",
        "plant",
        STEP_HZ,
        True,
        True,
        "the driven joints",
        fields(
            *of_joints("q_{}_rad", "rad", "true angle of joint {}"),
            *of_joints("distal_{}_rad", "rad", "direction of the link to the platform of leg {}"),
            *of_joints("error_{}_rad", "rad", "reference minus true angle of joint {}"),
            *of_joints("sync_error_{}_rad", "rad", "error of joint {} minus the mean error of all"),
        ),
        batch=BATCH,
    ),
    common("effort", *TORQUES, rate_hz=STEP_HZ, batch=BATCH),
    common(
        "sensors",
        *of_joints("measured_{}_rad", "rad", "measured angle of joint {}"),
        *of_joints("setpoint_{}_rad", "rad", "reference of joint {}"),
        *of_joints("setpoint_{}_rad_s", "rad/s", "its rate, joint {}"),
        *of_joints("setpoint_{}_rad_s2", "rad/s2", "its acceleration, joint {}"),
        rate_hz=STEP_HZ,
        batch=BATCH,
        meaning="measured angles and references, as sent to the board",
    ),
    common("command", *TORQUES, rate_hz=STEP_HZ, batch=BATCH),
    Stream(
        "joint_law",
        "plant",
        100.0,
        True,
        True,
        "the law of the joints, as the board reports it",
        fields(
            *of_joints("surface_{}_rad_s", "rad/s", "distance of joint {} from the sliding surface"),
            *of_joints("network_{}_rad_s2", "rad/s2", "output of the network of joint {}"),
            *of_joints("w_p_{}", "-", "weight P of joint {}"),
            *of_joints("w_i_{}", "-", "weight I of joint {}"),
            *of_joints("w_d_{}", "-", "weight D of joint {}"),
        ),
    ),
    common("event"),
    common("board_event"),
    common("fault"),
    common("pace"),
    common("link", *COUNTERS),
    common("cpu", *CPU_COLUMNS, rate_hz=1.0),
    common("task"),
)
