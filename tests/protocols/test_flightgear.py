"""net_fdm: offsets by ctypes, pymavlink as an independent decoder, JSBSim as an independent producer; a fuzz test."""

from __future__ import annotations

import ctypes
import math
import socket
import struct
from dataclasses import replace
from pathlib import Path

import jsbsim
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.fgFDM import fgFDM

from aeroloop.core.frames import quat_from_euler
from aeroloop.protocols.flightgear import (
    FIELDS,
    SIZES,
    VERSIONS,
    Field,
    NetFdm,
    Seen,
    fields_of,
    pack,
    packet_of,
    unpack,
)

OFFSETS_24 = {
    "version": 0,
    "padding": 4,
    "longitude_rad": 8,
    "latitude_rad": 16,
    "altitude_m": 24,
    "agl_m": 32,
    "phi_rad": 36,
    "alpha_rad": 48,
    "phidot_rad_s": 56,
    "vcas_kt": 68,
    "climb_rate_ft_s": 72,
    "v_north_ft_s": 76,
    "u_ft_s": 88,
    "pilot_x_ft_s2": 100,
    "stall_warning": 112,
    "slip_deg": 116,
    "num_engines": 120,
    "engine_state": 124,
    "rpm": 140,
    "fuel_flow": 156,
    "fuel_psi": 172,
    "egt": 188,
    "cht": 204,
    "manifold": 220,
    "tit": 236,
    "oil_temp": 252,
    "oil_psi": 268,
    "num_tanks": 284,
    "fuel": 288,
    "num_wheels": 304,
    "wow": 308,
    "gear_position": 320,
    "gear_steer": 332,
    "gear_compression": 344,
    "cur_time_s": 356,
    "warp_s": 360,
    "visibility_m": 364,
    "elevator": 368,
    "spoilers": 404,
}
"""From the specification of the packet."""
OFFSETS_25 = {"tank_selected": 304, "tank_capacity": 320, "num_wheels": 448, "cur_time_s": 500, "elevator": 512}
C_TYPES = {"I": ctypes.c_uint32, "i": ctypes.c_int32, "f": ctypes.c_float, "d": ctypes.c_double}
PYMAVLINK = {
    "longitude_rad": "longitude",
    "latitude_rad": "latitude",
    "altitude_m": "altitude",
    "agl_m": "agl",
    "phi_rad": "phi",
    "theta_rad": "theta",
    "psi_rad": "psi",
    "alpha_rad": "alpha",
    "beta_rad": "beta",
    "phidot_rad_s": "phidot",
    "thetadot_rad_s": "thetadot",
    "psidot_rad_s": "psidot",
    "vcas_kt": "vcas",
    "climb_rate_ft_s": "climb_rate",
    "v_north_ft_s": "v_north",
    "v_east_ft_s": "v_east",
    "v_down_ft_s": "v_down",
    "u_ft_s": "v_wind_body_north",
    "v_ft_s": "v_wind_body_east",
    "w_ft_s": "v_wind_body_down",
    "pilot_x_ft_s2": "A_X_pilot",
    "pilot_y_ft_s2": "A_Y_pilot",
    "pilot_z_ft_s2": "A_Z_pilot",
    "engine_state": "eng_state",
    "fuel_psi": "fuel_px",
    "manifold": "mp_osi",
    "oil_psi": "oil_px",
    "fuel": "fuel_quantity",
    "gear_position": "gear_pos",
    "cur_time_s": "cur_time",
    "warp_s": "warp",
    "visibility_m": "visibility",
    "elevator_trim": "elevator_trim_tab",
}
"""Our name -> the name in pymavlink, where they differ."""

single = st.floats(-1e6, 1e6, width=32)
COUNTS = {"num_engines": 4, "num_tanks": 4, "num_wheels": 3}


def values(each: Field) -> st.SearchStrategy:
    if each.name in COUNTS:
        return st.integers(0, COUNTS[each.name])
    one = {"I": st.integers(0, 2**32 - 1), "i": st.integers(-(2**31), 2**31 - 1), "f": single}.get(
        each.code, st.floats(-1e9, 1e9)
    )
    return one if each.length == 1 else st.tuples(*[one] * each.length)


def packets(version: int) -> st.SearchStrategy[NetFdm]:
    own = [each for each in fields_of(version) if each.name != "version"]
    return st.builds(NetFdm, version=st.just(version), **{each.name: values(each) for each in own})


def test_fields_are_those_of_the_struct() -> None:
    assert [each.name for each in FIELDS] == list(NetFdm.__slots__)


@pytest.mark.parametrize(("version", "size", "offsets"), [(24, 408, OFFSETS_24), (25, 552, OFFSETS_25)])
def test_offsets_are_those_of_a_packed_c_struct(version: int, size: int, offsets: dict[str, int]) -> None:
    class Packet(ctypes.BigEndianStructure):
        _pack_ = 1
        _fields_ = [
            (each.name, C_TYPES[each.code] * each.length if each.length > 1 else C_TYPES[each.code])
            for each in fields_of(version)
        ]

    assert ctypes.sizeof(Packet) == SIZES[version] == size
    for name, offset in offsets.items():
        assert getattr(Packet, name).offset == offset, name
    example = Packet.from_buffer_copy(pack(NetFdm(version=version, spoilers=0.25, cur_time_s=7, wow=(1, 0, 1))))
    assert (example.spoilers, example.cur_time_s, list(example.wow)) == (0.25, 7, [1, 0, 1])


@pytest.mark.parametrize("version", VERSIONS)
def test_packing_and_unpacking_is_the_identity(version: int) -> None:
    @settings(max_examples=30)
    @given(packets(version))
    def same(packet: NetFdm) -> None:
        datagram = pack(packet)
        assert len(datagram) == SIZES[version]
        assert unpack(datagram) == packet

    same()


@settings(max_examples=30)
@given(packets(24))
def test_pymavlink_reads_the_same_numbers(packet: NetFdm) -> None:
    theirs = fgFDM()
    theirs.parse(pack(packet))
    for each in fields_of(24):
        if each.name in ("padding", "version"):
            continue
        name = PYMAVLINK.get(each.name, each.name)
        for index in range(each.length):
            own = getattr(packet, each.name)
            assert theirs.get(name, idx=index) == (own[index] if each.length > 1 else own), each.name


@settings(max_examples=30)
@given(packets(24))
def test_the_bytes_are_those_that_pymavlink_packs(packet: NetFdm) -> None:
    theirs = fgFDM()
    for each in fields_of(24):
        own = getattr(packet, each.name)
        for index in range(each.length if each.name != "padding" else 0):
            theirs.set(PYMAVLINK.get(each.name, each.name), own[index] if each.length > 1 else own, idx=index)
    assert pack(replace(packet, padding=0)) == theirs.pack()


@given(st.binary(max_size=600))
def test_any_bytes_are_a_packet_or_refused_in_one_sentence(datagram: bytes) -> None:
    try:
        packet = unpack(datagram)
    except ValueError as error:
        assert str(error).startswith("net_fdm: ")
    else:
        assert pack(packet) == datagram


@pytest.mark.parametrize("version", VERSIONS)
def test_bytes_of_the_right_size_and_version_are_a_packet_or_refused(version: int) -> None:
    @given(st.binary(min_size=SIZES[version] - 4, max_size=SIZES[version] - 4))
    def bounded(rest: bytes) -> None:
        datagram = struct.pack(">I", version) + rest
        try:
            packet = unpack(datagram)
        except ValueError as error:
            assert str(error).startswith("net_fdm: ")
        else:
            assert pack(packet) == datagram

    bounded()


@pytest.mark.parametrize("cut", [0, 3, 4, 407, 409])
def test_another_size_is_refused(cut: int) -> None:
    datagram = (pack(NetFdm()) + b"\0")[:cut]
    with pytest.raises(ValueError, match="expected version 24 in 408 or version 25 in 552"):
        unpack(datagram)


def test_a_packet_of_the_other_version_is_refused_by_its_size() -> None:
    with pytest.raises(ValueError, match="version 25 in 408 bytes"):
        unpack(struct.pack(">I", 25) + pack(NetFdm())[4:])


@pytest.mark.parametrize(
    ("packet", "words"),
    [
        (NetFdm(phi_rad=math.nan), "phi_rad: expected a finite number"),
        (NetFdm(rpm=(0.0, math.inf, 0.0, 0.0)), "rpm: expected a finite number"),
        (NetFdm(num_engines=5), "num_engines: expected 0 to 4"),
        (NetFdm(version=23), "version 23; expected version 24"),
        (NetFdm(vcas_kt=1e39), "net_fdm: "),
        (NetFdm(cur_time_s=-1), "net_fdm: "),
    ],
)
def test_what_does_not_fit_is_not_packed(packet: NetFdm, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pack(packet)


RECORDED = Path(__file__).parents[1] / "golden" / "jsbsim_c172x.hex"
"""The first packet of the flight below, as JSBSim 1.3.3 sent it."""


@pytest.fixture
def cessna(tmp_path: Path):
    """A c172x at 39.9 N 116.4 E, 3000 ft, 90 kt, 45 deg; it sends one packet a step, as many as it steps a second."""
    try:
        socket.getaddrinfo("127.0.0.1", None, socket.AF_INET, flags=socket.AI_ADDRCONFIG)
    except socket.gaierror:
        pytest.skip(
            "JSBSim finds no receiver where loopback is the only interface; its recorded packet is read instead"
        )
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(30)
    output = tmp_path / "output.xml"
    output.write_text(
        f'<?xml version="1.0"?>\n<output name="127.0.0.1" type="FLIGHTGEAR" port="{receiver.getsockname()[1]}" '
        'protocol="UDP" rate="120"/>\n'
    )
    model = jsbsim.FGFDMExec(str(Path(jsbsim.__file__).parent))
    model.set_debug_level(0)
    model.load_model("c172x")
    model.set_output_directive(str(output))
    start = {"lat-geod-deg": 39.9, "long-gc-deg": 116.4, "h-sl-ft": 3000.0, "vc-kts": 90.0, "psi-true-deg": 45.0}
    for key, value in start.items():
        model[f"ic/{key}"] = value
    model.run_ic()
    yield model, lambda: receiver.recv(2048)
    receiver.close()


def test_a_recorded_packet_of_jsbsim_is_read() -> None:
    datagram = bytes.fromhex(RECORDED.read_text())
    first = unpack(datagram)
    assert pack(first) == datagram
    assert (first.version, first.num_engines, first.num_tanks, first.num_wheels) == (24, 1, 2, 3)
    assert first.longitude_rad == pytest.approx(2.0316, abs=1e-4)
    assert first.latitude_rad == pytest.approx(math.radians(39.9), abs=1e-9)
    assert first.altitude_m == pytest.approx(914.4, abs=0.1)
    assert first.vcas_kt == pytest.approx(90.0, abs=1.0)
    assert first.psi_rad == pytest.approx(math.radians(45.0), abs=1e-6)
    assert first.visibility_m == 25000.0


def test_packets_of_jsbsim_are_read(cessna) -> None:
    model, received = cessna
    datagram = received()
    first, recorded = unpack(datagram), unpack(bytes.fromhex(RECORDED.read_text()))
    assert pack(first) == datagram
    for axis in ("north", "east"):
        assert getattr(first, f"v_{axis}_ft_s") == pytest.approx(model[f"velocities/v-{axis}-fps"], rel=1e-6)
    for name in ("longitude_rad", "latitude_rad", "altitude_m", "psi_rad", "vcas_kt", "visibility_m", "num_tanks"):
        assert getattr(first, name) == pytest.approx(getattr(recorded, name), rel=1e-6), name


def test_our_signs_are_those_of_jsbsim(cessna) -> None:
    """The packet that we make of JSBSim's state, through ENU and FLU, is JSBSim's own packet."""
    model, received = cessna
    model["fcs/aileron-cmd-norm"], model["fcs/elevator-cmd-norm"] = 0.5, 0.4
    theirs = unpack(received())
    while theirs.phi_rad < 0.05:  # banked to the right, by JSBSim's own law of motion
        model.run()
        theirs = unpack(received())
    phi, theta, psi = theirs.phi_rad, theirs.theta_rad, theirs.psi_rad
    ft = 0.3048
    p, q, r = (model[f"velocities/{axis}-rad_sec"] for axis in "pqr")
    ours = packet_of(
        Seen(
            lat_deg=math.degrees(theirs.latitude_rad),
            lon_deg=math.degrees(theirs.longitude_rad),
            alt_m=theirs.altitude_m,
            agl_m=theirs.agl_m,
            quat_WB=quat_from_euler(phi, -theta, math.pi / 2 - psi),
            vel_W=(theirs.v_east_ft_s * ft, theirs.v_north_ft_s * ft, -theirs.v_down_ft_s * ft),
            rate_B=(p, -q, -r),
            density_kg_m3=model["atmosphere/rho-slugs_ft3"] * 515.378818,
        )
    )
    for name in ("phi_rad", "theta_rad", "psi_rad", "alpha_rad", "beta_rad"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-3), name
    for name in ("phidot_rad_s", "thetadot_rad_s", "psidot_rad_s"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=0.02), name
    for name in ("longitude_rad", "latitude_rad", "altitude_m", "agl_m"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name
    for name in ("climb_rate_ft_s", "v_north_ft_s", "v_east_ft_s", "v_down_ft_s", "u_ft_s", "v_ft_s", "w_ft_s"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=0.1), name
    assert ours.vcas_kt == pytest.approx(theirs.vcas_kt, rel=0.01)
    assert theirs.thetadot_rad_s < 0.0 < theirs.phidot_rad_s
    assert theirs.pilot_z_ft_s2 < 0.0


def seen(**changed: object) -> Seen:
    level = {"lat_deg": 39.9, "lon_deg": 116.4, "alt_m": 914.4, "agl_m": 900.0, "quat_WB": (1.0, 0.0, 0.0, 0.0)}
    return Seen(**{**level, "vel_W": (30.0, 0.0, 0.0), "rate_B": (0.0, 0.0, 0.0), **changed})  # type: ignore[arg-type]


def test_level_flight_to_the_east() -> None:
    packet = packet_of(seen(density_kg_m3=1.225 / 4))
    assert (packet.phi_rad, packet.theta_rad) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert packet.psi_rad == pytest.approx(math.pi / 2)
    assert packet.v_east_ft_s == pytest.approx(30.0 / 0.3048)
    assert packet.u_ft_s == pytest.approx(30.0 / 0.3048)
    assert packet.vcas_kt == pytest.approx(15.0 / 0.514444)
    assert packet.pilot_z_ft_s2 == pytest.approx(-32.174, abs=1e-3)
    assert packet.wow == (0, 0, 0)


def test_attitude_rates_and_flow_in_flightgears_axes() -> None:
    """Banked to the right, nose up, climbing in a wind from the left, turning right."""
    quat_WB = quat_from_euler(0.3, -0.2, 0.0)
    moved = seen(quat_WB=quat_WB, vel_W=(30.0, 0.0, 3.0), wind_W=(0.0, -4.0, 0.0), rate_B=(0.1, -0.2, -0.3))
    packet = packet_of(moved, 25)
    assert packet.version == 25
    assert (packet.phi_rad, packet.theta_rad) == pytest.approx((0.3, 0.2))
    assert packet.climb_rate_ft_s == pytest.approx(3.0 / 0.3048)
    assert packet.v_down_ft_s == pytest.approx(-3.0 / 0.3048)
    assert packet.beta_rad < 0.0  # the air comes from the left
    assert packet.slip_deg == pytest.approx(math.degrees(packet.beta_rad))
    # p, q, r = 0.1, 0.2, 0.3 in axes forward, right, down
    turning = (math.sin(0.3) * 0.2 + math.cos(0.3) * 0.3) / math.cos(0.2)
    assert packet.psidot_rad_s == pytest.approx(turning)
    assert packet.phidot_rad_s == pytest.approx(0.1 + math.sin(0.2) * turning)
    assert packet.vcas_kt == pytest.approx(math.hypot(30.0, 3.0, 4.0) / 0.514444)


def test_rotors_beyond_the_fourth_are_left_out_and_standing_ones_are_off() -> None:
    packet = packet_of(seen(rpm=(1000.0, 0.0, 3000.0, 4000.0, 5000.0, 6000.0), agl_m=0.1))
    assert packet.num_engines == 4
    assert packet.rpm == (1000.0, 0.0, 3000.0, 4000.0)
    assert packet.engine_state == (2, 0, 2, 2)
    assert packet.wow == (1, 1, 1)
    assert packet_of(seen(rpm=(900.0,))).rpm == (900.0, 0.0, 0.0, 0.0)
