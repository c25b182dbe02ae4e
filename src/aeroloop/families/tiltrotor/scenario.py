"""The scenario of the tilt-rotor, flown by a board that speaks docs/board-protocol.md."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from aeroloop.actuators.lagged import Actuators
from aeroloop.boards.config import Board, Emulator
from aeroloop.core import scenario_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import MEMORY, LinkEnds, Scenario
from aeroloop.core.signals import NS
from aeroloop.ground.config import Ground
from aeroloop.sensors.state import StateNoise


class Vehicle(Config, frozen=True):
    """Which aircraft flies."""

    kind: Annotated[Literal["tiltrotor"], note("family of aircraft")] = "tiltrotor"
    parameters: Annotated[str, note("parameter set in the vehicle's `params.toml`")] = "cad"


class World(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-5, le=0.02)] = 0.004
    start_pos_W: Annotated[
        Vec3 | None, meta("m", "where the flight starts, at equilibrium; by default on the reference")
    ] = None
    start: Annotated[
        Literal["rest", "moving"],
        note("`rest`: hovering; `moving`: with the reference's velocity, so that no step upsets the first seconds"),
    ] = "rest"
    start_yaw_rad: Annotated[float, meta("rad", "heading at the start", ge=-3.2, le=3.2)] = 0.0
    bound_m: Annotated[
        float,
        meta("m", "farther than this from the origin, or upside down, the flight counts as diverged and ends", gt=0),
    ] = 200.0


class Control(Config, frozen=True):
    """The control law and its design."""

    law: Annotated[
        Literal["dlqr", "dlqr-heading"],
        note(
            "discrete LQR with integral action; `dlqr` is the paper's, for yaw near 0, `dlqr-heading` flies any heading"
        ),
    ] = "dlqr"
    law_file: Annotated[
        str,
        note("Python file with a law of your own, relative to the scenario file; empty for `law`; `--law` overrides"),
    ] = ""
    weights: Annotated[str, note("weight set in the vehicle's `params.toml`")] = "published"
    period_s: Annotated[float, meta("s", "control period of the board", gt=0, le=1)] = 0.012


class TiltrotorScenario(Scenario, frozen=True):
    """A flight of the tilt-rotor, flown by a board that speaks docs/board-protocol.md."""

    FAMILY = "tiltrotor"
    KEEPS_ITS_OWN_TIME = True
    TAKES_LAW = True
    FILES: ClassVar[dict[str, str]] = {
        "control.law_file": "law.py",
        "ground.trajectory.file": "waypoints.csv",
        "ground.joystick_map": "joystick.toml",
        "ground.joystick_recording": "sticks.txt",
    }

    vehicle: Annotated[Vehicle, note("which aircraft")] = Vehicle()
    world: Annotated[World, note("the simulated world")] = World()
    control: Annotated[Control, note("the control law")] = Control()
    board: Annotated[Board, note("behaviour of the board")] = Board()
    emulator: Annotated[Emulator, note("the emulated board, rung `pil`")] = Emulator()
    sensors: Annotated[StateNoise, note("sensor noise")] = StateNoise()
    actuators: Annotated[Actuators, note("limits of the actuators")] = Actuators()
    ground: Annotated[Ground, note("source of references")] = Ground()

    def __post_init__(self) -> None:
        Scenario.__post_init__(self)
        if round(self.control.period_s * NS) % round(self.world.step_s * NS):
            raise ValueError(
                f"control.period_s: expected a multiple of world.step_s ({self.world.step_s} s), "
                f"not {self.control.period_s}"
            )
        if abs(self.control.period_s * 1000 - round(self.control.period_s * 1000)) > 1e-9:
            raise ValueError(f"control.period_s: expected whole milliseconds, not {self.control.period_s}")
        if self.lockstep and self.loop == "hil":
            raise ValueError("pace: a physical board keeps its own time; fly hil with --pace real")
        if self.loop == "pil" and self.pace not in ("lockstep", "real"):
            raise ValueError(f"pace: the emulated board flies in lockstep or in real time, not at {self.pace}")
        if self.loop == "pil" and not self.lockstep and any(fault.kind == "hang" for fault in self.emulator.faults):
            raise ValueError("emulator.faults: hang can be injected in lockstep only; in real time use reset")
        if self.ground.impair.active and (self.loop == "hil" or (self.loop == "pil" and not self.lockstep)):
            raise ValueError("ground.impair: a board outside this host has its own reference line; use link.to_board")
        if self.lockstep and self.ground.source == "external":
            raise ValueError("ground.source: external needs --pace real, since lockstep waits for its own base station")
        if self.lockstep and self.ground.source == "joystick" and not self.ground.joystick_recording:
            raise ValueError("ground.source: a live joystick needs --pace real; in lockstep give joystick_recording")

    @property
    def flown_at_least_s(self) -> float:
        # The flight ends with the last whole control period.
        return round(self.duration_s - self.control.period_s - self.world.step_s / 2, 9)

    @property
    def link_url(self) -> str:
        """The link between plant and board, the rung's own where none is named."""
        if self.link.url:
            return self.link.url
        if self.loop == "hil":
            raise ConfigError(
                "link.url: hil needs the board's link, for example --link serial:///dev/ttyACM0?baud=921600"
            )
        if self.loop == "pil":  # the emulator is a process of its own, so in lockstep nobody need stand between
            return MEMORY if self.lockstep else "pty://"
        return "tcp://127.0.0.1:0" if self.loop == "sil" else "loopback://"

    def notices(self, ends: LinkEnds, flight_id: str) -> list[str]:
        board = [f"flight {flight_id} waits for the board on {ends.link_server}"] if self.loop == "hil" else []
        if self.ground.source != "external":
            return board
        return [
            *board,
            f"flight {flight_id} waits for references on {ends.reference_client}; in another terminal: "
            "aeroloop base-station, or: aeroloop joystick, or: aeroloop dash, for sticks on a page",
        ]


def load_tiltrotor(path: Path, overrides: tuple[str, ...] = ()) -> TiltrotorScenario:
    """For those who can do nothing with another aircraft."""
    scenario = scenario_files.load(path, overrides)
    if not isinstance(scenario, TiltrotorScenario):
        raise ConfigError(f"{path}: expected a scenario of the tilt-rotor, which has a board with our firmware")
    return scenario
