"""Compiles a CasADi function to a shared object on this machine, once, cached by its content."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import casadi as ca

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.run import host_compiler, run_tool
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import cache_dir

FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall")
"""Without contraction the C rounds as CasADi's own virtual machine does, on every processor."""
LARGE_CHARACTERS = 350_000
"""More C than this is compiled with -O1: in a third of the time, and one long sequence of operations is no slower."""
COMPILE_TIMEOUT_S = 300


def c_source(function: ca.Function) -> str:
    """The C of a function; equal functions give equal text."""
    generator = ca.CodeGenerator(f"{function.name()}.c", {"with_header": False})
    generator.add(function)
    return str(generator.dump())


def compiled(function: ca.Function, cache: Path) -> ca.Function:
    """The same function as compiled C."""
    compiler, source, library = _library(function, cache)
    if not library.exists():
        try:
            _compile(compiler, source, library)
        except OSError as error:
            raise ConfigError(f"{library}: the compiled law cannot be stored there: {error.strerror}") from None
    return ca.external(function.name(), str(library))


def is_compiled(function: ca.Function, cache: Path) -> bool:
    return _library(function, cache)[2].exists()


def _library(function: ca.Function, cache: Path) -> tuple[str, str, Path]:
    """Compiler, C and file of a function."""
    compiler, source = host_compiler(), c_source(function)
    key = hashlib.sha256("\0".join((source, compiler, *_flags(source))).encode()).hexdigest()[:24]
    return compiler, source, cache / f"{function.name()}-{key}.so"


def _flags(source: str) -> tuple[str, ...]:
    return tuple("-O1" if flag == "-O2" and len(source) > LARGE_CHARACTERS else flag for flag in FLAGS)


def on_rung(rung: str) -> Callable[[ca.Function], Evaluator]:
    """How a rung calls a function: sil as C, mil interpreted."""
    return lambda function: Evaluator(compiled(function, cache_dir()) if rung == "sil" else function)


def fastest(function: ca.Function) -> Evaluator:
    """As compiled C if possible, else interpreted."""
    try:
        return Evaluator(compiled(function, cache_dir()))
    except ConfigError:
        return Evaluator(function)


def _compile(compiler: str, source: str, library: Path) -> None:
    # Built in a temporary folder and renamed, so that two flights at once never load half a file.
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        code, built = Path(folder) / "law.c", Path(folder) / "law.so"
        code.write_text(source, encoding="utf-8")
        command = [*shlex.split(compiler), *_flags(source), "-o", str(built), str(code), "-lm"]
        try:
            done = run_tool(command, COMPILE_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"the C compiler {compiler} could not be run: {error}") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise ConfigError(f"the C compiler {compiler} failed: {lines[0] if lines else done.returncode}")
        built.replace(library)
