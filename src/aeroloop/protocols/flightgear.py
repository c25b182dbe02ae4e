"""FlightGear's `net_fdm` packets: what a flight dynamics model outside tells FlightGear of one aircraft; no I/O.

Big-endian, without gaps. Version 24 (FlightGear 2020.3) has 408 bytes; version 25 has more of each fuel tank and 552
bytes. FlightGear reads exactly its own size and version. The fields have FlightGear's units: rad, m, ft/s, knots. The
conversion from SI, ENU and FLU is `packet_of`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from aeroloop.core.frames import (
    GRAVITY_M_S2,
    Quat,
    Vec3,
    euler_from_quat,
    euler_rates_from_body,
    frd_from_flu,
    ned_from_enu,
    quat_ned_frd_from_enu_flu,
    rotation_rows,
)

Version = Literal[24, 25]
VERSIONS: tuple[Version, ...] = (24, 25)
MOST_ENGINES, MOST_TANKS, MOST_WHEELS = 4, 4, 3
FT_M = 0.3048
KNOT_M_S = 0.514444
SEA_LEVEL_KG_M3 = 1.225
RUNNING = 2
"""State of an engine; 0 is off, 1 cranking."""
ON_GROUND_M = 0.5
"""Lower than this above the ground the wheels carry weight."""

Four = tuple[float, float, float, float]
Three = tuple[float, float, float]
_NO4: Four = (0.0,) * 4
_NO3: Three = (0.0,) * 3


class Field(NamedTuple):
    name: str
    code: str  # of struct
    length: int = 1
    since: int = 24  # the first version that has it


FIELDS: tuple[Field, ...] = (
    Field("version", "I"),
    Field("padding", "I"),
    *(Field(name, "d") for name in ("longitude_rad", "latitude_rad", "altitude_m")),
    *(Field(name, "f") for name in ("agl_m", "phi_rad", "theta_rad", "psi_rad", "alpha_rad", "beta_rad")),
    *(Field(name, "f") for name in ("phidot_rad_s", "thetadot_rad_s", "psidot_rad_s", "vcas_kt", "climb_rate_ft_s")),
    *(Field(name, "f") for name in ("v_north_ft_s", "v_east_ft_s", "v_down_ft_s", "u_ft_s", "v_ft_s", "w_ft_s")),
    *(Field(name, "f") for name in ("pilot_x_ft_s2", "pilot_y_ft_s2", "pilot_z_ft_s2", "stall_warning", "slip_deg")),
    Field("num_engines", "I"),
    Field("engine_state", "I", MOST_ENGINES),
    *(Field(name, "f", MOST_ENGINES) for name in ("rpm", "fuel_flow", "fuel_psi", "egt", "cht", "manifold", "tit")),
    *(Field(name, "f", MOST_ENGINES) for name in ("oil_temp", "oil_psi")),
    Field("num_tanks", "I"),
    Field("fuel", "f", MOST_TANKS),
    Field("tank_selected", "I", MOST_TANKS, since=25),
    *(Field(f"tank_{name}", "d", MOST_TANKS, since=25) for name in ("capacity", "unusable", "density", "level")),
    Field("num_wheels", "I"),
    Field("wow", "I", MOST_WHEELS),
    *(Field(f"gear_{name}", "f", MOST_WHEELS) for name in ("position", "steer", "compression")),
    Field("cur_time_s", "I"),
    Field("warp_s", "i"),
    Field("visibility_m", "f"),
    *(Field(name, "f") for name in ("elevator", "elevator_trim", "left_flap", "right_flap")),
    *(Field(name, "f") for name in ("left_aileron", "right_aileron", "rudder")),
    *(Field(name, "f") for name in ("nose_wheel", "speedbrake", "spoilers")),
)
"""In the order of the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetFdm:
    """One packet; names as in FIELDS, surfaces from -1 to 1."""

    version: int = 24
    padding: int = 0
    longitude_rad: float = 0.0
    latitude_rad: float = 0.0
    altitude_m: float = 0.0  # above mean sea level
    agl_m: float = 0.0
    phi_rad: float = 0.0
    theta_rad: float = 0.0
    psi_rad: float = 0.0
    alpha_rad: float = 0.0
    beta_rad: float = 0.0
    phidot_rad_s: float = 0.0  # rates of the Euler angles
    thetadot_rad_s: float = 0.0
    psidot_rad_s: float = 0.0
    vcas_kt: float = 0.0
    climb_rate_ft_s: float = 0.0
    v_north_ft_s: float = 0.0
    v_east_ft_s: float = 0.0
    v_down_ft_s: float = 0.0
    u_ft_s: float = 0.0  # velocity over ground in body axes
    v_ft_s: float = 0.0
    w_ft_s: float = 0.0
    pilot_x_ft_s2: float = 0.0  # specific force in body axes: level flight has z = -32.2
    pilot_y_ft_s2: float = 0.0
    pilot_z_ft_s2: float = 0.0
    stall_warning: float = 0.0
    slip_deg: float = 0.0
    num_engines: int = 0
    engine_state: tuple[int, int, int, int] = (0, 0, 0, 0)
    rpm: Four = _NO4
    fuel_flow: Four = _NO4
    fuel_psi: Four = _NO4
    egt: Four = _NO4
    cht: Four = _NO4
    manifold: Four = _NO4
    tit: Four = _NO4
    oil_temp: Four = _NO4
    oil_psi: Four = _NO4
    num_tanks: int = 0
    fuel: Four = _NO4
    tank_selected: tuple[int, int, int, int] = (0, 0, 0, 0)
    tank_capacity: Four = _NO4
    tank_unusable: Four = _NO4
    tank_density: Four = _NO4
    tank_level: Four = _NO4
    num_wheels: int = 0
    wow: tuple[int, int, int] = (0, 0, 0)
    gear_position: Three = _NO3
    gear_steer: Three = _NO3
    gear_compression: Three = _NO3
    cur_time_s: int = 0  # since 1970
    warp_s: int = 0
    visibility_m: float = 0.0
    elevator: float = 0.0
    elevator_trim: float = 0.0
    left_flap: float = 0.0
    right_flap: float = 0.0
    left_aileron: float = 0.0
    right_aileron: float = 0.0
    rudder: float = 0.0
    nose_wheel: float = 0.0
    speedbrake: float = 0.0
    spoilers: float = 0.0


def fields_of(version: int) -> tuple[Field, ...]:
    return tuple(each for each in FIELDS if each.since <= version)


def _packing(version: int) -> struct.Struct:
    return struct.Struct(">" + "".join(f"{each.length}{each.code}" for each in fields_of(version)))


_PACKING: Mapping[int, struct.Struct] = {version: _packing(version) for version in VERSIONS}
SIZES: Mapping[int, int] = {version: packing.size for version, packing in _PACKING.items()}
"""Bytes of a packet, by version."""
_VERSION = struct.Struct(">I")
_LIMITS = {"num_engines": MOST_ENGINES, "num_tanks": MOST_TANKS, "num_wheels": MOST_WHEELS}


def pack(packet: NetFdm) -> bytes:
    """The bytes of a packet of its version; ValueError where a number is not finite or does not fit."""
    _check(packet)
    values: list[Any] = []
    for each in fields_of(packet.version):
        value = getattr(packet, each.name)
        values += value if each.length > 1 else (value,)
    try:
        return _PACKING[packet.version].pack(*values)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"net_fdm: {error}") from None


def unpack(datagram: bytes) -> NetFdm:
    """The packet of a datagram; ValueError says what is wrong with it."""
    if len(datagram) < _VERSION.size:
        raise ValueError(f"net_fdm: {len(datagram)} bytes; expected {_expected()}")
    (version,) = _VERSION.unpack_from(datagram)
    if SIZES.get(version) != len(datagram):
        raise ValueError(f"net_fdm: version {version} in {len(datagram)} bytes; expected {_expected()}")
    values = iter(_PACKING[version].unpack(datagram))
    named: dict[str, Any] = {
        each.name: next(values) if each.length == 1 else tuple(next(values) for _ in range(each.length))
        for each in fields_of(version)
    }
    packet = NetFdm(**named)
    _check(packet)
    return packet


def _expected() -> str:
    return " or ".join(f"version {version} in {size}" for version, size in SIZES.items())


def _check(packet: NetFdm) -> None:
    if packet.version not in SIZES:
        raise ValueError(f"net_fdm: version {packet.version}; expected {_expected()}")
    for name, most in _LIMITS.items():
        if not 0 <= getattr(packet, name) <= most:
            raise ValueError(f"net_fdm: {name}: expected 0 to {most}, not {getattr(packet, name)}")
    for each in fields_of(packet.version):
        value = getattr(packet, each.name)
        if not all(map(math.isfinite, value if each.length > 1 else (value,))):
            raise ValueError(f"net_fdm: {each.name}: expected a finite number, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is shown of an aircraft: SI, ENU, FLU."""

    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level
    agl_m: float
    quat_WB: Quat
    vel_W: Vec3
    rate_B: Vec3
    accel_W: Vec3 = (0.0, 0.0, 0.0)
    wind_W: Vec3 = (0.0, 0.0, 0.0)
    density_kg_m3: float = SEA_LEVEL_KG_M3
    rpm: tuple[float, ...] = ()  # of each engine or rotor; FlightGear shows the first four
    surfaces: Mapping[str, float] = field(default_factory=dict)  # by their names in NetFdm, -1 to 1
    time_s: int = 0  # since 1970


def packet_of(seen: Seen, version: int = 24, visibility_m: float = 25000.0) -> NetFdm:
    phi, theta, psi = euler_from_quat(quat_ned_frd_from_enu_flu(seen.quat_WB))
    phidot, thetadot, psidot = euler_rates_from_body(phi, theta, frd_from_flu(seen.rate_B))
    north, east, down = ned_from_enu(seen.vel_W)
    u, v, w = frd_from_flu(_in_body(seen.quat_WB, seen.vel_W))
    through_air = tuple(a - b for a, b in zip(seen.vel_W, seen.wind_W, strict=True))
    ua, va, wa = frd_from_flu(_in_body(seen.quat_WB, through_air))
    airspeed_m_s = math.hypot(ua, va, wa)
    alpha, beta = math.atan2(wa, ua), math.atan2(va, math.hypot(ua, wa))
    ax, ay, az = seen.accel_W
    felt = frd_from_flu(_in_body(seen.quat_WB, (ax, ay, az + GRAVITY_M_S2)))
    engines = seen.rpm[:MOST_ENGINES]
    missing = MOST_ENGINES - len(engines)
    weight = int(seen.agl_m < ON_GROUND_M)
    return NetFdm(
        version=version,
        longitude_rad=math.radians(seen.lon_deg),
        latitude_rad=math.radians(seen.lat_deg),
        altitude_m=seen.alt_m,
        agl_m=seen.agl_m,
        phi_rad=phi,
        theta_rad=theta,
        psi_rad=psi % math.tau,
        alpha_rad=alpha,
        beta_rad=beta,
        phidot_rad_s=phidot,
        thetadot_rad_s=thetadot,
        psidot_rad_s=psidot,
        # Equivalent airspeed: at the speeds of these aircraft compressibility adds less than a hundredth.
        vcas_kt=airspeed_m_s * math.sqrt(max(0.0, seen.density_kg_m3) / SEA_LEVEL_KG_M3) / KNOT_M_S,
        climb_rate_ft_s=-down / FT_M,
        v_north_ft_s=north / FT_M,
        v_east_ft_s=east / FT_M,
        v_down_ft_s=down / FT_M,
        u_ft_s=u / FT_M,
        v_ft_s=v / FT_M,
        w_ft_s=w / FT_M,
        pilot_x_ft_s2=felt[0] / FT_M,
        pilot_y_ft_s2=felt[1] / FT_M,
        pilot_z_ft_s2=felt[2] / FT_M,
        slip_deg=math.degrees(beta),
        num_engines=len(engines),
        engine_state=_four(tuple(RUNNING if rpm > 0.0 else 0 for rpm in engines), missing),
        rpm=_four(engines, missing),
        num_wheels=MOST_WHEELS,
        wow=(weight, weight, weight),
        gear_position=(1.0, 1.0, 1.0),
        cur_time_s=seen.time_s,
        visibility_m=visibility_m,
        **seen.surfaces,  # type: ignore[arg-type]
    )


def _four(values: tuple[Any, ...], missing: int) -> Any:
    return (*values, *(0,) * missing)


def _in_body(quat_WB: Quat, vec_W: Any) -> Vec3:
    rows = rotation_rows(quat_WB)
    x, y, z = (sum(rows[i][j] * vec_W[i] for i in range(3)) for j in range(3))
    return x, y, z
