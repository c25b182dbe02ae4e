"""What must be equal on all machines that fly one campaign: Aeroloop, its sources, libraries and C compiler."""

from __future__ import annotations

import platform
from functools import cache

import msgspec

import aeroloop
from aeroloop.campaign import toolchain
from aeroloop.campaign.identity import libraries, sources


class Build(msgspec.Struct, frozen=True):
    version: str
    sources: str
    libraries: str
    compiler: str  # with the C library and the processor's architecture


@cache
def own() -> Build:
    """Of this process."""
    return Build(aeroloop.__version__, sources(), libraries(), f"{toolchain.compiler()}, {_platform()}")


def refusal(here: Build, of_driver: Build) -> str:
    """Why this machine does not fly for a driver; empty if it does."""
    words = {
        "version": "Aeroloop's version",
        "sources": "the hash of Aeroloop's sources",
        "libraries": "the libraries",
        "compiler": "the C compiler",
    }
    for name, what in words.items():
        ours, theirs = str(getattr(here, name)), str(getattr(of_driver, name))
        if ours != theirs:
            if name == "sources":
                ours, theirs = ours[:12], theirs[:12]
            return f"{what} is {ours} here, expected that of the campaign's driver, {theirs}"
    return ""


def _platform() -> str:
    return f"{' '.join(platform.libc_ver())} {platform.machine()}"
