"""`make lower-bounds` asks for the lowest version of each range, and for no other."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from tools import lower_bounds


def test_every_range_has_a_lower_bound_that_it_contains() -> None:
    ranges = lower_bounds.ranges()
    pinned = [Requirement(each) for each in lower_bounds.lowest(ranges)]
    assert [each.name for each in pinned] == [Requirement(each).name for each in ranges]
    for lowest, asked in zip(pinned, map(Requirement, ranges), strict=True):
        (bound,) = lowest.specifier
        assert bound.operator == "==" and asked.specifier.contains(bound.version), asked


@pytest.mark.parametrize("text", ["numpy", "numpy<3", "numpy==2.0"])
def test_a_range_without_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"numpy.*: expected one lower bound, such as numpy>=1\.2"):
        lower_bounds.lowest([text])


def test_what_runs_the_tests_is_as_locked() -> None:
    assert [line.partition("==")[0] for line in lower_bounds.locked(lower_bounds.TOOLS)] == sorted(lower_bounds.TOOLS)
