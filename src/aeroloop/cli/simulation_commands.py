"""`aeroloop cmd pause`, `resume`, `step`, `speed`, `change`, `fault`, `restart` and `end`: the simulation of a running
flight."""

from __future__ import annotations

from typing import Annotated

import typer

from aeroloop.core.errors import ConfigError
from aeroloop.flight import running
from aeroloop.flight.flight_control import FlightControl, part_of, speed_of

NEGATIVE = {"ignore_unknown_options": True}  # -3 is a wind, not an option

Flight = Annotated[str, typer.Option("--flight", metavar="ID", help="Which flight, if several are running.")]
Aircraft = Annotated[str, typer.Option("--aircraft", metavar="NAME", help="Which part, if several kinds fly.")]
Vehicle = Annotated[int, typer.Option(metavar="N", min=0, max=15, help="Which of several aircraft, from 0.")]


def _example(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(f"`aeroloop cmd {line}`" for line in lines)


def register(app: typer.Typer) -> None:
    """Add the commands to those of `aeroloop cmd`."""
    app.command(epilog=_example("end", "end --flight 3f2a91c0"))(end)
    app.command(epilog=_example("restart"))(restart)
    app.command(epilog=_example("pause"))(pause)
    app.command(epilog=_example("resume"))(resume)
    app.command(epilog=_example("step", "step 250"))(step)
    app.command(epilog=_example("speed 0.25", "speed real", "speed max"))(speed)
    app.command(
        epilog=_example("change", "change world.wind.steady_W 4 0 0", "change payload.mass_kg 0.3"),
        context_settings=NEGATIVE,
    )(change)
    app.command(
        epilog=_example(
            "fault", "fault rotor weak 0.6 --channel rotor2", "fault gnss silent", "fault gnss silent --off"
        ),
        context_settings=NEGATIVE,
    )(fault)


def end(flight: Flight = "") -> None:
    """End the running flight; its `aeroloop fly` then evaluates the checks and writes the report."""
    launch = running.chosen(flight)
    FlightControl(launch).end("command")
    typer.echo(f"flight {running.flight_id(launch)} ends")


def restart(flight: Flight = "") -> None:
    """End the running flight and fly the same plan again, into another folder."""
    launch = running.chosen(flight)
    FlightControl(launch).restart()
    typer.echo(f"flight {running.flight_id(launch)} ends and is flown again")


def pause(flight: Flight = "") -> None:
    """Stop simulated time between two steps."""
    typer.echo(f"paused at {FlightControl(running.chosen(flight)).pause():.6g} s")


def resume(flight: Flight = "") -> None:
    """Resume simulated time."""
    FlightControl(running.chosen(flight)).resume()
    typer.echo("resumed")


def step(
    count: Annotated[int, typer.Argument(metavar="N", min=1, max=1_000_000, help="How many steps.")] = 1,
    flight: Flight = "",
) -> None:
    """Advance by steps of the simulation (`world.step_s`), then pause."""
    typer.echo(f"paused at {FlightControl(running.chosen(flight)).step(count):.6g} s")


def speed(
    times: Annotated[str, typer.Argument(metavar="SPEED", help="Times real time, as 0.25; `real`; in lockstep `max`.")],
    flight: Flight = "",
) -> None:
    """Change the speed: slow motion below 1. In lockstep it is a limit."""
    speed_of(times)
    FlightControl(running.chosen(flight)).set_speed(times)
    typer.echo(f"speed {times}")


def change(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Which quantity; without it they are listed.")] = "",
    values: Annotated[list[float] | None, typer.Argument(metavar="VALUE", help="Its new value, or values.")] = None,
    flight: Flight = "",
    aircraft: Aircraft = "",
    vehicle: Vehicle = 0,
) -> None:
    """Change wind, mass or battery before the next step."""
    control = _part(flight, aircraft)
    if not key:
        for offer in control.changes():
            now = " ".join(f"{number:g}" for number in offer.value)
            typer.echo(
                f"{offer.key:24} {offer.words}: {offer.low:g} to {offer.high:g} {offer.unit}; at the start {now}"
            )
        return
    if not values:
        raise ConfigError(f"{key}: expected its new value")
    control.change(key, values[0] if len(values) == 1 else tuple(values), vehicle=vehicle)
    typer.echo(f"{key} {' '.join(f'{value:g}' for value in values)}")


def fault(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="What fails; without it the faults are listed.")] = "",
    kind: Annotated[str, typer.Argument(metavar="KIND", help="How.")] = "",
    values: Annotated[
        list[float] | None, typer.Argument(metavar="VALUE", help="Its value; else the usual one.")
    ] = None,
    channel: Annotated[str, typer.Option(metavar="NAME", help="Which channel or actuator; else the first.")] = "",
    off: Annotated[bool, typer.Option("--off", help="Switch it off.")] = False,
    flight: Flight = "",
    aircraft: Aircraft = "",
    vehicle: Vehicle = 0,
) -> None:
    """Switch a fault on or off before the next step."""
    control = _part(flight, aircraft)
    if not target:
        for offer in control.faults():
            typer.echo(f"{offer.target} {offer.kind} {' '.join(offer.channels)}".rstrip() + f": {offer.words}")
        return
    if not kind:
        kinds = dict.fromkeys(offer.kind for offer in control.faults() if offer.target == target)
        raise ConfigError(f"{target}: expected a kind of fault, one of: {', '.join(kinds) or 'none'}")
    if values is not None and len(values) not in (0, 1, 3):
        raise ConfigError(f"{target} {kind}: expected one number or three, not {len(values)}")
    value = None if not values else values[0] if len(values) == 1 else (values[0], values[1], values[2])
    control.fault(target, kind, on=not off, channel=channel, value=value, vehicle=vehicle)
    typer.echo(f"{target} {kind} {'off' if off else 'on'}")


def _part(flight: str, aircraft: str) -> FlightControl:
    return FlightControl(part_of(running.chosen(flight), aircraft))
