"""A comparison of logs in numbers and words, for JSON: None stands for what is not known."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from aeroloop.flown import paper_table
from aeroloop.flown.comparison import Compared, Comparison
from aeroloop.flown.record import FlightRecord


def numbers(comparison: Comparison, *, paper: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "logs": [_log(record) for record in comparison.records],
        "from_s": comparison.segment.start_s,
        "to_s": comparison.segment.end_s,
        "lag_s": comparison.alignment.lag_s,
        "aligned_by": comparison.alignment.by,
        "peak": comparison.alignment.peak,
        "signals": [_signal(each) for each in comparison.signals],
        "remarks": list(comparison.remarks),
    }
    if paper:
        table = paper_table.rows(comparison)
        found["paper"] = {"rows": [asdict(row) for row in table], "findings": paper_table.findings(table)}
    known: dict[str, Any] = _known(found)
    return known


def _log(record: FlightRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "format": record.format,
        "firmware": record.firmware,
        "vehicle": record.vehicle,
        "from_s": record.start_s,
        "to_s": record.end_s,
        "signals": {
            name: {"source": signal.source, "unit": signal.unit, "rows": len(signal.t_s), "rate_hz": signal.rate_hz}
            for name, signal in record.signals.items()
        },
        "missing": [asdict(missing) for missing in record.missing],
        "dropped": [asdict(dropped) for dropped in record.dropped],
        "parameters": len(record.parameters),
    }


def _signal(compared: Compared) -> dict[str, Any]:
    return {
        "name": compared.quantity.name,
        "unit": compared.quantity.unit,
        "sources": list(compared.sources),
        **asdict(compared.score),
        "lag_s": compared.lag_s,
        "trivial": None if compared.trivial is None else asdict(compared.trivial),
        "bands": [asdict(band) for band in compared.bands],
        "remark": compared.remark,
        "scale_words": compared.scale_words,
        "samples": len(compared.t_s),
    }


def _known(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
