"""A board to fly against: the firmware image on the emulator behind a pty, or on an STM32F4-Discovery.

`serve` is hardware for those who have none: the bench flies it with `--loop hil` and cannot tell.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aeroloop.boards.monitor import Monitor
from aeroloop.boards.qemu import Emulator, escaped, realtime_command
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.paths import runtime_dir
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
    """Run the image until `stopped`; its board line is the pty at `place`, on which references may come as well."""
    _clear_away_dead_boards()
    with tempfile.TemporaryDirectory(dir=runtime_dir(), prefix=f"board-{os.getpid()}-") as name:
        folder = Path(name)
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


def _clear_away_dead_boards() -> None:
    """What a service left that was killed itself."""
    for path in runtime_dir().glob("board-*-*"):
        try:
            os.kill(int(path.name.split("-")[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (OSError, ValueError):
            continue


def _pump(emulator: Emulator, uart: Link, pty: LastingPty, stopped: Callable[[], bool]) -> None:
    """Both ways, and never wait for a reader: an emulator whose line is full stands still."""
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
        except LinkError as error:  # an emulator that ends closes its line a moment before it is gone
            select.select([emulator.ended_fd], [], [], END_S)
            raise emulator.failure() or error from None


def flash_command(elf: Path) -> tuple[list[str], bool]:
    """How the image gets onto an STM32F4-Discovery, and whether this machine has the program for it."""
    with_openocd = ["openocd", "-f", "board/stm32f4discovery.cfg", "-c", f"program {_tcl(elf)} verify reset exit"]
    with_st_flash = ["st-flash", "--reset", "write", str(elf.with_suffix(".bin")), FLASH_START]
    for command in (with_openocd, with_st_flash):
        if shutil.which(command[0]):
            return command, True
    return with_openocd, False


def _tcl(path: Path) -> str:
    """openocd takes the command apart at spaces."""
    return f"{{{path}}}" if " " in str(path) else str(path)


def flash(elf: Path, say: Callable[[str], None], show: Callable[[str], None]) -> None:
    """Flash an image; where no program for it is installed, say which one to get and show how it would do it."""
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
