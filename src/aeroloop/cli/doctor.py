"""Checks what this machine can do for a flight, and how to install what is missing.

Read only: whatever would change this process (priority, locked memory, loaded libraries) is tried in a short-lived
child. A probe that fails or hangs is a finding itself.
"""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import importlib.util
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from aeroloop import __version__
from aeroloop.core import paths
from aeroloop.core.camera import fitted

State = Literal["ok", "limited", "missing"]
Outcome = tuple[State, str, str]  # state, finding, remedy
Probe = Callable[[], Outcome]

PROBE_TIMEOUT_S = 5.0
CAMERA_TIMEOUT_S = 40.0  # renders frames
STYLES: dict[State, str] = {"ok": "green", "limited": "yellow", "missing": "red"}

STEP_S = 0.004  # a wake-up later than one plant step is a missed deadline
SLEEPS = 200
GOOD_CLOCKS = (
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
)  # read without a system call
SHM_NEEDED_B = 64 << 20
DISK_NEEDED_B = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: State
    found: str  # one line, with the numbers measured
    remedy: str  # a command or a sentence; empty if ok

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def examine() -> list[Finding]:
    return [
        bounded(name, probe, CAMERA_TIMEOUT_S if probe is _camera_frames else PROBE_TIMEOUT_S) for name, probe in PROBES
    ]


def render(findings: list[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What this machine can do")
    table.add_column("")
    table.add_column("part")
    table.add_column("found, and how to install what is missing", overflow="fold")
    for finding in findings:
        style = STYLES[finding.state]
        text = Text(finding.found)
        if finding.remedy:
            text.append(f"\n→ {finding.remedy}", style=style)
        table.add_row(Text(finding.state, style=style), finding.name, text)
    return table


def bounded(name: str, probe: Probe, timeout_s: float = PROBE_TIMEOUT_S) -> Finding:
    """Run one probe in a thread that may be abandoned, so that nothing here can fail or hang."""
    outcome: Outcome = (
        "limited",
        f"no answer within {timeout_s:g} s",
        "stop other programs, then try again",
    )

    def run() -> None:
        nonlocal outcome
        try:
            outcome = probe()
        except subprocess.TimeoutExpired:
            return
        except Exception as error:
            outcome = (
                "limited",
                f"could not be examined: {error!r}",
                "report this as a bug of aeroloop doctor",
            )

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return Finding(name, *outcome)


def _in_child(code: str) -> str:
    """Output of a fresh interpreter for `code`; the last line of its error output if it raises."""
    child = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
    )
    return (child.stdout or child.stderr).strip().rpartition("\n")[2]


def _first_line(*command: str) -> str:
    """First line of a program's version output."""
    child = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    return (child.stdout or child.stderr).partition("\n")[0].strip()


def _size(count_b: float) -> str:
    return f"{count_b / 2**30:.1f} GiB" if count_b >= 2**30 else f"{count_b / 2**20:.0f} MiB"


def _limit(kind: int) -> str:
    soft, _ = resource.getrlimit(kind)
    return "unlimited" if soft == resource.RLIM_INFINITY else str(soft)


def _python() -> Outcome:
    return "ok", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}", ""


def _package() -> Outcome:
    kind = "installed from a wheel" if paths.FROM_WHEEL else "a checkout"
    found = f"{__version__}, {kind}; scenarios, firmware and examples in {paths.SHARED}"
    lacking = [path.name for path in (paths.SCENARIOS, paths.FIRMWARE, paths.EXAMPLES) if not path.is_dir()]
    if lacking:
        remedy = "install it again: pip install --force-reinstall --no-deps aeroloop, or pip install -e CHECKOUT"
        return "limited", f"{found}, but no {' or '.join(lacking)} there", remedy
    return "ok", found, ""


def _cpu() -> Outcome:
    cores = len(os.sched_getaffinity(0))
    source_file = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = source_file.read_text().strip() if source_file.is_file() else "unknown"
    kernel = platform.release() + (" PREEMPT_RT" if Path("/sys/kernel/realtime").is_file() else "")
    found = f"{cores} cores, clock source {source}, kernel {kernel}"
    if cores < 2:
        return "limited", found, "plant and board need a core each in real time; lockstep does not"
    if source not in (*GOOD_CLOCKS, "unknown"):
        return (
            "limited",
            found,
            "reading this clock is slow; boot with clocksource=tsc if the processor allows it",
        )
    return "ok", found, ""


def _priority() -> Outcome:
    answer = _in_child(
        "import os\n"
        "try: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)); print('granted')\n"
        "except OSError as error: print('refused:', error.strerror)"
    )
    found = f"SCHED_FIFO {answer}, ulimit -r {_limit(resource.RLIMIT_RTPRIO)}"
    if answer == "granted":
        return "ok", found, ""
    return "limited", found, _limits_remedy("rtprio 90", "SYS_NICE")


def _locked_memory() -> Outcome:
    # The reservation is as large as a plant process and inaccessible: it counts as locked but uses no memory.
    answer = _in_child(
        "import ctypes, mmap, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "granted = libc.mlockall(3) == 0\n"
        "if granted: mmap.mmap(-1, 1 << 30, prot=0)\n"
        "print('granted' if granted else 'refused: ' + os.strerror(ctypes.get_errno()))"
    )
    found = f"mlockall {answer}, ulimit -l {_limit(resource.RLIMIT_MEMLOCK)} B"
    if answer == "granted":
        return "ok", found, ""
    return "limited", found, _limits_remedy("memlock unlimited", "IPC_LOCK")


def _limits_remedy(limit: str, capability: str) -> str:
    return (
        f'echo "$USER - {limit}" | sudo tee -a /etc/security/limits.d/aeroloop.conf, then log in again; '
        f"in a container: --cap-add {capability}"
    )


def _clock() -> Outcome:
    resolution_ns = time.clock_getres(time.CLOCK_MONOTONIC) * 1e9
    lateness_s = []
    for _ in range(SLEEPS):
        deadline = time.monotonic() + 0.001
        time.sleep(0.001)  # an absolute sleep on the monotonic clock
        lateness_s.append(time.monotonic() - deadline)
    median_s, worst_s = statistics.median(lateness_s), max(lateness_s)
    found = (
        f"resolution {resolution_ns:.0f} ns; wake-up late by {median_s * 1e6:.0f} us (median), "
        f"{worst_s * 1e6:.0f} us (worst of {SLEEPS})"
    )
    if worst_s > STEP_S:
        return (
            "limited",
            found,
            "stop other programs, or allow real-time priority, before flying with --pace real",
        )
    return "ok", found, ""


def _compiler() -> Outcome:
    remedy = "for the rung sil: sudo apt-get install gcc libc6-dev"
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return "missing", "no cc or gcc", remedy
    found = f"{_first_line(compiler, '--version')}, {compiler}"
    check = [compiler, "-x", "c", "-fsyntax-only", "-"]
    headers = subprocess.run(check, input=b"#include <math.h>\n", capture_output=True, timeout=PROBE_TIMEOUT_S)
    return ("ok", found, "") if headers.returncode == 0 else ("limited", f"{found}, without C headers", remedy)


def _program(name: str, remedy: str) -> Outcome:
    path = shutil.which(name)
    return ("ok", f"{_first_line(path, '--version')}, {path}", "") if path else ("missing", f"no {name}", remedy)


def _cross_compiler() -> Outcome:
    remedy = "for the rung pil: sudo apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi"
    state, found, remedy = _program("arm-none-eabi-gcc", remedy)
    if state == "ok" and not Path(_first_line("arm-none-eabi-gcc", "-print-file-name=nano.specs")).is_absolute():
        return "limited", f"{found}, without its C library", "sudo apt-get install libnewlib-arm-none-eabi"
    return state, found, remedy


def _flasher() -> Outcome:
    for name in ("openocd", "st-flash"):
        if shutil.which(name):
            return _program(name, "")
    return "missing", "neither openocd nor st-flash", "to flash a board: sudo apt-get install openocd"


def _serial() -> Outcome:
    from serial.tools.list_ports import comports

    ports = sorted(port.device for port in comports())
    if not ports:
        return (
            "missing",
            "no serial port",
            "for the rung hil: connect a board; it appears as /dev/ttyACM0 or ttyUSB0",
        )
    # Opening a port would reset some boards, so only the file's permissions are checked.
    refused = [port for port in ports if not os.access(port, os.R_OK | os.W_OK)]
    found = ", ".join(f"{port} (no permission)" if port in refused else port for port in ports)
    if refused:
        return "limited", found, "sudo usermod -aG dialout $USER, then log in again"
    return "ok", found, ""


def _joystick() -> Outcome:
    try:
        import evdev
    except ImportError:
        return "missing", "Python package evdev not installed", "pip install 'aeroloop[joystick]'"
    devices = sorted(Path("/dev/input").glob("event*"))
    readable = [device for device in devices if os.access(device, os.R_OK)]
    sticks = []
    for device in readable:
        with evdev.InputDevice(str(device)) as opened:
            buttons = opened.capabilities().get(evdev.ecodes.EV_KEY, [])
            if any(evdev.ecodes.BTN_JOYSTICK <= button < evdev.ecodes.BTN_DIGI for button in buttons):
                sticks.append(f"{opened.name} at {device}")
    found = f"{', '.join(sticks) or 'no joystick'}; {len(readable)} of {len(devices)} input devices readable"
    if sticks:
        return "ok", found, ""
    if len(readable) < len(devices):
        return "limited", found, "sudo usermod -aG input $USER, then log in again"
    return "missing", found, "connect a joystick, or fly a recorded one: ground.joystick_recording"


def _dashboard() -> Outcome:
    try:
        return "ok", f"nicegui {importlib.metadata.version('nicegui')}", ""
    except importlib.metadata.PackageNotFoundError:
        return "missing", "Python package nicegui not installed", "pip install 'aeroloop[dash]'"


def _shared_memory() -> Outcome:
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        return (
            "missing",
            f"{folder} is not writable",
            "topics need it: sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
        )
    usage = shutil.disk_usage(folder)
    found = f"{folder}: {_size(usage.free)} free of {_size(usage.total)}"
    if usage.free < SHM_NEEDED_B:
        return "limited", found, "sudo mount -o remount,size=256m /dev/shm; in a container: --shm-size=256m"
    return "ok", found, ""


def _opengl() -> Outcome:
    libraries = [ctypes.util.find_library(name) for name in ("EGL", "OpenGL")]
    code = f"import ctypes; [ctypes.CDLL(name) for name in {libraries!r}]; print('loaded')"
    if all(libraries) and _in_child(code) == "loaded":
        return "ok", f"MUJOCO_GL=egl ({', '.join(map(str, libraries))})", ""
    return "missing", "no EGL", "for cameras: sudo apt-get install libegl1 libgl1-mesa-dri libopengl0"


def _opencv() -> Outcome:
    if importlib.util.find_spec("cv2") is None:
        return "missing", "Python package cv2 not installed", "for cameras: pip install 'aeroloop[vision]'"
    try:
        found = importlib.metadata.version("opencv-python-headless")
    except importlib.metadata.PackageNotFoundError:  # another of its packages
        found = "installed"
    return "ok", found, ""


def _film() -> Outcome:
    try:
        return "ok", f"PyAV {importlib.metadata.version('av')}", ""
    except importlib.metadata.PackageNotFoundError:
        return "missing", "Python package av not installed", "for films as MP4 and WebM: pip install 'aeroloop[video]'"


@cache
def _camera_frames() -> Outcome:
    """Measured once by a process: the time of a frame does not change."""
    from aeroloop.cameras import frame_cost

    child = subprocess.run(
        [sys.executable, "-P", "-m", frame_cost.__name__],
        env={**os.environ, "MUJOCO_GL": "egl", "LP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=CAMERA_TIMEOUT_S,
    )
    if child.returncode:
        reason = child.stderr.strip().rpartition("\n")[2]
        return "missing", "no frame was rendered", reason or f"the renderer ended with status {child.returncode}"
    told = json.loads(child.stdout)
    costs: dict[str, float] = told["cost_s"]
    times = ", ".join(f"{name} {cost_s * 1000:.0f} ms" for name, cost_s in costs.items())
    rates = ", ".join(f"{name} {frame_cost.carried_hz(cost_s):.0f} Hz" for name, cost_s in costs.items())
    found = (
        f"640 x 480, rendering, errors and encoding: {times} of processor time; beside the plant, on "
        f"{frame_cost.SHARE:.0%} of a core: {rates} ({told['renderer']})"
    )
    usual_hz = {name: fitted(camera).rate_hz for name, camera in frame_cost.CAMERAS.items()}
    if any(frame_cost.carried_hz(cost_s) < usual_hz[name] for name, cost_s in costs.items()):
        return "limited", found, "in real time lower rate_hz or size_px of the cameras; lockstep takes any"
    return "ok", found, ""


def _disk() -> Outcome:
    folder = Path.cwd()
    usage = shutil.disk_usage(folder)
    found = f"{_size(usage.free)} free of {_size(usage.total)} in {folder}"
    if not os.access(folder, os.W_OK):
        return "missing", f"{folder} is not writable", "fly with --out on another folder"
    if usage.free < DISK_NEEDED_B:
        return "limited", found, "free some space, or fly with --out on another disk"
    return "ok", found, ""


PROBES: tuple[tuple[str, Probe], ...] = (
    ("Aeroloop", _package),
    ("Python", _python),
    ("processor", _cpu),
    ("real-time priority", _priority),
    ("locked memory", _locked_memory),
    ("clock", _clock),
    ("C compiler (sil)", _compiler),
    (
        "emulator (pil)",
        partial(_program, "qemu-system-arm", "for the rung pil: sudo apt-get install qemu-system-arm"),
    ),
    ("cross compiler (pil)", _cross_compiler),
    ("flash programmer (hil)", _flasher),
    ("serial ports (hil)", _serial),
    ("joystick", _joystick),
    ("dashboard", _dashboard),
    ("shared memory", _shared_memory),
    ("OpenGL", _opengl),
    ("OpenCV", _opencv),
    ("film encoder", _film),
    ("camera frames", _camera_frames),
    ("disk space", _disk),
)
