"""The command line."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """The command `aeroloop`."""
    _end_at_once()
    try:
        if sys.argv[1:2] == ["fly"]:
            # This process draws nothing, and MuJoCo would start a program to look for a display.
            os.environ.setdefault("MUJOCO_GL", "disable")
            from aeroloop.flight import forked

            forked.server()  # it imports while this process does
        # Imported here, so that a module of one command can be imported without all others.
        from aeroloop.cli.app import main as run

        run()
    except KeyboardInterrupt:  # after the program's own handler
        print("aeroloop: interrupted by SIGINT", file=sys.stderr)
        sys.exit(130)
    finally:
        _end_at_once()


def _end_at_once() -> None:
    """Before and after the program's own handlers, when nothing is to be cleaned up: an exception would be a traceback
    of an import, or of the interpreter's end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, f"aeroloop: interrupted by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)
