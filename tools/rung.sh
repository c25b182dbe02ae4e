#!/bin/sh
# The highest rung of the ladder that this machine can fly by itself: pil, else sil, else mil; why not pil, on stderr.
set -eu

missing=
command -v qemu-system-arm >/dev/null || missing="qemu-system-arm"
command -v arm-none-eabi-gcc >/dev/null && [ -e "$(arm-none-eabi-gcc -print-file-name=nano.specs)" ] ||
    missing="$missing gcc-arm-none-eabi libnewlib-arm-none-eabi"
[ -n "$missing" ] || { echo pil; exit; }

rung=sil
command -v "${CC:-cc}" >/dev/null || rung=mil
echo "the emulated board cannot be flown here, so this is rung $rung; to get it: sudo apt-get install" $missing >&2
echo $rung
