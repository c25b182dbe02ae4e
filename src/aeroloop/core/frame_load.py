"""What camera frames need of a link, before a flight: upper bounds, of noisy images that are rich in detail."""

from __future__ import annotations

from itertools import pairwise

JPEG_BITS_PER_PX = ((50, 0.8), (80, 1.4), (90, 2.3), (95, 3.6), (100, 7.0))
"""By quality, of 640 x 480 and 320 x 240; linear between."""
PNG16_BITS_PER_PX = 2.7
HEADER_BYTES = 80
BITS_PER_BYTE = 10  # start and stop bit


def frame_bytes(size_px: tuple[int, int], quality: int, *, depth: bool) -> float:
    bits_per_px = jpeg_bits_per_px(quality) + (PNG16_BITS_PER_PX if depth else 0.0)
    return HEADER_BYTES + size_px[0] * size_px[1] * bits_per_px / 8.0


def jpeg_bits_per_px(quality: int) -> float:
    """Qualities below the lowest have its value."""
    for (low, less), (high, more) in pairwise(JPEG_BITS_PER_PX):
        if quality <= high:
            return less + (more - less) * max(0, quality - low) / (high - low)
    return JPEG_BITS_PER_PX[-1][1]


def refusal(bytes_s: float, baud: int) -> str:
    """Why a link that is paced like a UART cannot carry this; empty: it can, or is not paced."""
    capacity = baud / BITS_PER_BYTE
    if not baud or bytes_s <= capacity:
        return ""
    return (
        f"{baud} baud carries {capacity / 1000:.4g} kB/s and the frames need {bytes_s / 1000:.4g}; "
        "expected a faster link, or a lower rate_hz, size_px or jpeg_quality"
    )
