"""A pose board in a flight: its processes, launch settings, and both ends of its two links."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aeroloop.codegen.images import Generated, build_image
from aeroloop.controllers.law import router_links
from aeroloop.controllers.pose import image
from aeroloop.controllers.pose.board import PoseServer, build_board
from aeroloop.controllers.pose.board_settings import motor_of, settings_of
from aeroloop.controllers.pose.driver_table import LOG_HARD, LOG_SOFT, PARAMETER_ROW, PART_VALUES, SENSOR_ROW
from aeroloop.controllers.pose.law import pose_law, shape_of
from aeroloop.controllers.pose.parameters import ANSWER_WORDS, NAMES, Answer
from aeroloop.controllers.pose.sampler import PoseSampler, from_pulses, from_speeds
from aeroloop.controllers.pose.tables import ROTORS, PoseScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.core.stream import KEYS, Publish
from aeroloop.core.streams import named
from aeroloop.core.tables import Role
from aeroloop.core.text_rows import numbers_of
from aeroloop.exchanges.board_pose import BoardPose, PoseSettings
from aeroloop.exchanges.board_values import BoardValues, Settings
from aeroloop.exchanges.wire import Wire
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.links.base import Link
from aeroloop.links.memory import memory_pair
from aeroloop.links.open import open_link
from aeroloop.links.url import ends
from aeroloop.protocols.pose_sets import line_load

BOARD = Role("board", "aeroloop.controllers.pose.process", ("plant",))
POSE_URL = "loopback://"
"""The second link: a Unix-domain socket delivers in order with the first, so that lockstep repeats to the bit."""
WARNING = 4
"""MAV_SEVERITY of a refused parameter."""


def roles(scenario: PoseScenario) -> tuple[Role, ...]:
    if scenario.aircraft.count > 1:
        raise ConfigError(
            "vehicle.count: a board's process flies one aircraft; expected 1, several [[aircraft]], or --link memory://"
        )
    return (BOARD, *router_links.roles(scenario))


def launch(scenario: PoseScenario, folder: Path) -> dict[str, Any]:
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None:
        raise ConfigError(
            f"link.url: {server} is a link to an external board; the pose board flies on mil, sil and pil"
        )
    pose_server, pose_client = ends(POSE_URL, folder=folder, name="pose")
    rotors = pose_law(scenario).commands
    if rotors != ROTORS:
        raise ConfigError(
            f"vehicle.airframe: type 4 of the pose packets has {ROTORS} motors; expected {ROTORS} rotors, not {rotors}"
        )
    pose = scenario.controller.pose
    load = line_load(pose.kinds, pose.rate_hz, pose.baud, 1 / scenario.controller.control.period_s)
    return {
        "link_server": server,
        "link_client": client,
        "reference_server": pose_server,
        "reference_client": pose_client or "",
        "warnings": [load.warning] if load.warning else [],
        **_firmware(scenario),
        **router_links.settings(scenario, folder),
    }


def firmware(scenario: PoseScenario) -> tuple[Generated, str]:
    """What the emulated board of a flight runs."""
    return image.generate(pose_law(scenario), settings_of(scenario)), image.LOCKSTEP


def _firmware(scenario: PoseScenario) -> dict[str, Any]:
    if scenario.loop != "pil":
        return {}
    generated, name = firmware(scenario)
    return {"image": str(build_image(generated, name)), "image_id": generated.image_id}


def exchange(context: ExchangeContext) -> BoardPose:
    return behind(context, open_link(context.launch.link_server), open_link(context.launch.reference_server))


def behind(context: ExchangeContext, link: Link, pose_link: Link) -> BoardPose:
    """The board behind its links; in lockstep waited for by what it says."""
    scenario, law = context.scenario, pose_law(context.scenario)
    assert law.source is not None
    columns = named(scenario)["link"].names if "link" in context.publish else ()
    settings = Settings(
        shape=shape_of(law),
        period_ns=round(law.period_s * NS),
        end_ns=scenario.end_ns,
        waits=scenario.lockstep,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        expected_image=context.launch.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
        logs=law.logs,
        unknown={row.stream: row.unknown for row in law.tells},
        counters=tuple(name for name in columns if name not in KEYS),
    )
    ordinary = BoardValues(
        context.vehicle, Wire.plain(link), settings, law.source(context.vehicle), _logged(context.publish)
    )
    pose = scenario.controller.pose
    line = PoseSettings(
        layout=pose.layout,
        baud=pose.baud,
        period_ns=round(NS / pose.rate_hz),
        silent_ns=tuple((round(start * NS), round(end * NS)) for start, end in pose.silent_s),
    )
    command = from_pulses if pose.motors == "pulses" else from_speeds(motor_of(scenario))
    return BoardPose(context.vehicle, ordinary, pose_link, line, PoseSampler(scenario, context.vehicle), command)


def _logged(publish: Mapping[str, Publish]) -> dict[str, Publish]:
    """The board's rows as the log has them: NaN for a driver that gave nothing, a text for a refused parameter."""

    def sensor(t_s: float, part: float, flags: float, *row: float) -> None:
        (soft_age, hard_age), soft, hard = row[:2], list(row[2:5]), list(row[5:8])
        count = PART_VALUES[int(part)] if 0 <= part < len(PART_VALUES) else 0
        there = [bool(int(flags) & bit) for bit in (LOG_SOFT, LOG_HARD)]
        ages = [age if known else math.nan for age, known in zip((soft_age, hard_age), there, strict=True)]
        values = [
            value if known and axis < count else math.nan
            for known, three in zip(there, (soft, hard), strict=True)
            for axis, value in enumerate(three)
        ]
        publish[SENSOR_ROW](t_s, part, flags, *ages, *values)

    def parameter(t_s: float, number: float, requested: float, now: float, answer: float) -> None:
        publish[PARAMETER_ROW](t_s, number, requested, now, answer)
        if answer != Answer.SET:
            name = NAMES[int(number)] if number < len(NAMES) else f"parameter {number:.0f}"
            words = ANSWER_WORDS[Answer(int(answer))]
            publish["status_text"](t_s, WARNING, *numbers_of(f"{name} {requested:g}: {words}"))

    return {**publish, SENSOR_ROW: sensor, PARAMETER_ROW: parameter}


def inline(context: ExchangeContext) -> Inlined:
    folder = context.launch.folder_path / f"board-{context.number}"
    folder.mkdir()
    plant_end, board_end = memory_pair()
    pose_plant_end, pose_board_end = memory_pair()
    board = build_board(context.scenario, context.launch.image, folder)
    server = PoseServer(board, board_end, pose_board_end, shape_of(pose_law(context.scenario)))
    server.send_start()
    board_end.on_data = server.serve
    return Inlined(behind(context, plant_end, pose_plant_end), board.close)
