"""The command line."""

import sys

from aeroloop.flight import forked


def main() -> None:
    """The command `aeroloop`."""
    try:
        if sys.argv[1:2] == ["fly"]:  # it imports while this process does
            forked.server()
        # Imported here, so that a module of one command can be imported without all others.
        from aeroloop.cli.app import main as run

        run()
    except KeyboardInterrupt:  # before or after the program's own handler
        print("aeroloop: interrupted by SIGINT", file=sys.stderr)
        sys.exit(130)
