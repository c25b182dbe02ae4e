"""The impairments of one link: those of the scenario, changed by faults switched in flight."""

from __future__ import annotations

import msgspec

from aeroloop.core.config import convert
from aeroloop.core.faults import LINE_TARGETS, Switch, Switched
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import Link as LinkConfig
from aeroloop.links.impair import Impaired


class LinkFaults:
    def __init__(self, link: Impaired, config: LinkConfig) -> None:
        self._link = link
        self._planned = {target: getattr(config, target) for target in LINE_TARGETS}
        self._active: dict[str, Impairment] = dict(self._planned)

    def switch(self, switch: Switch) -> Switched:
        """Switch an impairment; off restores the scenario's value."""
        value = switch.values[0] if switch.on else getattr(self._planned[switch.target], switch.kind)
        if switch.kind == "baud":
            value = int(value)
        table = msgspec.structs.asdict(self._active[switch.target]) | {switch.kind: value}
        self._active[switch.target] = convert(table, Impairment, switch.target)
        self._link.change(inbound=self._active["to_plant"], outbound=self._active["to_board"])
        return Switched(values=switch.values if switch.on else ())
