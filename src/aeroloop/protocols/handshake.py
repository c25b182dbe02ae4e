"""Who is at the other end: whether board and bench speak the same interface, and whether the board is still the one
that started."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.signals import NS, ResetCause
from aeroloop.protocols.interface import START, Interface

RESTART_SLACK_NS = 30_000_000
"""A board repeats its start message until it is answered; its clock then keeps up with ours this well."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a board says of itself when it starts."""

    cause: int
    revision: int
    interface: int
    image: int  # 0: it is no image that was built from a scenario
    uptime_ms: int

    def data(self) -> bytes:
        return START.pack(self.cause, self.revision, self.interface, self.image, self.uptime_ms)

    @staticmethod
    def of(data: bytes) -> Claim | None:
        """None where this is no start message."""
        if data[0] != START.number or len(data) != START.size:
            return None
        return Claim(*map(int, START.unpack(data)))


def host_claim(interface: Interface, uptime_ms: int) -> Claim:
    """A board that runs these very sources."""
    return Claim(ResetCause.POWER_ON, interface.revision, interface.hash, 0, uptime_ms)


def objection(interface: Interface, claim: Claim, wanted_image: int) -> str | None:
    """Why this board must not fly, as a sentence; `wanted_image` 0 takes any."""
    if claim.interface != interface.hash:
        return _which_is_old(interface, claim)
    if wanted_image and claim.image != wanted_image:
        return (
            f"the board's image was built for another law or scenario (it is {claim.image:08x}, "
            f"this flight needs {wanted_image:08x}); build it with this flight's scenario, --law and --set: "
            f"{interface.rebuild}"
        )
    return None


def _which_is_old(interface: Interface, claim: Claim) -> str:
    if claim.revision < interface.revision:
        return (
            f"the board's image is old: it speaks revision {claim.revision} of the interface and this bench speaks "
            f"{interface.revision}; build it again: {interface.rebuild}"
        )
    if claim.revision > interface.revision:
        return (
            f"this bench is old: it speaks revision {interface.revision} of the interface and the board's image speaks "
            f"{claim.revision}; update aeroloop, or use an image that this version built: {interface.rebuild}"
        )
    return (
        "the board's image is old, or its sources were changed: it and this bench both say revision "
        f"{claim.revision} of the interface and mean different ones ({claim.interface:08x} and {interface.hash:08x}); "
        f"build it again: {interface.rebuild}"
    )


class Presence:
    """Follows a board's start messages and requests, in simulated time."""

    def __init__(self, period_ns: int) -> None:
        self._latest_ns = period_ns * 3 // 2
        self._booted_ns: int | None = None  # when the board that we know started, by its own clock
        self._requested_ns: int | None = None

    def restarted(self, claim: Claim, t_ns: int) -> bool:
        """Whether this start message tells of a new start: its clock went back."""
        booted_ns = t_ns - claim.uptime_ms * (NS // 1000)
        # Against its first start message, not its last: a board that dies in every cycle is never far from that.
        if self._booted_ns is not None and booted_ns - self._booted_ns <= RESTART_SLACK_NS:
            return False
        known, self._booted_ns = self._booted_ns is not None, booted_ns
        return known

    def late_s(self, t_ns: int) -> float | None:
        """A cycle begins: the time since the one before, when that is half a period too long or more."""
        before, self._requested_ns = self._requested_ns, t_ns
        if before is None or t_ns - before < self._latest_ns:
            return None
        return (t_ns - before) / NS
