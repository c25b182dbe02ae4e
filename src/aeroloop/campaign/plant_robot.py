"""The 3-RRR robot's synchronisation table."""

from __future__ import annotations

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
)
from aeroloop.control.synchronisation_gains import JOINT

IDEAL = """
none pid .190/.179/.454/.053/.063/.0003
none smc .182/.177/.509/.049/.063/.0003
none smc-sync .104/.094/.301/.025/.063/.0003
none smc-sync-pidnn .073/.058/.210/.015/.063/.0004
load pid 1.89/1.58/5.62/.454/.356/.008
load smc 1.91/1.60/5.52/.458/.356/.008
load smc-sync 1.35/.854/3.71/.249/.353/.010
load smc-sync-pidnn 1.08/.273/2.71/.089/.350/.015
payload pid .323/.310/1.01/.093/.103/.0005
payload smc .262/.256/.748/.080/.103/.0005
payload smc-sync .142/.130/.517/.040/.103/.0007
payload smc-sync-pidnn .086/.065/.445/.020/.103/.0010
friction pid 1.23/1.07/4.81/.296/.272/.005
friction smc 1.25/1.11/4.70/.308/.272/.005
friction smc-sync .824/.579/3.27/.163/.272/.007
friction smc-sync-pidnn .632/.233/2.19/.074/.272/.010
weak pid .253/.236/.842/.069/.080/.0003
weak smc .223/.213/.762/.062/.080/.0003
weak smc-sync .129/.111/.504/.032/.080/.0004
weak smc-sync-pidnn .091/.063/.392/.018/.080/.0005
noise pid .191/.181/.470/.053/.140/8.28
noise smc .184/.178/.525/.049/.140/8.28
noise smc-sync .109/.098/.335/.026/.175/10.7
noise smc-sync-pidnn .088/.075/.290/.020/.186/11.5
all pid 2.72/2.33/9.69/.647/.764/8.28
all smc 2.75/2.37/9.79/.657/.764/8.27
all smc-sync 1.82/1.18/6.52/.325/.763/10.7
all smc-sync-pidnn 1.45/.390/4.97/.114/.767/12.8
"""
RRR = Plant(
    key="rrr",
    title="3-RRR robot on a circle",
    meaning="Equal errors of all joints turn the platform, differences between them move it sideways.",
    scenario="rrr-circle",
    unit="mrad",
    columns=(
        *ERRORS,
        Column("position", "mm", "error of the platform's place, RMS"),
        Column("effort", "N m", "torque command, RMS"),
        Column("chatter", "%", "second difference of the torque commands, RMS, of the largest torque"),
    ),
    metrics={
        "rms": ("joint_rms_rad", 1e3),
        "sync": ("joint_sync_rms_rad", 1e3),
        "max": ("joint_error_max_rad", 1e3),
        "position": ("position_rms_m", 1e3),
        "angle": ("angle_rms_rad", 1e3),
        "effort": ("torque_rms_Nm", 1.0),
        "chatter": ("torque_chatter_pct", 1.0),
    },
    axes=("joints", "error_{}_rad", 3, 1e3),
    laws=("pid", "smc", "smc-sync", FULL, "pid-equal", "pid-high"),
    disturbances={
        kind: {"disturbance.kind": kind} for kind in (NONE, "load", "payload", "friction", "weak", "noise", "all")
    },
    linear={"synchronisation.lam": JOINT.lam, "synchronisation.q": JOINT.k / JOINT.phi},
    lost={
        "capped": {
            "reference.period_s": 0.8,
            "faults": [{"target": "rotor", "kind": "weak", "channel": "motor1", "from_s": 0.0, "value": 0.1}],
        }
    },
    extra=(
        (LINEAR, NONE),
        (LINEAR, "load"),
        (NO_LEARNING, "load"),
        *product(("pid", "smc", FULL, "pid-high"), ("capped",)),
    ),
    start_s=2.0,
    evaluate_from_s=1.0,
    every={"disturbance.start_s": 2.0, "synchronisation.evaluate_from_s": 1.0},
    ideal=Ideal(
        IDEAL,
        within=0.10,  # model and step are the same
        why="Every number crosses the link in single precision: this is the chatter of the undisturbed robot. Under "
        "noise the largest error depends on the numbers drawn.",
    ),
    ratios=(
        *(("load", "sync", 4.0, 5.8), ("friction", "sync", 3.5, 4.6), ("payload", "sync", 3.5, 4.8)),
        *(("weak", "sync", 2.5, 3.7), ("all", "sync", 4.0, 6.0), ("noise", "sync", 1.8, 2.4)),
    ),
    learning=(("load", 2.0, 0.740 / 0.273),),
    said=Said(
        common_mode=(
            CommonMode(
                "load",
                "angle",
                "angle",
                "Platform angle of the robot under load: {full:.3g} mrad RMS, with pid {pid:.3g}.",
            ),
        ),
        noise="Robot under noise",
        noisy=(Compared("noise", "chatter", "{ratio:.3g} times the chatter of pid", least=1.2, ideal=1.4),),
        rms_of_equal=1.35,
        boundary="load",
        lost={"capped": "A robot's motor with 10 % of its torque (0.4 N m) on a circle of 0.8 s"},
        high_gain=(
            Compared(
                "load",
                "sync",
                "{ratio:.3g} times its synchronisation error under load",
                *(0.75, 1.4),
                ideal=0.305 / 0.273,
            ),
            Compared("noise", "chatter", "at {ratio:.3g} times its chatter under noise", least=1.2, ideal=1.45),
        ),
    ),
)
