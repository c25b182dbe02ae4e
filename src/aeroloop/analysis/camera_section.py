"""The report's section on cameras: a table, and the images that the log keeps for this."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import escape

from aeroloop.analysis.camera_metrics import frames_of, metrics
from aeroloop.analysis.drawing import Picture
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Figures, Note, Section, Table
from aeroloop.core.camera import fitted
from aeroloop.core.camera_streams import BEHIND_PCT, FRAMES_METADATA
from aeroloop.core.scenario import Scenario
from aeroloop.recording.log import Log


def sections(scenario: Scenario, log: Log) -> list[Section]:
    if not scenario.cameras:
        return []
    columns = ("Camera", "Size", "Rate (Hz)", "Delivered", "Late", "Dropped", "Work (ms)", "Age at delivery (ms)")
    table = Table((Column(columns[0], "name"), *map(Column, columns[1:])), list(_rows(scenario, log)))
    blocks: list[Block] = [table]
    numbers = metrics(scenario, log)
    if numbers["frames_behind_pct"] > BEHIND_PCT:
        blocks.append(
            Note(
                f"More than {BEHIND_PCT:g} % of the frames were late or dropped: lower rate_hz or size_px, "
                "or fly in lockstep."
            )
        )
    pictures = list(_pictures(scenario, log))
    if pictures:
        blocks.append(Figures(pictures))
    return [Section("cameras", "Cameras", blocks)]


def _rows(scenario: Scenario, log: Log) -> Iterator[tuple[str, ...]]:
    for index, camera in enumerate(scenario.cameras):
        own, model = frames_of(log, index), fitted(camera)
        late, dropped = (str(int(own[:, 0].sum())), str(int(own[-1, 1]))) if len(own) else ("0", "0")
        work, age = (number(float(own[:, i].mean()), scale=1000) for i in (2, 3)) if len(own) else ("–", "–")
        size = f"{model.size_px[0]} x {model.size_px[1]}"
        yield camera.name, size, number(model.rate_hz), str(len(own)), late, dropped, work, age


def _pictures(scenario: Scenario, log: Log) -> Iterator[Picture]:
    sizes = {camera.name: fitted(camera).size_px for camera in scenario.cameras}
    kept = [images for name, images in log.metadata.items() if name.startswith(FRAMES_METADATA)]
    found = [(*key.rpartition(" ")[::2], jpeg) for images in kept for key, jpeg in images.items()]
    for whose, t_s, jpeg in sorted(found, key=lambda image: (image[0], float(image[1]))):
        owner, _, camera = whose.rpartition("/")
        if camera in sizes:
            width, height = sizes[camera]
            yield Picture(
                name=f"frame-{owner}-{camera}-{t_s}",
                title=f"Camera {camera}{f' of {owner}' if owner != '0' else ''} at {t_s} s",
                caption="As it was delivered.",
                svg=f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" data-axes="[]">'
                f'<image href="data:image/jpeg;base64,{escape(jpeg)}" width="{width}" height="{height}"/></svg>',
            )
