"""MAVLink 2 signing against pymavlink's own, in both directions, and against those who do not know the key."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.protocols.mavlink_signing import (
    MINUTE,
    MOST_STREAMS,
    Signing,
    Verdict,
    is_signed,
    key_of,
    read_key,
    sign,
    strip,
    timestamp,
)

KEY = key_of("a passphrase")
NOW = 35_000_000_000_000
PAYLOADS = st.binary(min_size=0, max_size=249)


def theirs(key: bytes | None, system: int = 255, component: int = 190, now: int = NOW) -> dialect.MAVLink:
    """pymavlink as a peer that signs with `key`, or not at all."""
    peer = dialect.MAVLink(None, srcSystem=system, srcComponent=component)
    peer.signing.secret_key, peer.signing.timestamp = key, now
    peer.signing.sign_outgoing = key is not None
    peer.signing.link_id = 7
    return peer


def heartbeat(peer: dialect.MAVLink, *, force_mavlink1: bool = False) -> bytes:
    """Numbered by pymavlink's sender; its trailing zeros are cut off as always."""
    wire: bytes = peer.heartbeat_encode(6, 8, 0, 0, 4).pack(peer, force_mavlink1=force_mavlink1)
    peer.seq = (peer.seq + 1) & 0xFF
    return wire


def tunnel(peer: dialect.MAVLink, content: bytes) -> bytes:
    """A message with any bytes in it."""
    padded = content.ljust(128, b"\0")[:128]
    wire: bytes = peer.tunnel_encode(1, 2, 300, len(content) % 256, padded).pack(peer)
    return wire


@given(PAYLOADS, st.integers(0, 255), st.integers(NOW, NOW + MINUTE))
def test_pymavlink_accepts_what_we_sign(content: bytes, link_id: int, now: int) -> None:
    plain = tunnel(theirs(None), content)
    signed = sign(plain, KEY, link_id, now)
    assert signed is not None
    reader = theirs(KEY)
    message = reader.decode(bytearray(signed))
    assert message.get_signed()
    assert (reader.signing.goodsig_count, reader.signing.badsig_count) == (1, 0)
    assert (message.get_link_id(), reader.signing.timestamp) == (link_id, now)
    with pytest.raises(dialect.MAVError):
        theirs(key_of("another")).decode(bytearray(signed))


@given(PAYLOADS)
def test_we_accept_what_pymavlink_signs_and_can_undo_it(content: bytes) -> None:
    signed = tunnel(theirs(KEY), content)
    assert Signing(KEY).verify(signed, NOW) is Verdict.GOOD
    assert strip(signed) == tunnel(theirs(None), content)
    assert strip(strip(signed)) == strip(signed)


def test_a_frame_signed_before_gets_our_signature_instead() -> None:
    theirs_signed = heartbeat(theirs(key_of("their own key")))
    ours = sign(theirs_signed, KEY, 1, NOW)
    assert ours is not None and len(ours) == len(theirs_signed)
    assert theirs(KEY).decode(bytearray(ours)).get_signed()


def test_mavlink_1_has_no_room_for_a_signature() -> None:
    wire = heartbeat(theirs(None), force_mavlink1=True)
    assert sign(wire, KEY, 0, NOW) is None
    assert strip(wire) == wire
    assert Signing(KEY).verify(wire, NOW) is Verdict.UNSIGNED


def test_wrong_key_unsigned_and_truncated_are_told_apart() -> None:
    line = Signing(KEY)
    signed = heartbeat(theirs(KEY))
    assert line.verify(heartbeat(theirs(key_of("wrong"))), NOW) is Verdict.FORGED
    assert line.verify(heartbeat(theirs(None)), NOW) is Verdict.UNSIGNED
    for size in range(len(signed)):
        assert line.verify(signed[:size], NOW) in (Verdict.UNSIGNED, Verdict.FORGED)
    assert line.verify(signed + b"\0", NOW) is Verdict.FORGED
    assert line.verify(signed, NOW) is Verdict.GOOD  # and none of them spoiled the way for the true one


@given(st.data())
def test_no_bit_of_a_signed_frame_can_be_changed(data: st.DataObject) -> None:
    signed = bytearray(heartbeat(theirs(KEY)))
    bit = data.draw(st.integers(0, 8 * len(signed) - 1))
    signed[bit // 8] ^= 1 << bit % 8
    assert Signing(KEY).verify(bytes(signed), NOW) is not Verdict.GOOD


def test_a_replay_is_refused_also_in_another_order() -> None:
    line, peer = Signing(KEY), theirs(KEY)
    first, second, third = (heartbeat(peer) for _ in range(3))
    assert [line.verify(wire, NOW) for wire in (first, third, second, first, third)] == [
        *(Verdict.GOOD, Verdict.GOOD, Verdict.REPLAYED, Verdict.REPLAYED, Verdict.REPLAYED)
    ]


def test_senders_do_not_share_their_time() -> None:
    line = Signing(KEY)
    ahead, behind = theirs(KEY, system=1, now=NOW + 100), theirs(KEY, system=2, now=NOW)
    assert line.verify(heartbeat(ahead), NOW) is Verdict.GOOD
    assert line.verify(heartbeat(behind), NOW) is Verdict.GOOD


@pytest.mark.parametrize(("behind", "verdict"), [(MINUTE, Verdict.GOOD), (MINUTE + 1, Verdict.OLD)])
def test_a_minute_is_the_limit(behind: int, verdict: Verdict) -> None:
    assert Signing(KEY).verify(heartbeat(theirs(KEY, now=NOW - behind)), NOW) is verdict


@pytest.mark.parametrize(("ahead", "verdict"), [(MINUTE, Verdict.GOOD), (MINUTE + 1, Verdict.AHEAD)])
def test_a_clock_that_is_ahead_locks_no_honest_one_out(ahead: int, verdict: Verdict) -> None:
    line, honest = Signing(KEY), theirs(KEY, system=3, now=NOW)
    assert line.verify(heartbeat(theirs(KEY, now=NOW + ahead)), NOW) is verdict
    assert line.verify(heartbeat(theirs(KEY, now=NOW + 60 * 24 * 365 * MINUTE)), NOW) is Verdict.AHEAD
    assert line.verify(heartbeat(honest), NOW) is Verdict.GOOD
    assert line.verify(heartbeat(theirs(KEY, system=4, now=NOW - MINUTE)), NOW) is Verdict.GOOD


def test_while_our_clock_is_not_set_the_newest_time_heard_counts_and_is_forgotten_afterwards() -> None:
    line, year = Signing(KEY), 60 * 24 * 365 * MINUTE
    assert line.verify(heartbeat(theirs(KEY, now=NOW + year)), 0) is Verdict.GOOD
    assert line.verify(heartbeat(theirs(KEY, system=3, now=NOW)), 0) is Verdict.OLD
    assert line.verify(heartbeat(theirs(KEY, now=NOW)), NOW) is Verdict.GOOD, "the same sender, its clock set too"
    assert line.verify(heartbeat(theirs(KEY, now=NOW)), NOW) is Verdict.REPLAYED


def test_our_time_only_grows() -> None:
    line = Signing(KEY)
    assert line.verify(heartbeat(theirs(KEY, now=NOW + MINUTE)), NOW) is Verdict.GOOD
    reader, plain = theirs(KEY, now=NOW + MINUTE), heartbeat(theirs(None))
    for _ in range(3):  # a clock that stands still, and even one that is behind its peer's
        signed = line.sign(plain, NOW)
        assert signed is not None
        assert reader.decode(bytearray(signed)).get_signed()


def test_more_senders_than_fit_are_refused() -> None:
    line = Signing(KEY)
    peers = [theirs(KEY, system=1 + n // 100, component=n % 100) for n in range(MOST_STREAMS + 1)]
    verdicts = [line.verify(heartbeat(peer), NOW) for peer in peers]
    assert verdicts == [Verdict.GOOD] * MOST_STREAMS + [Verdict.CROWDED]
    assert line.verify(heartbeat(peers[0]), NOW) is Verdict.GOOD


def test_time_is_counted_from_2015() -> None:
    assert timestamp(1_420_070_400_000_000_000) == 0
    assert timestamp(1_420_070_401_000_010_000) == 100_001
    assert timestamp(0) == 0


def test_keys_are_hexadecimal_or_passphrases(tmp_path: Path) -> None:
    path = tmp_path / "key.txt"
    path.write_text("00ff" * 16 + "\n")
    assert read_key(path) == bytes.fromhex("00ff" * 16)
    path.write_text("correct horse\n")
    assert read_key(path) == sha256(b"correct horse").digest()
    path.write_text("zz" * 32)
    assert read_key(path) == sha256(b"zz" * 32).digest()


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines\n", b"\xff\xfe", b"x" * 5000])
def test_a_key_file_that_holds_no_key_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"key\.txt: expected"):
        read_key(path)


def test_a_missing_key_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.txt: cannot read the signing key: No such file"):
        read_key(tmp_path / "none.txt")


@given(st.binary(max_size=300))
def test_garbage_is_refused(wire: bytes) -> None:
    assert Signing(KEY).verify(wire, NOW) in (Verdict.UNSIGNED, Verdict.FORGED)
    assert is_signed(wire) in (True, False)
