"""A multirotor's own estimator and law on a board behind a serial line, as on a desk; a stale image is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from emulation import LAWS, NO_CHECKS, end, fly, serve

from aeroloop.codegen.images import build_image, variants
from aeroloop.core.errors import EXIT_LINK
from aeroloop.core.scenario_files import find, load
from aeroloop.core.tables import made

if TYPE_CHECKING:
    from conftest import Bench

SETTINGS = (*NO_CHECKS, "--set", "duration_s=5", "--set", "ground.takeoff_s=1.5", "--set", "ground.climb_m_s=3.0")
HIL = ("fly", "quad-law-hover", "--no-report", "--loop", "hil", *SETTINGS)


@pytest.mark.soak  # short: test_rrr_hil.py serves a board of this kind, tests/features refuses a stale one
def test_a_served_board_takes_off_and_another_law_is_refused(bench: Bench) -> None:
    plan = load(find("quad-law-hover"), SETTINGS[1::2])
    generated, image = made(plan.flown_by.firmware, plan)
    build_image(generated, variants(image)[1])  # here, since on a busy machine it takes longer than a hang may last
    board, line = serve(bench, "quad-law-hover", *SETTINGS)
    flown = fly(bench, "run", *HIL, "--link", line, code=None)  # a busy machine costs the emulated board overruns
    assert (flown.summary["loop"], flown.summary["ended"]) == ("hil", "completed")
    assert flown.summary["board"]["clock"] == "board"
    assert flown.summary["board"]["tasks"].keys() == {"receive", "law", "tell"}
    assert flown.metrics["height_max_m"] > 1.0
    assert np.isfinite(flown.log.column("estimate", "z_m")).all()
    other = bench.run(*HIL, "--link", line, "--law", str(LAWS / "quad_lqr.py"), "--out", "other")
    assert other.code == EXIT_LINK, other.err
    assert "the board's image was built for another law or scenario" in other.err
    end(bench, board)
