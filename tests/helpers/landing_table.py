"""Touchdown errors over seeds in wind, by the virtual Pixhawk: `python tests/helpers/landing_table.py --seeds 20`."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from precision_flights import Touchdown, by_autopilot, by_companion, rms_m

WAYS = {
    "autopilot": by_autopilot,
    "gps": partial(by_autopilot, vision=False),
    "companion": by_companion,
    "companion-moving": partial(by_companion, speed_m_s=0.5),
}


def row(name: str, touchdowns: list[Touchdown]) -> str:
    off_cm = 100 * np.array([each.off_m for each in touchdowns])
    times = np.mean([each.time_s for each in touchdowns])
    speeds = max(each.speed_m_s for each in touchdowns)
    return (
        f"{name:18} rms {100 * rms_m(touchdowns):5.1f} cm  median {np.median(off_cm):5.1f}  p95 "
        f"{np.percentile(off_cm, 95):5.1f}  worst {off_cm.max():5.1f}  {times:5.1f} s  "
        f"sideways at most {speeds:.2f} m/s  by vision {sum(each.by_vision for each in touchdowns)}/{len(touchdowns)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--each", action="store_true", help="print every landing")
    parser.add_argument("--set", action="append", default=[], help="key=value of the scenario")
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], help="default: all")
    chosen = parser.parse_args()
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for name in chosen.ways or WAYS:
            jobs = [pool.submit(WAYS[name], seed, *chosen.set) for seed in range(chosen.seeds)]
            touchdowns = [job.result() for job in jobs]
            if chosen.each:
                print(*touchdowns, sep="\n")
            print(row(name, touchdowns), flush=True)


if __name__ == "__main__":
    main()
