"""Where the random numbers of a flight come from: numpy's generators, or the numbers of one flight of a batch."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol

from aeroloop.core.config import Config, meta, note

PHILOX_SEEDS = 2**32


class NoiseSource(Config, frozen=True):
    """The generator of noise. With `philox` a flight of the bench draws what flight `flight` of a batch draws."""

    generator: Annotated[
        Literal["pcg", "philox"],
        note("`pcg`: numpy's, a stream for each channel; `philox`: the numbers of a batch's flight (docs/batch.md)"),
    ] = "pcg"
    flight: Annotated[int, meta("-", "number of the flight in its batch, with `philox`", ge=0, lt=PHILOX_SEEDS)] = 0

    def problem(self, seed: int, *, has_batch: bool) -> str:
        """Why a scenario cannot have it; empty: it can."""
        if self.generator == "pcg":
            return "noise.flight: pcg has no flights; expected generator = philox, or 0" if self.flight else ""
        if not has_batch:
            return (
                "noise.generator: philox draws the numbers of a batch, and no batch flies this aircraft; expected pcg"
            )
        return "" if seed < PHILOX_SEEDS else f"seed: philox takes 32 bits; expected less than {PHILOX_SEEDS}"


class Normals(Protocol):
    """A source of standard normal numbers: one of numpy's generators, or those of a batch's flight."""

    def standard_normal(self, size: int | tuple[int, ...], /) -> Any: ...
