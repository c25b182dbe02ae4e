"""Found first by a Python that has this folder in PYTHONPATH: notes what plant and virtual Pixhawk send and receive.

Each entry is the time of the machine's monotonic clock, whether it was sent, and the bytes. They are written to the
folder AEROLOOP_TAP when the process ends.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

ENDS = {"aeroloop.flight.processes.plant": "plant", "aeroloop.controllers.pixhawk.process": "board"}


def tap(name: str, folder: Path) -> None:
    from aeroloop.links.stream import StreamLink
    from aeroloop.links.udp import UdpLink

    noted: list[tuple[int, bool, bytes]] = []
    note, now_ns = noted.append, time.monotonic_ns

    def tapped(kind: Any) -> None:
        send, poll = kind.send, kind.poll

        def noted_send(link: Any, data: bytes) -> None:
            note((now_ns(), True, bytes(data)))
            send(link, data)

        def noted_poll(link: Any) -> bytes:
            data: bytes = poll(link)
            if data:
                note((now_ns(), False, data))
            return data

        kind.send, kind.poll = noted_send, noted_poll

    for kind in (StreamLink, UdpLink):
        tapped(kind)
    atexit.register(lambda: (folder / f"{name}.pickle").write_bytes(pickle.dumps(noted)))


if "AEROLOOP_TAP" in os.environ:
    for main, name in ENDS.items():
        if main in sys.orig_argv:
            tap(name, Path(os.environ["AEROLOOP_TAP"]))
