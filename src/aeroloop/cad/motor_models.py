"""Motor models of Gazebo (classic and new) in SDF, and in the <gazebo> elements of URDF.

Thrust k w^2 (`motorConstant`), torque over thrust (`momentConstant`), in the order of `motorNumber`. Speeds are those
of the rotors; the joints turn `rotorVelocitySlowdownSim` times slower, so that the inertia of their links acts as if
it were smaller by that factor.
"""

from __future__ import annotations

from aeroloop.cad.model import MotorModel
from aeroloop.cad.xml_tree import Node, checked_name
from aeroloop.core.errors import ConfigError

DIRECTIONS = {"ccw": 1, "cw": -1}
MOST_MOTORS = 64


def motor_models(root: Node) -> tuple[tuple[MotorModel, ...], dict[str, Node]]:
    """Of all plugins with a joint and a direction or thrust, and the plugin of each joint for messages."""
    idle = _idle_speeds(root)
    found, plugins = [], {}
    for plugin in root.below("plugin"):
        joint = plugin.value("jointName")
        if not joint or (plugin.first("motorConstant") is None and plugin.first("turningDirection") is None):
            continue
        motor = _motor(plugin, checked_name(joint, f"{plugin.where}: jointName"), idle)
        if motor.joint in plugins:
            raise ConfigError(
                f"{plugin.where}: jointName: a second motor of {motor.joint!r}; expected one for each joint"
            )
        found.append(motor)
        plugins[motor.joint] = plugin
    if len(found) > MOST_MOTORS:
        raise ConfigError(f"{root.source}: {len(found)} motor models; expected at most {MOST_MOTORS}")
    return tuple(found), plugins


def _motor(plugin: Node, joint: str, idle: dict[int, float]) -> MotorModel:
    direction = plugin.value("turningDirection").lower()
    if direction and direction not in DIRECTIONS:
        raise ConfigError(f"{plugin.where}: turningDirection: expected cw or ccw, not {direction[:40]!r}")
    number = next(
        (value for tag in ("motorNumber", "actuator_number") if (value := plugin.number(tag)) is not None), None
    )
    slowdown = plugin.number("rotorVelocitySlowdownSim")
    if slowdown is not None and not slowdown > 0.0:
        raise ConfigError(f"{plugin.where}: rotorVelocitySlowdownSim: expected more than 0, not {slowdown:g}")
    return MotorModel(
        joint=joint,
        number=None if number is None else int(number),
        spin=DIRECTIONS.get(direction),
        thrust_Ns2=_positive(plugin, "motorConstant"),
        torque_to_thrust_m=_positive(plugin, "momentConstant"),
        speed_max_rad_s=_positive(plugin, "maxRotVelocity"),
        speed_idle_rad_s=None if number is None else idle.get(int(number)),
        lag_up_s=_positive(plugin, "timeConstantUp", zero=True),
        lag_down_s=_positive(plugin, "timeConstantDown", zero=True),
        drag_Ns2_m=_positive(plugin, "rotorDragCoefficient", zero=True),
        slowdown=1.0 if slowdown is None else slowdown,
    )


def _positive(plugin: Node, tag: str, *, zero: bool = False) -> float | None:
    value = plugin.number(tag)
    if value is not None and not (value > 0.0 or (zero and value == 0.0)):
        raise ConfigError(f"{plugin.where}: {tag}: expected {'at least' if zero else 'more than'} 0, not {value:g}")
    return value


def _idle_speeds(root: Node) -> dict[int, float]:
    """By motor number: speed of an armed motor at command 0, from the channels of PX4's interface."""
    speeds = {}
    for channels in root.below("control_channels"):
        for channel in channels.all("channel"):
            number, armed = channel.number("input_index"), channel.number("zero_position_armed")
            if number is not None and armed is not None and armed >= 0.0:
                speeds[int(number)] = armed
    return speeds
