"""What the dashboard shows of a 3-RRR robot: its moving legs, its path, errors of the joints and weights."""

from __future__ import annotations

from aeroloop.core.frames import Vec3
from aeroloop.dashboard.family_page import Page
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.trails import PLAN_POINTS
from aeroloop.families.rrr.reference import START_S, Wanted
from aeroloop.families.rrr.robot import LEGS, PLANE_M
from aeroloop.families.rrr.scenario import RobotScenario

NUMBERS = range(1, LEGS + 1)


def hinges(store: Store, vehicle: int) -> tuple[float, ...]:
    """For each leg the angle from platform to link, and from this link to the driven one."""
    truth, joints = store.latest("truth", vehicle), store.latest("joints", vehicle)
    if not truth or not joints:
        return (0.0,) * (2 * LEGS)
    angles = []
    for i in NUMBERS:
        distal = joints[f"distal_{i}_rad"]
        angles += [distal - truth["angle_rad"], joints[f"q_{i}_rad"] - distal]
    return tuple(angles)


def plan(scenario: RobotScenario, vehicle: int) -> list[Vec3]:
    wanted = Wanted(scenario.aircraft.robot, scenario.aircraft.reference)
    round_s = scenario.aircraft.reference.period_s
    poses = (wanted.at(START_S + round_s * i / (PLAN_POINTS - 1))[0] for i in range(PLAN_POINTS))
    return [(x, y, PLANE_M) for x, y, *_ in poses]


PAGE = Page[RobotScenario](
    hinges=hinges,
    charts=[
        [f"joints.sync_error_{i}_rad" for i in NUMBERS],
        [f"joints.error_{i}_rad" for i in NUMBERS],
        [f"effort.torque_{i}_Nm" for i in NUMBERS],
        [f"joint_law.w_p_{i}" for i in NUMBERS],
    ],
    plan=plan,
    no_commands="this robot follows its scenario's path: it takes no commands from this page",
    map_m_per_px=0.0015,
    trail_m=0.002,
    attitude=False,
    stands=True,
    home=False,
)
