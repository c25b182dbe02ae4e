"""Lines of source of any revisions side by side, in total and for what three loops, plants and logs became.

    python -m tools.source_size                       the revisions of docs/internals/tests.md
    python -m tools.source_size d488b84 HEAD

Counted from git, as committed, with blank lines and comments. A group is a list of modules, old and new; each revision
counts those that it has. What d488b84 could not do is a group of its own, so that the others are of the same features.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/aeroloop/"
REVISIONS = ("d488b84", "683de9c", "955a746")
FAMILIES = ("tiltrotor", "multirotor", "fixedwing")
"""Those of d488b84."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "loops, stages, pace, exchanges, lockstep": (
        *("loop.py", "autopilot_loop.py", "wing_loop.py", "fleet.py", "stages.py", "hil_samples.py"),
        *("realtime/pace.py", "realtime/lockstep.py", "processes/signal_counts.py", "flight/pace_log.py"),
        *("sim/loop.py", "sim/vehicle.py", "sim/pace.py", "sim/exchange.py", "world/surroundings.py"),
        *("exchanges/barriers.py", "exchanges/wire.py", "exchanges/link_faults.py", "exchanges/line_faults.py"),
        *("exchanges/numbered_periods.py", "exchanges/board_period.py", "exchanges/board_request.py"),
        *("exchanges/mavlink_hil.py", "exchanges/hil_samples.py", "exchanges/signal_counts.py", "sensors/collect.py"),
    ),
    "plant processes, aircraft built": (
        *("processes/plant.py", "processes/hil_plant.py", "processes/wing_plant.py"),
        *("flight/processes/plant.py", "flight/part.py", "flight/seat.py", "flight/exchange_context.py"),
        *(f"families/{family}/build.py" for family in FAMILIES),
        *("controllers/law/exchange.py", "controllers/law/period_exchange.py", "controllers/law/request_exchange.py"),
        *("controllers/pixhawk/exchange.py", "controllers/px4/exchange.py"),
    ),
    "rows of the log": (
        *("processes/hil_log.py", "processes/pixhawk_log.py", "sim/rows.py", "sensors/rows.py"),
        *(f"families/{family}/rows.py" for family in FAMILIES),
        *("controllers/pixhawk/log.py", "controllers/pixhawk/hil_rows.py"),
    ),
}
ADDED = "beside them, with features that d488b84 did not have: other modules of sim and exchanges"
PACKAGES = ("sim/", "exchanges/")


def sizes(revision: str) -> dict[str, int]:
    """Lines of each module of the package, by its path in it."""
    listed = _git("ls-tree", "-r", "--full-tree", revision, "--", SOURCE).decode().splitlines()
    blobs = {path.removeprefix(SOURCE): head.split()[2] for head, path in (line.split("\t") for line in listed)}
    modules = {path: blob for path, blob in blobs.items() if path.endswith(".py")}
    contents = _git("cat-file", "--batch", stdin="\n".join(modules.values()).encode() + b"\n")
    lines, at = {}, 0
    for path in modules:
        end = contents.index(b"\n", at)
        size = int(contents[at:end].split()[2])
        lines[path] = contents.count(b"\n", end + 1, end + 1 + size)
        at = end + 1 + size + 1
    return lines


def row(name: str, counts: Iterable[int]) -> str:
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"


def table(revisions: tuple[str, ...]) -> list[str]:
    """In Markdown."""
    found = [sizes(revision) for revision in revisions]
    grouped = {path for paths in GROUPS.values() for path in paths}
    parts = {name: [sum(each.get(path, 0) for path in paths) for each in found] for name, paths in GROUPS.items()}
    added = [sum(n for p, n in each.items() if p.startswith(PACKAGES) and p not in grouped) for each in found]
    return [
        f"| lines | {' | '.join(revisions)} |",
        f"|---|{'---|' * len(revisions)}",
        *(row(name, counts) for name, counts in parts.items()),
        row("together", (sum(column) for column in zip(*parts.values(), strict=True))),
        row(ADDED, added),
        row("the whole package", (sum(each.values()) for each in found)),
        row("its modules", (len(each) for each in found)),
        row("its longest module", (max(each.values()) for each in found)),
        row(
            "modules in its root",
            (sum(PurePosixPath(path).parent == PurePosixPath() for path in each) for each in found),
        ),
    ]


def _git(*command: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", ROOT, *command], input=stdin, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    print("\n".join(table(tuple(sys.argv[1:]) or REVISIONS)))
