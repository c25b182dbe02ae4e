"""Parameters as MAVLink carries them: a float field that holds a float, or the bytes of a whole number (PX4), or a
whole number as a float (ArduPilot)."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.ground.commands.errors import InvalidError
from aeroloop.protocols.mavlink import Frame

NAME_LENGTH = 16
REAL = dialect.MAV_PARAM_TYPE_REAL32
_FORMATS = {
    dialect.MAV_PARAM_TYPE_UINT8: "<Bxxx",
    dialect.MAV_PARAM_TYPE_INT8: "<bxxx",
    dialect.MAV_PARAM_TYPE_UINT16: "<Hxx",
    dialect.MAV_PARAM_TYPE_INT16: "<hxx",
    dialect.MAV_PARAM_TYPE_UINT32: "<I",
    dialect.MAV_PARAM_TYPE_INT32: "<i",
    REAL: "<f",
}
MOST_PARAMETERS = 20_000

Value = int | float


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    value: Value
    kind: int  # MAV_PARAM_TYPE
    index: int  # in the autopilot's list; 65535 if not reported
    count: int  # of parameters that the autopilot has


def parameter_from(frame: Frame, *, bytewise: bool) -> Parameter | None:
    """From the bytes of a PARAM_VALUE: as a float, some integers would change. None if it is invalid."""
    octets = frame.payload
    count, index = struct.unpack_from("<HH", octets, 4)
    name, kind = octets[8:24].split(b"\0")[0], octets[24]
    if kind not in _FORMATS or not name.isascii() or count > MOST_PARAMETERS:
        return None
    whole = kind != REAL
    (value,) = struct.unpack(_FORMATS[kind] if whole and bytewise else "<f", octets[:4])
    if whole and not bytewise:
        if not math.isfinite(value):
            return None
        value = round(value)
    return Parameter(name.decode("ascii"), value, kind, index, count)


def field_from(name: str, value: Value, kind: int, *, bytewise: bool) -> float:
    """Content of the float field of PARAM_SET; InvalidError for a value that the parameter cannot have."""
    if not math.isfinite(value):
        raise InvalidError(f"set {name}: expected a finite number, not {value}")
    if kind not in _FORMATS:
        raise InvalidError(f"set {name}: its type {kind} is not one of 8, 16 or 32 bits")
    if kind == REAL:
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            raise InvalidError(f"set {name}: {value:g} is too large for a number of 32 bits") from None
    if value != int(value):
        raise InvalidError(f"set {name}: expected a whole number, not {value:g}")
    try:
        octets = struct.pack(_FORMATS[kind], int(value))
    except struct.error:
        raise InvalidError(f"set {name}: {value:g} does not fit into its type, {kind_name(kind)}") from None
    if not bytewise:
        return float(value)
    (field,) = struct.unpack("<f", octets)
    if struct.pack("<f", field) != octets:  # a signalling NaN, which the conversion to double changes
        raise InvalidError(f"set {name}: {value:g} cannot be sent, its bytes are not preserved as a float")
    return float(field)


def kind_name(kind: int) -> str:
    entry = dialect.enums["MAV_PARAM_TYPE"].get(kind)
    return str(entry.name).removeprefix("MAV_PARAM_TYPE_") if entry else f"type {kind}"


def checked_name(name: str) -> bytes:
    octets = name.encode("ascii", "replace")
    if not 0 < len(octets) <= NAME_LENGTH or not name.isascii() or not name.isprintable():
        raise InvalidError(f"parameter {name[:40]!r}: a name has 1 to {NAME_LENGTH} letters of ASCII")
    return octets
