"""The reference pages, generated from the types: `python -m tools.describe docs` updates them."""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tomli_w

from aeroloop.controllers.law.guided_tables import GuidedTables
from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.controllers.law.values_tables import FamilyLawTables
from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Landed
from aeroloop.controllers.pixhawk.virtual_pixhawk import parameters
from aeroloop.controllers.pose import streams as pose_streams
from aeroloop.controllers.pose.tables import PoseTables
from aeroloop.core import scenario, scenario_files
from aeroloop.core.balance_streams import BALANCE
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.common_streams import CHANGE, COMMON
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.signals import LINK_SIGNALS, TASKS, Event, Mode, ResetCause
from aeroloop.core.stream import KEYS, Stream
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing import airframe as fixedwing_airframe
from aeroloop.families.fixedwing import streams as fixedwing_streams
from aeroloop.families.fixedwing.piloted import streams as piloted_streams
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.families.freebody import streams as freebody_streams
from aeroloop.families.freebody.scenario import FreeBodyTables
from aeroloop.families.helicopter import airframe as helicopter_airframe
from aeroloop.families.helicopter import streams as helicopter_streams
from aeroloop.families.helicopter.piloted import streams as piloted_helicopter_streams
from aeroloop.families.helicopter.scenario import HelicopterTables
from aeroloop.families.multirotor import airframe as multirotor_airframe
from aeroloop.families.multirotor import streams as multirotor_streams
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.families.rrr import streams as rrr_streams
from aeroloop.families.rrr.scenario import RobotTables
from aeroloop.families.tiltrotor import streams as tiltrotor_streams
from aeroloop.families.tiltrotor.scenario import TiltrotorTables
from aeroloop.models import tabulated_aircraft
from aeroloop.protocols import values
from aeroloop.protocols.interface import C_TYPES, TILTROTOR, WING, Interface
from aeroloop.recording.layout import layout
from tools import command_pages
from tools.struct_tables import Section, doc, markdown_table, section_lines, sections_of

EXAMPLE = scenario_files.of_table(
    {
        "name": "my-flight",
        "summary": "Every key, most with its default",
        "world": {"start_pos_W": (2.0, 0.0, 0.5)},
        "checks": [{"metric": "pos_x_rms_m", "below": 0.03}, {"metric": "saturated_steps", "equals": 0.0}],
    },
    "the example",
)
QUAD_EXAMPLE = scenario_files.of_table(
    {
        "name": "my-mission",
        "summary": "Every key, most with its default",
        "vehicle": {"kind": "quadrotor"},
        "world": {"step_s": 0.002},
        "sensors": {"preset": "thesis"},
        "pilot": {
            "commands": [{"at_s": 5.0, "do": "arm"}, {"at_s": 6.0, "do": "mission"}],
            "waypoints": [{"pos_m": (0.0, 0.0, 5.0)}, {"pos_m": (10.0, 0.0, 5.0), "hold_s": 2.0}],
        },
        "checks": [{"metric": "pos_rms_m", "below": 0.5}, {"metric": "landed_at_end", "equals": 1.0}],
    },
    "the example",
)
WING_EXAMPLE = scenario_files.of_table(
    {
        "name": "my-mission",
        "summary": "Every key, most with its default",
        "duration_s": 900.0,
        "vehicle": {"kind": "fixedwing"},
        "mission": {"start_m": (-3375.0, 2175.0), "goal_m": (3225.0, -1875.0)},
        "checks": [{"metric": "arrived", "equals": 1.0}, {"metric": "cross_track_rms_m", "below": 5.0}],
    },
    "the example",
)
FAMILIES: dict[str, type[Any]] = {
    "The tilt-rotor": TiltrotorTables,
    "Multirotors": MultirotorTables,
    "The fixed wing": FixedWingTables,
    "The helicopter": HelicopterTables,
    "The 3-RRR robot": RobotTables,
    "A free body": FreeBodyTables,
}
CONTROLLERS: dict[str, type[Any]] = {
    "Controller `law` of the tilt-rotor": RequestTables,
    "Controllers `pixhawk` and `px4` of multirotors": AutopilotTables,
    "Controller `law` of the fixed wing": PeriodTables,
    "Controller `law` of the helicopter, the 3-RRR robot and an aircraft of your own": FamilyLawTables,
    "Controller `law` of multirotors": GuidedTables,
    "Controller `pose` of multirotors": PoseTables,
}
PARTS: dict[str, type[Any]] = {"Every scenario": scenario.Common, **FAMILIES, **CONTROLLERS}
"""The tables of every flight, those of each kind of aircraft, and those of each controller."""
EXAMPLES = {"The tilt-rotor": EXAMPLE, "Multirotors": QUAD_EXAMPLE, "The fixed wing": WING_EXAMPLE}
AIRFRAMES: dict[str, tuple[str, type[Any]]] = {
    "Multirotors": (
        'Named by `vehicle.airframe` of a scenario with `vehicle.kind = "multirotor"`. Body frame: x forward, y left, '
        "z up, origin in the centre of mass. Files to copy: "
        "[iris.toml](../src/aeroloop/families/multirotor/iris.toml), "
        "[hexarotor.toml](../src/aeroloop/families/multirotor/hexarotor.toml), "
        "[rfly.toml](../src/aeroloop/families/multirotor/rfly.toml), "
        "[octo-coax.toml](../examples/aircraft/octo-coax.toml).",
        multirotor_airframe.Airframe,
    ),
    "Fixed wings": (
        'Named by `vehicle.airframe` of a scenario with `vehicle.kind = "fixedwing"`. Derivatives are written as the '
        "literature does: body axes forward, right, down; positive aileron rolls right, positive elevator pitches the "
        "nose down, positive rudder yaws left. Files to copy: "
        "[aerosonde.toml](../src/aeroloop/families/fixedwing/aerosonde.toml), "
        "[aerosonde-parasitic.toml](../src/aeroloop/families/fixedwing/aerosonde-parasitic.toml), "
        "[anaconda.toml](../src/aeroloop/families/fixedwing/anaconda.toml), "
        "[skyhunter.toml](../examples/aircraft/skyhunter.toml), "
        "[aerosonde-wheels.toml](../examples/aircraft/aerosonde-wheels.toml).",
        fixedwing_airframe.Airframe,
    ),
    "Helicopters": (
        'Named by `vehicle.airframe` of a scenario with `vehicle.kind = "helicopter"`. Body frame: x forward, y left, '
        "z up, origin in the centre of mass. File to copy: "
        "[xcell60.toml](../src/aeroloop/families/helicopter/xcell60.toml).",
        helicopter_airframe.Helicopter,
    ),
    "Free bodies": (
        'Named by `vehicle.airframe` of a scenario with `vehicle.kind = "freebody"`: an aircraft whose aerodynamics '
        "and engine are tables, in the units in which such tables are published. Body axes forward, right, down; "
        "values between the points of a table are linear, beyond its ends the last ones hold. File to copy: "
        "[f16.toml](../src/aeroloop/families/freebody/f16.toml).",
        tabulated_aircraft.Aircraft,
    ),
}
"""Introduction of each kind of parameter file, and its struct."""
COMMON_STREAMS = "Common streams"
STREAM_TABLES: dict[str, tuple[str, tuple[Stream, ...]]] = {
    COMMON_STREAMS: (
        "They have the same meaning for every aircraft. A family has those that apply to it, and may append columns.",
        COMMON,
    ),
    "Tilt-rotor": ("Its board uses [board-protocol.md](board-protocol.md).", tiltrotor_streams.STREAMS),
    "Multirotors": (
        "Their autopilots use MAVLink HIL.",
        tuple(stream for stream in multirotor_streams.STREAMS if stream not in ROUTER_STREAMS),
    ),
    "Fixed wing": ("Its plant writes the streams that the board reports.", fixedwing_streams.STREAMS),
    "Helicopter": ("Its board receives values and setpoints every 10 ms.", helicopter_streams.STREAMS),
    "3-RRR robot": ("It is no aircraft: `truth` is the pose of its platform.", rrr_streams.STREAMS),
    "Free body": ("It has no controller ([how-true.md](how-true.md)).", freebody_streams.STREAMS),
    "Fixed wing with an external autopilot": (
        "Its autopilot uses MAVLink HIL. Streams not described here are those of the fixed wing or of multirotors.",
        tuple(stream for stream in piloted_streams.STREAMS if stream.name == "command"),
    ),
    "Helicopter with an external autopilot": (
        "Its autopilot is ArduPilot's SITL. Streams not described here are those of the helicopter or of multirotors.",
        tuple(stream for stream in piloted_helicopter_streams.STREAMS if stream.name == "command"),
    ),
    "Pose board": ("Added where a [pose board](pose-board.md) flies the aircraft.", pose_streams.STREAMS),
    "Changes": (
        "Added by a flight of aircraft with quantities that can be [changed in flight](simulation.md).",
        (CHANGE,),
    ),
    "Balance": (
        "Added by a flight with `log.balance` ([check-physics.md](check-physics.md)). Of the 3-RRR robot only the "
        "columns `step_s`, `supported`, `kinetic_J` and `power_W`.",
        (BALANCE,),
    ),
    "Cameras": ("Added by a flight with [cameras](cameras.md).", CAMERA_STREAMS),
    "Router": ("The state of its links, which belong to no aircraft; in a flight or standalone.", ROUTER_STREAMS),
}
ENUMERATIONS: dict[str, type[enum.IntEnum]] = {
    "Events": Event,
    "Modes of the board": Mode,
    "Causes of a start": ResetCause,
    "Modes of the virtual Pixhawk": FlightMode,
    "Failsafes of the virtual Pixhawk": Failsafe,
    "Landed states of the virtual Pixhawk": Landed,
    "Steps of the fixed wing's mission": Step,
    "Outcomes of the fixed wing's planning": PlanStatus,
}


def scenario_sections() -> list[Section]:
    """Every table of a scenario in reading order."""
    return sections_of(PARTS)


def scenario_markdown() -> str:
    lines = [
        "# Scenario files",
        "",
        "A scenario is a TOML file. A key that is not listed here is an error, so is a value out of range.",
        "A key of a table can be set for one flight: `aeroloop fly NAME --set link.to_plant.delay_s=0.006`.",
        "Names of files are relative to the scenario file; those after `--set` to the folder where you type it.",
        "World coordinates (`_W`) are east, north, up.",
        "A file has the tables of every scenario, those of its aircraft (`vehicle.kind`), and those of the controller",
        "that flies it (`controller.kind`, or the aircraft's own on the rung of the flight). With `[[aircraft]]` these",
        "are in each entry, and several fly in one simulation: [fleets.md](fleets.md).",
    ]
    sections = scenario_sections()
    for part in PARTS:
        lines += ["", f"## {part}"]
        for section in (section for section in sections if section.part == part):
            lines += section_lines(section)
    for part in EXAMPLES:
        lines += ["", f"## {part}: a complete example", "", "```toml", example_toml(part).rstrip(), "```"]
    return "\n".join([*lines, ""])


def airframe_markdown() -> str:
    lines = [
        "# Airframe files",
        "",
        "A multirotor, fixed wing or helicopter of your own is a TOML file; no code goes with it. Every number has its",
        "unit in its name. A key that is not listed here is an error, so is one that is missing or out of range.",
        "[new-aircraft.md](new-aircraft.md) describes the first steps.",
        "",
        'With `base = "NAME"` at its top a file has all tables of that included airframe, and its own keys in place',
        "of theirs, as [aerosonde-parasitic.toml](../src/aeroloop/families/fixedwing/aerosonde-parasitic.toml) has.",
        "A list replaces the whole list; a table with another `kind` replaces the whole table.",
    ]
    for part, (words, kind) in AIRFRAMES.items():
        lines += ["", f"## {part}", "", words]
        for section in sections_of({part: kind}):
            lines += section_lines(section)
    return "\n".join([*lines, ""])


def example_toml(part: str) -> str:
    return tomli_w.dumps(_without_none(EXAMPLES[part].flat()))


def streams_markdown() -> str:
    lines = [
        "# Streams",
        "",
        "The data that the processes of a flight publish, and the content of the log. A record is a row of 64-bit",
        "floats: first the simulated time `t_s` in s, then, except for the router's, `vehicle`: the aircraft's number,",
        "from 0.",
        "Simulated streams follow from scenario and seed and make up `log_sha256`; the rest is measured.",
    ]
    for title, (meaning, streams) in STREAM_TABLES.items():
        lines += ["", f"## {title}", "", meaning, "", *_stream_table(title, streams)]
        for stream in streams:
            if _told_in(title, stream) == title:
                rows = [(f"`{f.name}`", f.unit, f.meaning) for f in stream.fields if f.name not in KEYS]
                lines += ["", f"### {title}: {stream.name}", "", *markdown_table(("field", "unit", "meaning"), rows)]
    for title, kind in ENUMERATIONS.items():
        lines += [
            "",
            f"## {title}",
            "",
            *([doc(kind), ""] if doc(kind) else []),
            *markdown_table(("number", "name", "meaning"), members(kind)),
        ]
    tasks = [(str(number), f"`{t.name}`", str(t.priority), t.trigger) for number, t in enumerate(TASKS)]
    lines += ["", "## Tasks of the firmware", "", *markdown_table(("number", "name", "priority", "runs on"), tasks)]
    tasks = [(str(number), f"`{t.name}`", str(t.priority), t.trigger) for number, t in enumerate(WING_TASKS)]
    lines += ["", "## Tasks of the fixed wing", "", *markdown_table(("number", "name", "priority", "runs on"), tasks)]
    signals = [(str(number), signal) for number, signal in enumerate(LINK_SIGNALS)]
    lines += ["", "## Signals whose rates are measured", "", *markdown_table(("number", "signal"), signals)]
    return "\n".join([*lines, ""])


def _stream_table(title: str, streams: Iterable[Stream]) -> list[str]:
    if title == COMMON_STREAMS:
        return markdown_table(
            ("stream", "simulated", "meaning"), [(_named(title, s), _yes(s.simulated), s.meaning) for s in streams]
        )
    return markdown_table(
        ("stream", "from", "rate in Hz", "simulated", "logged", "meaning"),
        [(_named(title, s), s.producer, _rate(s), _yes(s.simulated), _yes(s.logged), s.meaning) for s in streams],
    )


def _named(title: str, stream: Stream) -> str:
    """With a link to its columns, if it has any."""
    place = f"{_told_in(title, stream)}-{stream.name}".lower().replace(" ", "-")
    return f"[`{stream.name}`](#{place})" if _told_in(title, stream) else f"`{stream.name}`"


def _told_in(title: str, stream: Stream) -> str:
    """The section with the stream's columns; empty if it has only time and aircraft."""
    if stream.names == KEYS:
        return ""
    as_usual = any(stream.name == each.name and stream.names == each.names for each in COMMON)
    return COMMON_STREAMS if as_usual else title


def parameters_markdown() -> str:
    lines = [
        "# Parameters of the virtual Pixhawk",
        "",
        "A scenario sets them in `[autopilot.parameters]`, a ground station by the parameter protocol. A name is",
        "PX4's if the meaning is PX4's. [virtual-pixhawk.md](virtual-pixhawk.md) describes their use.",
        "",
        *markdown_table(
            ("parameter", "default", "range", "unit", "meaning"),
            [
                (
                    f"`{row.name}`",
                    f"{row.default:g}",
                    f"{row.minimum:g} to {row.maximum:g}",
                    row.unit or "-",
                    row.meaning,
                )
                for row in parameters({})
            ],
        ),
    ]
    return "\n".join([*lines, ""])


def interface_markdown() -> str:
    return _interface_page(
        "Messages between board and bench",
        TILTROTOR,
        "All numbers are little-endian; a frame contains the number, if there is one, then the fields. "
        "[board-protocol.md](board-protocol.md) describes the sequence of messages.",
    )


def wing_interface_markdown() -> str:
    return _interface_page(
        "Messages between the fixed wing's board and the bench",
        WING,
        "All numbers are little-endian; a frame contains the number, then the fields. The board's reports to "
        "the ground are rows of the streams `wing_…` in [streams.md](streams.md), each after a sequence number that "
        "shows losses. [wing-board.md](wing-board.md) describes the link and the time of each.",
    )


def values_interface_markdown() -> str:
    return _interface_page(
        "Messages between the board of any law and the bench",
        values.INTERFACE,
        "All numbers are little-endian; a frame contains the number, then the fields, then values if the "
        "message has some; the law defines how many. The size is that without them. "
        "[new-aircraft.md](new-aircraft.md#the-board) describes the sequence of messages.",
    )


def _interface_page(title: str, interface: Interface, words: str) -> str:
    lines = [f"# {title}", "", f"Revision {interface.revision}, hash `{interface.hash:08x}`. {words}"]
    for message in interface.messages:
        number = "no number, identified by its length" if message.number is None else f"number {message.number}"
        lines += [
            "",
            f"## {message.name}",
            "",
            f"From the {message.sender}, {number}, {message.size} bytes: {message.meaning}.",
        ]
        if message.fields:
            rows = [(f"`{name}`", C_TYPES[kind]) for name, kind in message.fields]
            lines += ["", *markdown_table(("field", "type"), rows)]
    return "\n".join([*lines, ""])


def members(kind: type[enum.IntEnum]) -> list[tuple[str, str, str]]:
    """Number, name and the comment beside each member, which is its description."""
    comments = dict(re.findall(r"^ +(\w+) = \d+ +# (.+)$", inspect.getsource(kind), re.MULTILINE))
    return [(str(member.value), f"`{member.name}`", comments.get(member.name, "")) for member in kind]


PAGES: dict[str, Callable[[], str]] = {
    "scenario.md": scenario_markdown,
    "airframe.md": airframe_markdown,
    "parameters.md": parameters_markdown,
    "streams.md": streams_markdown,
    "interface.md": interface_markdown,
    "wing-interface.md": wing_interface_markdown,
    "values-interface.md": values_interface_markdown,
    **command_pages.pages(),
}


def write(folder: Path) -> list[Path]:
    """Write the pages that are outdated; returns those."""
    pages = {folder / name: text() for name, text in PAGES.items()}
    stale = [path for path, text in pages.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(pages[path], "utf-8")
    return stale


def _without_none(value: Any) -> Any:
    """TOML has no null: keys without a value are omitted."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def _rate(stream: Stream) -> str:
    return f"{stream.rate_hz:.4g}" if stream.rate_hz else "irregular"


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m tools.describe FOLDER, an existing folder")
    for changed in write(Path(sys.argv[1])):
        print(f"wrote {changed}")
    Path("examples", "foxglove", "aeroloop.json").write_text(layout(), "utf-8")
