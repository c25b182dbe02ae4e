"""The log of a run as columns: stream by stream a table of numpy arrays, with their units."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.core.stream import TIME, VEHICLE, Stream
from aeroloop.recording.log import Log

Array = NDArray[np.float64]


class StreamTable(Mapping[str, Array]):
    """The rows of one stream: the array of each column by its name, in the order of writing."""

    def __init__(self, name: str, columns: Sequence[str], array: Array, units: Mapping[str, str]) -> None:
        self.name = name
        self.array = array
        """All columns side by side, (rows, columns)."""
        self.units = {column: units.get(column, "") for column in columns}
        """By column; "-" where a number has none."""
        self._index = {column: index for index, column in enumerate(columns)}

    @property
    def t_s(self) -> Array:
        """Simulated time of each row."""
        return self[TIME[0]]

    @property
    def rows(self) -> int:
        return len(self.array)

    def of_vehicle(self, number: int) -> StreamTable:
        """The rows of one aircraft, if a stream has those of several; they are numbered from 0."""
        mine = self.array[self[VEHICLE[0]] == number]
        return StreamTable(self.name, tuple(self._index), mine, self.units)

    def __getitem__(self, column: str) -> Array:
        if column not in self._index:
            raise KeyError(f"{self.name} has no column {column!r}; expected one of: {', '.join(self._index)}")
        return self.array[:, self._index[column]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with these columns; its `attrs` has the units. ConfigError where pandas is missing."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise ConfigError(
                "to_pandas: pandas is not installed; expected it beside aeroloop: pip install pandas"
            ) from None
        frame = pandas.DataFrame(dict(self))
        frame.attrs["units"] = dict(self.units)
        return frame

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} [{unit}]" for name, unit in self.units.items())
        return f"<StreamTable {self.name}: {self.rows} rows of {columns}>"


class FlightLog(Mapping[str, StreamTable]):
    """All logged streams of a run by name; docs/streams.md describes each."""

    def __init__(self, log: Log, streams: Sequence[Stream]) -> None:
        """`streams` have the units that an older log does not contain."""
        self._log = log
        self._units = {stream.name: {field.name: field.unit for field in stream.fields} for stream in streams}
        self._units |= {own.name: dict(zip(own.columns, own.units, strict=True)) for own in log.streams if own.units}

    @property
    def truncated(self) -> bool:
        """The file has no proper end: it is complete up to its last flush."""
        return self._log.truncated

    def __getitem__(self, stream: str) -> StreamTable:
        if stream not in self._log.rows:
            raise KeyError(f"the log has no stream {stream!r}; expected one of: {', '.join(self._log.rows)}")
        columns, rows = self._log.columns[stream], self._log.rows[stream]
        return StreamTable(stream, columns, rows, self._units.get(stream, {}))

    def __iter__(self) -> Iterator[str]:
        return iter(self._log.rows)

    def __len__(self) -> int:
        return len(self._log.rows)

    def __repr__(self) -> str:
        return f"<FlightLog of {', '.join(f'{name} ({len(rows)})' for name, rows in self._log.rows.items())}>"
