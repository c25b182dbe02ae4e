"""Shape of a rocket: a hull on legs with a nozzle that swivels."""

import mujoco
from rocket.airframe import flown
from rocket.scenario import RocketScenario

from aeroloop.core.shape import Shape
from aeroloop.world.shapes import of_model


def shape(scenario: RocketScenario) -> Shape:
    rocket = flown(scenario)
    body, arm_m = rocket.body, rocket.motor.arm_m
    half_m, radius_m = body.length_m / 2, body.radius_m
    legs = "".join(
        f'<geom type="capsule" size="0.02" fromto="{0.5 * radius_m * x} {0.5 * radius_m * y} {-arm_m} '
        f'{4 * radius_m * x} {4 * radius_m * y} {-body.legs_m}" rgba="0.2 0.2 0.2 1"/>'
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    text = f"""
    <mujoco><worldbody><body name="hull">
      <geom type="cylinder" size="{radius_m} {0.8 * half_m}" rgba="0.85 0.85 0.88 1"/>
      <geom type="ellipsoid" size="{radius_m} {radius_m} {0.3 * half_m}" pos="0 0 {0.8 * half_m}" rgba="0.8 0.3 0.2 1"/>
      {legs}
      <body name="gimbal_x" pos="0 0 {-arm_m}"><joint name="gimbal_x" axis="1 0 0"/>
        <geom type="sphere" size="0.05" rgba="0.3 0.3 0.3 1"/>
        <body name="nozzle"><joint name="gimbal_y" axis="0 1 0"/>
          <geom type="cylinder" size="{0.5 * radius_m} 0.12" pos="0 0 -0.12" rgba="0.3 0.3 0.3 1"/>
        </body>
      </body>
    </body></worldbody></mujoco>"""
    return of_model(mujoco.MjModel.from_xml_string(text))
