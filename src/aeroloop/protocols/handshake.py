"""Handshake of board and bench: checks that both use the same interface, and detects restarts of the board."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.signals import NS, ResetCause
from aeroloop.protocols.interface import START, Interface

RESTART_SLACK_NS = 30_000_000
"""A board repeats its start message until it is answered; meanwhile its clock stays this close to ours."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The identity a board reports when it starts."""

    cause: int
    revision: int
    interface: int
    image: int  # 0: not an image built from a scenario
    uptime_ms: int

    def data(self) -> bytes:
        return START.pack(self.cause, self.revision, self.interface, self.image, self.uptime_ms)

    @staticmethod
    def of(data: bytes) -> Claim | None:
        """None if this is no start message."""
        if data[0] != START.number or len(data) != START.size:
            return None
        return Claim(*map(int, START.unpack(data)))


def host_claim(interface: Interface, uptime_ms: int, cause: ResetCause = ResetCause.POWER_ON) -> Claim:
    """The identity of a board that runs these very sources."""
    return Claim(cause, interface.revision, interface.hash, 0, uptime_ms)


def objection(interface: Interface, claim: Claim, expected_image: int) -> str | None:
    """The reason why this board must not fly, as a sentence; `expected_image` 0 accepts any."""
    if claim.interface != interface.hash:
        return _which_is_old(interface, claim)
    if expected_image and claim.image != expected_image:
        return (
            f"the board's image was built for another law or scenario (it is {claim.image:08x}, "
            f"this flight needs {expected_image:08x}); build it with this flight's scenario, --law and --set: "
            f"{interface.rebuild}"
        )
    return None


def _which_is_old(interface: Interface, claim: Claim) -> str:
    if claim.revision < interface.revision:
        return (
            f"the board's image is old: it uses revision {claim.revision} of the interface and this bench uses "
            f"{interface.revision}; build it again: {interface.rebuild}"
        )
    if claim.revision > interface.revision:
        return (
            f"this bench is old: it uses revision {interface.revision} of the interface and the board's image uses "
            f"{claim.revision}; update aeroloop, or use an image that this version built: {interface.rebuild}"
        )
    return (
        "the board's image is old, or its sources were changed: it and this bench both report revision "
        f"{claim.revision} of the interface but differ in its content "
        f"({claim.interface:08x} and {interface.hash:08x}); "
        f"build it again: {interface.rebuild}"
    )


class Presence:
    """Follows a board's start messages and requests, in simulated time."""

    def __init__(self, period_ns: int) -> None:
        self._latest_ns = period_ns * 3 // 2
        self._booted_ns: int | None = None  # start time of the known board, by its own clock
        self._requested_ns: int | None = None

    def restarted(self, claim: Claim, t_ns: int) -> bool:
        """Whether this start message reports a new start: its clock went back."""
        newer = self.is_newer(claim, t_ns)
        if newer or self._booted_ns is None:
            self._booted_ns = self._boot_ns(claim, t_ns)
        return newer

    def is_newer(self, claim: Claim, t_ns: int) -> bool:
        """Whether it reports a later start than the known one."""
        # Compared with its first start message, not its last: a board that crashes in every cycle stays close to the
        # last.
        known_ns = self._booted_ns
        return known_ns is not None and self._boot_ns(claim, t_ns) - known_ns > RESTART_SLACK_NS

    @staticmethod
    def _boot_ns(claim: Claim, t_ns: int) -> int:
        return t_ns - claim.uptime_ms * (NS // 1000)

    def late_s(self, t_ns: int) -> float | None:
        """A cycle begins: the time since the previous one if it exceeds the period by half or more."""
        before, self._requested_ns = self._requested_ns, t_ns
        if before is None or t_ns - before < self._latest_ns:
            return None
        return (t_ns - before) / NS
