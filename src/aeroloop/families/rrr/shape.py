"""Shape of a 3-RRR robot: a platform that carries three legs, each down to its motor at the base.

The platform's pose is the robot's, so the legs begin there: a hinge turns the link to the platform, the next one the
driven link, whose end is at the motor.
"""

from __future__ import annotations

import math
from dataclasses import replace

import mujoco

from aeroloop.core.shape import Shape
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, PLANE_M, Robot
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.world.shapes import of_model

THICK_M = 0.008


def shape(scenario: RobotScenario) -> Shape:
    """Seen from as near as its base is wide; it has no front."""
    robot = scenario.aircraft.robot
    return replace(of_model(mujoco.MjModel.from_xml_string(model_xml(robot))), reach_m=robot.base_m, nose_m=0.0)


def model_xml(robot: Robot) -> str:
    legs = ""
    for i, angle in enumerate(LEG_ANGLES_RAD, 1):
        x, y = robot.platform_m * math.cos(angle), robot.platform_m * math.sin(angle)
        l1, l2 = robot.proximal_m, robot.distal_m
        legs += f"""
        <body name="distal{i}" pos="{x} {y} 0"><joint name="distal{i}" axis="0 0 1"/>
          <geom type="capsule" size="{THICK_M}" fromto="0 0 0 {-l2} 0 0" rgba="0.25 0.45 0.7 1"/>
          <body name="proximal{i}" pos="{-l2} 0 0"><joint name="proximal{i}" axis="0 0 1"/>
            <geom type="capsule" size="{1.4 * THICK_M}" fromto="0 0 0 {-l1} 0 0" rgba="0.75 0.35 0.2 1"/>
            <geom type="cylinder" size="{4 * THICK_M} {PLANE_M / 2}" pos="{-l1} 0 {-PLANE_M / 2}" rgba="0.3 0.3 0.3 1"/>
          </body>
        </body>"""
    ends = [(robot.platform_m * math.cos(angle), robot.platform_m * math.sin(angle)) for angle in LEG_ANGLES_RAD]
    sides = "".join(
        f'<geom type="capsule" size="{1.2 * THICK_M}" fromto="{x} {y} 0 {u} {v} 0" rgba="0.2 0.55 0.35 1"/>'
        for (x, y), (u, v) in zip(ends, (*ends[1:], ends[0]), strict=True)
    )
    return f"""
    <mujoco><worldbody><body name="platform">
      <geom type="sphere" size="{1.5 * THICK_M}" rgba="0.9 0.2 0.2 1"/>
      {sides}{legs}
    </body></worldbody></mujoco>"""
