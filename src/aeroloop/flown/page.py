"""The page of a comparison of logs: both over one another, scores, spectra, and what each log holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from aeroloop.analysis import page
from aeroloop.analysis.drawing import (
    BLUE,
    GREY,
    ORANGE,
    PANEL_IN,
    WIDTH_IN,
    Line,
    Path3,
    Picture,
    legend_above,
    panels,
    path_pictures,
    picture,
)
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.section import TRAJECTORY, Column, Figures, Note, Section, Table, Text, code
from aeroloop.flown import paper_table
from aeroloop.flown.comparison import Compared, Comparison
from aeroloop.flown.quantities import Group
from aeroloop.flown.record import Array, FlightRecord
from aeroloop.flown.resample import resampled
from aeroloop.flown.scores import BANDS_HZ

GROUPS: dict[Group, tuple[str, str]] = {
    "attitude": ("Attitude", "Roll, pitch and yaw, with the setpoint of the first log."),
    "gyro": ("Body rates", "Gyro about the body axes forward, right and down."),
    "accelerometer": ("Specific force", "Accelerometer along the body axes forward, right and down."),
    "magnetometer": ("Magnetic field", "Magnetometer along the body axes forward, right and down."),
    "height": ("Pressure and height", "Static pressure and barometric height."),
    "position": ("Satellite receiver", "Latitude, longitude, height above sea level and speed over ground."),
    "estimate": ("Estimated position and velocity", "In the axes north, east and down."),
    "pulse": ("Throttle and outputs", "Collective throttle, output pulses and motor commands, held between rows."),
}
SPECTRA: tuple[Group, ...] = ("attitude", "gyro", "accelerometer")
STROKES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "linewidth": 2.6},
    {"color": ORANGE, "linewidth": 1.1},
)
"""The second lets the first show, so that equal ones are both seen."""
SETPOINT: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": "--"}
ABSENT = "–"


def render(comparison: Comparison, *, paper: bool = False) -> str:
    names = labels(comparison)
    return page.render(
        Document(
            title=f"{names[0]} and {names[1]} compared",
            heading=f"{names[0]} and {names[1]} compared",
            subtitle=", ".join(dict.fromkeys(record.format for record in comparison.records)),
            style="soft",
            verdict=Section("verdict", "", [Text(words) for words in summary(comparison)]),
            sections=list(sections(comparison, paper=paper)),
        )
    )


def labels(comparison: Comparison) -> tuple[str, str]:
    first, second = (record.name for record in comparison.records)
    return (first, second) if first != second else (f"1 {first}", f"2 {second}")


def summary(comparison: Comparison) -> Iterator[str]:
    first, second = labels(comparison)
    alignment, segment = comparison.alignment, comparison.segment
    yield (
        f"Compared from {segment.start_s:.2f} to {segment.end_s:.2f} s ({segment.duration_s:.1f} s) of {first}; the "
        f"clock of {second} is {1000 * alignment.lag_s:.1f} ms ahead, by {alignment.by} "
        f"(correlation {alignment.peak:.4f})."
    )
    judged = [each for each in comparison.signals if not each.remark and math.isfinite(each.score.r)]
    if judged:
        best = max(judged, key=lambda each: each.score.r)
        worst = min(judged, key=lambda each: each.score.r)
        yield (
            f"{len(judged)} of {len(comparison.signals)} common signals move enough to be judged: r from "
            f"{worst.score.r:.4f} ({worst.quantity.name}) to {best.score.r:.4f} ({best.quantity.name})."
        )
    scales: dict[str, list[str]] = {}
    for each in comparison.signals:
        if each.scale_words:
            scales.setdefault(each.scale_words, []).append(each.quantity.name)
    for words, of_scale in scales.items():
        yield f"{', '.join(of_scale)} of {second}: {words} the value of {first}."
    yield from comparison.remarks


def sections(comparison: Comparison, *, paper: bool) -> Iterator[Section]:
    if paper:
        yield _paper(comparison)
    yield _scores(comparison)
    paths = _paths(comparison)
    if paths:
        yield Section(TRAJECTORY, "Trajectory", [Figures(paths)])
    yield Section("figures", "Signals over time", [Figures(list(_overlays(comparison)))])
    spectra = list(_spectra(comparison))
    if spectra:
        yield Section("spectra", "Spectra", [Figures(spectra), *_bands(comparison)])
    for at, record in enumerate(comparison.records):
        yield _contents(f"log-{at + 1}", labels(comparison)[at], record)


def _paper(comparison: Comparison) -> Section:
    table = paper_table.rows(comparison)
    columns = (Column("Signal", "name"), Column("r"), Column("Published r"), Column("", "text"))
    rows = [
        (row.name, ABSENT if row.r is None else f"{row.r:.4f}", f"{row.published:.4f}", row.remark) for row in table
    ]
    note = Note(
        "Published: the Pixhawk paper, one simulated and one real flight of one route; another aircraft and route."
    )
    return Section(
        "paper", "Beside the paper's table", [Table(columns, rows), *map(Text, paper_table.findings(table)), note]
    )


def _scores(comparison: Comparison) -> Section:
    titles = ("Trivial r", "RMSE", "NRMSE", "TIC", "TIC mean-free", "Scale", "Own lag (ms)")
    columns = (Column("Signal", "name"), Column("r"), Column("", "text"), *map(Column, titles))
    first, second = labels(comparison)
    how = (
        f"{second} against {first}. r: Pearson's correlation. Trivial: the setpoint of {first}, delayed by its own "
        "best lag, which a model must beat. NRMSE: RMSE of the mean-free error over the standard deviation. TIC: rms "
        "error over the sum of both rms. Scale: least-squares slope. Own lag: beyond that of the log. A grey r says "
        "nothing: the signal hardly moves."
    )
    return Section("scores", "Scores", [Table(columns, [_row(each) for each in comparison.signals]), Note(how)])


def _row(each: Compared) -> tuple[str, ...]:
    score, shown = each.score, each.quantity.shown
    r = _plain(score.r, ".4f")
    trivial = ABSENT if each.trivial is None else f"{each.trivial.r:.4f} ({1000 * each.trivial.lag_s:.0f} ms)"
    return (
        each.quantity.name,
        _soft(r) if each.remark else r,
        ", ".join(filter(None, (each.remark, each.scale_words))),
        trivial,
        f"{number(score.rmse * shown)} {each.quantity.display_unit.replace('-', '')}",
        _plain(score.nrmse, ".3f"),
        _plain(score.tic, ".3f"),
        _plain(score.tic_mean_free, ".3f"),
        _plain(score.scale, ".4g"),
        _plain(1000 * each.lag_s, ".1f"),
    )


def _plain(value: float, form: str) -> str:
    return f"{value:{form}}" if math.isfinite(value) else ABSENT


def _soft(words: str) -> Markup:
    return Markup('<span class="soft">{}</span>').format(words)


def _of_group(comparison: Comparison, group: Group) -> list[Compared]:
    return [each for each in comparison.signals if each.quantity.group == group]


def _paths(comparison: Comparison) -> list[Picture]:
    """In the axes of the other pages, east, north and up; none where a log has no estimated position."""
    found = {each.quantity.name: each for each in _of_group(comparison, "estimate")}
    axes = [found[name] for name in ("east", "north", "down") if name in found]
    if len(axes) < 3 or len({len(each.t_s) for each in axes}) > 1:
        return []
    up = np.array([1.0, 1.0, -1.0])
    columns = ([each.reference for each in axes], [each.other for each in axes])
    paths = [
        Path3(axes[0].t_s, np.stack(of, axis=1) * up, {**stroke, "label": name})
        for of, stroke, name in zip(columns, STROKES, labels(comparison), strict=True)
    ]
    caption = "The estimated positions of both logs, each from its own origin."
    return path_pictures(paths, "Trajectories", caption, "Position over the ground, and height over time.")


def _overlays(comparison: Comparison) -> Iterator[Picture]:
    first, second = labels(comparison)
    for group, (title, caption) in GROUPS.items():
        lines: dict[str, Sequence[Line]] = {}
        for each in _of_group(comparison, group):
            shown = each.quantity.shown
            own = [
                Line(first, each.t_s, each.reference * shown, STROKES[0]),
                Line(second, each.t_s, each.other * shown, STROKES[1]),
            ]
            setpoint = comparison.records[0].signals.get(each.quantity.setpoint)
            if setpoint is not None:
                own.append(Line("setpoint", each.t_s, _near(resampled(setpoint, each.t_s), each) * shown, SETPOINT))
            lines[f"{each.quantity.name}\n({each.quantity.display_unit})"] = own
        if lines:
            yield picture(f"over-time-{group}", title, caption, _drawing(lines))


def _near(setpoint: Array, each: Compared) -> Array:
    """The setpoint of an angle in the turn that its signal is in."""
    turn = each.quantity.turn
    return setpoint - turn * np.round(np.nanmean(setpoint - each.reference) / turn) if turn else setpoint


def _drawing(lines: dict[str, Sequence[Line]]) -> Any:
    def draw() -> Figure:
        figure = panels(lines, height_in=max(2.0, len(lines) * PANEL_IN))
        for panel in figure.axes:
            panel.ticklabel_format(axis="y", useOffset=False)  # of latitudes: it would stand in the legend
        return figure

    return draw


def _spectra(comparison: Comparison) -> Iterator[Picture]:
    for group in SPECTRA:
        drawn = [each for each in _of_group(comparison, group) if each.spectrum is not None]
        if drawn:
            title = f"Spectra: {GROUPS[group][0].lower()}"
            caption = "Power spectral density (Welch, 512 samples at 100 Hz); dotted: the bands of the table below."
            yield picture(f"spectrum-{group}", title, caption, _spectrum_drawing(drawn, labels(comparison)))


def _spectrum_drawing(drawn: Sequence[Compared], names: tuple[str, str]) -> Any:
    def draw() -> Figure:
        figure = Figure(figsize=(WIDTH_IN, max(2.0, len(drawn) * PANEL_IN)), layout="constrained")
        axes = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for panel, each in zip(axes, drawn, strict=True):
            found = each.spectrum
            assert found is not None
            own = (found.frequency_hz >= BANDS_HZ[0]) & (found.frequency_hz <= BANDS_HZ[-1])
            for density, stroke, name in zip((found.density_x, found.density_y), STROKES, names, strict=True):
                values = density[own] * each.quantity.shown**2
                if (values > 0.0).any():
                    panel.loglog(found.frequency_hz[own], values, label=name, **stroke)
            for edge_hz in BANDS_HZ[1:-1]:
                panel.axvline(edge_hz, color=GREY, linewidth=0.6, linestyle=":")
            panel.set(ylabel=f"{each.quantity.name}\n({each.quantity.display_unit})²/Hz")
        axes[-1].set(xlabel="frequency (Hz)")
        legend_above(axes[0])
        return figure

    return draw


def _bands(comparison: Comparison) -> Iterator[Table | Note]:
    own = [each for each in comparison.signals if each.bands and each.quantity.group in SPECTRA]
    if not own:
        return
    titles = [f"{band.low_hz:g}–{band.high_hz:g} Hz" for band in own[0].bands]
    rows = [
        (
            each.quantity.name,
            *(f"{_plain(band.amplitude_ratio, '.2f')} / {_plain(band.coherence, '.2f')}" for band in each.bands),
        )
        for each in own
    ]
    yield Table((Column("Amplitude ratio / coherence", "name"), *map(Column, titles)), rows)
    yield Note(
        "Amplitude ratio: second log over first. Coherence is left out where fewer than eight windows fit, in less "
        "than 23 s: it would be high by chance."
    )


def _contents(key: str, label: str, record: FlightRecord) -> Section:
    columns = (Column("Signal", "name"), Column("Read from", "text"), Column("Rows"), Column("Rate (Hz)"))
    rows = [
        (name, code(signal.source), str(len(signal.t_s)), number(signal.rate_hz, digits=3))
        for name, signal in record.signals.items()
    ]
    words = [
        f"{record.format}; {len(record.parameters)} parameters; from {record.start_s:.1f} to {record.end_s:.1f} s."
    ]
    if record.firmware:
        words.append(f"Written by {record.firmware}.")
    words += [
        f"{each.source}: {each.rows} of {each.of} rows dropped, their time did not rise." for each in record.dropped
    ]
    if record.missing:
        missing = Markup(", ").join(Markup("{} ({})").format(each.name, code(each.sought)) for each in record.missing)
        words.append(Markup("Not in it: ") + missing + ".")
    return Section(key, f"Contents of {label}", [*map(Text, words), Table(columns, rows)])
