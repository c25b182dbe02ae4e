"""Exchange without a link: the caller sets the command and the time at which the next one follows."""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch, Switched
from aeroloop.sim.exchange import Row, Stopped


class Direct:
    """Implements `sim.exchange.Exchange`."""

    over = False
    locked = True
    cuts = True  # its time need not lie on the vehicle's step grid

    def __init__(self, command: Row) -> None:
        self.command = command
        self.until_ns = 0  # the command is held until then

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Always ready."""

    def next_ns(self) -> int:
        return self.until_ns

    def fileno(self) -> int:
        return -1

    def wake(self, t_ns: int) -> None:
        """Not used: there is no descriptor."""

    def receive(self, t_ns: int) -> None:
        """Not used: the command is already set."""

    def serve(self) -> None:
        """Not used: samples are read from the vehicle itself."""

    def settle(self, stopped: Stopped) -> None:
        """Not used: there is no answer to wait for."""

    def switch(self, switch: Switch) -> Switched:
        raise ConfigError(f"{switch.target}: this flight has no link to impair")

    def finish(self) -> None:
        """Not used: there are no rows."""

    def close(self) -> None:
        """Not used: there is no link."""
