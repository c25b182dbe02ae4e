"""CAD files for tests: meshes of bodies with a closed form, and an SDF file with the published numbers of the IRIS."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Triangles = NDArray[np.float64]
"""(n, 3, 3): three corners for each."""
SIDES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def box(x: float, y: float, z: float, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Triangles:
    """With these lengths of its sides."""
    corners = np.array([[a, b, c] for c in (-z / 2, z / 2) for a, b in ((-x, -y), (x, -y), (x, y), (-x, y))])
    corners[:, :2] /= 2
    corners += np.array(at)
    return np.array([[corners[i] for i in half] for a, b, c, d in SIDES for half in ((a, b, c), (a, c, d))])


def cylinder(radius: float, height: float, sides: int = 96) -> Triangles:
    """Along z, as a prism with corners on the circle."""
    angle = np.linspace(0.0, 2 * math.pi, sides, endpoint=False)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(sides)], axis=1)
    after = np.roll(ring, -1, axis=0)
    low, high = np.array([0.0, 0.0, -height / 2]), np.array([0.0, 0.0, height / 2])
    top = np.stack([ring + high, after + high, np.broadcast_to(high, ring.shape)], axis=1)
    bottom = np.stack([after + low, ring + low, np.broadcast_to(low, ring.shape)], axis=1)
    first = np.stack([ring + low, after + low, after + high], axis=1)
    second = np.stack([ring + low, after + high, ring + high], axis=1)
    return np.concatenate([top, bottom, first, second])


def sphere(radius: float, rows: int = 64) -> Triangles:
    """By latitude and longitude, with points on the sphere."""
    polar, around = np.linspace(0.0, math.pi, rows + 1), np.linspace(0.0, 2 * math.pi, 2 * rows + 1)
    around[-1], polar[-1] = 0.0, math.pi
    sines = np.sin(polar)
    sines[-1] = 0.0
    points = radius * np.stack(
        [
            np.outer(sines, np.cos(around)),
            np.outer(sines, np.sin(around)),
            np.outer(np.cos(polar), np.ones_like(around)),
        ],
        axis=2,
    )
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    first = np.stack([a, b, c], axis=2).reshape(-1, 3, 3)
    second = np.stack([a, c, d], axis=2).reshape(-1, 3, 3)
    return np.concatenate([first, second])


def hollow_sphere(outer: float, inner: float) -> Triangles:
    """The inner surface faces into the cavity."""
    return np.concatenate([sphere(outer), sphere(inner)[:, ::-1]])


def binary_stl(triangles: Triangles) -> bytes:
    records = b"".join(
        struct.pack("<12f", 0.0, 0.0, 0.0, *triangle.ravel()) + bytes(2) for triangle in np.asarray(triangles)
    )
    return b"a test".ljust(80) + struct.pack("<I", len(triangles)) + records


def text_stl(triangles: Triangles) -> bytes:
    lines = ["solid test"]
    for triangle in triangles:
        corners = [f"      vertex {x:.9e} {y:.9e} {z:.9e}" for x, y, z in triangle]
        lines += ["  facet normal 0 0 0", "    outer loop", *corners, "    endloop", "  endfacet"]
    return "\n".join([*lines, "endsolid test", ""]).encode()


def obj(triangles: Triangles) -> bytes:
    points = [f"v {x!r} {y!r} {z!r}" for x, y, z in triangles.reshape(-1, 3).tolist()]
    faces = [f"f {3 * i + 1}//1 {3 * i + 2}//1 {3 * i + 3}//1" for i in range(len(triangles))]
    return "\n".join(["# a test", *points, *faces, ""]).encode()


HUBS = ((0.13, -0.22, 0.023), (-0.13, 0.20, 0.023), (0.13, 0.22, 0.023), (-0.13, -0.20, 0.023))
TURNS = ("ccw", "ccw", "cw", "cw")


def iris_sdf() -> str:
    """The numbers that PX4's IRIS model publishes, in a file of our own."""
    parts = [
        """<link name="base_link"><inertial><mass>1.5</mass>
  <inertia><ixx>0.029125</ixx><ixy>0</ixy><ixz>0</ixz><iyy>0.029125</iyy><iyz>0</iyz>
    <izz>0.055225</izz></inertia></inertial>
  <collision name="frame"><geometry><box><size>0.47 0.47 0.11</size></box></geometry></collision>
  <visual name="hull"><geometry><box><size>0.22 0.1 0.07</size></box></geometry>
  <material><diffuse>0.1 0.1 0.8 1</diffuse></material></visual></link>"""
    ]
    channels = []
    for number, ((x, y, z), turns) in enumerate(zip(HUBS, TURNS, strict=True)):
        parts.append(
            f"""<link name="rotor_{number}"><pose>{x} {y} {z} 0 0 0</pose><inertial><mass>0.005</mass>
  <inertia><ixx>9.75e-07</ixx><iyy>0.000273104</iyy><izz>0.000274004</izz></inertia></inertial>
  <collision name="disc"><geometry>
    <cylinder><radius>0.128</radius><length>0.005</length></cylinder></geometry></collision>
</link>
<joint name="rotor_{number}_joint" type="revolute"><parent>base_link</parent><child>rotor_{number}</child>
  <axis><xyz>0 0 1</xyz></axis></joint>
<plugin name="motor_{number}" filename="libgazebo_motor_model.so"><jointName>rotor_{number}_joint</jointName>
  <linkName>rotor_{number}</linkName><turningDirection>{turns}</turningDirection><timeConstantUp>0.0125</timeConstantUp>
  <timeConstantDown>0.025</timeConstantDown><maxRotVelocity>1100</maxRotVelocity><motorConstant>5.84e-06</motorConstant>
  <momentConstant>0.06</momentConstant><motorNumber>{number}</motorNumber>
  <rotorDragCoefficient>0.000175</rotorDragCoefficient><rotorVelocitySlowdownSim>10</rotorVelocitySlowdownSim></plugin>"""
        )
        channels.append(
            f"""<channel name="rotor{number + 1}"><input_index>{number}</input_index><input_scaling>1000</input_scaling>
  <zero_position_armed>100</zero_position_armed><joint_control_type>velocity</joint_control_type></channel>"""
        )
    parts.append(f'<plugin name="link"><control_channels>{"".join(channels)}</control_channels></plugin>')
    return f'<?xml version="1.0"?>\n<sdf version="1.6"><model name="iris">{"".join(parts)}</model></sdf>\n'


def quad_urdf(mesh: str = "") -> str:
    """Four arms of a square frame; only shapes, so that masses need densities. `mesh`: the frame's, if it is one."""
    hull = f'<mesh filename="{mesh}"/>' if mesh else '<box size="0.3 0.3 0.04"/>'
    parts = [f'<link name="frame"><visual><geometry>{hull}</geometry><material name="carbon"/></visual></link>']
    for number, (x, y) in enumerate(((0.2, -0.2), (-0.2, 0.2), (0.2, 0.2), (-0.2, -0.2))):
        parts.append(
            f"""<link name="prop_{number}"><visual><geometry><cylinder radius="0.12" length="0.004"/></geometry>
  <material name="plastic"><color rgba="0.9 0.2 0.1 0.5"/></material></visual></link>
<joint name="prop_{number}_joint" type="continuous"><parent link="frame"/><child link="prop_{number}"/>
  <origin xyz="{x} {y} 0.05" rpy="0 0 0.3"/><axis xyz="0 0 1"/></joint>"""
        )
    return f'<robot name="quad">{"".join(parts)}</robot>\n'


def wing_urdf() -> str:
    """A wing of 2 kg with elevons and a rudder."""
    parts = [
        """<link name="fuselage"><inertial><mass value="1.4"/>
  <inertia ixx="0.02" ixy="0" ixz="0.002" iyy="0.1" iyz="0" izz="0.11"/></inertial>
  <visual><geometry><capsule radius="0.06" length="0.8"/></geometry><origin rpy="0 1.5708 0"/></visual></link>
<link name="wing"><inertial><mass value="0.6"/>
  <inertia ixx="0.09" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.094"/></inertial>
  <visual><geometry><box size="0.22 1.6 0.02"/></geometry></visual></link>
<joint name="wing_joint" type="fixed"><parent link="fuselage"/><child link="wing"/><origin xyz="0 0 0.05"/></joint>"""
    ]
    for name, y in (("left_elevon", 0.5), ("right_elevon", -0.5), ("rudder", 0.0)):
        parts.append(
            f"""<link name="{name}"><inertial><mass value="0.02"/>
  <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-5"/></inertial></link>
<joint name="{name}_joint" type="revolute"><parent link="wing"/><child link="{name}"/>
  <origin xyz="-0.1 {y} 0"/><axis xyz="0 1 0"/><limit lower="-0.5" upper="0.4" effort="1" velocity="5"/></joint>"""
        )
    return f'<robot name="wing">{"".join(parts)}</robot>\n'


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
