"""The reference pages say what the types say now, and leave nothing out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from aeroloop.core import parameter_files, scenario_files
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.signals import Event
from aeroloop.core.stream import KEYS, Field, Stream
from aeroloop.core.streams import streams_of_kind
from aeroloop.protocols import values
from aeroloop.protocols.interface import TILTROTOR, WING
from tools import describe, struct_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"
USUAL = ("Every scenario", "The tilt-rotor", "Controller `law` of the tilt-rotor")
AUTOPILOTS = "Controllers `pixhawk` and `px4` of multirotors"
AIRFRAMES = {part: kind for part, (_, kind) in describe.AIRFRAMES.items()}


@pytest.mark.parametrize("page", describe.PAGES)
def test_pages_in_docs_are_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text("utf-8") == describe.PAGES[page](), "run: make docs"


@pytest.mark.parametrize("parts", [describe.PARTS, AIRFRAMES], ids=["scenario", "airframe"])
def test_every_key_has_a_unit_and_a_meaning(parts: dict[str, type]) -> None:
    sections = struct_tables.sections_of(parts)
    bare = [
        f"{section.headers}: {key.name}"
        for section in sections
        for key in section.keys
        if not key.unit or not key.meaning
    ]
    assert not bare
    assert all(section.meaning for section in sections)


@pytest.mark.parametrize("part", AIRFRAMES)
def test_every_key_of_the_airframe_files_that_are_named_is_on_the_page(part: str) -> None:
    words, _ = describe.AIRFRAMES[part]
    own = describe.airframe_markdown().partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    files = [DOCS / link for link in re.findall(r"\((\S+\.toml)\)", words)]
    assert len(files) >= (1 if part in ("Helicopters", "Free bodies") else 3)
    for file in files:
        for table, content in tomllib.loads(file.read_text("utf-8")).items():
            if table == parameter_files.BASE:
                continue
            entries = content if isinstance(content, list) else [content]
            kind = f'kind = "{entries[0]["kind"]}"' if "kind" in entries[0] else ""
            heads = {text.partition("\n")[0]: text for text in own.split("\n### ")}
            section = next(text for head, text in heads.items() if f"[{table}]" in head and kind in head)
            keys = {key for entry in entries for key in entry}
            assert all(f"| `{key}` |" in section for key in keys if key != "kind"), f"{file.name}: {table}"
    assert "each > 0" in own


def test_a_range_of_a_list_is_that_of_each_of_its_numbers() -> None:
    keys = {key.name: key for section in struct_tables.sections_of(AIRFRAMES) for key in section.keys}
    assert keys["inertia_kgm2"].range and keys["thrust_share"].range == "each > 0, ≤ 1"
    assert keys["thrust_share"].default == "`[]`"


def test_every_table_and_trajectory_is_told_once_with_its_meaning() -> None:
    sections = describe.scenario_sections()
    places = [(section.part, header) for section in sections for header in section.headers]
    tables = {
        "Every scenario": ("controller", "link", "link.to_plant", "link.to_board", "ground.impair"),
        "The tilt-rotor": ("vehicle", "world", "world.wind", "sensors", "sensors.imu", "actuators"),
        "Multirotors": ("vehicle", "world", "sensors"),
        "Controller `law` of the tilt-rotor": ("control", "board", "emulator", "ground", "router"),
        "Controllers `pixhawk` and `px4` of multirotors": ("autopilot", "pilot"),
        "Controller `law` of the fixed wing": ("board", "emulator"),
    }
    for part, fields in tables.items():
        assert all(places.count((part, f"[{field}]")) == 1 for field in fields)
    assert ("Every scenario", "[[checks]]") in places
    tags = {section.tag for section in sections if section.headers == ("[ground.trajectory]",)}
    assert tags == {f'kind = "{kind}"' for kind in ("spiral", "hover", "circle", "lemniscate", "waypoints")}
    assert all(section.meaning for section in sections)


def test_key_shows_type_unit_default_and_range() -> None:
    sections = describe.scenario_sections()
    keys = {(s.headers[0], key.name): key for s in sections for key in s.keys if s.part in USUAL}
    of_quad = {(s.headers[0], key.name): key for s in sections for key in s.keys if s.part.endswith("ultirotors")}
    step = keys["[world]", "step_s"]
    assert (step.type, step.unit, step.default, step.range) == ("number", "s", "`0.004`", "≥ 1e-05, ≤ 0.02")
    assert keys["[world]", "start_pos_W"].type == "list of 3 numbers"
    assert keys["", "name"].default == "required"
    assert keys["[ground]", "trajectory"].default == "`spiral`"
    assert (of_quad["[autopilot]", "parameters"].type, of_quad["[autopilot]", "parameters"].default) == (
        "table of numbers",
        "`{}`",
    )
    assert of_quad["[world]", "step_s"].range == step.range


def test_a_kind_tells_only_what_it_adds() -> None:
    top = {
        section.part: {key.name for key in section.keys}
        for section in describe.scenario_sections()
        if "" in section.headers
    }
    assert top == {part: {*owner.__struct_encode_fields__} for part, owner in describe.PARTS.items()}
    keys = [key for own in (top["Every scenario"], top["Multirotors"], top[AUTOPILOTS]) for key in own]
    assert len(keys) == len(set(keys)), "each key has one owner"


@pytest.mark.parametrize("part", describe.EXAMPLES)
def test_example_is_a_valid_scenario_with_every_key(part: str, tmp_path: Path) -> None:
    example = describe.EXAMPLES[part]
    page = describe.scenario_markdown().partition(f"## {part}: a complete example")[2]
    text = page.partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "my-flight.toml"
    file.write_text(text, "utf-8")
    assert scenario_files.load(file) == example
    shown = tomllib.loads(text)
    resolved = example.flat()
    parts = dict(zip(describe.FAMILIES, describe.CONTROLLERS, strict=False))
    for section in describe.scenario_sections():
        for header in section.headers:
            if section.part not in (part, parts[part], "Every scenario") or section.tag not in ("", 'kind = "spiral"'):
                continue
            names = header.strip("[]").split(".") if header else []
            if header.startswith("[[") or (header == "[ground.impair]" and part != "The tilt-rotor"):
                continue
            table, full = shown, resolved
            for name in names:
                full = full[name] if full else None
                table = table[name] if full else {}
            if full is not None:  # a sensor that is not fitted has no table
                assert {key.name for key in section.keys if full[key.name] is not None} <= table.keys(), header


def test_a_bar_in_a_meaning_does_not_split_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream("odd", "plant", 0.0, True, True, "x", (Field("x_m", "m", "this | that"),))
    monkeypatch.setattr(describe, "STREAM_TABLES", {"Kites": ("", (stream,))})
    assert "| `x_m` | m | this \\| that |" in describe.streams_markdown()


def test_every_stream_field_and_event_is_on_the_page() -> None:
    page = describe.streams_markdown()
    titles = {
        "tiltrotor": "Tilt-rotor",
        "quadrotor": "Multirotors",
        "fixedwing": "Fixed wing",
        "helicopter": "Helicopter",
        "rrr": "3-RRR robot",
        "freebody": "Free body",
    }
    for kind, title in titles.items():
        family = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        for stream in streams_of_kind(kind):
            place = "Router" if stream in ROUTER_STREAMS else title
            own = page.partition(f"\n### {place}: {stream.name}\n")[2].partition("\n##")[0]
            section = own or page.partition(f"\n### Common streams: {stream.name}\n")[2].partition("\n##")[0]
            assert f"`{stream.name}`" in family or place == "Router"
            for field in stream.fields:
                if field.name not in KEYS:
                    assert f"| `{field.name}` | {field.unit} | {field.meaning} |" in section, f"{title}: {stream.name}"
    assert [number for number, _, meaning in describe.members(Event) if meaning] == [str(int(e)) for e in Event]


def test_write_touches_only_what_changed(tmp_path: Path) -> None:
    assert describe.write(tmp_path) == [tmp_path / name for name in describe.PAGES]
    assert describe.write(tmp_path) == []
    (tmp_path / "streams.md").write_text("old")
    assert describe.write(tmp_path) == [tmp_path / "streams.md"]


def test_a_type_without_words_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        struct_tables.type_words(msgspec.inspect.type_info(bytes))


def test_every_message_and_field_is_on_the_page() -> None:
    pages = (
        (TILTROTOR, describe.interface_markdown()),
        (WING, describe.wing_interface_markdown()),
        (values.INTERFACE, describe.values_interface_markdown()),
    )
    for table, page in pages:
        for message in table.messages:
            section = page.partition(f"\n## {message.name}\n")[2].partition("\n## ")[0]
            assert f"{message.size} bytes: {message.meaning}." in section
            assert all(f"| `{name}` |" in section for name, _ in message.fields)
        assert f"`{table.hash:08x}`" in page


def test_every_command_has_a_page_and_no_page_is_left_over() -> None:
    pages = {path.name for path in (DOCS / "commands").iterdir()}
    assert pages == {name.rpartition("/")[2] for name in describe.PAGES if name.startswith("commands/")}
    assert {"fly.md", "list.md", "board.md", "route.md", "cmd.md", "index.md"} <= pages


def test_a_command_page_has_every_option_with_its_default_and_examples() -> None:
    page = (DOCS / "commands" / "dash.md").read_text("utf-8")
    assert "    aeroloop dash [OPTIONS]" in page
    assert "| `--port PORT` | `8080` | Port to listen on; 0 takes any that is free. |" in page
    assert "--with-parent" not in page, "hidden"
    assert "\n    aeroloop dash --port 0 --open\n" in page
    commands = (DOCS / "commands" / "cmd.md").read_text("utf-8")
    assert "### aeroloop cmd mission upload" in commands
