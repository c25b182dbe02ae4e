"""MAVLink 2 signing: only senders with the key can command; no I/O except reading a key.

A signed frame has bit 0 of its incompatibility flags set and 13 bytes behind its checksum: the number of the link, 48
bits of time in units of 10 µs since 2015, and the first 48 bits of SHA-256(key, frame, link, time). A time that does
not grow, or that lies more than a minute behind, is a replayed frame. One more than a minute ahead is refused too:
accepting it would make every correct clock appear late. Our own clock decides; if it was never set (before 2025), the
newest received time is used instead, as in the standard.

The flag is under the checksum, and the checksum ends with a byte that only the dialect defines. But CRCs are linear:
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
"""Senders remembered on one link: a sender with the key must not exhaust the memory either."""

_EPOCH_NS = 1_420_070_400_000_000_000  # 2015-01-01 in Unix time
_CLOCK_SET = (1_735_689_600_000_000_000 - _EPOCH_NS) // 10_000  # 2025-01-01: no clock that is set shows less
_LAST_TIME = (1 << 48) - 1
_LONGEST_KEY_FILE = 4096


class Verdict(Enum):
    GOOD = "good"
    UNSIGNED = "it is not signed"
    FORGED = "its signature is wrong"
    REPLAYED = "its timestamp is not newer than the last one"
    OLD = "it is more than a minute old"
    AHEAD = "it is signed more than a minute ahead of this machine's clock"
    CROWDED = "too many senders on this link"


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
    """The whole frame with a new signature; None for MAVLink 1, which cannot be signed."""
    if wire[0] != V2:
        return None
    signed = _flagged(strip(wire), SIGNED) + bytes((link_id,)) + time.to_bytes(6, "little")
    return signed + sha256(key + signed).digest()[:6]


def strip(wire: bytes) -> bytes:
    """The frame without its signature, as its sender would have sent it unsigned."""
    return _flagged(wire[:-SIGNATURE], 0) if is_signed(wire) else wire


class Signing:
    """Signing state of one link: its key, the newest time seen, and the last timestamp of each sender."""

    def __init__(self, key: bytes, link_id: int = 0) -> None:
        self._key = key
        self._link_id = link_id
        self._time = 0
        self._newest: dict[bytes, int] = {}

    def sign(self, wire: bytes, now: int) -> bytes | None:
        """`now` comes from `timestamp`; two frames never have the same."""
        self._time = min(max(now, self._time + 1), _LAST_TIME)
        return sign(wire, self._key, self._link_id, self._time)

    def verify(self, wire: bytes, now: int, heard: dict[bytes, int] | None = None) -> Verdict:
        """Verify a frame; only a valid one changes the state.

        `heard` holds the timestamps of one of several peers on this link: programs with the same ID do not invalidate
        each other's frames. But a peer's first frame must be newer than all others, so that a new peer cannot replay
        recorded frames.
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
        # What was believed before the clock was set may lie beyond: that is forgotten.
        last = now + MINUTE if now >= _CLOCK_SET else _LAST_TIME
        if time > last:
            return Verdict.AHEAD
        if newest is not None and time <= newest <= last:
            return Verdict.REPLAYED
        if time + MINUTE < (now if now >= _CLOCK_SET else max(now, self._time)):
            return Verdict.OLD
        if latest is None and len(self._newest) >= MOST_STREAMS:
            return Verdict.CROWDED
        self._newest[stream] = time if latest is None or latest > last else max(time, latest)
        if heard is not None:
            heard[stream] = time
        # A peer whose clock is ahead would reject our frames as old.
        self._time = max(self._time, time)
        return Verdict.GOOD


def _flagged(plain: bytes, flags: int) -> bytes:
    """The frame with the incompatibility flag set or cleared, and the matching checksum."""
    if plain[2] & SIGNED == flags:
        return plain
    crc = int.from_bytes(plain[-2:], "little") ^ _crc_change(plain[1])
    return plain[:2] + bytes((plain[2] ^ SIGNED,)) + plain[3:-2] + crc.to_bytes(2, "little")


@cache
def _crc_change(payload_size: int) -> int:
    """Change of the checksum by the flag, over length, flags, seven more header bytes, payload and CRC_EXTRA."""
    rest = bytes(7 + payload_size + 1)
    return checksum(b"\0\1" + rest) ^ checksum(b"\0\0" + rest)
