"""The page of campaigns in a browser: while a campaign is written, on a screen and on a phone, and for viewers."""

from __future__ import annotations

import re
from pathlib import Path

from browser import DESKTOP, PHONE, Desk
from campaign_tables import filled, outcome
from playwright.sync_api import expect

from aeroloop.campaign.store import Store


def test_a_campaign_is_shown_while_it_runs(desk: Desk, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    campaign = filled(runs / "wind", aborted=1)
    desk.serve("--runs", str(runs))
    watcher = desk.watch(DESKTOP)
    watcher.open("/campaign")
    expect(watcher.find("campaign-rate")).to_contain_text("20 of 20 flights; passed: 90 % (18 of 20), 95 % interval")
    expect(watcher.find("campaign-verdict")).to_have_text("aborted flights")
    expect(watcher.find("replay-flight").first).to_be_visible()
    expect(watcher.find("replay-command").first).to_have_text(f"aeroloop campaign replay {campaign.folder} 19")
    expect(watcher.find("campaign-scatter").locator("canvas")).to_be_visible()
    store = Store(campaign.folder, writes=True)
    store._database.execute("UPDATE flight SET state = 'planned' WHERE number = 20")
    store.flown(f"{20:024}", outcome(0.1))
    store.close()
    expect(watcher.find("campaign-rate")).to_contain_text("passed: 95 % (19 of 20)")
    assert watcher.overflow_px() <= 0
    watcher.shot("campaign-screen", whole=True)
    watcher.assert_clean()


def test_a_viewer_sees_the_command_and_starts_nothing(desk: Desk, tmp_path: Path) -> None:
    filled(tmp_path / "wind")
    desk.serve("--runs", str(tmp_path), "--view-only")
    watcher = desk.watch(PHONE, dark=True)
    watcher.open("/campaign")
    expect(watcher.find("replay-command").first).to_have_text(re.compile("aeroloop campaign replay .* 20"))
    expect(watcher.find("replay-flight")).to_have_count(0)
    assert watcher.overflow_px() <= 0
    watcher.shot("campaign-phone", whole=True)
    watcher.assert_clean()
