"""`aeroloop board`: build the firmware image, run it on the emulator, flash it onto a board."""

from __future__ import annotations

import shlex
import shutil
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.api.scenarios import law_override
from aeroloop.cli.console import print_note
from aeroloop.codegen.images import Generated, build_image, image_sizes, variants
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import part

app = typer.Typer(
    help="The board with our firmware: build its image, run it on the emulator, flash it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

TARGETS = ("emulator", "discovery")
FLASH_B, RAM_B = 1024 * 1024, 128 * 1024


def _beginning_with(begun: str) -> list[str]:
    """For shell completion."""
    return [path.stem for path in scenario_files.available() if path.stem.startswith(begun)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A name from `aeroloop list`, or a .toml file.", autocompletion=_beginning_with
    ),
]
Law = Annotated[Path | None, typer.Option(metavar="FILE", help="A Python file with a control law of your own.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any key of the scenario.")]


@app.command(
    epilog="Examples:\n\n`aeroloop board build`\n\n`aeroloop board build tiltrotor-spiral --law my_law.py --out images`"
)
def build(
    name: Name = "tiltrotor-spiral",
    law: Law = None,
    overrides: Overrides = None,
    target: Annotated[str, typer.Option(help="emulator, discovery (STM32F4-Discovery), or all.")] = "all",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Also copy the images there.")] = None,
) -> None:
    """Build the firmware that flies a scenario's law, and print its size."""
    if target not in (*TARGETS, "all"):
        raise ConfigError(f"--target {target}: expected one of: {', '.join(TARGETS)}, all")
    generated, image = firmware(name, law, overrides)
    lockstep, uart, discovery = variants(image)
    kinds = {"emulator": (lockstep, uart), "discovery": (discovery,)}
    wanted = [image for key in TARGETS if target in (key, "all") for image in kinds[key]]
    table = Table("image", "flash", "RAM", box=None, header_style="bold")
    built = [build_image(generated, image) for image in wanted]
    for elf in built:
        flash_B, ram_B = image_sizes(elf)
        table.add_row(elf.stem, _share(flash_B, FLASH_B), _share(ram_B, RAM_B))
    screen = Console()
    screen.print(table)
    screen.print(f"image {generated.image_id:08x} of {name}", highlight=False)
    for elf in built:
        screen.print(str(_copied(elf, out)), highlight=False, soft_wrap=True)


@app.command(
    epilog="Examples:\n\n`aeroloop board run --link pty:///tmp/board0`, and in another terminal:\n\n"
    "`aeroloop fly tiltrotor-spiral --loop hil --link serial:///tmp/board0`"
)
def run(
    name: Name = "tiltrotor-spiral",
    law: Law = None,
    overrides: Overrides = None,
    link: Annotated[str, typer.Option(metavar="URL", help="The pty on which the board is served.")] = "pty://",
) -> None:
    """Serve the emulated board on a pty, as if it were plugged in; Ctrl-C ends it."""
    from aeroloop.controllers.law.board_service import pty_place, serve

    place = pty_place(link)
    generated, kind = firmware(name, law, overrides, rung="hil")
    image = build_image(generated, variants(kind)[1])
    # Set only now: a law that never ends, or a build, is ended by the signal itself.
    stopping: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: stopping.append(got))
    serve(image, place, _how_to_fly(name, law, overrides), print_note, lambda: bool(stopping))
    raise typer.Exit(128 + stopping[0])


@app.command(epilog="Examples:\n\n`aeroloop board flash`\n\n`aeroloop board flash tiltrotor-spiral --law my_law.py`")
def flash(name: Name = "tiltrotor-spiral", law: Law = None, overrides: Overrides = None) -> None:
    """Flash the firmware onto an STM32F4-Discovery with openocd or st-flash, or print the command that would."""
    from aeroloop.controllers.law import board_service

    generated, kind = firmware(name, law, overrides)
    image = build_image(generated, variants(kind)[2])
    board_service.flash(image, print_note, typer.echo)


def firmware(name: str, law: Path | None, overrides: list[str] | None, *, rung: str = "") -> tuple[Generated, str]:
    """The image of the scenario's controller; if that has none on its rung, of the controller that flies it on pil.
    ConfigError where the image is for a `rung` that the controller does not have."""
    path, given = scenario_files.find(name), tuple(overrides or ())
    controller = scenario_files.controller_of(path, given)
    if not controller.firmware:
        given = (*given, 'loop="pil"')
        controller = scenario_files.controller_of(path, given)
    scenario = scenario_files.load(path, (*given, *law_override(law, controller)))
    row = scenario.flown_by
    if rung and rung not in row.rungs:
        raise ConfigError(
            f"{name}: controller {row.name} does not fly on {rung}; expected one of: {', '.join(row.rungs)}"
        )
    made: tuple[Generated, str] = part(row.firmware)(scenario)
    return made


def _how_to_fly(name: str, law: Path | None, overrides: list[str] | None) -> str:
    own = ["--law", str(law.absolute())] if law else []
    return shlex.join(["aeroloop", "fly", name, *own, *(word for each in overrides or () for word in ("--set", each))])


def _share(used_B: int, there_B: int) -> str:
    return f"{used_B:,} B ({100 * used_B / there_B:.1f} %)"


def _copied(elf: Path, out: Path | None) -> Path:
    if out is None:
        return elf
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path in elf.parent.glob(f"{elf.stem}.*"):
            shutil.copyfile(path, out / path.name)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror}") from None
    return out / elf.name
