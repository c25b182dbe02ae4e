"""A flight that fails in the air: the error is printed before its report is drawn, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from aeroloop.cli.app import app
from aeroloop.flight import results
from aeroloop.flight.supervisor import Flight, Outcome

FAILED = "the recorder process made no progress for 5 s after the flight and was stopped: the log may be incomplete"


def test_the_error_is_printed_before_the_report_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before_report: list[str] = []

    def drawn(*_: object) -> Path:
        before_report.append(capfd.readouterr().err)
        return tmp_path

    monkeypatch.setattr(Flight, "fly", lambda *_: Outcome("failed", began=True, exit_code=3, error=FAILED))
    monkeypatch.setattr(results, "write_report", drawn)
    with pytest.raises(SystemExit) as ended:
        app(["fly", "quad-hover", "--out", str(tmp_path / "run")])
    assert ended.value.code == 3
    assert before_report == [f"aeroloop: {FAILED}\n"]
    assert FAILED not in capfd.readouterr().err
