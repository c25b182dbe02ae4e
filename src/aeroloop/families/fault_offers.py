"""The log's faults in words."""

from __future__ import annotations

from aeroloop.core.fault_offers import words as words
