"""MAVLink 2 signing: who does not know the key cannot command; no I/O but the reading of a key.

A signed frame has bit 0 of its incompatibility flags set and 13 bytes behind its checksum: the number of the link,
48 bits of time in units of 10 µs since 2015, and the first 48 bits of SHA-256(key, frame, link, time). A time that does
not grow, or that lies more than a minute behind, is a frame that somebody recorded.

The flag is under the checksum, and the checksum ends with a byte that only the dialect knows. But CRCs are linear:
setting one bit changes them by an amount that depends on the frame's length alone. So frames of any dialect can be
signed.
"""

from __future__ import annotations

import hmac
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path

from aeroloop.core.errors import ConfigError
from aeroloop.protocols.mavlink_framing import HEAD, SIGNATURE, SIGNED, V2, checksum

KEY_SIZE = 32
MINUTE = 6_000_000
"""In units of the timestamp."""
MOST_STREAMS = 256
"""Senders remembered on one line: a holder of the key must not fill the memory either."""

_EPOCH_NS = 1_420_070_400_000_000_000  # 2015-01-01 in Unix time
_LAST_TIME = (1 << 48) - 1
_LONGEST_KEY_FILE = 4096


class Verdict(Enum):
    GOOD = "good"
    UNSIGNED = "it is not signed"
    FORGED = "its signature does not hold"
    REPLAYED = "a frame as new or newer came before it"
    OLD = "it is more than a minute old"
    CROWDED = "too many senders share this line"


def timestamp(unix_ns: int) -> int:
    """As frames carry it: 10 µs units since 2015."""
    return max(0, unix_ns - _EPOCH_NS) // 10_000


def key_of(text: str) -> bytes:
    """64 hexadecimal digits are the key; anything else is a passphrase, hashed as ground stations do."""
    try:
        key = bytes.fromhex(text) if len(text) == 2 * KEY_SIZE else b""
    except ValueError:
        key = b""
    return key if len(key) == KEY_SIZE else sha256(text.encode()).digest()


def read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_KEY_FILE + 1).decode().strip("\r\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the signing key: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected 64 hexadecimal digits or a passphrase, not binary data") from None
    if not text.strip() or len(text) > _LONGEST_KEY_FILE or "\n" in text:
        raise ConfigError(f"{path}: expected one line with 64 hexadecimal digits or a passphrase")
    return key_of(text)


def is_signed(wire: bytes) -> bool:
    return len(wire) > 2 and wire[0] == V2 and bool(wire[2] & SIGNED)


def sign(wire: bytes, key: bytes, link_id: int, time: int) -> bytes | None:
    """The whole frame with a signature, in place of one that it may have; None for MAVLink 1, which has no room."""
    if wire[0] != V2:
        return None
    signed = _flagged(strip(wire), SIGNED) + bytes((link_id,)) + time.to_bytes(6, "little")
    return signed + sha256(key + signed).digest()[:6]


def strip(wire: bytes) -> bytes:
    """The frame without its signature, as its sender would have sent it unsigned."""
    return _flagged(wire[:-SIGNATURE], 0) if is_signed(wire) else wire


class Signing:
    """What one line needs: its key, the newest time it knows, and how far each sender has come."""

    def __init__(self, key: bytes, link_id: int = 0) -> None:
        self._key = key
        self._link_id = link_id
        self._time = 0
        self._newest: dict[bytes, int] = {}

    def sign(self, wire: bytes, now: int) -> bytes | None:
        """`now` by `timestamp`; two frames never have the same."""
        self._time = min(max(now, self._time + 1), _LAST_TIME)
        return sign(wire, self._key, self._link_id, self._time)

    def verify(self, wire: bytes, now: int, heard: dict[bytes, int] | None = None) -> Verdict:
        """Only a good frame changes what is remembered.

        `heard` is what one of several peers on this line has said: programs of the same name do not overtake each
        other. But a peer's first frame must be newer than all, so that nobody joins with what he recorded.
        """
        if not is_signed(wire):
            return Verdict.UNSIGNED
        if len(wire) != HEAD + wire[1] + 2 + SIGNATURE:
            return Verdict.FORGED
        if not hmac.compare_digest(sha256(self._key + wire[:-6]).digest()[:6], wire[-6:]):
            return Verdict.FORGED
        time = int.from_bytes(wire[-12:-6], "little")
        stream = wire[5:7] + wire[-13:-12]
        latest = self._newest.get(stream)
        newest = latest if heard is None else heard.get(stream, latest)
        if newest is not None and time <= newest:
            return Verdict.REPLAYED
        if time + MINUTE < max(now, self._time):
            return Verdict.OLD
        if latest is None and len(self._newest) >= MOST_STREAMS:
            return Verdict.CROWDED
        self._newest[stream] = time if latest is None else max(time, latest)
        if heard is not None:
            heard[stream] = time
        # A peer whose clock is ahead would take our frames for old ones.
        self._time = max(self._time, time)
        return Verdict.GOOD


def _flagged(plain: bytes, flags: int) -> bytes:
    """With the incompatibility flag set or cleared, and the checksum that belongs to it."""
    if plain[2] & SIGNED == flags:
        return plain
    crc = int.from_bytes(plain[-2:], "little") ^ _crc_change(plain[1])
    return plain[:2] + bytes((plain[2] ^ SIGNED,)) + plain[3:-2] + crc.to_bytes(2, "little")


@cache
def _crc_change(payload_size: int) -> int:
    """What the flag does to the checksum over length, flags, seven more of the head, payload and the dialect's byte."""
    rest = bytes(7 + payload_size + 1)
    return checksum(b"\0\1" + rest) ^ checksum(b"\0\0" + rest)
