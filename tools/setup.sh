#!/bin/sh
# Makes .venv ready: system packages where they are missing and allowed, then the pinned Python packages.
#
#   sh tools/setup.sh         what a flight needs; what cannot be had is said, and costs a rung of the ladder
#   sh tools/setup.sh dev     what the tests and linters need as well; what cannot be had is an error
#
# PYTHON=...          interpreter to use, 3.11 or newer
# AEROLOOP_NO_APT=1   never install system packages, only say which are missing
#
# The stamps .venv/.ready and .venv/.ready-dev say that it went through; make asks for them.
set -eu
cd "$(dirname "$0")/.."
tree=$(pwd -P)

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_recent "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of version 3.11 or newer"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11; do
        if is_recent "$candidate"; then echo "$candidate"; return; fi
    done
    fail "no Python of version 3.11 or newer found; install python3, or name one with PYTHON=..."
}

# Debian ships ensurepip apart from python3.
has_venv() { "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# A compiler without the C library's headers is as good as none.
has_compiler() { echo '#include <math.h>' | "${CC:-cc}" -x c -fsyntax-only - >/dev/null 2>&1; }

# The cross compiler needs its C library, too.
has_cross_compiler() {
    command -v arm-none-eabi-gcc >/dev/null && [ -e "$(arm-none-eabi-gcc -print-file-name=nano.specs)" ]
}
has_emulator() { command -v qemu-system-arm >/dev/null; }

# The tests fly from a real browser. Ubuntu's chromium-browser may be a stub that only names a snap, so it is run.
has_browser() {
    for browser in chromium chromium-browser google-chrome; do
        if "$browser" --version >/dev/null 2>&1; then return; fi
    done
    return 1
}
# Cameras are rendered without a screen, through EGL and Mesa's software renderer.
has_egl() { ldconfig -p 2>/dev/null | grep -q 'libEGL\.so\.1' && ldconfig -p | grep -q 'libOpenGL\.so\.0'; }
is_ubuntu() { grep -qs '^ID=ubuntu$' /etc/os-release; }

# Empty when we are root, a command prefix when sudo asks nothing, failure when apt is out of reach.
apt_prefix() {
    [ "${AEROLOOP_NO_APT:-}" != 1 ] && command -v apt-get >/dev/null || return 1
    [ "$(id -u)" != 0 ] || return 0
    sudo -n true >/dev/null 2>&1 && echo "sudo -n"
}

install_system_packages() {
    venv_package=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    compiler_packages="gcc libc6-dev"
    cross_packages="gcc-arm-none-eabi libnewlib-arm-none-eabi"
    emulator_packages=qemu-system-arm
    browser_packages=chromium
    egl_packages="libegl1 libgl1-mesa-dri libopengl0"
    missing=
    has_venv || missing=$venv_package
    has_compiler || missing="$missing $compiler_packages"
    has_cross_compiler || missing="$missing $cross_packages"
    has_emulator || missing="$missing $emulator_packages"
    # Ubuntu's package only fetches a snap, and one package that cannot be had would cost all of them.
    [ "$mode" != dev ] || is_ubuntu || has_browser || missing="$missing $browser_packages"
    [ "$mode" != dev ] || has_egl || missing="$missing $egl_packages"
    if [ -n "$missing" ] && prefix=$(apt_prefix); then
        say "installing missing system packages through apt:" $missing
        $prefix apt-get update -qq || say "apt-get update failed; trying with the package lists at hand"
        $prefix env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends $missing >/dev/null || say "apt-get install failed"
    fi
    need has_compiler "no C compiler, so the rung sil is unavailable" "$compiler_packages"
    need has_cross_compiler "no cross compiler, so the rung pil is unavailable" "$cross_packages"
    need has_emulator "no emulator, so the rung pil is unavailable" "$emulator_packages"
    if [ "$mode" = dev ] && is_ubuntu && ! has_browser; then
        fail "no browser for the tests; Ubuntu has it as a snap alone: sudo snap install chromium, or install Chrome"
    fi
    [ "$mode" != dev ] || need has_browser "no browser for the tests of the dashboard" "$browser_packages"
    [ "$mode" != dev ] || need has_egl "no EGL for the tests of cameras" "$egl_packages"
    has_venv ||
        fail "$python cannot make a virtual environment (no ensurepip); run: sudo apt-get install $venv_package"
}

# need PROBE WORDS PACKAGES: flights do without and say so, tests do not.
need() {
    "$1" && return
    advice="$2; to get it: sudo apt-get install $3"
    [ "$mode" != dev ] || fail "$advice (the tests skip nothing, so they need it)"
    say "$advice"
}

# What was killed half-way cannot be trusted, nor what was moved or copied: it knows its own path.
venv_is_sound() {
    [ ! -e .venv/.incomplete ] && grep -qsF "$tree/.venv/bin/python" .venv/bin/pip &&
        .venv/bin/python -m pip --version >/dev/null 2>&1
}

make_venv() {
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    mkdir .venv
    touch .venv/.incomplete
    "$python" -m venv .venv
}

install_python_packages() {
    say "installing aeroloop[$1] into .venv, versions from requirements.lock"
    touch .venv/.incomplete
    status=0
    .venv/bin/python -m pip install --disable-pip-version-check --no-compile -c requirements.lock -e ".[$1]" || status=$?
    # pip undoes its own failures, unless a signal ended it.
    [ $status -gt 128 ] || rm .venv/.incomplete
    [ $status -eq 0 ] || fail "pip could not install the packages; its message stands above"
}

# MAVProxy's declared requirements are 760 MB of maps and graphs; what the tests ask of it needs pymavlink alone.
install_mavproxy() {
    .venv/bin/python -m pip install --disable-pip-version-check --no-compile --no-deps -c requirements.lock \
        MAVProxy==1.8.75 ||
        fail "pip could not install MAVProxy; its message stands above"
}

# pip compiles on one core, and all that nobody imports too. Left out altogether, every process of every flight would
# compile anew wherever PYTHONDONTWRITEBYTECODE is set, as in many containers; hence our own modules as well.
compile_modules() {
    .venv/bin/python -m compileall -q -j 0 -x '/tests?/|/dialects/v(09|10)/|/MAVProxy/|/OpenGL/' \
        .venv/lib/python*/site-packages src || say "some modules could not be compiled; they are when they are imported"
}

mode=${1:-}
python=$(choose_python)
install_system_packages
venv_is_sound || make_venv
case "$mode" in
    dev) install_python_packages joystick,dash,docs,export,video,vision,dev; install_mavproxy; compile_modules; touch .venv/.ready .venv/.ready-dev ;;
    *) install_python_packages joystick,dash; compile_modules; touch .venv/.ready ;;
esac
