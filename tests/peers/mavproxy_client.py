"""MAVProxy as ground station, run as a program: connects, reads, uploads, flies and lands; a JSON line for every step.

    python mavproxy_client.py PORT [--limit SECONDS] [--steps connect,parameters,...]

MAVProxy itself is a second program whose prompt this one types at and whose answers it reads. The exit status is 0 if
every step was done. A step that fails is the last, and its line says why. Its command `mode` cannot name PX4's modes
(in 1.8.75 it hands a tuple to where one number belongs), so modes are set with `long`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

M_PER_DEG = 111_320.0
TAKEOFF_M = 5.0
MISSION_M = ((10.0, 0.0, 5.0), (10.0, 10.0, 8.0), (0.0, 10.0, 5.0))  # north and east of here, above home
ON_GROUND, IN_AIR = 1, 2
COMPLETE = 5
MODULES = "param,wp,arm,mode,misc,cmdlong,ftp"


class StepError(Exception):
    """A step did not come to its end."""


class Client:
    """Every method without an underscore is a step and returns what it found out."""

    def __init__(self, port: int, limit_s: float, folder: Path) -> None:
        self._limit_s = limit_s
        self._folder = folder
        self._text = ""
        self._program = subprocess.Popen(
            [
                *(sys.executable, "-u", "-m", "MAVProxy.mavproxy", f"--master=udpin:127.0.0.1:{port}"),
                *("--no-state", f"--default-modules={MODULES}"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        self._program.kill()
        self._program.wait()

    def connect(self) -> dict[str, Any]:
        system = int(self._wait(r"Detected vehicle (\d+):1\b")[1])
        return {"system": system, "mode": self._wait(r"Mode (\w+)")[1]}

    def parameters(self) -> dict[str, Any]:
        count = int(self._wait(r"Received (\d+) parameters")[1])
        before = self._ask("param show MIS_TAKEOFF_ALT", r"MIS_TAKEOFF_ALT +([\d.]+)")[1]
        self._set("MIS_TAKEOFF_ALT", TAKEOFF_M)
        self._set("NAV_DLL_ACT", 1)
        self._set("COM_DISARM_PRFLT", 600)  # counted in simulated time: a slow client must not be disarmed
        whole = self._ask("param show NAV_DLL_ACT", r"NAV_DLL_ACT +([\d.]+)")[1]
        after = self._ask("param show MIS_TAKEOFF_ALT", r"MIS_TAKEOFF_ALT +([\d.]+)")[1]
        return {"count": count, "takeoff_alt_m": [float(before), float(after)], "nav_dll_act": float(whole)}

    def upload(self) -> dict[str, Any]:
        lat_deg, lon_deg = (self._field("GLOBAL_POSITION_INT", name) / 1e7 for name in ("lat", "lon"))
        lines = ["QGC WPL 110"]
        for number, (north_m, east_m, height_m) in enumerate(MISSION_M):
            lat = lat_deg + north_m / M_PER_DEG
            lon = lon_deg + east_m / M_PER_DEG / math.cos(math.radians(lat_deg))
            lines.append(f"{number}\t0\t3\t16\t0\t1\t0\t0\t{lat:.7f}\t{lon:.7f}\t{height_m}\t1")
        plan = self._folder / "plan.txt"
        plan.write_text("\n".join(lines) + "\n")
        self._ask(f"wp load {plan}", r"Got MISSION_ACK: TYPE_MISSION: ACCEPTED")
        listed = self._ask("wp list", r"Requesting (\d+) waypoints")[1]
        self._wait(rf"(?:16 3 [^\n]*\n){{{len(MISSION_M)}}}")
        return {"sent": len(MISSION_M), "read_back": int(listed)}

    def arm(self) -> dict[str, Any]:
        """Until it is allowed: a fresh estimator needs a moment."""
        end = time.monotonic() + self._limit_s
        while "ACCEPTED" not in self._ask("arm throttle", r"COMPONENT_ARM_DISARM: (\w+)")[1]:
            if time.monotonic() > end:
                raise StepError(f"arming is refused: {self._text[-500:]}")
            time.sleep(0.5)
        self._wait(r"\bARMED")
        return {}

    def takeoff(self) -> dict[str, Any]:
        # 5 m is below the ground here: PX4 takes it as height above the sea, and then uses its parameter's height.
        self._ask(f"takeoff {TAKEOFF_M:g}", r"NAV_TAKEOFF: ACCEPTED")
        self._until("EXTENDED_SYS_STATE", "landed_state", lambda value: value == IN_AIR)
        self._until("GLOBAL_POSITION_INT", "relative_alt", lambda value: value > 900 * TAKEOFF_M)
        return {"height_m": self._field("GLOBAL_POSITION_INT", "relative_alt") / 1000}

    def mission(self) -> dict[str, Any]:
        self._ask("long MISSION_START 0 0", r"MISSION_START: ACCEPTED")
        self._until("MISSION_CURRENT", "mission_state", lambda value: value == COMPLETE)
        return {"reached": self._field("MISSION_ITEM_REACHED", "seq")}

    def hold(self) -> dict[str, Any]:
        self._ask("long DO_SET_MODE 1 4 3", r"DO_SET_MODE: ACCEPTED")
        self._until("HEARTBEAT", "custom_mode", lambda value: value == 4 << 16 | 3 << 24)
        return {}

    def land(self) -> dict[str, Any]:
        self._ask("long NAV_LAND", r"NAV_LAND: ACCEPTED")
        self._until("EXTENDED_SYS_STATE", "landed_state", lambda value: value == ON_GROUND)
        return {"height_m": self._field("GLOBAL_POSITION_INT", "relative_alt") / 1000}

    def disarm(self) -> dict[str, Any]:
        """By itself after landing, or now."""
        if self._field("HEARTBEAT", "base_mode") & 128:
            self._ask("disarm", r"COMPONENT_ARM_DISARM: ACCEPTED")
        self._until("HEARTBEAT", "base_mode", lambda value: not value & 128)
        return {}

    def _read(self) -> None:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            self._text += line.decode("utf-8", "replace")

    def _type(self, line: str) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(f"{line}\n".encode())
        self._program.stdin.flush()

    def _wait(self, pattern: str, after: int = 0) -> re.Match[str]:
        """What MAVProxy printed behind a place of its output."""
        end = time.monotonic() + self._limit_s
        while (found := re.compile(pattern).search(self._text, after)) is None:
            if time.monotonic() > end or self._program.poll() is not None:
                raise StepError(f"{pattern!r} not within {self._limit_s:g} s behind: {self._text[-500:]}")
            time.sleep(0.02)
        return found

    def _ask(self, line: str, pattern: str) -> re.Match[str]:
        after = len(self._text)
        self._type(line)
        return self._wait(pattern, after)

    def _set(self, name: str, value: float) -> None:
        """MAVProxy says nothing when it worked."""
        self._type(f"param set {name} {value:g}")
        end = time.monotonic() + self._limit_s
        while float(self._ask(f"param show {name}", rf"{name} +([\d.]+)")[1]) != value:
            if time.monotonic() > end:
                raise StepError(f"{name} is not {value:g}: {self._text[-500:]}")
            time.sleep(0.1)

    def _field(self, message: str, name: str) -> int:
        """Of the last message of that kind, as `status` prints it."""
        end = time.monotonic() + self._limit_s
        while time.monotonic() < end:
            after = len(self._text)
            self._type(f"status {message}")
            time.sleep(0.1)
            if found := re.compile(rf"{message} {{[^}}]*\b{name} : (-?\d+)").search(self._text, after):
                return int(found[1])
        raise StepError(f"no {message}.{name} within {self._limit_s:g} s")

    def _until(self, message: str, name: str, wanted: Any) -> None:
        end = time.monotonic() + self._limit_s
        while not wanted(value := self._field(message, name)):
            if time.monotonic() > end:
                raise StepError(f"{message}.{name} is {value} after {self._limit_s:g} s")


STEPS = ("connect", "parameters", "upload", "arm", "takeoff", "mission", "hold", "land", "disarm")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("port", type=int)
    arguments.add_argument("--limit", type=float, default=30.0, help="seconds that one step may take")
    arguments.add_argument("--steps", default=",".join(STEPS))
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client = Client(chosen.port, chosen.limit, Path(folder))
        try:
            for step in chosen.steps.split(","):
                try:
                    found = getattr(client, step)()
                except Exception as error:
                    text = f"{type(error).__name__}: {error}"
                    print(json.dumps({"step": step, "ok": False, "error": text}), flush=True)
                    return 1
                print(json.dumps({"step": step, "ok": True, **found}), flush=True)
        finally:
            client.close()
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that MAVProxy is ended too
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(1))
    signal.alarm(600)
    sys.exit(main())
