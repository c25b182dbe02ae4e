"""The helicopter's servo channels: ArduPilot's mixing of the swash plate and back, signs, travels, refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.controllers.ardupilot.tables import start_command
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import offered
from aeroloop.families.helicopter import airframe, model
from aeroloop.families.helicopter.channels import HelicopterChannels, mixed_us, pulse_map, unmixed
from peers.ardupilot_heli import COL_MAX_US, COL_MIN_US, CYC_MAX, servo_pulses

STANDARD = HelicopterChannels()
OUTPUTS = st.floats(-1.0, 1.0)


def scenario(*changes: str) -> Any:
    return scenario_files.load(scenario_files.find("heli-ardupilot"), changes)


def commanded(pwm: list[int], *changes: str) -> tuple[float, ...]:
    plan = scenario(*changes)
    return offered(plan.kind, "pulses", plan).command([*pwm, *[0] * 24])


@given(
    outputs=st.tuples(OUTPUTS, OUTPUTS, st.floats(0.0, 1.0)),
    turned_deg=st.floats(-60.0, 60.0),
    phase_deg=st.floats(-30.0, 30.0),
    trim_us=st.floats(1400.0, 1600.0),
)
def test_unmixing_is_the_inverse_of_mixing(
    outputs: tuple[float, float, float], turned_deg: float, phase_deg: float, trim_us: float
) -> None:
    angles = tuple(math.remainder(angle + turned_deg, 360.0) for angle in STANDARD.azimuth_deg)
    channels = HelicopterChannels(azimuth_deg=angles, phase_deg=phase_deg, trim_us=trim_us)  # type: ignore[arg-type]
    first, second, third = mixed_us(channels, *outputs)
    assert unmixed(channels)(first, second, third) == pytest.approx(outputs, abs=1e-12)


@given(roll=st.floats(-0.35, 0.35), pitch=st.floats(-0.35, 0.35), collective=st.floats(0.0, 1.0))
def test_the_mixing_is_that_of_ardupilots_plate(roll: float, pitch: float, collective: float) -> None:
    """Written out twice: here by angles, in the stand-in by ArduPilot's numbers of the 120 degree plate."""
    level = (COL_MIN_US - 1000.0 + collective * (COL_MAX_US - COL_MIN_US)) / 1000.0
    expected = servo_pulses(roll, pitch, collective, 0.0, 0.0)[:3]
    assert mixed_us(STANDARD, roll, pitch, level) == pytest.approx(expected, abs=0.51), "whole microseconds"


def test_outputs_become_pitches_with_the_signs_and_travels_of_the_airframe() -> None:
    """Roll right, nose up, yaw right; the rotor turns clockwise, so that more tail pitch yaws right."""
    h = airframe.load("xcell60")
    hover = model.hover(h)[1].tolist()
    level = commanded(servo_pulses(0.0, 0.0, 0.0, 0.0, 0.0))
    assert level == pytest.approx((math.radians(-2.0), 0.0, 0.0, hover[model.TAIL], 0.0), abs=1e-3)
    most = h.swashplate.cyclic_max_rad
    right = commanded(servo_pulses(CYC_MAX, 0.0, 0.5, 0.0, 0.66))
    assert right == pytest.approx((math.radians(5.0), most, 0.0, hover[model.TAIL], 1.0), abs=1e-3)
    nose_up = commanded(servo_pulses(0.0, CYC_MAX, 1.0, 0.2, 0.33))
    assert nose_up == pytest.approx((math.radians(12.0), 0.0, -most, hover[model.TAIL] + 0.2 * 0.38, 0.5), abs=1e-3)


def test_a_rotor_that_turns_the_other_way_has_its_tail_reversed() -> None:
    import msgspec

    h = airframe.load("xcell60")
    other = msgspec.structs.replace(h, head=msgspec.structs.replace(h.head, spin=1))
    hover = model.hover(h)[1].tolist()
    pulses = [*servo_pulses(0.0, 0.0, 0.5, 0.2, 0.66), *[0] * 24]
    tails = [pulse_map(STANDARD, each, hover).command(pulses)[model.TAIL] - hover[model.TAIL] for each in (h, other)]
    assert tails[0] > 0.0 and tails[1] == -tails[0]


def test_keys_of_the_scenario_move_channels_and_travels() -> None:
    pulses = servo_pulses(0.0, 0.0, 0.5, 0.0, 0.66)
    moved = [0, 0, 0, *pulses[:4], 0, 0, pulses[7]]
    same = ("channels.swash=[4,5,6]", "channels.tail=7", "channels.rsc=10")
    assert commanded(moved, *same) == commanded(pulses)
    assert commanded(pulses, "channels.collective_zero_us=1600")[0] == pytest.approx(0.0)
    assert commanded(pulses, "channels.rsc_full_us=1330")[4] == pytest.approx(2.0)
    assert commanded(pulses, "channels.tail_neutral_rad=0.1")[3] == 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("channels.tail=1", "a channel of its own for each servo"),
        ("channels.azimuth_deg=[0.0,0.0,180.0]", "three servos around the mast"),
        ("channels.azimuth_deg=[0.0,400.0,180.0]", "expected angles from -180 to 180"),
        ("channels.rsc_full_us=900", "rsc_full_us: expected more than rsc_low_us"),
        ("channels.span_us=0", "span_us"),
        ("channels.swash=[1,2]", "channels.swash"),
        ("sensors.fitted=[]", "so one must be fitted"),
        ("link.to_board.loss=0.1", "waits for every message at every pace"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(change: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scenario(change)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_command_that_starts_it() -> None:
    words = start_command(scenario(), 0)
    assert words.startswith("arducopter-heli --model JSON:127.0.0.1 -I0 --home 47.3977420,8.5455940,488,0 ")
    assert "--defaults copter-heli.parm " in words
