"""The command line."""


def main() -> None:
    """The command `aeroloop`."""
    from aeroloop.cli.app import main as run  # whoever imports one command's module need not pay for all

    run()
