"""Named parts of a state vector of symbols, for loops of many parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca


class Layout:
    """Order and sizes of the parts."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self.count = sum(self.sizes.values())
        self.symbol = ca.SX.sym("state", self.count)
        splits = [0]
        for size in self.sizes.values():
            splits.append(splits[-1] + size)
        self._parts = dict(zip(self.sizes, ca.vertsplit(self.symbol, splits), strict=True))

    def __getitem__(self, name: str) -> Any:
        return self._parts[name]

    def at(self, name: str) -> int:
        """The index of a part's first element."""
        names = list(self.sizes)
        return sum(self.sizes[before] for before in names[: names.index(name)])

    def whole(self, parts: Mapping[str, Any]) -> Any:
        """A state from all its parts."""
        missing = self.sizes.keys() - parts.keys()
        if missing:
            raise ValueError(f"parts of the state are missing: {', '.join(sorted(missing))}")
        return self.changed(parts)

    def changed(self, parts: Mapping[str, Any]) -> Any:
        """The state with these parts replaced."""
        for name, part in parts.items():
            if ca.SX(part).numel() != self.sizes[name]:
                raise ValueError(f"{name}: expected {self.sizes[name]} values, not {ca.SX(part).numel()}")
        return ca.vertcat(*(parts.get(name, own) for name, own in self._parts.items()))

    def event(self, name: str, inputs: Mapping[str, Any], parts: Mapping[str, Any]) -> ca.Function:
        """The function (state, inputs) -> state with these parts replaced."""
        return ca.Function(
            name, [self.symbol, *inputs.values()], [self.changed(parts)], ["state", *inputs], ["state_next"]
        )
