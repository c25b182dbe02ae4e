"""A mixed fleet on the page: the view draws every aircraft in one time, and the list of flights chooses among them."""

from __future__ import annotations

import pytest
from browser import HANG_S, Desk
from playwright.sync_api import expect

FLEET = ("mixed-fleet", "--no-report", "--pace", "real", "--set", "duration_s=600", "--set", "checks=[]")
SEEN = """count => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const crafts = [...view.objects.values()].map(each => each.component).filter(each => each?.rotors);
    return crafts.filter(each => each.mesh.visible).length === count;
}"""
AIRCRAFT = ("tiltrotor", "quadrotor", "hexarotor", "wing")


@pytest.mark.soak  # short: tests/dashboard shows fleets without a browser
def test_every_aircraft_of_a_fleet_is_seen_and_any_can_be_chosen(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("fleet", *FLEET)
    watcher = desk.watch()
    page = watcher.open("/")
    page.wait_for_function(SEEN, arg=len(AIRCRAFT), timeout=1000 * HANG_S)
    watcher.open("/fly")
    watcher.head("flight").click()
    options = page.get_by_role("option")
    expect(options).to_have_count(len(AIRCRAFT))
    for option, name in zip(options.all(), AIRCRAFT, strict=True):
        expect(option).to_contain_text(name)
    options.nth(3).click()
    expect(watcher.find("way-letter")).to_be_visible()  # of the fixed wing's page alone
    watcher.assert_clean()
    flight.end()
