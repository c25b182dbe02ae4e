"""The nonlinear predictive laws in a scenario: boards are refused, and what a design needs."""

from __future__ import annotations

import pytest

from aeroloop.control.host_law import HostLawDesign
from aeroloop.controllers.law.values import firmware
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.families.tiltrotor.design import board_law


@pytest.mark.parametrize("loop", ["pil", "hil"])
@pytest.mark.parametrize(("scenario", "instead"), [("tiltrotor-heading-nmpc", "mpc"), ("quad-law-nmpc", "cascade")])
def test_a_board_is_refused_in_one_sentence(scenario: str, instead: str, loop: str) -> None:
    pace = ('pace="real"',) if loop == "hil" else ()
    with pytest.raises(
        ConfigError, match=rf"control.law: nmpc .*flies on mil and sil, not on {loop}; expected {instead}"
    ):
        load(find(scenario), (f'loop="{loop}"', *pace))


def test_no_firmware_is_built_of_it() -> None:
    scenario: object = load(find("quad-law-nmpc"))
    with pytest.raises(ConfigError, match="does not become firmware"):
        firmware(scenario)  # type: ignore[arg-type]


def test_the_fallback_is_the_law_for_any_heading() -> None:
    scenario: object = load(find("tiltrotor-heading-nmpc"))
    law, _ = board_law(scenario)  # type: ignore[arg-type]
    assert isinstance(law, HostLawDesign)
    assert (law.name, law.fallback.size1_in(0), law.fallback.size1_in(1)) == ("nmpc", 16, 8)


def test_the_thrust_must_exceed_that_of_hover() -> None:
    scenario: object = load(find("tiltrotor-heading-nmpc"), ("control.nmpc.thrust_max_N=5",))
    with pytest.raises(ConfigError, match=r"control.nmpc.thrust_max_N: expected more than 10\.\d+ N"):
        board_law(scenario)  # type: ignore[arg-type]
