"""What the page of campaigns shows of their databases: whole, running, broken or missing, none is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_tables import WIND, filled

from aeroloop.campaign import live_campaigns as live
from aeroloop.campaign.live_campaigns import Campaigns, LiveCampaign
from aeroloop.campaign.store import Store


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    filled(tmp_path / "wind", aborted=1)
    return tmp_path


def test_campaigns_are_found_by_their_database(runs: Path) -> None:
    (runs / "a-flight").mkdir()
    (runs / "broken").mkdir()
    (runs / "broken" / "campaign.db").write_text("nothing")
    (runs / "link").symlink_to(runs / "wind")
    campaigns = Campaigns(runs)
    assert set(campaigns.names()) == {"wind", "broken"}
    assert campaigns.path("wind") == runs / "wind"
    for name in ("link", "a-flight", "..", "../wind", ""):
        assert campaigns.path(name) is None
    broken = LiveCampaign(runs / "broken")
    assert broken.look() and broken.judged is None
    assert broken.why.startswith("broken: cannot be read: ")
    assert Campaigns(runs / "none").names() == []


def test_a_campaign_is_read_again_only_when_it_changed(runs: Path) -> None:
    shown = LiveCampaign(runs / "wind")
    assert shown.look() and not shown.look()
    assert shown.judged is not None and len(shown.judged.aborted) == 1
    store = Store(runs / "wind", writes=True)
    store._database.execute("UPDATE flight SET verdict = 'failed' WHERE number = 1")
    assert shown.look()  # while the writer has it open
    store.close()
    assert shown.judged.rate().successes == 17


def test_rate_table_and_worst(runs: Path) -> None:
    shown = LiveCampaign(runs / "wind")
    shown.look()
    judged = shown.judged
    assert judged is not None
    assert live.headline(judged) == f"20 of 20 flights; passed: {judged.rate().words}"
    assert "95 % interval 68.3 % to 98.8 %; without the 1 aborted" in live.headline(judged)
    assert [ok for _, ok in live.check_words(judged)] == [True]
    rows = live.table_rows(judged)
    assert len(rows) == 20
    assert (rows[18]["verdict"], rows[18]["severity"], rows[18]["numbers"]) == ("failed", "bad", "pos_rms_m 1.52")
    assert [row["number"] for row in live.table_rows(judged, "aborted")] == [20]
    assert live.table_rows(judged, "aborted")[0]["why"] == "the worker process was lost"
    first = live.worst_rows(judged, runs / "wind")[0]
    assert (first["number"], first["margin"]) == (19, "-1.33 %")
    assert first["command"] == f"aeroloop campaign replay {runs / 'wind'} 19"


def test_any_two_columns_as_points_by_verdict(runs: Path) -> None:
    shown = LiveCampaign(runs / "wind")
    shown.look()
    judged = shown.judged
    assert judged is not None
    assert live.first_axes(judged) == (WIND, "pos_rms_m")
    points = live.scatter(judged, WIND, "pos_rms_m")
    assert points["failed"] == [[15.2, 1.52, 19]] and len(points["passed"]) == 18
    assert live.texts(judged, "sensors.preset") == ["px4"]
    for x in live.columns(judged):
        for y in live.columns(judged):
            assert sum(map(len, live.scatter(judged, x, y).values())) == 19


def test_very_many_points_are_thinned_and_failures_stay(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    monkeypatch.setattr(live, "MOST_POINTS", 5)
    shown = LiveCampaign(runs / "wind")
    shown.look()
    assert shown.judged is not None
    points = live.scatter(shown.judged, WIND, "pos_rms_m")
    assert len(points["passed"]) == 5 and len(points["failed"]) == 1


def test_only_reports_of_replays_are_served(runs: Path) -> None:
    folder = runs / "wind" / "replays" / "flight-3"
    folder.mkdir(parents=True)
    campaigns = Campaigns(runs)
    assert campaigns.replay_report("wind", "flight-3") is None
    (folder / "report.html").write_text("<p>report</p>")
    assert campaigns.replay_report("wind", "flight-3") == folder / "report.html"
    for name, replay in (
        ("wind", ".."),
        ("wind", "../.."),
        ("..", "flight-3"),
        ("wind", "flight-4"),
        ("none", "flight-3"),
    ):
        assert campaigns.replay_report(name, replay) is None
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(runs / "wind" / "campaign.db")
    assert campaigns.replay_report("wind", "flight-3") is None
