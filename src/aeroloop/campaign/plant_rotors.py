"""The synchronisation table of a quadrotor's rotors."""

from __future__ import annotations

import math
from itertools import product

from aeroloop.campaign.plant import (
    ERRORS,
    FULL,
    LINEAR,
    NO_LEARNING,
    NONE,
    Column,
    CommonMode,
    Compared,
    Ideal,
    Plant,
    Said,
    Saturated,
    Settings,
)
from aeroloop.control.synchronisation_gains import ROTOR

IDEAL = """
none esc 28.8/28.7/38.1/-/72.1/0
none pid .010/.007/.020/-/72.1/0
none smc .010/.006/.019/-/72.1/0
none smc-sync .008/.003/.014/-/72.1/0
none smc-sync-pidnn .008/.001/.013/-/72.1/0
gust esc 28.8/28.7/38.3/23.1/72.1/0
gust pid .042/.036/.19/23.1/72.1/0
gust smc .026/.015/.13/23.1/72.1/0
gust smc-sync .022/.008/.10/23.1/72.1/0
gust smc-sync-pidnn .021/.005/.09/23.1/72.1/0
payload esc 31.4/31.3/48.7/1.01/79.1/.004
payload pid .466/.365/13.5/1.02/79.1/.005
payload smc .289/.271/10.6/1.06/79.1/.007
payload smc-sync .193/.166/8.4/1.04/79.1/.011
payload smc-sync-pidnn .189/.165/7.7/1.05/79.1/.013
weak esc 107/98.2/242/4.12/76.1/.002
weak pid 5.55/4.83/138/1.71/76.1/.003
weak smc 5.40/4.68/127/1.62/76.1/.004
weak smc-sync 3.64/2.43/84.4/.82/76.1/.010
weak smc-sync-pidnn 2.80/.687/54.6/.114/76.1/.020
load esc 51.7/50.5/116/1.40/72.9/.002
load pid 12.7/10.9/48.5/.86/72.9/.002
load smc 11.8/10.1/45.7/.82/72.9/.003
load smc-sync 8.06/5.25/28.4/.41/72.9/.007
load smc-sync-pidnn 6.27/1.28/19.9/.110/73.0/.021
noise esc 30.0/29.6/70.1/.053/71.9/1.6
noise pid 6.98/6.97/29.6/.062/71.9/1.9
noise smc 7.22/7.20/30.7/.063/71.8/2.8
noise smc-sync 7.69/7.65/31.5/.064/71.6/5.0
noise smc-sync-pidnn 8.15/8.10/33.8/.065/71.6/5.2
all esc 88.7/83.9/210/10.6/77.5/1.5
all pid 14.8/13.2/118/10.6/77.5/1.9
all smc 14.2/12.7/107/10.6/77.4/2.7
all smc-sync 11.2/9.17/77.0/10.4/77.2/4.8
all smc-sync-pidnn 10.1/7.87/48.2/10.5/77.2/5.1
"""
START_S, EVALUATE_FROM_S, DURATION_S = 16.0, 12.0, 28.0
"""The helix begins at 6 s. It is blended in for 3 s, with a step of its jerk at the end: what that leaves in the
weights is over at 11.5 s. So everything is 2 s later than in the scenario."""


def _gust(factor: float) -> Settings:
    gust = {"start_s": START_S, "rise_s": 1.5, "amplitude_W": [8.0 * factor, 3.0 * factor, 0.0]}
    return {"world.wind.gusts": [gust]}


def _payload(mass_kg: float) -> Settings:
    return {"payload": {"mass_kg": mass_kg, "offset_B_m": [0.03, 0.02, 0.0], "from_s": START_S}}


def _weak(fraction: float) -> Settings:
    fault = {"target": "rotor", "kind": "effectiveness", "channel": "rotor1", "from_s": START_S, "value": fraction}
    return {"faults": [fault]}


_SINE = {"rotor": 4, "deceleration_rad_s2": 3000.0, "frequency_hz": 2.0, "from_s": START_S}
_CONSTANT = {"rotor": 1, "deceleration_rad_s2": 4000.0, "from_s": START_S}
_NOISE: Settings = {
    "sensors.tachometer.errors.white_std": 5.0,
    "sensors.imu.gyro.errors.white_std": [math.radians(std) for std in (0.67, 0.78, 0.12)],
}

QUAD = Plant(
    key="quad",
    title="Rotors of a quadrotor on a helix",
    meaning="Equal errors of all rotors change lift, differences between them turn the aircraft.",
    scenario="quad-sync",
    unit="rad/s",
    columns=(
        *ERRORS,
        Column("kick", "deg", "largest change of roll or pitch against the flight without a disturbance"),
        Column("effort", "%", "speed setpoint of the ESCs, RMS, of the largest speed"),
        Column("chatter", "%", "second difference of these speeds, RMS, of the largest speed"),
    ),
    metrics={
        "rms": ("rotor_rms_rad_s", 1.0),
        "sync": ("rotor_sync_rms_rad_s", 1.0),
        "max": ("rotor_error_max_rad_s", 1.0),
        "effort": ("rotor_effort_pct", 1.0),
        "chatter": ("rotor_chatter_pct", 1.0),
        "contacts": ("ground_contacts", 1.0),
    },
    axes=("rotor_law", "error_{}_rad_s", 4, 1.0),
    laws=("esc", "pid", "smc", "smc-sync", FULL, "pid-equal"),
    disturbances={
        NONE: {},
        "gust": _gust(1.0),
        "payload": _payload(0.4),
        "weak": _weak(0.8),
        "load": {"motors.loads": [_CONSTANT, _SINE]},
        "noise": _NOISE,
        "all": {**_NOISE, **_gust(0.5), **_payload(0.15), **_weak(0.85), "motors.loads": [_SINE]},
    },
    linear={"synchronisation.lam": ROTOR.lam, "synchronisation.q": ROTOR.k / ROTOR.phi},
    lost={"weak70": _weak(0.70)},
    extra=(
        (LINEAR, NONE),
        (LINEAR, "weak"),
        (NO_LEARNING, "weak"),
        (NO_LEARNING, "load"),
        *product(("esc", "pid", "smc", "smc-sync", FULL, "pid-equal"), ("weak70",)),
    ),
    start_s=START_S,
    evaluate_from_s=EVALUATE_FROM_S,
    every={"duration_s": DURATION_S, "synchronisation.evaluate_from_s": EVALUATE_FROM_S},
    ideal=Ideal(
        IDEAL,
        within=0.25,
        why="The flight law differs: it runs every 4 ms on estimates, and takes the mean of two gyro samples. "
        "So less noise reaches the setpoints; but they have steps of 4 ms, and a jump at each satellite fix. The small "
        "errors without a disturbance of the motors, and the chatter, come from these steps. The air at home, 488 m "
        "above the sea, is thinner: the rotors turn 2.4 % faster.",
    ),
    ratios=(
        *(("weak", "sync", 5.0, 7.0), ("load", "sync", 5.0, 8.5), ("payload", "sync", 1.6, 2.2)),
        *(("weak", "kick", 6.0, 15.0), ("load", "kick", 3.0, 7.8)),
    ),
    learning=(("weak", 2.0, 2.00 / 0.687), ("load", 2.0, 4.60 / 1.28)),
    sync_most={"payload": 1.01},
    not_ordered=("noise",),
    said=Said(
        common_mode=tuple(
            CommonMode(
                disturbance,
                "",
                "mean error of the rotors",
                f"Mean error of all rotors, {disturbance}: {{full:.3g}} rad/s RMS, with pid {{pid:.3g}}.",
            )
            for disturbance in ("weak", "load")
        ),
        noise="Rotors under noise",
        noisy=(
            Compared("noise", "sync", "{ratio:.3g} times the synchronisation error of pid", least=1.05, ideal=1.16),
            Compared("noise", "chatter", "{ratio:.3g} times its chatter", least=1.5, ideal=2.7),
        ),
        rms_of_equal=1.05,
        sync_of_equal={"payload": 1.1, "noise": 1.1},
        boundary="weak",
        lost={"weak70": "A motor with 70 % of its speed, less than hover needs"},
        paths=(NONE, "gust", "payload"),
        saturated=Saturated("weak70", least=100.0, others_most=5.0),
    ),
)
