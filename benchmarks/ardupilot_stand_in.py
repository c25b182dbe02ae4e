"""What takes ArduPilot's place at a simulator's link: `python -m benchmarks.ardupilot_stand_in PORT`.

It sends a servo packet, waits for one answer, and sends the next at once, with equal pulses on four motors. It works
with any simulator of the JSON interface: nothing of the bench is in it.
"""

from __future__ import annotations

import socket
import struct
import sys

PULSE_US = 1760
"""A little more than an Iris needs to hover, so that it climbs."""
PACKET = struct.Struct("<HHI16H")
MAGIC, RATE_HZ = 18458, 800
RESEND_S = 0.5


def main(port: int) -> None:
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.connect(("127.0.0.1", port))
    line.settimeout(RESEND_S)
    pulses = [PULSE_US] * 4 + [0] * 12
    frame = 0
    while True:
        try:
            line.send(PACKET.pack(MAGIC, RATE_HZ, frame, *pulses))
            if line.recv(65536):
                frame += 1
        except (TimeoutError, ConnectionRefusedError):
            continue


if __name__ == "__main__":
    main(int(sys.argv[1]))
