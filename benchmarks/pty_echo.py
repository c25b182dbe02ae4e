"""The peer of the plant's answer: a bare pty that gives ANSWER for every REQUEST, and nothing for anything else.

`python -m benchmarks.pty_echo REQUEST ANSWER` (both in hex) prints the path of the slave and runs until it is killed.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tty

from aeroloop.realtime.setup import die_with_parent


def main() -> None:
    die_with_parent(signal.SIGTERM)
    request, answer = (bytes.fromhex(text) for text in sys.argv[1:])
    fd, slave = os.openpty()  # our end of the slave stays open: without a peer a pty counts as hung up
    tty.setraw(slave)
    print(os.ttyname(slave), flush=True)
    while True:
        select.select([fd], [], [])
        if os.read(fd, 4096).endswith(request):
            os.write(fd, answer)


if __name__ == "__main__":
    main()
