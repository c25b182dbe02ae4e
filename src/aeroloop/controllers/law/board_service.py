"""A board to fly against: the firmware image on the emulator behind a pty, or on an STM32F4-Discovery.

`serve` replaces hardware: the bench flies it with `--loop hil`, exactly as a physical board.
"""

from __future__ import annotations

import select
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aeroloop.boards.monitor import Monitor
from aeroloop.boards.qemu import Emulator, escaped, realtime_command
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.paths import process_folder
from aeroloop.links.base import Link
from aeroloop.links.lasting import LastingPty
from aeroloop.links.loopback import open_loopback
from aeroloop.links.url import LinkUrl, parse
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime

FLASH_START = "0x08000000"
FLASH_TIMEOUT_S = 120
END_S = 1.0


def pty_place(url: str) -> LinkUrl:
    place = parse(url, template=True)
    if place.scheme != "pty":
        raise ConfigError(f"--link {url}: expected a pty to serve the board on, for example pty:///tmp/board0")
    return place


def serve(
    image: Path, place: LinkUrl, how_to_fly: str, say: Callable[[str], None], stopped: Callable[[], bool]
) -> None:
    """Run the image until `stopped`; its board link is the pty at `place`, which may carry references as well."""
    with process_folder("board") as folder:
        wire = LinkUrl("loopback", path=str(folder / "line.sock"), listen=True)
        place = replace(place, path=place.path or str(folder / "pty"))
        pty = LastingPty(place)
        uart = open_loopback(wire)
        devices = f"socket,path={escaped(wire.path)},server=off", "null"
        for refused in enter_realtime(BOARD_PRIORITY):  # the emulator inherits the priority
            say(f"note: {refused}")
        emulator = Emulator(realtime_command(image, *devices, folder / "monitor.sock"), folder)
        try:
            Monitor(folder / "monitor.sock", emulator).close()
            line = replace(place, scheme="serial")
            say(f"the emulated board is on {line}; in another terminal: {how_to_fly} --loop hil --link {line}")
            _pump(emulator, uart, pty, stopped)
        finally:
            emulator.stop()
            uart.close()
            pty.close()


def _pump(emulator: Emulator, uart: Link, pty: LastingPty, stopped: Callable[[], bool]) -> None:
    """Copy both ways without blocking on a reader: an emulator whose output is full stops."""
    while not stopped():
        select.select([uart.fileno(), pty.fileno(), emulator.ended_fd], [], [], 0.1)
        failure = emulator.failure()
        if failure:
            raise failure
        try:
            pty.send(uart.poll())
            to_board = pty.poll()
            if to_board:
                uart.send(to_board)
        except LinkError as error:  # an emulator that ends closes its link shortly before the process is gone
            select.select([emulator.ended_fd], [], [], END_S)
            raise emulator.failure() or error from None


def flash_command(elf: Path) -> tuple[list[str], bool]:
    """The command that flashes an image to an STM32F4-Discovery, and whether its program is installed."""
    with_openocd = ["openocd", "-f", "board/stm32f4discovery.cfg", "-c", f"program {_tcl(elf)} verify reset exit"]
    with_st_flash = ["st-flash", "--reset", "write", str(elf.with_suffix(".bin")), FLASH_START]
    for command in (with_openocd, with_st_flash):
        if shutil.which(command[0]):
            return command, True
    return with_openocd, False


def _tcl(path: Path) -> str:
    """openocd splits the command at spaces."""
    return f"{{{path}}}" if " " in str(path) else str(path)


def flash(elf: Path, say: Callable[[str], None], show: Callable[[str], None]) -> None:
    """Flash an image; if no flash program is installed, print which one to install and the command."""
    command, present = flash_command(elf)
    text = shlex.join(command)
    show(text)
    if not present:
        say("nothing was flashed: neither openocd nor st-flash is installed; apt install openocd, then run the above")
        return
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FLASH_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LinkError(f"{command[0]} could not flash the board: {error}") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no reason given")
        raise LinkError(f"{command[0]} could not flash the board: {reason.strip()}")
    say("flashed and verified; the board starts by itself")
