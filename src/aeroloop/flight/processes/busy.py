"""Background load on purpose: does nothing but keep a core busy, so that a flight shows how well it keeps time."""

from __future__ import annotations

from aeroloop.flight.processes.common import Line, Orders, run_process, stop


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    line.await_order("open")
    line.tell("ready")
    line.await_order("start")
    while not stop():
        sum(range(1000))


if __name__ == "__main__":
    run_process(main)
