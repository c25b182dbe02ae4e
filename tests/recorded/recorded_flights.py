"""The hashes of every shipped lockstep flight on every rung: the safety net of every change to the bench.

A flight is flown by the command line in a process of its own, and hashed from its log alone, by the schemas in the log:
nothing of the package is imported for that, so that any two versions of it can be compared. Which flights there are is
what the tables of the working tree's package offer.

    python tests/recorded/recorded_flights.py record                 fly all, write flights.json
    python tests/recorded/recorded_flights.py against REVISION       fly all with REVISION and with the working tree

Hashes depend on the machine: each kind of machine has a table of its own in flights.json. On a new one run `against`
the last revision that recorded, then `record`. `against` compares speed as well: both fly in turns. `--link
loopback://` gives plant and board a process each; with `--inline` the working tree flies by `fly_inline`, without
processes and recorder. Flights that REVISION does not have are named and left out. For speed alone, whatever became of
names and hashes since:

    python tests/recorded/recorded_flights.py against REVISION --speed --length full --times 5
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from log_hashes import digest, stream_hashes
from log_hashes import hashed as hashed  # for the tests
from machine_fingerprint import fingerprint

ROOT = Path(__file__).resolve().parents[2]
RECORDS = Path(__file__).with_name("flights.json")
GUARD_S = 900.0
BAD_USAGE = 2
"""The exit code of a flight that its scenario, family or controller does not have."""
SHORT_S = {
    "tiltrotor": 3.0,
    "quad": 10.0,
    "hexa": 17.0,
    "fixedwing": 14.0,
    "mixed": 10.0,
    "rrr": 2.4,
    "heli": 3.0,
    "check": 30.0,
}
"""Long enough to take off, for the hexarotor to lose its rotor, for the first plan of the fixed wing, and
for the disturbance of the robot."""


@dataclass(frozen=True)
class Flight:
    scenario: str
    rung: str

    @property
    def name(self) -> str:
        return f"{self.scenario} {self.rung}"

    @property
    def short(self) -> tuple[str, str]:
        """What makes it short, as settings of the scenario."""
        return f"duration_s={SHORT_S[self.scenario.partition('-')[0]]}", "checks=[]"


@cache
def flights() -> tuple[Flight, ...]:
    """Every shipped scenario on every rung that its family and controllers offer in lockstep."""
    names = sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))
    return tuple(Flight(name, rung) for name in names for rung in lockstep_rungs(name))


def lockstep_rungs(name: str) -> tuple[str, ...]:
    """What the product's tables offer a scenario, without programs from outside and without physical boards."""
    from aeroloop.core.errors import ConfigError  # only here: `log_hashes` and `fly` serve any revision
    from aeroloop.core.fleet_files import controllers_of, load_plan
    from aeroloop.core.scenario import Rung

    path, offered = ROOT / "scenarios" / f"{name}.toml", []
    for rung in get_args(Rung):
        settings = (f'loop="{rung}"',)
        try:
            rows = controllers_of(path, settings)
            if any(row.external or rung in row.own_clock for row in rows):
                continue
            if load_plan(path, settings).lockstep:
                offered.append(rung)
        except ConfigError:  # the scenario, its family or its controller does not have this rung
            continue
    return tuple(offered)


@dataclass(frozen=True)
class Flown:
    log_sha256: str
    streams: dict[str, str]
    factor: float  # simulated seconds a second

    @property
    def flight(self) -> dict[str, str]:
        """Of each stream, without what the emulated processor measured of itself."""
        return {name: value for name, value in self.streams.items() if not name.startswith("processor ")}

    @property
    def processor(self) -> dict[str, str]:
        return {name: value for name, value in self.streams.items() if name.startswith("processor ")}

    def record(self) -> dict[str, str]:
        """As it is kept."""
        return {
            "flight": digest(f"{name} {value}" for name, value in sorted(self.flight.items())),
            "processor": digest(f"{name} {value}" for name, value in sorted(self.processor.items())),
            **{f"stream {name}": value for name, value in sorted(self.streams.items())},
        }


def fly_inline(flight: Flight, *, full: bool) -> Flown:
    """With the working tree, in one process and without a recorder; set-up included, imports not."""
    settings = () if full else flight.short
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("inline_flights.py")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        input=json.dumps({"scenario": flight.scenario, "rung": flight.rung, "settings": settings, "timed": True}),
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    answer = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    if "error" in answer:
        raise FailedError(f"{flight.name} inline: {answer['error']}")
    return Flown("", answer["streams"], answer["factor"])


class RefusedError(Exception):
    """An older revision does not have this flight: its reason, in its words."""


class FailedError(Exception):
    """A flight gave no result."""


def fly(flight: Flight, *, full: bool, source: Path = ROOT, link: str = "", hashes: bool = True) -> Flown:
    """With the package of `source`, which may be another revision's; decoding a log for `hashes` may take longer than
    the flight."""
    if not (source / "scenarios" / f"{flight.scenario}.toml").is_file():
        raise RefusedError(f"no scenario {flight.scenario}")
    with tempfile.TemporaryDirectory(prefix="aeroloop-recorded-") as folder:
        out = Path(folder) / "run"
        short = [] if full else [word for setting in flight.short for word in ("--set", setting)]
        done = subprocess.run(
            [
                *(sys.executable, "-c", "from aeroloop.cli import main; main()", "fly", flight.scenario),
                *("--loop", flight.rung, "--no-report", "--json", "--out", str(out), *short),
                *(("--link", link) if link else ()),
            ],
            cwd=source,
            env={**os.environ, "PYTHONPATH": str(source / "src")},
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            check=False,
        )
        if done.returncode == BAD_USAGE and source != ROOT:
            raise RefusedError(" ".join(done.stderr.split()))
        if done.returncode not in (0, 1) or not done.stdout:
            raise FailedError(f"{flight.name} in {source}: exit code {done.returncode}: {done.stderr}")
        summary = json.loads(done.stdout)
        streams = stream_hashes(out / "flight.mcap") if hashes else {}
        return Flown(summary["log_sha256"], streams, summary["real_time_factor"] or 0.0)


def recorded() -> list[dict[str, Any]]:
    """For each machine on which flights were recorded its fingerprint, and the hashes of flights by name and length."""
    machines: list[dict[str, Any]] = json.loads(RECORDS.read_text())["machines"]
    return machines


def recorded_here(flight: Flight, length: str) -> dict[str, str] | None:
    """Its hashes of a machine like this one; None: this machine is another, or has not recorded this flight."""
    for machine in recorded():
        if length in machine["flights"].get(flight.name, {}) and not foreign(machine["fingerprint"], flight.rung):
            hashes: dict[str, str] = machine["flights"][flight.name][length]
            return hashes
    return None


def foreign(of: dict[str, str], rung: str) -> bool:
    """Whether hashes recorded there may differ here; a firmware's compiler matters on pil alone."""
    apart = () if rung == "pil" else ("cross_compiler", "emulator")
    return any(value != of.get(key) for key, value in fingerprint().items() if key not in apart)


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """The tree of a revision."""
    with tempfile.TemporaryDirectory(prefix="aeroloop-base-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "-C", ROOT, "worktree", "add", "--detach", tree, revision], check=True, capture_output=True
        )
        try:
            yield tree
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True, capture_output=True)


def record(only: str, lengths: tuple[str, ...], *, missing: bool) -> None:
    """In the table of this machine. Where a hash changes, those of other machines are of another flight, and go."""
    machines = recorded() if RECORDS.exists() else []
    known = {
        (name, length)
        for machine in machines
        for name, hashes in machine["flights"].items()
        for length in hashes
        if missing
    }
    own = next((each for each in machines if each["fingerprint"] == fingerprint()), None)
    if own is None:
        own = {"fingerprint": fingerprint(), "flights": {}}
        machines.append(own)
    for flight in flights():
        if only not in flight.name:
            continue
        entry = own["flights"].setdefault(flight.name, {})
        for length in lengths:
            if (flight.name, length) in known:
                continue
            began_s = time.monotonic()
            flown = fly(flight, full=length == "full")
            verdict = "new" if length not in entry else "same" if entry[length] == flown.record() else "changed"
            entry[length] = flown.record()
            if verdict == "changed":
                for other in machines:
                    if other is not own:
                        other["flights"].get(flight.name, {}).pop(length, None)
            took_s = time.monotonic() - began_s
            print(f"{flight.name:34} {length:5} {took_s:6.1f} s {flown.factor:6.1f}x {verdict}", flush=True)
            write(machines)  # after each flight: recording all takes hours


def write(machines: list[dict[str, Any]]) -> None:
    for machine in machines:
        machine["flights"] = {name: hashes for name, hashes in sorted(machine["flights"].items()) if hashes}
    RECORDS.write_text(json.dumps({"machines": machines}, indent=1) + "\n")


@dataclass(frozen=True)
class Pairs:
    """Flights of two revisions in turns, so that what else the machine does meets both."""

    flight: Flight
    length: str
    flown: tuple[tuple[Flown, Flown], ...]
    failed: str = ""

    @property
    def ratios(self) -> list[float]:
        """How many times as fast the second is, of each pair whose speed is known."""
        return [after.factor / before.factor for before, after in self.flown if before.factor]

    @property
    def different(self) -> list[str]:
        """Streams that are not equal."""
        before, after = self.flown[0]
        names = {**before.streams, **after.streams}
        return sorted(name for name in names if before.streams.get(name) != after.streams.get(name))

    def told(self) -> str:
        before, after = self.flown[0]
        ratio = statistics.median(self.ratios) if self.ratios else math.nan
        words = f"DIFFERENT: {', '.join(self.different)}" if self.different else "equal"
        factors = f"{before.factor:6.1f}x -> {after.factor:6.1f}x  ratio {ratio:5.2f}"
        return f"{self.flight.name:34} {self.length:5} {factors}  {words}"


@dataclass(frozen=True)
class Both:
    """How flights are flown in pairs."""

    link: str
    inline: bool
    hashes: bool

    def base(self, flight: Flight, tree: Path, *, full: bool) -> Flown:
        return fly(flight, full=full, source=tree, link=self.link, hashes=self.hashes)

    def ours(self, flight: Flight, *, full: bool) -> Flown:
        if self.inline:
            return fly_inline(flight, full=full)
        return fly(flight, full=full, link=self.link, hashes=self.hashes)

    def pair(self, flight: Flight, tree: Path, *, full: bool, base_first: bool) -> tuple[Flown, Flown]:
        if base_first:
            before = self.base(flight, tree, full=full)
            return before, self.ours(flight, full=full)
        after = self.ours(flight, full=full)
        return self.base(flight, tree, full=full), after


def in_pairs(revision: str, only: str, lengths: tuple[str, ...], times: int, both: Both) -> Iterator[Pairs]:
    """Fly with a revision and with the working tree, the one first and then the other; what the revision does not have
    is named and left out."""
    with checkout(revision) as tree:
        for flight in flights():
            if only not in flight.name:
                continue
            for length in lengths:
                try:
                    flown = tuple(
                        both.pair(flight, tree, full=length == "full", base_first=n % 2 == 0) for n in range(times)
                    )
                except RefusedError as why:
                    print(f"{flight.name}: not flown by {revision}: {why}", file=sys.stderr, flush=True)
                    break
                except FailedError as why:
                    yield Pairs(flight, length, (), str(why))
                else:
                    yield Pairs(flight, length, flown)


def against(every: Iterable[Pairs]) -> bool:
    """Whether any was flown, and all streams of all flights are equal."""
    verdicts = []
    for pairs in every:
        print(pairs.failed or pairs.told(), flush=True)
        verdicts.append(not pairs.failed and not pairs.different)
    return bool(verdicts) and all(verdicts)


def speeds(every: Iterable[Pairs]) -> bool:
    """A Markdown table of the ratios of speed and how far they spread; False: a flight failed, or none was flown."""
    print("| flight | length | before | after | ratio | least | most | pairs |\n|---|---|---|---|---|---|---|---|")
    slower, failed, count = [], 0, 0
    for pairs in every:
        ratios = pairs.ratios
        if not ratios:
            print(f"| {pairs.flight.name} | {pairs.length} | - | - | not measured | | | 0 |", flush=True)
            print(pairs.failed or "the flight has no speed", file=sys.stderr, flush=True)
            failed += 1
            continue
        before, after = (statistics.median(flown.factor for flown in side) for side in zip(*pairs.flown, strict=True))
        ratio = statistics.median(ratios)
        print(
            f"| {pairs.flight.name} | {pairs.length} | {before:.1f}x | {after:.1f}x | {ratio:.2f} | {min(ratios):.2f} "
            f"| {max(ratios):.2f} | {len(ratios)} |",
            flush=True,
        )
        count += 1
        if ratio < 1.0:
            slower.append(f"{pairs.flight.name} {pairs.length} ({ratio:.2f})")
    print(f"\nAt least as fast: {count - len(slower)} of {count}. Slower: {', '.join(slower) or 'none'}.")
    return count > 0 and not failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("record", "against"))
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--only", default="", help="flights whose name contains this, such as 'quad-hover mil'")
    parser.add_argument("--missing", action="store_true", help="record what no machine has recorded")
    parser.add_argument("--length", choices=("short", "full", "both"), default="both")
    parser.add_argument("--times", type=int, default=1, help="pairs of flights for the ratio of speeds")
    parser.add_argument("--link", default="", help="fly over this link instead of the scenario's")
    parser.add_argument("--inline", action="store_true", help="fly the working tree by fly_inline")
    parser.add_argument("--speed", action="store_true", help="a table of the ratios of speed; hashes may differ")
    given = parser.parse_args()
    lengths = ("short", "full") if given.length == "both" else (given.length,)
    if given.do == "record":
        record(given.only, lengths, missing=given.missing)
        return
    both = Both(given.link, inline=given.inline, hashes=not given.speed)
    every = in_pairs(given.revision, given.only, lengths, given.times, both)
    if not (speeds if given.speed else against)(every):
        sys.exit(1)


if __name__ == "__main__":
    main()
