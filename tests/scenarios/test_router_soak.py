"""A router with sixteen endpoints, half of whose pairs are cut, stalled and restored at random: each frame is found.

The long version, 20,000 frames a second for a minute, is `python -m benchmarks router-soak`.
"""

from __future__ import annotations

import pytest

from peers.router_soak import CUT, STALLED, Books, Soak, plan, soak
from peers.traffic import FRAME_SIZE

SECONDS, RATE_HZ, SEED = 6.0, 2400.0, 5
KERNEL_FRAMES = 20_000
"""More than the buffers of a socket on both sides hold."""
FRAMES_PER_DATAGRAM = 1400 // FRAME_SIZE


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Soak:
    return soak(SECONDS, RATE_HZ, SEED, tmp_path_factory.mktemp("soak"))


def test_the_plan_disturbs_every_kind_of_line_both_ways() -> None:
    events = plan(SECONDS, SEED)
    assert {event.kind for event in events} == {CUT, STALLED}
    assert {event.endpoint // 2 for event in events} == {4, 5, 6, 7}


def test_frames_flowed_everywhere(done: Soak) -> None:
    assert len(done.books) == 16
    for book in done.books:
        assert book.sent > 0.3 * RATE_HZ / 16 * SECONDS
        assert book.delivered > 0


def test_nothing_is_lost_between_endpoints_that_are_left_alone(done: Soak) -> None:
    calm = [book for book in done.books if not book.disturbed]
    assert len(calm) == 8
    for book in calm:
        assert book.delivered == book.sent == book.router_in == book.router_out, book
        assert book.missing == book.dropped == book.refused == book.duplicates == book.bad == 0, book


def test_a_disturbed_pair_loses_nothing_while_both_ends_are_well(done: Soak) -> None:
    wild = [book for book in done.books if book.disturbed]
    assert sum(book.owed for book in wild) > 0
    assert [book.missing for book in wild] == [0] * len(wild)


def test_nothing_comes_twice_or_at_the_wrong_place(done: Soak) -> None:
    assert [book.twice for book in done.books] == [0] * 16


def test_every_loss_stands_in_a_counter(done: Soak) -> None:
    """The router's own for what it had; a cut costs what was in the kernel's buffers, and nothing else does."""
    lossy = 0
    for book in done.books:
        assert book.unaccounted == 0, book
        lossy += book.sent - book.delivered
        _check_kernel(book)
    assert lossy > 0  # or nothing was disturbed


def _check_kernel(book: Books) -> None:
    assert 0 <= book.lost_before <= KERNEL_FRAMES * book.cuts, book
    least, most = book.overflow, book.overflow * FRAMES_PER_DATAGRAM + KERNEL_FRAMES * book.cuts
    assert least <= book.lost_behind <= most, book


def test_memory_stays_flat(done: Soak) -> None:
    middle_kib, last_kib = done.rss_thirds_kib()
    assert last_kib - middle_kib < 4096
