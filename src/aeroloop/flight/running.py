"""The flights that run on this machine just now."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from aeroloop.core.paths import runtime_dir
from aeroloop.flight.processes.common import Orders, read_orders


def flights() -> list[Orders]:
    """In the order of their folders' names."""
    return [orders for orders in map(_running, sorted(runtime_dir().glob("flight-*/orders.json"))) if orders]


def flight_id(orders: Orders) -> str:
    return Path(orders.folder).name.removeprefix("flight-")


def _running(path: Path) -> Orders | None:
    try:
        orders = read_orders(path)
        os.kill(orders.supervisor_pid, 0)
    except (OSError, msgspec.MsgspecError):
        return None  # ended, or not yet written
    return orders
