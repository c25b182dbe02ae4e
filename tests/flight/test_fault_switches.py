"""Faults that are switched in flight: sensors, what is offered, and the words for it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from failing_sensors import FailingSuite
from fault_orders import MS, Wire, order
from sensor_scenes import AIR, PLACE, seconds, state

from aeroloop.controllers.pixhawk.log import PixhawkLog
from aeroloop.controllers.pixhawk.virtual_pixhawk import parameters
from aeroloop.core import fault_offers
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.faults import ACTUATOR_TARGETS, KINDS, LARGEST, LINE_TARGETS, TARGETS, PlannedFault, Switch
from aeroloop.core.impairment import Impairment
from aeroloop.core.parameter_numbers import by_number
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Truth
from aeroloop.core.text_rows import text_of
from aeroloop.exchanges.hil_samples import gathered
from aeroloop.exchanges.link_faults import LinkFaults
from aeroloop.families.multirotor.analysis.summary import PARAMETERS, change_words
from aeroloop.families.tiltrotor.scenario import TiltrotorTables
from aeroloop.flight.live_control import LiveControl
from aeroloop.links.impair import Impaired
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.sensors import state as state_module
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.state import StateSensors
from aeroloop.sensors.state import TiltrotorSensors as StateConfig
from aeroloop.sensors.suite import Sample, Suite, preset
from aeroloop.sim.loop import Craft
from aeroloop.sim.pace import Pace
from aeroloop.world.earth import Earth, Home

HOVER = state(pos_W=(0.0, 0.0, 5.0))
TRUTH = Truth(0, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3), (0.0, 0.0, 0.0), (0.1, 0.1), (0.0, 0.0))


def fly(orders: dict[float, Switch], until_s: float = 4.0, faults: tuple[PlannedFault, ...] = ()) -> list[Sample]:
    suite = FailingSuite(preset("px4"), Streams(1), faults)
    waiting = sorted(orders.items(), key=lambda item: item[0])
    heard: list[Sample] = []
    while suite.next_ns < seconds(until_s):
        while waiting and suite.next_ns >= seconds(waiting[0][0]):
            suite.switch(waiting.pop(0)[1])
        heard += suite.sample(HOVER._replace(t_ns=suite.next_ns), AIR, PLACE)
    return heard


def of(samples: list[Sample], name: str) -> list[Any]:
    return [sample for sample in samples if type(sample).__name__.lower() == f"{name}sample"]


def test_a_silent_sensor_is_heard_again_as_if_nothing_had_been() -> None:
    plain, cut = fly({}), fly({1.0: order("magnetometer", "silent"), 3.0: order("magnetometer", "silent", False)})
    heard = [sample.t_ns for sample in of(cut, "magnetometer")]
    kept = set(map(repr, cut))
    missing = [sample for sample in plain if repr(sample) not in kept]
    assert missing == [s for s in of(plain, "magnetometer") if s.t_ns not in heard]
    assert {sample.t_ns // seconds(1.0) for sample in missing} == {1, 2}
    assert len(missing) + len(cut) == len(plain), "nothing is new"


def test_a_frozen_sensor_freezes_to_what_it_measures_now_each_time() -> None:
    on, off = order("barometer", "frozen"), order("barometer", "frozen", False)
    flown = of(fly({1.0: on, 2.0: off, 3.0: on}), "barometer")
    fresh = [sample.pressure_Pa for sample in of(fly({}), "barometer") if sample.t_ns >= seconds(3.0)]
    first = {sample.pressure_Pa for sample in flown if seconds(1.0) <= sample.t_ns < seconds(2.0)}
    second = {sample.pressure_Pa for sample in flown if sample.t_ns >= seconds(3.0)}
    between = {sample.pressure_Pa for sample in flown if seconds(2.0) <= sample.t_ns < seconds(3.0)}
    assert len(first) == 1
    assert second == {fresh[0]}
    assert len(between) > 10


def test_a_bias_by_hand_takes_the_place_of_a_planned_one_and_noise_adds_to_another_channel() -> None:
    planned = PlannedFault(target="imu", kind="bias", from_s=0.5, channel="accel", value=1.0)
    bias = order("imu", "bias", channel="accel", value=(0.0, 2.0, 0.0))
    off = order("imu", "bias", False, channel="accel")
    plain = of(fly({}), "imu")
    worn = of(fly({1.0: bias, 2.0: off, 3.0: order("imu", "noise", value=0.5)}, faults=(planned,)), "imu")
    added = np.array([np.subtract(w.accel_B, p.accel_B) for w, p in zip(worn, plain, strict=True)])
    t_s = np.array([p.t_ns for p in plain]) / 1e9
    assert added[(t_s > 1.0) & (t_s < 2.0)] == pytest.approx(np.array([[0.0, 2.0, 0.0]] * 249), abs=1e-9)
    assert added[(t_s > 0.5) & (t_s < 1.0)] == pytest.approx(1.0, abs=1e-9)
    assert not added[t_s > 2.0].any()
    turned = np.array([np.subtract(w.rate_B, p.rate_B) for w, p in zip(worn, plain, strict=True)])
    assert np.all(turned[t_s < 3.0] == 0.0)
    assert turned[t_s > 3.0].std() == pytest.approx(0.5, rel=0.1)


def test_a_planned_fault_can_be_switched_off_by_hand() -> None:
    planned = PlannedFault(target="barometer", kind="silent", from_s=1.0, to_s=3.0)
    orders = {2.0: order("barometer", "silent", False)}
    heard_s = [sample.t_ns / 1e9 for sample in of(fly(orders, faults=(planned,)), "barometer")]
    assert max(t_s for t_s in heard_s if t_s < 1.5) < 1.0
    assert min(t_s for t_s in heard_s if t_s > 1.5) == pytest.approx(2.0, abs=0.03)


def test_frozen_then_silent_then_heard_is_still_frozen() -> None:
    orders = {1.0: order("barometer", "frozen"), 1.5: order("barometer", "silent")}
    orders |= {2.0: order("barometer", "silent", False), 3.0: order("barometer", "frozen", False)}
    flown, plain = of(fly(orders), "barometer"), of(fly({}), "barometer")
    before, after = ({s.pressure_Pa for s in flown if a <= s.t_ns / 1e9 < b} for a, b in ((1.0, 1.5), (2.0, 3.0)))
    assert len(before) == 1 and before == after
    assert not [s for s in flown if 1.5 <= s.t_ns / 1e9 < 2.0]
    assert [s for s in flown if s.t_ns >= seconds(3.0)] == [s for s in plain if s.t_ns >= seconds(3.0)]


def test_bias_and_noise_on_one_channel_are_both_there_and_go_one_by_one() -> None:
    bias, noise = (order("imu", kind, channel="accel", value=value) for kind, value in (("bias", 3.0), ("noise", 0.5)))
    orders = {1.0: bias, 1.01: noise, 2.0: order("imu", "bias", False, channel="accel")}
    orders |= {3.0: order("imu", "noise", False, channel="accel")}
    worn, plain = of(fly(orders), "imu"), of(fly({}), "imu")
    t_s = np.array([p.t_ns for p in plain]) / 1e9
    added = np.array([np.subtract(w.accel_B, p.accel_B) for w, p in zip(worn, plain, strict=True)])
    both, noisy = added[(t_s > 1.02) & (t_s < 2.0)], added[(t_s > 2.0) & (t_s < 3.0)]
    assert both.mean() == pytest.approx(3.0, abs=0.1) and both.std() == pytest.approx(0.5, rel=0.1)
    assert noisy.mean() == pytest.approx(0.0, abs=0.1) and noisy.std() == pytest.approx(0.5, rel=0.1)
    assert not added[(t_s < 1.0) | (t_s > 3.0)].any()


def test_a_fault_that_no_sample_met_leaves_no_trace() -> None:
    suite = Suite(preset("px4"), Streams(1))
    barometer = next(post for post in suite._posts if post.name == "barometer")
    barometer.switch(order("barometer", "silent"))
    barometer.switch(order("barometer", "silent", False))
    while suite.next_ns < seconds(1.0):
        suite.sample(HOVER._replace(t_ns=suite.next_ns), AIR, PLACE)
    assert barometer._fault_free, "it costs no more than before"


def test_a_bias_that_is_switched_off_is_gone() -> None:
    orders = {1.0: order("barometer", "bias", value=50.0), 2.0: order("barometer", "bias", False)}
    pairs = zip(of(fly(orders), "barometer"), of(fly({}), "barometer"), strict=True)
    wrong_s = [plain.t_ns / 1e9 for worn, plain in pairs if worn != plain]
    assert min(wrong_s) == pytest.approx(1.0, abs=0.03)
    assert max(wrong_s) == pytest.approx(2.0, abs=0.03)


def test_what_the_aircraft_has_not_cannot_fail() -> None:
    suite = Suite(msgspec.structs.replace(preset("px4"), airspeed=None), Streams(1))
    with pytest.raises(ConfigError, match="no such sensor"):
        suite.switch(order("airspeed", "silent"))
    with pytest.raises(ConfigError, match="unknown channel 'rate', expected one of: gyro, accel"):
        suite.switch(order("imu", "bias", channel="rate", value=1.0))
    with pytest.raises(ConfigError, match="has 1 axis"):
        suite.switch(order("barometer", "bias", value=(1.0, 1.0, 1.0)))


def test_the_state_sensors_fail_by_channel_and_recover_unchanged() -> None:
    config = StateConfig(pos_std_m=0.01)
    plain, worn = (StateSensors(config, np.random.default_rng(1)) for _ in range(2))

    def both() -> tuple[list[float], list[float] | None]:
        clean, other = plain.sample(TRUTH), worn.sample(TRUTH)
        assert clean is not None
        return list(clean), other if other is None else list(other)

    assert worn.switch(order("state", "bias", channel="velocity", value=(1.0, 0.0, 0.0))).channel == 3
    assert worn.switch(order("state", "noise", channel="tilt", value=0.5)).values == (0.5, 0.5)
    clean, other = both()
    assert other is not None
    assert [i for i, (a, b) in enumerate(zip(clean, other, strict=True)) if a != b] == [6, 7, 8]
    assert other[8] == clean[8] + 1.0
    worn.switch(order("state", "frozen"))
    frozen = [both()[1] for _ in range(3)]
    assert frozen[0] == frozen[1] == frozen[2]
    worn.switch(order("state", "silent"))
    assert both()[1] is None
    for kind, channel in (("silent", ""), ("frozen", ""), ("bias", "velocity"), ("noise", "tilt")):
        worn.switch(order("state", kind, False, channel=channel))
    clean, other = both()
    assert clean == other
    with pytest.raises(ConfigError, match="unknown channel"):
        worn.switch(order("state", "bias", channel="gyro", value=1.0))
    with pytest.raises(ConfigError, match="only one sensor, `state`"):
        worn.switch(order("imu", "silent"))


class Port:
    def __init__(self, *orders: Switch) -> None:
        self.orders, self.refused = list(orders), 0

    def poll(self) -> list[Switch]:
        orders, self.orders = self.orders, []
        return orders


class Desked:
    """An aircraft with sensors alone."""

    def __init__(self) -> None:
        self.t_ns, self.step_ns, self.rows = 0, 4 * MS, []  # type: ignore[var-annotated]
        self.switch, self.note_fault = Suite(preset("px4"), Streams(1)).switch, self.rows.append


def test_the_desk_writes_down_what_was_done_and_says_what_was_not() -> None:
    vehicle: Any = Desked()
    craft, port, notices, changed = Craft(vehicle, (), 10**9), Port(), [], []  # type: ignore[var-annotated]
    desk = LiveControl(
        port,  # type: ignore[arg-type]
        [craft],
        Pace(vehicle.step_ns, lockstep=True),
        notice=notices.append,
        changed=changed.append,
    )
    desk.attend()
    port.orders = [order("imu", "bias", channel="accel", value=0.5), order("imu", "bias", False, channel="accel")]
    port.orders += [order("imu", "noise", channel="none", value=1.0)] * 100
    port.refused = 3
    desk.attend()
    desk.attend()
    assert vehicle.rows == [], "not before the next step"
    vehicle.t_ns = vehicle.step_ns
    craft.switch_planned()
    imu, bias = TARGETS.index("imu"), KINDS.index("bias")
    assert vehicle.rows == [(imu, bias, True, 1, 0.5, 0.5, 0.5), (imu, bias, False, 1, 0.0, 0.0, 0.0)]
    assert len(notices) == 8 + 1, "a flood of bad orders is no flood of words"
    assert [fault_offers.words(row) for row in vehicle.rows] == [
        "IMU: bias of the specific force 0.5 m/s2 on",
        "IMU: bias of the specific force off",
    ]
    entry = {"target": "imu", "kind": "bias", "vehicle": 0, "channel": "accel", "from_s": 0.004}
    assert changed == [
        {"faults": {**entry, "value": 0.5, "manual": "on"}},
        {"faults": {**entry, "value": 0.0, "manual": "off"}},
    ]


@pytest.mark.parametrize("name", ["tiltrotor-spiral", "quad-hover"])
@pytest.mark.parametrize("pace", ["lockstep", "real"])
def test_whatever_is_offered_works(name: str, pace: str) -> None:
    scenario = load(find(name), overrides=(f"pace={pace}",))
    tiltrotor = isinstance(scenario.aircraft, TiltrotorTables)
    sensors: Any = StateSensors(StateConfig(), np.random.default_rng(1)) if tiltrotor else None
    if sensors is None:
        sensors = Suite(scenario.aircraft.aboard, Streams(1))  # type: ignore[attr-defined]
    link = Impaired(Wire(), inbound=Impairment(), outbound=Impairment(), clock_ns=lambda: 0, seed=1)
    worn, offered = LinkFaults(link, scenario.link), offers(scenario)
    assert len({(offer.target, offer.kind, offer.channels) for offer in offered}) == len(offered)
    assert any(offer.target in LINE_TARGETS for offer in offered) == (tiltrotor or pace == "real")
    for offer in offered:
        if offer.target in ACTUATOR_TARGETS:
            continue  # tests/flight/test_planned_faults.py flies them
        doer = worn if offer.target in LINE_TARGETS else sensors
        switched = doer.switch(offer.switch(on=True))
        spread = offer.kind == "clipped"  # one number for all axes
        assert len(switched.values) == (3 if spread else offer.axes)
        doer.switch(offer.switch(on=False))
        row = (TARGETS.index(offer.target), KINDS.index(offer.kind), 1.0, switched.channel, *switched.values, 0.0, 0.0)
        said = fault_offers.words(row[:7])
        assert said.endswith(" on")
        if offer.channels and offer.kind in ("bias", "noise"):
            assert said == f"{offer.words} {offer.value:g} {offer.unit} on"
    if tiltrotor:
        channels = {offer.channels[0] for offer in offered if offer.channels and offer.target == "state"}
        assert channels == set(state_module.CHANNELS)
    else:
        for post in sensors._posts:
            known = {o.channels[0] for o in offered if o.target == post.name and o.channels}
            assert known == set(post.instrument.channels)


def test_the_greatest_faults_still_fit_their_messages() -> None:
    """A person who moves a slider too far must not end the flight."""
    suite = Suite(preset("ideal"), Streams(1))
    out = hil.HilOut(MavlinkCounters(), 1, 1)
    for sign in (1.0, -1.0):
        for post in suite._posts:
            for channel in post.instrument.channels:
                suite.switch(order(post.name, "bias", channel=channel, value=sign * LARGEST))
                suite.switch(order(post.name, "noise", channel=channel, value=LARGEST))
        for _ in range(50):
            t_ns = suite.next_ns
            samples = suite.sample(HOVER._replace(t_ns=t_ns), AIR, PLACE)
            sample, fixes, ranges = gathered(t_ns, samples, without_imu=True)
            wire = [out.pack(hil.hil_gps(fix)) for fix in fixes] + [out.pack(hil.distance_sensor(r)) for r in ranges]
            assert sample is None or out.sensor(sample)
            assert all(wire)
    state_sensors = StateSensors(StateConfig(), np.random.default_rng(1))
    for channel in state_module.CHANNELS:
        state_sensors.switch(order("state", "bias", channel=channel, value=LARGEST))
    measured = state_sensors.sample(TRUTH)
    assert measured is not None
    assert math.isfinite(sum(measured))


def test_the_log_numbers_parameters_as_the_report_reads_them() -> None:
    assert tuple(by_number(parameters({}).names)) == PARAMETERS
    assert change_words(PARAMETERS.index("MC_ROLL_P"), 6.5, 7.0) == "MC_ROLL_P 6.5 -> 7"
    assert change_words(9999, 1.0, 2.0) == "parameter 9999 1 -> 2"


def test_parameters_changed_in_flight_and_texts_are_written_down() -> None:
    store = parameters({"MC_ROLL_P": 6.0})
    services = SimpleNamespace()
    navigation = SimpleNamespace(gate_alarms=0)
    pixhawk = SimpleNamespace(
        parameters=store,
        t_ns=seconds(2.5),
        telemetry_hz=lambda message: 1.0,
        services=services,
        navigation=navigation,
    )
    rows: list[tuple[float, ...]] = []
    texts: list[tuple[float, ...]] = []
    publish: dict[str, Any] = {
        "parameter_change": lambda *row: rows.append(row),
        "status_text": lambda *row: texts.append(row),
        "telemetry_count": lambda *row: None,
    }
    log = PixhawkLog(3, pixhawk, Earth(Home()), 250.0, 10.0, publish, lambda words: None)  # type: ignore[arg-type]
    assert log is not None
    assert rows == [], "what the scenario sets is no change in flight"
    for value in (7.0, 7.0, 6.5, 1e9):
        store.set("MC_ROLL_P", value)
    number = PARAMETERS.index("MC_ROLL_P")
    assert rows == [(2.5, number, 6.0, 7.0), (2.5, number, 7.0, 6.5)]
    services.on_text(seconds(3.5), 4, "Battery low")
    ((t_s, severity, *words),) = texts
    assert (t_s, severity, text_of(words)) == (3.5, 4, "Battery low")
