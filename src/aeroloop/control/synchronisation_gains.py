"""Gains of the synchronisation law (`control.synchronisation`): defaults for rotors and joints, the controllers that
are settings of it, and the table of a scenario.

`pid` has the same gain at high frequency, the same filters, anti-windup and limits as `smc`. `pid-equal` has its gain
raised until it chatters as much under noise as `smc-sync-pidnn`; `pid-high` has the network's largest gain everywhere.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from aeroloop.control.synchronisation import WEIGHT_MAX, Coupling
from aeroloop.core.config import Config, meta, note

LawName = Literal["none", "pid", "pid-ff", "pid-equal", "pid-high", "smc", "smc-sync", "smc-sync-pidnn"]


class Gains(NamedTuple):
    """In the order of the law's input (`control.synchronisation.GAINS`)."""

    lam: float
    k: float
    phi: float
    q: float
    beta: float
    gs: float
    sn: float
    ti: float
    td: float
    eta: float
    gam: float
    dz: float
    w0_p: float
    w0_i: float
    w0_d: float
    imax: float
    feedforward: float


ROTOR = Gains(
    *(8.0, 20000.0, 20000.0 / 60.0, 0.0, 1.0, 80.0, 150.0, 0.05, 0.004),
    *(150.0, 3.0, 0.02, 0.2, 0.2, 0.0, 1000.0, 1.0),
)
"""Speeds in rad/s, at 2 ms or 4 ms."""
JOINT = Gains(
    *(30.0, 160.0, 4.0, 0.0, 1.0, 60.0, 0.5, 0.08, 0.004),
    *(150.0, 3.0, 0.02, 0.2, 0.2, 0.0, 0.05, 1.0),
)
"""Angles in rad, at 1 ms."""


class Poles(NamedTuple):
    """lam and q of a linear controller."""

    lam: float
    q: float


ROTOR_POLES = {"pid": Poles(8.0, 60.0), "pid-equal": Poles(8.0, 124.0), "pid-high": Poles(8.0, 200.0)}
JOINT_POLES = {"pid": Poles(100 / 3, 100 / 3), "pid-equal": Poles(45.12, 45.12), "pid-high": Poles(63.3, 63.3)}
"""Triple poles."""


def of_law(name: LawName, full: Gains, poles: dict[str, Poles]) -> Gains:
    """The gains of a controller from those of `smc-sync-pidnn`."""
    if name.startswith("pid"):
        lam, q = poles.get(name, poles["pid"])
        linear = full._replace(lam=lam, k=0.0, q=q, beta=0.0, gs=0.0)
        return linear._replace(feedforward=0.0) if name == "pid" else linear
    return {
        "smc": full._replace(beta=0.0, gs=0.0),
        "smc-sync": full._replace(gs=0.0),
        "smc-sync-pidnn": full,
    }[name]


Positive = Annotated[float, meta("-", "positive", gt=0)]
NotNegative = Annotated[float, meta("-", "0 or more", ge=0)]


class SynchronisationTable(Config, frozen=True):
    """Law that makes the actuators follow their setpoints together. Gains that are left out have the defaults of the
    plant and the law."""

    law: Annotated[
        LawName,
        note(
            "`none`: no feedback; `pid`, `pid-ff` (with feed-forward), `pid-equal`, `pid-high`; `smc`: sliding mode; "
            "`smc-sync`: with coupled errors; `smc-sync-pidnn`: with the PID neural networks"
        ),
    ] = "none"
    coupling: Annotated[Coupling, note("errors coupled by their mean, or with the neighbours in a ring")] = "mean"
    certified: Annotated[
        bool,
        note(
            "refuse a law whose loop is unstable at any corner of the plant's range; `false`: fly it all the same, "
            "as `pid-high` on a robot's joints"
        ),
    ] = True
    lam: Annotated[NotNegative | None, meta("1/s", "pole of the sliding surface")] = None
    k: Annotated[NotNegative | None, meta("of the acceleration", "largest push towards the surface")] = None
    phi: Annotated[Positive | None, meta("of the surface", "half width of the boundary layer")] = None
    q: Annotated[NotNegative | None, meta("1/s", "push per distance from the surface, without a bound")] = None
    beta: Annotated[NotNegative | None, meta("-", "weight of the differences between the axes in the surface")] = None
    gs: Annotated[NotNegative | None, meta("1/s", "gain of the networks; 0: none")] = None
    sn: Annotated[Positive | None, meta("of the surface", "difference that is 1 at a network's input")] = None
    ti: Annotated[Positive | None, meta("s", "time constant of the I neuron")] = None
    td: Annotated[NotNegative | None, meta("s", "time constant of the D neuron")] = None
    eta: Annotated[NotNegative | None, meta("1/s", "learning rate")] = None
    gam: Annotated[NotNegative | None, meta("1/s", "leak of the weights to w0")] = None
    dz: Annotated[NotNegative | None, meta("-", "network input below which nothing is learnt")] = None
    w0: Annotated[tuple[NotNegative, NotNegative, NotNegative] | None, meta("-", "weights P, I and D at the start")] = (
        None
    )
    imax: Annotated[NotNegative | None, meta("of the axis, s", "bound of the integrals")] = None

    def __post_init__(self) -> None:
        for weight, most, name in zip(self.w0 or (), WEIGHT_MAX, "PID", strict=False):
            if weight > most:
                raise ValueError(f"w0: expected a weight {name} from 0 to {most:g}, not {weight:g}")
        if self.w0 is not None and self.w0[1] == 0.0 and self.gs != 0.0:
            raise ValueError("w0: expected a weight I above 0; at 0 the leak empties it and the errors oscillate")

    def gains(self, full: Gains, poles: dict[str, Poles]) -> Gains:
        """The law's gains, with the defaults of the plant."""
        weights = dict(zip(("w0_p", "w0_i", "w0_d"), self.w0 or (), strict=False))
        own = {key: getattr(self, key) for key in Gains._fields if getattr(self, key, None) is not None}
        return of_law(self.law, full, poles)._replace(**own, **weights)
