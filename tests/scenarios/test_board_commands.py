"""`aeroloop board`: build, flash and run; and the board that `run` serves, flown like one on a desk."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from emulation import LAWS, NO_CHECKS, PIL, emulators, end, fly_in_time, play_program, serve, without_programs

from aeroloop.codegen.images import COMPILER
from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, EXIT_USAGE, LinkError
from aeroloop.families.tiltrotor import images
from aeroloop.links.open import open_link
from aeroloop.protocols import interface
from aeroloop.protocols.framing import encode
from aeroloop.protocols.handshake import Claim, host_claim

if TYPE_CHECKING:
    from conftest import Bench, Ended

ALL_IMAGES = {images.LOCKSTEP, images.UART, images.DISCOVERY}
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
FLASH_TOOLS = ("openocd", "st-flash")
HIL = ("fly", "tiltrotor-spiral", "--no-report", "--loop", "hil", *NO_CHECKS, "--set", "duration_s=3", "--link")


def test_build_says_how_large_the_images_are_and_where(bench: Bench) -> None:
    ended = bench.run("board", "build", "--out", "mine/images")
    assert (ended.code, ended.err) == (EXIT_OK, "")
    for image in ALL_IMAGES:
        row = next(line for line in ended.out.splitlines() if line.strip().startswith(image))
        flash_B, ram_B = (int(number.replace(",", "")) for number in re.findall(r"([\d,]+) B", row))
        assert 10_000 < flash_B < 1024 * 1024
        assert 1_000 < ram_B < 128 * 1024
        assert (bench.folder / "mine" / "images" / f"{image}.elf").read_bytes().startswith(b"\x7fELF")
        assert f"mine/images/{image}.elf" in ended.out
    assert (bench.folder / "mine" / "images" / f"{images.DISCOVERY}.bin").stat().st_size > 10_000
    assert re.search(r"image [0-9a-f]{8} of tiltrotor-spiral", ended.out)


def test_build_of_one_target_leaves_the_images_where_they_are_kept(bench: Bench) -> None:
    ended = bench.run("board", "build", "--target", "discovery")
    assert (ended.code, ended.err) == (EXIT_OK, "")
    assert images.DISCOVERY in ended.out
    assert images.LOCKSTEP not in ended.out
    assert Path(ended.out.splitlines()[-1]).is_file()
    assert bench.tree() == {}


def test_a_law_makes_another_image(bench: Bench) -> None:
    built = [
        bench.run("board", "build", "--target", "discovery", *law) for law in ((), ("--law", str(LAWS / "lqr.py")))
    ]
    assert len({re.search(r"image ([0-9a-f]{8})", ended.out)[1] for ended in built}) == 2  # type: ignore[index]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--target", "toaster"), ("--target toaster", "emulator, discovery, all")),
        (("--out", "/proc/images"), ("--out /proc/images", "cannot be written")),
        (("nowhere",), ("'nowhere'", "tiltrotor-spiral")),
        (("--law", "none.py"), ("none.py",)),
    ],
)
def test_build_refuses_what_cannot_be(bench: Bench, args: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = bench.run("board", "build", *args)
    assert ended.code == EXIT_USAGE, ended.err
    assert [word for word in words if word not in ended.sentence()] == []


def test_build_without_a_compiler_says_what_to_install(bench: Bench, tmp_path: Path) -> None:
    path = without_programs(tmp_path / "bin", COMPILER)
    ended = bench.run("board", "build", env={**bench.env, "PATH": path})
    assert ended.code == EXIT_USAGE
    assert "apt install gcc-arm-none-eabi" in ended.sentence()


@pytest.fixture(scope="module")
def no_flash_tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    return without_programs(tmp_path_factory.mktemp("path") / "bin", *FLASH_TOOLS)


def flash(bench: Bench, path: str, tool: str = "", script: str = "") -> Ended:
    """Flash with a program that the test plays; it keeps its arguments, one a line."""
    if tool:
        own = bench.folder.with_name("tools")
        play_program(own, tool, f'printf "%s\\n" "$@" > {own}/arguments\n{script}')
        path = f"{own}{os.pathsep}{path}"
    return bench.run("board", "flash", env={**bench.env, "PATH": path})


def test_flash_with_openocd(bench: Bench, no_flash_tools: str) -> None:
    ended = flash(bench, no_flash_tools, "openocd")
    assert ended.code == EXIT_OK, ended.err
    assert "flashed and verified" in ended.err
    given = (bench.folder.with_name("tools") / "arguments").read_text().splitlines()
    assert given[:3] == ["-f", "board/stm32f4discovery.cfg", "-c"]
    program, elf, *rest = given[3].split()
    assert (program, rest) == ("program", ["verify", "reset", "exit"])
    assert Path(elf).name == f"{images.DISCOVERY}.elf"
    assert Path(elf).read_bytes().startswith(b"\x7fELF")


def test_flash_with_st_flash(bench: Bench, no_flash_tools: str) -> None:
    ended = flash(bench, no_flash_tools, "st-flash")
    assert ended.code == EXIT_OK, ended.err
    *options, image, address = (bench.folder.with_name("tools") / "arguments").read_text().splitlines()
    assert (options, address) == (["--reset", "write"], "0x08000000")
    assert Path(image).name == f"{images.DISCOVERY}.bin"
    assert Path(image).stat().st_size > 10_000


def test_flash_that_fails_says_why(bench: Bench, no_flash_tools: str) -> None:
    script = "echo Open On-Chip Debugger >&2; echo 'Error: open failed' >&2; echo bye >&2; exit 1"
    ended = flash(bench, no_flash_tools, "openocd", script)
    assert ended.code == EXIT_LINK
    assert ended.sentence() == "openocd could not flash the board: Error: open failed"


def test_flash_that_fails_without_a_word(bench: Bench, no_flash_tools: str) -> None:
    ended = flash(bench, no_flash_tools, "st-flash", "exit 3")
    assert ended.code == EXIT_LINK
    assert ended.sentence() == "st-flash could not flash the board: no reason given"


def test_flash_without_a_program_for_it_prints_the_exact_command(bench: Bench, no_flash_tools: str) -> None:
    ended = flash(bench, no_flash_tools)
    assert ended.code == EXIT_OK, ended.err
    assert re.fullmatch(
        r"openocd -f board/stm32f4discovery.cfg -c 'program /\S+/tiltrotor-uart-discovery.elf verify reset exit'\n",
        ended.out,
    )
    assert "nothing was flashed" in ended.err
    assert "apt install openocd" in ended.err


def test_a_served_board_is_flown_like_one_on_a_desk_and_again_without_a_reset(bench: Bench) -> None:
    pty = bench.folder / "board0"
    board, line = serve(bench, "--link", f"pty://{pty}")
    assert line == f"serial://{pty}"
    for run in ("first", "second"):
        flown = fly_in_time(bench, run, *HIL, line)
        assert (flown.summary["loop"], flown.summary["ended"]) == ("hil", "completed")
        assert flown.summary["board"]["clock"] == "board"  # the bench cannot tell
        assert "STARTED" in flown.names("board")
        assert flown.metrics["board_restarts"] == 0
        assert flown.metrics["references_lost"] == 0
        assert flown.metrics["pos_max_m"] < 0.2  # of a path of several metres: references came on the board link
        assert flown.log.rows["setpoint"][-1, 2:5] != pytest.approx(flown.log.rows["setpoint"][0, 2:5], abs=1.0)
        assert flown.summary["links"]["board_link"]["frames_in"] > 100
    end(bench, board)
    assert not pty.is_symlink()


def test_an_image_of_another_law_is_refused(bench: Bench) -> None:
    board, line = serve(bench, "--law", str(LAWS / "lqr.py"))
    assert f"--law {LAWS / 'lqr.py'} --loop hil --link {line}" in board.err  # it says how to fly it
    refused = bench.run(*HIL, line, "--out", "run")
    assert refused.code == EXIT_LINK, refused.err
    assert "was built for another law or scenario" in refused.err
    assert "aeroloop board flash" in refused.err
    assert json.loads((bench.folder / "run" / "summary.json").read_bytes())["exit_code"] == EXIT_LINK
    end(bench, board)
    bench.assert_clean()


def test_how_to_fly_a_served_board_can_be_typed_as_it_stands(bench: Bench) -> None:
    """A path with a space, a scenario file and a setting: the flight must be the image's."""
    (bench.folder / "my flight.toml").write_text((SCENARIOS / "tiltrotor-spiral.toml").read_text())
    told = ("my flight.toml", "--set", "board.sensor_hold_s=0.1")
    board, line = serve(bench, *told, "--link", f"pty://{bench.folder / 'board 0'}")
    words = shlex.split(board.err.partition("in another terminal: ")[2])
    assert words == ["aeroloop", "fly", *told, "--loop", "hil", "--link", line]
    flown = fly_in_time(bench, "run", *words[1:], *NO_CHECKS, "--set", "duration_s=1")
    assert flown.summary["ended"] == "completed"
    end(bench, board)


def test_what_a_killed_service_left_is_cleared_away_by_the_next(bench: Bench) -> None:
    killed, _ = serve(bench)
    killed.process.kill()
    killed.wait()
    assert bench.leftovers()
    board, _ = serve(bench)
    end(bench, board)
    bench.assert_clean()


def test_a_law_that_never_ends_can_be_interrupted(bench: Bench) -> None:
    (bench.folder / "endless.py").write_text("print('begun')\nwhile True:\n    pass\n")
    board = bench.start("board", "run", "--law", "endless.py")
    board.says("begun")
    board.process.send_signal(signal.SIGINT)
    assert board.wait().code == EXIT_INTERRUPTED


def test_an_image_is_built_where_paths_have_spaces(bench: Bench, tmp_path: Path) -> None:
    cache = tmp_path / "a cache, of mine"
    ended = bench.run("board", "build", "--target", "emulator", env={**bench.env, "XDG_CACHE_HOME": str(cache)})
    assert (ended.code, ended.err) == (EXIT_OK, "")
    flown = bench.run(*PIL, *NO_CHECKS, "--set", "duration_s=1", env={**bench.env, "XDG_CACHE_HOME": str(cache)})
    assert flown.code == EXIT_OK, flown.err


def test_an_emulator_that_is_killed_ends_the_service(bench: Bench) -> None:
    board, _ = serve(bench)
    (emulator,) = emulators(board.process.pid)
    os.kill(emulator, signal.SIGKILL)
    ended = board.wait()
    assert ended.code == EXIT_LINK
    assert "aeroloop: the emulator was killed by SIGKILL" in ended.err
    bench.assert_clean()


def test_a_board_is_served_on_a_pty_only(bench: Bench) -> None:
    ended = bench.run("board", "run", "--link", "tcp://127.0.0.1:5000")
    assert ended.code == EXIT_USAGE
    assert "expected a pty" in ended.sentence()
    bench.assert_clean()


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        pytest.param(
            replace(host_claim(interface.TILTROTOR, 0), revision=interface.TILTROTOR.revision - 1, interface=1),
            "the board's image is old: it uses revision",
            id="older",
        ),
        pytest.param(
            replace(host_claim(interface.TILTROTOR, 0), revision=interface.TILTROTOR.revision + 1, interface=1),
            "this bench is old: it uses revision",
            id="newer",
        ),
        pytest.param(replace(host_claim(interface.TILTROTOR, 0), interface=1), "differ in its content", id="changed"),
    ],
)
def test_a_board_that_speaks_another_interface_is_refused(bench: Bench, claim: Claim, words: str) -> None:
    flight = bench.start(*HIL, "tcp://127.0.0.1:0", "--out", "run")
    orders = json.loads((bench.flight() / "launch.json").read_bytes())
    # The plant closes the link when it refuses; until then a board repeats its start message.
    with closing(open_link(orders["link_client"])) as link, suppress(LinkError):
        while flight.process.poll() is None:
            link.send(encode(claim.data()))
            time.sleep(0.012)
    ended = flight.wait()
    assert ended.code == EXIT_LINK, ended.err
    assert words in ended.err
    assert str(claim.revision) in ended.err
    bench.assert_clean()
