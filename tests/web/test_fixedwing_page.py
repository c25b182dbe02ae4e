"""A fixed wing that finds its way, watched from the page: its plan on the map, its steps, and the aircraft in 3D."""

from __future__ import annotations

import re
from contextlib import suppress

from browser import PHONE, Desk, Watcher
from playwright.sync_api import expect

from aeroloop.core.wing_signals import PlanStatus, Step, UserAnswer, UserCommand

FLIGHT = ("fixedwing-hierarchical", "--no-report", "--pace", "8x", "--set", "mission.command_at_s=4")
STAYS = ("--set", "mission.linger_s=1200")  # at the goal, for a machine on which all this takes long
CHOSEN = re.compile(r"^goal -?\d+, -?\d+ m$")
TRIES, TRY_MS = 10, 5000
LETTER = re.compile("^[A-I]$")
SOME = re.compile(r"^[1-9]\d*$")
DRAWN = re.compile(r"^M.*z$")
SEEN = """() => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const craft = [...view.objects.values()].find(each => each.component?.rotors)?.component;
    return craft?.mesh.visible && craft.hinges.length === 4 && craft.rotors[0].angle !== 0;
}"""


def test_its_plan_and_path_are_seen_on_the_map_as_it_flies(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("wing", *FLIGHT, *STAYS)
    watcher = desk.watch()
    watcher.open("/fly")
    expect(watcher.find("way-letter")).to_have_text(LETTER)
    letter = watcher.find("way-letter").inner_text()
    see_the_plan(watcher)
    expect(watcher.find("way-letter")).not_to_have_text(letter)
    expect(watcher.find("no-processor")).to_be_visible()  # on rung mil there is none
    operate(watcher)
    watcher.shot("fly-wing")
    look_closely(watcher)
    see_it_on_a_phone(watcher)
    watcher.assert_clean()
    flight.end()
    log = flight.log()
    assert Step.LEAVE in log.column("mission_step", "step")
    assert log.column("plan", "status")[0] == PlanStatus.FOUND
    assert log.column("user_command", "command").tolist() == [
        UserCommand.READ,
        UserCommand.SET,
        UserCommand.SET,
        UserCommand.GOAL,
    ]
    assert log.column("user_answer", "answer").tolist()[:3] == [
        UserAnswer.ACCEPTED,
        UserAnswer.ACCEPTED,
        UserAnswer.OUTSIDE_LIMITS,
    ]


def see_the_plan(watcher: Watcher) -> None:
    """The channel, the cells to the goal, the goal, and then the way onto the path."""
    expect(watcher.find("way-channel")).to_have_attribute("data-cells", SOME)
    expect(watcher.find("way-channel")).to_have_attribute("d", DRAWN)
    expect(watcher.find("way-coarse")).to_have_attribute("data-cells", SOME)
    expect(watcher.find("way-goal")).to_have_count(1)
    expect(watcher.find("way-path").nth(1)).to_have_attribute("points", re.compile(r"\d"))
    expect(watcher.page.locator(".map-trail[points]")).to_have_count(1)
    assert watcher.overflow_px() == 0


def operate(watcher: Watcher) -> None:
    """Parameters are read, set and refused, and a click on the map is a goal; what is shown, the board has said."""
    expect(watcher.find("op-airspeed_m_s")).to_contain_text("–")
    watcher.find("op-read").click()
    expect(watcher.find("op-airspeed_m_s").locator("b")).to_have_text("20")
    for value, last, shown in (("21", "accepted", "21"), ("50", "outside the parameter's limits", "21")):
        watcher.find("op-value").fill(value)
        watcher.find("op-set").click()
        expect(watcher.find("op-last")).to_contain_text(f"airspeed_m_s = {value}")
        expect(watcher.find("op-last")).to_contain_text(last)
        expect(watcher.find("op-airspeed_m_s").locator("b")).to_have_text(shown)
    expect(watcher.find("op-fly-there")).to_be_hidden()
    choose_a_goal(watcher)
    watcher.find("op-fly-there").click()
    expect(watcher.find("op-last")).to_contain_text(re.compile(r"^goal -?\d+, -?\d+: (accepted|refused)"))
    assert watcher.overflow_px() <= 0


def choose_a_goal(watcher: Watcher) -> None:
    """Again where the page was loaded anew meanwhile: what is chosen but not sent is then forgotten."""
    flight_map = watcher.page.locator(".flight-map")
    for _ in range(TRIES):
        size = flight_map.bounding_box()
        assert size is not None
        flight_map.click(position={"x": 0.27 * size["width"], "y": 0.34 * size["height"]})
        with suppress(AssertionError):
            expect(watcher.find("op-goal")).to_have_text(CHOSEN, timeout=TRY_MS)
            return
    expect(watcher.find("op-goal")).to_have_text(CHOSEN)


def look_closely(watcher: Watcher) -> None:
    """The close look is at the channel: its cells are drawn larger."""
    size = "path => Number(path.getAttribute('d').match(/h([\\d.]+)/)[1])"
    before_px = watcher.find("way-channel").evaluate(size)
    watcher.find("map-near").click()
    watcher.page.wait_for_function(
        f"before => ({size})(document.querySelector('[data-testid=way-channel]')) > 1.5 * before", arg=before_px
    )
    watcher.shot("fly-wing-close")


def see_it_on_a_phone(watcher: Watcher) -> None:
    """Map and 3D view, in the dark."""
    watcher.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    watcher.page.emulate_media(color_scheme="dark")
    watcher.find("map-fit").click()
    watcher.page.mouse.move(PHONE[0] / 2, PHONE[1] / 2)  # no tip in the picture
    expect(watcher.find("way-channel")).to_have_attribute("d", DRAWN)
    assert watcher.overflow_px() <= 0
    watcher.shot("fly-wing-phone-dark", whole=True)
    watcher.open("/")
    expect(watcher.find("fact-airspeed")).to_contain_text("m/s")
    expect(watcher.find("fact-mode")).to_have_text(re.compile(r"^[A-I] "))
    watcher.page.wait_for_function(SEEN)
    watcher.shot("view-wing-phone-dark")
