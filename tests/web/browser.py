"""A flight, its dashboard and a browser in front of it, as a person has them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Locator, Page, Playwright, expect
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from aeroloop.flight.results import LOG
from aeroloop.recording.log import Log, read

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",  # tests may run as root
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",  # a busy machine draws slowly, which is no reason to give up drawing
    "--disable-domain-blocking-for-3d-apis",
)
DESKTOP, PHONE = (1280, 900), (390, 844)
HANG_S = 120.0
PATIENCE_MS = 120_000
OPEN_MS = (2_000, 5_000, 10_000, 20_000, PATIENCE_MS)
"""How long a list of options may take to open before it is clicked again: a list that the page closed stays closed."""
SHOT_MS = 120_000  # drawn without a graphics card
STATE = """() => ({
    t: document.querySelector('header [data-testid=time]')?.innerText,
    connected: window.socket?.connected,
    seen: document.visibilityState,
    context_lost: [...document.querySelectorAll('canvas')].map(each => each.getContext('webgl2')?.isContextLost()),
})"""
expect.set_options(timeout=PATIENCE_MS)


def until(happens: Callable[[], Any], within_s: float, what: str) -> Any:
    """Poll until `happens()` is truthy, and hand that on."""
    deadline_s = time.monotonic() + within_s
    while not (result := happens()):
        assert time.monotonic() < deadline_s, f"{what}: not within {within_s:g} s"
        time.sleep(0.05)
    return result


def launch(playwright: Playwright) -> Browser:
    """The system's own browser: none is ever fetched."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, f"no browser, expected one of: {', '.join(BROWSERS)}"
    return playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))


def place(log: Log, stream: str, t_s: float) -> NDArray[np.float64]:
    """Where an aircraft was: east, north, up in m."""
    row = min(int(np.searchsorted(log.column(stream, "t_s"), t_s)), len(log.rows[stream]) - 1)
    return np.array([log.column(stream, name)[row] for name in ("x_m", "y_m", "z_m")])


class Command:
    """An `aeroloop` command in the background, and all that it says."""

    def __init__(self, module: str, arguments: tuple[str, ...], folder: Path, env: dict[str, str], name: str) -> None:
        self._said = folder / f"{name}.txt"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def says(self, pattern: str) -> re.Match[str]:
        found = until(
            lambda: re.search(pattern, self.said) or self.process.poll() is not None,
            HANG_S,
            f"{pattern!r}\n{self.said}",
        )
        assert isinstance(found, re.Match), self.said
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Flight(Command):
    def __init__(self, arguments: tuple[str, ...], folder: Path, env: dict[str, str], name: str) -> None:
        self.folder = folder / "runs" / name
        out = ("--out", str(self.folder))
        super().__init__("aeroloop.cli", ("fly", *arguments, *out), folder, env, f"{name}-flight")

    def log(self) -> Log:
        """Of a flight that has ended."""
        assert self.process.poll() is not None
        return read(self.folder / LOG)


class Watcher:
    """One browser window; it remembers what a person would not see: errors, and requests to other machines."""

    def __init__(self, browser: Browser, url: str, size: tuple[int, int], dark: bool) -> None:
        self._url = url
        self.errors: list[str] = []
        self.strangers: list[str] = []
        width, height = size
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda told: self.errors.append(told.text) if told.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: self._note(asked.url))
        self.page.on("websocket", lambda socket: self._note(socket.url))

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self._url).netloc:
            self.strangers.append(url)

    def open(self, path: str) -> Page:
        """Until the page's own connection stands: before it, a click goes nowhere."""
        self.page.goto(self._url.rstrip("/") + path)
        self.page.wait_for_function("() => window.socket && window.socket.connected")
        return self.page

    def find(self, testid: str) -> Locator:
        """Of the page itself; the frame around it shows some of the same."""
        return self.page.locator(".al-page").get_by_test_id(testid)

    def head(self, testid: str) -> Locator:
        """Of the frame."""
        return self.page.locator("header").get_by_test_id(testid)

    def choose(self, select: Locator, option: Locator) -> None:
        """Open a list and pick an option; a list that closed before it was picked from is opened again."""
        for patience_ms in OPEN_MS:
            select.click()
            try:
                option.click(timeout=patience_ms)
            except PlaywrightTimeout as timeout:
                late = timeout
            else:
                return
        raise late

    def option(self, name: str) -> Locator:
        return self.page.get_by_role("option", name=name, exact=True)

    def map_pixel(self, east_m: float, north_m: float) -> tuple[float, float]:
        """Where a place is drawn on the map."""
        told = self.find("map").locator("svg").get_attribute("data-view") or ""
        middle_east_m, middle_north_m, m_per_px, width_px, height_px = map(float, told.split())
        return (
            width_px / 2 + (east_m - middle_east_m) / m_per_px,
            height_px / 2 - (north_m - middle_north_m) / m_per_px,
        )

    def stall(self) -> None:
        """Cut the page's connection, and wait until it stands again."""
        self.page.evaluate(
            """() => new Promise(done => {
                window.loaded_once = true;
                window.socket.once('connect', () => done());
                window.socket.io.engine.close();
            })"""
        )

    @property
    def loaded_anew(self) -> bool:
        """Since it was stalled."""
        return not self.page.evaluate("window.loaded_once === true")

    def clock_s(self) -> float:
        """Simulated time, as the frame shows it."""
        return float(self.head("time").inner_text().removesuffix(" s"))

    def fly_on(self, seconds: float) -> None:
        """Wait until the frame shows that so much of the flight has gone by: on a busy machine that may take longer."""
        self.page.wait_for_function(
            "end => parseFloat(document.querySelector('header [data-testid=time]').innerText) > end",
            arg=self.clock_s() + seconds,
        )

    def overflow_px(self) -> int:
        """By how much the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def shot(self, name: str, whole: bool = False) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=whole, timeout=SHOT_MS)
        return path

    def state(self) -> str:
        """For a test that failed: whether page, connection and 3D view are alive, and what went wrong in it."""
        with suppress(PlaywrightError):  # a window that was closed
            return f"{self.page.url} {self.page.evaluate(STATE)} {self.errors}"
        return "closed"

    def assert_clean(self) -> None:
        """Since the last time."""
        errors, self.errors = self.errors, []
        strangers, self.strangers = self.strangers, []
        assert not errors, errors
        assert not strangers, strangers


class Desk:
    """A folder and a runtime folder of its own, so that no other flight of this machine is seen."""

    def __init__(self, folder: Path, runtime: Path, browser: Browser) -> None:
        self._folder, self._runtime, self._browser = folder, runtime, browser
        self._env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self._started: list[Command] = []
        self._watchers: list[Watcher] = []
        self.url = ""

    @property
    def runtime(self) -> Path:
        return self._runtime

    def fly(self, name: str, *arguments: str) -> Flight:
        flight = Flight(arguments, self._folder, self._env, name)
        self._started.append(flight)
        return flight

    def route(self, name: str, *endpoints: str) -> Command:
        """A router that stands alone."""
        table = [f'name = "{name}"']
        for each in endpoints:
            table += ["[[endpoints]]", f'name = "{each}"', f'url = "loopback://{self._runtime}/{each}.sock?listen"']
        (self._folder / "router.toml").write_text("\n".join(table))
        router = Command("aeroloop.cli", ("route", "router.toml"), self._folder, self._env, "router")
        self._started.append(router)
        return router

    def serve(self, *more: str) -> str:
        """Start the dashboard; its address, without a token."""
        arguments = ("--port", "0", "--no-open", "--runs", str(self._folder / "runs"), *more)
        dashboard = Command("aeroloop.cli.dash_commands", arguments, self._folder, self._env, "dashboard")
        self._started.append(dashboard)
        self.url = dashboard.says(r"dashboard: (http://[^\s?]+)")[1]
        return self.url

    def watch(self, size: tuple[int, int] = DESKTOP, dark: bool = False) -> Watcher:
        watcher = Watcher(self._browser, self.url, size, dark)
        self._watchers.append(watcher)
        return watcher

    def said(self) -> str:
        """All that the commands have said, for a test that failed."""
        return "\n".join(f"--- {command.process.args}\n{command.said}" for command in self._started)

    def states(self) -> str:
        """Of every window, for a test that failed."""
        return "\n".join(watcher.state() for watcher in self._watchers)

    def shots(self, name: str) -> list[str]:
        """Of every window that is open, for a test that failed."""
        found = []
        for number, watcher in enumerate(self._watchers):
            with suppress(PlaywrightError):  # a window that was closed
                found.append(str(watcher.shot(f"{name}-{number}")))
        return found

    def clear(self, watchers: int = 0, commands: int = 0) -> None:
        """Close the windows and end the commands after so many: a window that nobody looks at goes on drawing, which
        costs a core without a graphics card, and a flight that a failed test left would be shown to the next one."""
        for watcher in self._watchers[watchers:]:
            watcher.context.close()
        for command in reversed(self._started[commands:]):  # the dashboard before the flights
            command.end()
        del self._watchers[watchers:], self._started[commands:]

    @property
    def at_work(self) -> tuple[int, int]:
        """How many windows and commands there are."""
        return len(self._watchers), len(self._started)

    def end(self) -> None:
        self.clear()
