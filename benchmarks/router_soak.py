"""The router for a minute under everything at once: 16 endpoints, 20,000 frames a second, half of the pairs disturbed.

Not a race: the rows say what share of the frames came through where nothing was disturbed, and what share of all that
the router had stands in some counter. Both must be 1.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.peers.router_soak import Books, soak

from benchmarks.measure import Aim, Outcome, Row, row

ALL = Aim(1.0, at_least=True)
FLAT = Aim(1.02, at_least=False)
SEED = 5


def run(quick: bool) -> Outcome:
    seconds, rate_hz = (6.0, 3000.0) if quick else (60.0, 20_000.0)
    with tempfile.TemporaryDirectory() as folder:
        done = soak(seconds, rate_hz, SEED, Path(folder))
    outcome = Outcome()
    calm = [book for book in done.books if not book.disturbed]
    wild = [book for book in done.books if book.disturbed]
    outcome.rows.append(_row("delivered, pairs left alone", "frames", _sum(calm, "delivered"), _sum(calm, "sent"), ALL))
    owed = _sum(wild, "owed")
    arrived = owed - _sum(wild, "missing")
    outcome.rows.append(_row("delivered, disturbed pairs in good times", "frames", arrived, owed, ALL))
    had = _sum(done.books, "router_in")
    found = had - sum(abs(book.unaccounted) for book in done.books)
    outcome.rows.append(_row("accounted for by the router", "frames", found, had, ALL))
    first, last = done.rss_thirds_kib()
    outcome.rows.append(row("memory, last third", "KiB", [last], "middle third", [first], FLAT))
    outcome.rows.append(_row("rate of sending", "frames/s", done.rate_hz, rate_hz, None))
    outcome.notes.append(
        f"{len(done.books)} endpoints, {seconds:g} s, {_sum(done.books, 'cuts') // 2} cuts; RSS slope "
        f"{done.rss_slope_kib_s():+.1f} KiB/s; frames delivered twice: {_sum(done.books, 'twice')}; the sender was at "
        f"most {1000 * done.behind_s:.0f} ms behind"
    )
    outcome.notes.append(
        f"disturbed pairs: {_sum(wild, 'sent')} sent, {_sum(wild, 'delivered')} delivered, {_sum(wild, 'dropped')} "
        f"dropped by the router; {_sum(wild, 'overflow')} datagrams too many for stalled UDP peers; with them "
        f"{_sum(wild, 'lost_before')} and {_sum(wild, 'lost_behind')} frames lost in the kernel before and behind the "
        f"router"
    )
    return outcome


def _sum(books: list[Books], what: str) -> int:
    return sum(getattr(book, what) for book in books)


def _row(what: str, unit: str, value: float, peer: float, aim: Aim | None) -> Row:
    return row(what, unit, [float(value)], "sent" if aim else "set", [float(peer)], aim)
