"""Numbers of a multirotor flight, computed from its log alone. A name says what, which statistic and which unit.

A number without a prefix is that of the worst vehicle; of several, `v0_` and so on are those of each. What cannot be
computed is NaN, such as values that an external autopilot does not report.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis import board
from aeroloop.analysis.autopilot_log import autopilot_metrics
from aeroloop.analysis.generic import kept
from aeroloop.analysis.power import LESS_IS_WORSE as LESS_POWER
from aeroloop.analysis.power import power_metrics
from aeroloop.analysis.statistics import Array, largest, last, rms
from aeroloop.analysis.truth_log import Errors, Flags, estimation, estimation_metrics
from aeroloop.analysis.vehicle_log import event_values, happened
from aeroloop.core.signals import LINK_SIGNALS, Event
from aeroloop.families.multirotor.analysis import mission
from aeroloop.families.multirotor.analysis.errors import rms_wanted, tracking
from aeroloop.families.multirotor.analysis.flight import COMMANDS, MODE_CLASSES, Flight, flights
from aeroloop.families.multirotor.analysis.rates import Rate, rates
from aeroloop.families.multirotor.analysis.rotor_sync import rotor_metrics
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

LESS_IS_WORSE = (
    *("flown_s", "armed_s", "airborne_s", "manual_s", "mission_s", "waypoints_reached", "landed_at_end"),
    *LESS_POWER,
)
"""Of everything else more is worse, of measured rates the one farther from what was set."""
AT_REST_M_S = 0.1
HARD_M_S = 2.0
"""A contact with the ground that is faster than this is not a landing."""
OF_AN_AUTOPILOT = (
    *("armed_", "manual_", "mission_", "waypoint", "cross_track_", "battery_used_pct", "failsafes", "rotors_lost"),
    *("autopilot_", "actuators_refused", "commands_refused", "landing_targets_", "rate_"),
)
"""Prefixes of metrics of an autopilot over MAVLink: a flight with a law on our board has none of them."""


def metrics(log: Log, scenario: QuadrotorScenario) -> dict[str, float]:
    measured = rates(log, scenario)
    of_vehicles = [
        {**_flown(flight, scenario), **_rates([rate for rate in measured if rate.vehicle == flight.number])}
        for flight in flights(log, scenario)
    ]
    if scenario.flown_by.tells:
        own = [name for name in of_vehicles[0] if not name.startswith(OF_AN_AUTOPILOT)]
        of_vehicles = [{name: numbers[name] for name in own} for numbers in of_vehicles]
    return {
        **{name: _worst(name, [numbers[name] for numbers in of_vehicles]) for name in of_vehicles[0]},
        **kept(log, scenario),
        **(board.kept(log) if scenario.flown_by.tells else {}),
        **{
            f"v{number}_{name}": value
            for number, numbers in enumerate(of_vehicles)
            for name, value in numbers.items()
            if len(of_vehicles) > 1
        },
    }


def _worst(name: str, values: list[float]) -> float:
    """NaN of one vehicle is NaN of all: no check passes on what is not known of each."""
    return float(np.min(values) if name in LESS_IS_WORSE or name.endswith("_hz") else np.max(values))


def _flown(flight: Flight, scenario: QuadrotorScenario) -> dict[str, float]:
    wanted = tracking(flight)
    passed = mission.passes(flight, scenario)
    airborne = flight.airborne(flight.t_s)
    return {
        "flown_s": last(flight.t_s),
        "diverged": float(happened(flight, Event.DIVERGED) > 0),
        "ground_contacts": happened(flight, Event.GROUND_CONTACT),
        "hard_contacts": float(np.count_nonzero(np.abs(event_values(flight, Event.GROUND_CONTACT)) > HARD_M_S)),
        "touchdown_speed_max_m_s": _touchdown_m_s(flight),
        "armed_s": _state_s(flight, flight.state_at("armed", flight.t_s) == 1),
        "airborne_s": _lasted_s(flight.t_s, airborne),
        "height_max_m": largest(flight.height_m),
        **tracking_rms(wanted),
        "pos_max_m": _most(wanted.distance_m),
        "roll_max_deg": math.degrees(largest(np.abs(flight.attitude_rad[:, 0]))),
        "pitch_max_deg": math.degrees(largest(np.abs(flight.attitude_rad[:, 1]))),
        **{
            f"{name}_{metric}": value
            for name, modes in MODE_CLASSES.items()
            for metric, value in (
                ("s", _state_s(flight, airborne & flight.in_modes(modes, flight.t_s))),
                *tracking_rms(wanted.only(flight.in_modes(modes, wanted.t_s))).items(),
            )
        },
        "waypoint_rms_m": rms(passed.miss_m),
        "waypoint_max_m": largest(passed.miss_m),
        "waypoints_reached": _told(flight, Event.WAYPOINT_REACHED),
        "cross_track_rms_m": rms(mission.cross_track_m(flight, passed)),
        **estimation_metrics(estimation(flight)),
        "saturated_steps": _saturated(flight),
        "battery_used_pct": _battery_used_pct(flight),
        "rotors_lost": _told(flight, Event.ROTOR_LOST),
        **autopilot_metrics(flight),
        "landing_targets_refused": _count_so_far(flight, Event.LANDING_TARGETS_REFUSED),
        "landed_at_end": _landed(flight),
        **rotor_metrics(flight, scenario),
        **power_metrics(flight),
    }


def tracking_rms(errors: Errors) -> dict[str, float]:
    """RMS over the times with a setpoint of the autopilot."""
    angles = dict(zip(("roll", "pitch", "yaw"), errors.attitude_rad.T, strict=True))
    return {
        **{f"{name}_rms_deg": math.degrees(rms_wanted(angle_rad)) for name, angle_rad in angles.items()},
        "altitude_rms_m": rms_wanted(errors.pos_W[:, 2]),
        "horizontal_rms_m": rms_wanted(errors.horizontal_m),
        "pos_rms_m": rms_wanted(errors.distance_m),
    }


def rate_name(signal: str) -> str:
    return f"rate_{signal.lower().replace(' ', '_')}"


def _rates(measured: list[Rate]) -> dict[str, float]:
    """As counted at the plant; what it does not see, as counted at the autopilot."""
    found = {rate.signal: rate for rate in sorted(measured, key=lambda rate: rate.at == "plant")}
    nothing = {signal: Rate(signal, "", 0, math.nan, math.nan) for signal in LINK_SIGNALS}
    return {
        f"{rate_name(signal)}_{unit}": value
        for signal, rate in {**nothing, **found}.items()
        for unit, value in (("hz", rate.measured_hz), ("error_pct", rate.ratio_error_pct))
    }


def _told(flight: Flight, event: Event) -> float:
    """Number of such events of the autopilot, if it reports any."""
    return happened(flight, event, "board_event") if flight.has_autopilot else math.nan


def _count_so_far(flight: Flight, event: Event) -> float:
    """Of events of the autopilot whose value counts."""
    return last(event_values(flight, event, "board_event")) if _told(flight, event) else 0.0


def _touchdown_m_s(flight: Flight) -> float:
    """Of the hardest contact after the first time in the air."""
    aloft_s = flight.t_s[flight.airborne(flight.t_s)]
    if not aloft_s.size:
        return math.nan
    codes, t_s = flight.column("event", "code"), flight.column("event", "t_s")
    landings = (codes == Event.GROUND_CONTACT) & (t_s >= aloft_s[0])
    return largest(np.abs(flight.column("event", "value")[landings]))


def _lasted_s(t_s: Array, flags: Flags) -> float:
    """Total time of a condition: each sample until the next one."""
    return float(np.sum(np.diff(t_s)[flags[:-1]])) if t_s.size else math.nan


def _state_s(flight: Flight, flags: Flags) -> float:
    return _lasted_s(flight.t_s, flags) if flight.has_autopilot else math.nan


def _most(values: Array) -> float:
    return largest(values[~np.isnan(values)])


def _saturated(flight: Flight) -> float:
    """Steps in the air with a motor at either end of its range."""
    t_s = flight.column("command", "t_s")
    commands = flight.columns("command", COMMANDS)
    at_limit = ((commands <= 0) | (commands >= 1)).any(axis=1)
    return float(np.count_nonzero(at_limit & flight.airborne(t_s))) if t_s.size else math.nan


def _battery_used_pct(flight: Flight) -> float:
    left = flight.column("autopilot_state", "battery")
    left = left[~np.isnan(left)]  # an external autopilot reports it later than its mode
    return float(100 * (left[0] - left[-1])) if left.size else math.nan


def _landed(flight: Flight) -> float:
    """1 if it is on the ground at the end, whatever the autopilot reports."""
    if not flight.t_s.size:
        return math.nan
    speed_m_s = float(np.linalg.norm(flight.columns("truth", ("vx_m_s", "vy_m_s", "vz_m_s"))[-1]))
    return float(not flight.airborne(flight.t_s)[-1] and speed_m_s < AT_REST_M_S)
