"""`aeroloop board`: build the firmware image, run it on the emulator, flash it onto a board."""

from __future__ import annotations

import shlex
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli.console import say
from aeroloop.codegen.images import build_image, image_sizes
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError

if TYPE_CHECKING:
    from aeroloop.families.tiltrotor.scenario import TiltrotorScenario

app = typer.Typer(
    help="The board with our firmware: build its image, run it on the emulator, flash it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

TARGETS = ("emulator", "discovery")
FLASH_B, RAM_B = 1024 * 1024, 128 * 1024

Name = Annotated[str, typer.Argument(metavar="SCENARIO", help="A name from `aeroloop list`, or a .toml file.")]
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
    from aeroloop.families.tiltrotor import images  # with the law's mathematics, which other commands do not need

    kinds = {"emulator": (images.LOCKSTEP, images.UART), "discovery": (images.DISCOVERY,)}
    generated = images.generate(plan(name, law, overrides))
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
    from aeroloop.families.tiltrotor import images

    place = pty_place(link)
    image = build_image(images.generate(plan(name, law, overrides)), images.UART)
    # Only now: a law that never ends and a build are ended by the signal itself.
    stopping: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: stopping.append(got))
    serve(image, place, _how_to_fly(name, law, overrides), say, lambda: bool(stopping))
    raise typer.Exit(128 + stopping[0])


@app.command(epilog="Examples:\n\n`aeroloop board flash`\n\n`aeroloop board flash tiltrotor-spiral --law my_law.py`")
def flash(name: Name = "tiltrotor-spiral", law: Law = None, overrides: Overrides = None) -> None:
    """Flash the firmware onto an STM32F4-Discovery with openocd or st-flash, or print the command that would."""
    from aeroloop.controllers.law import board_service
    from aeroloop.families.tiltrotor import images

    image = build_image(images.generate(plan(name, law, overrides)), images.DISCOVERY)
    board_service.flash(image, say, typer.echo)


def plan(name: str, law: Path | None, overrides: list[str] | None) -> TiltrotorScenario:
    from aeroloop.families.tiltrotor.scenario import load_tiltrotor

    given = tuple(overrides or ())
    return load_tiltrotor(scenario_files.find(name), (*given, *law_override(law)))


def _how_to_fly(name: str, law: Path | None, overrides: list[str] | None) -> str:
    own = ["--law", str(law.absolute())] if law else []
    return shlex.join(["aeroloop", "fly", name, *own, *(word for each in overrides or () for word in ("--set", each))])


def law_override(law: Path | None) -> tuple[str, ...]:
    # No TOML value begins like an absolute path, so it is taken as it stands.
    return (f"control.law_file={law.absolute()}",) if law else ()


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
