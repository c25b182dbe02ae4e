"""`aeroloop cmd board`: a command reaches the plant of the running flight, and its answer comes back."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aeroloop.cli.operator_command_line import app
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.core.streams import logged, streams_of
from aeroloop.core.wing_signals import UserAnswer, UserCommand
from aeroloop.exchanges.operator import OperatorLine
from aeroloop.families.fixedwing.operating import console
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.commands.errors import NoAnswerError, RefusedError
from aeroloop.realtime.controls import ControlPort, Operate
from aeroloop.realtime.feed import FeedOut

PERIOD_NS = NS // 20
VALUES = [21.0, 660.0, 150.0, 0.4, 0.5, 0.6, 0.7, 0.012]


class Flight:
    """A plant with a recorder, and a board that answers the commands in order."""

    def __init__(self, folder: Path, scenario_name: str, answers: list[UserAnswer]) -> None:
        scenario = load(find(scenario_name))
        orders = LaunchSettings(scenario, str(folder), log="", supervisor_pid=os.getpid(), core_draw=0)
        (folder / "launch.json").write_text(orders.encode().decode())
        self._streams = {stream.name: stream for stream in logged(streams_of(scenario))}
        self._port, self._out = ControlPort(folder), FeedOut(folder, tuple(self._streams.values()))
        self._answers = answers
        self._console = console(scenario) if scenario_name.startswith("fixedwing") else None
        names = ("user_command", "user_answer")
        self._line = OperatorLine(
            self._console, (), {name: lambda *row, name=name: self._offer(name, *row) for name in names}
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fly)
        self._thread.start()

    def _offer(self, name: str, t_s: float, *row: float) -> None:
        self._out.offer(self._streams[name], self._streams[name].packing.pack(t_s, 0.0, *row))

    def _fly(self) -> None:
        t_ns = 0
        while not self._stop.is_set():
            for request in self._port.poll():
                assert isinstance(request, Operate)
                self._line.add(request.order)
            message = self._line.due(t_ns)
            if message is not None and self._answers:
                number, command, parameter = message.number, message.command, message.parameter
                if command == UserCommand.READ:
                    for each, value in enumerate(VALUES):
                        self._offer("parameter", t_ns / NS, each, value)
                self._line.take(t_ns, (number, command, parameter, self._answers.pop(0), message.x, message.y))
            if "mission_step" in self._streams:
                self._offer("mission_step", t_ns / NS, 1.0, 0.0)
            t_ns += PERIOD_NS
            self._out.step(time.monotonic_ns())
            time.sleep(0.002)

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self._port.close()
        self._out.close()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="al-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        made = Path(runtime) / "aeroloop" / "flight-here"
        made.parent.mkdir(mode=0o700)
        made.mkdir(mode=0o700)
        yield made


def said(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_commands_are_answered_with_the_boards_own_words_and_values(folder: Path) -> None:
    flight = Flight(folder, "fixedwing-loiter", [UserAnswer.ACCEPTED] * 3 + [UserAnswer.GOAL_BLOCKED])
    try:
        assert said("goal", "--", "1200", "-3400").startswith("new goal (")
        assert said("set", "airspeed_m_s", "21") == "airspeed_m_s 21\n"
        values = json.loads(said("read", "--json"))
        assert list(values.values()) == VALUES and next(iter(values)) == "airspeed_m_s"
        with pytest.raises(RefusedError, match=r"^goal: refused: the goal's circle leads over blocked cells$") as error:
            said("goal", "2400", "-600")
        assert error.value.exit_code == 1
        with pytest.raises(NoAnswerError, match="no answer from the board") as silent:
            said("loiter", "--timeout", "60")
        assert silent.value.exit_code == 3
        with pytest.raises(ConfigError, match="no 'airspeed'"):
            said("set", "airspeed", "3")
        with pytest.raises(ConfigError, match=r"^value: expected a number within 1e\+06, not nan$"):
            said("set", "airspeed_m_s", "nan")
        with pytest.raises(ConfigError, match=r"^--aircraft two: not in this flight"):
            said("loiter", "--aircraft", "two")
    finally:
        flight.end()


def test_an_aircraft_without_user_commands_and_no_flight_are_one_sentence_each(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no flight is running"):
        said("loiter")
    flight = Flight(folder, "tiltrotor-spiral", [])
    flight.end()
    with pytest.raises(ConfigError, match=r"^this aircraft's board takes no user commands$"):
        said("loiter")
