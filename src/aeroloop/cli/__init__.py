"""The command line."""

import sys


def main() -> None:
    """The command `aeroloop`."""
    try:
        # Imported here, so that a module of one command can be imported without all others.
        from aeroloop.cli.app import main as run

        run()
    except KeyboardInterrupt:  # before or after the program's own handler
        print("aeroloop: interrupted by SIGINT", file=sys.stderr)
        sys.exit(130)
