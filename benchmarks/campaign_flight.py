"""The cost of a flight of a campaign, against the same flight as a command.

A flight of 1.2 s is nearly all fixed cost; the whole spiral shows what that is of a real one. The campaign's processor
time is that of its driver and its worker, start-up included, over the number of its flights.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.command import SHORT_S, TIMEOUT_S
from benchmarks.measure import Aim, Outcome, row, take_turns

SCENARIO, DURATION_S = "tiltrotor-spiral", 60.0
PEER = "`aeroloop fly --no-report`"
MOST_FIXED_S = 1.5
CAMPAIGN = """\
name = "cost"
scenario = "{scenario}"
loop = "mil"
flights = {flights}
seed = 1
design = "random"
parameter = [{{ key = "duration_s", grid = [{duration_s}] }}]
"""


def run(quick: bool) -> Outcome:
    rounds, lengths = (1, {SHORT_S: 2}) if quick else (3, {SHORT_S: 40, DURATION_S: 8})
    outcome = Outcome()
    for duration_s, flights in lengths.items():
        used = take_turns(
            {
                "campaign": partial(_of_a_campaign, duration_s, flights),
                "command": partial(_of_a_command, duration_s),
            },
            rounds,
        )
        aim = None if quick else Aim(0.5, at_least=False)
        what = f"{duration_s:g} s of flight: processor time"
        outcome.rows.append(row(what, "s", used["campaign"], PEER, used["command"], aim))
        if not quick and duration_s == SHORT_S:
            fixed = row("the same", "s", used["campaign"], "spec", [MOST_FIXED_S] * rounds, Aim(1.0, at_least=False))
            outcome.rows.append(fixed)
    outcome.notes.append(
        f"{SCENARIO} on mil, one worker; flights of a campaign: "
        + ", ".join(f"{flights} of {duration_s:g} s" for duration_s, flights in lengths.items())
    )
    return outcome


def _of_a_campaign(duration_s: float, flights: int) -> float:
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        return campaign_s(Path(folder), duration_s, flights, 1) / flights


def campaign_s(folder: Path, duration_s: float, flights: int, workers: int, within_s: float = TIMEOUT_S) -> float:
    """Processor time of a campaign of spirals."""
    file, out = folder / "cost.toml", folder / "out"
    file.write_text(CAMPAIGN.format(scenario=SCENARIO, flights=flights, duration_s=duration_s), encoding="utf-8")
    options = ("--workers", str(workers), "--out", str(out), "--json")
    used_s, told = _measured(("campaign", "run", str(file), *options), within_s)
    flown = json.loads(told)["flights"]["flown"]
    if flown != flights:
        raise RuntimeError(f"the campaign flew {flown} of {flights} flights")
    return used_s


def _of_a_command(duration_s: float) -> float:
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        options = ("--loop", "mil", "--pace", "lockstep", "--json", "--no-report", "--out", str(Path(folder) / "run"))
        settings = ("--set", f"duration_s={duration_s}", "--set", "checks=[]")
        return _measured(("fly", SCENARIO, *options, *settings))[0]


def _measured(arguments: tuple[str, ...], within_s: float = TIMEOUT_S) -> tuple[float, str]:
    """Processor time of a command with all of its processes, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "aeroloop.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout
