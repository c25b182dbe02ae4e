"""Serial ports, and the client's end of a pseudo-terminal, through pyserial."""

from __future__ import annotations

import errno
import termios
from pathlib import Path

import serial

from aeroloop.core.errors import LinkError
from aeroloop.links.stream import StreamLink, retried
from aeroloop.links.url import LinkUrl

_REASONS = {
    errno.ENOENT: "no such device; is it plugged in?",
    errno.EACCES: "no permission; join the group dialout (sudo usermod -aG dialout $USER) and log in again",
    errno.EBUSY: "busy, another program has it open",
    errno.EAGAIN: "busy, another program has it open",  # error of a lock that is taken
}


class SerialLink(StreamLink):
    """A port in raw mode, exclusive to this process; bytes received before it was opened are discarded."""

    def __init__(self, url: LinkUrl, *, connect_timeout_s: float = 5.0) -> None:
        try:
            # Outside /dev the path is a symlink that a pty server creates, possibly a moment later.
            if not url.path.startswith("/dev/"):
                retried(Path(url.path).stat, on=(FileNotFoundError,), timeout_s=connect_timeout_s)
            # inter_byte_timeout=0 is VMIN=1, VTIME=0: then reading nothing means a hang-up, not an idle link.
            self._port = serial.Serial(url.path, url.baud, timeout=0, inter_byte_timeout=0, exclusive=True)
        except (OSError, ValueError, termios.error) as error:
            reason = _REASONS.get(getattr(error, "errno", 0) or 0, f"not usable as a serial port: {error}")
            raise LinkError(f"{url.path}: {reason}") from None
        super().__init__(str(url), self._port.fileno())

    def close(self) -> None:
        self._port.close()
        self._fd = -1
