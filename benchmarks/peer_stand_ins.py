"""Stand-ins for what crazyflow imports and its step doesn't call, for a machine that has numpy, scipy and jax alone.

MuJoCo makes its scene (pictures and collisions), gymnasium its environments and viewer, CasADi its symbolic models:
none of them is in the step that is timed, whose physics and controllers stay crazyflow's own, as does jax, which
compiles them. `flax.struct` gives its data classes, which are remade here with jax's own registration.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

UNCALLED = ("mujoco", "mujoco.mjx", "gymnasium.envs.mujoco.mujoco_rendering", "casadi", "crazyflow.envs")


def needed() -> bool:
    return any(importlib.util.find_spec(name) is None for name in ("mujoco", "gymnasium", "casadi", "flax"))


def install() -> None:
    """Before crazyflow is imported."""
    for name in UNCALLED:
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            whole = ".".join(parts[:depth])
            if whole != "crazyflow":
                sys.modules.setdefault(whole, _Uncalled(whole))
    flax, struct = ModuleType("flax"), ModuleType("flax.struct")
    struct.dataclass, struct.field = _data_class, _field  # type: ignore[attr-defined]
    flax.struct = struct  # type: ignore[attr-defined]
    sys.modules.update({"flax": flax, "flax.struct": struct})


def without_scene(sim: Any) -> Any:
    """The class of a simulation that builds no scene of MuJoCo."""

    class Alone(sim):  # type: ignore[misc]
        def build_mjx_spec(self) -> None:
            return None

        def build_mjx_model(self, spec: None) -> tuple[Any, None, None, None]:
            body = SimpleNamespace(mocapid=SimpleNamespace(item=lambda: 0))
            return SimpleNamespace(body=lambda name: body), None, None, None

    return Alone


class _Uncalled(ModuleType):
    """A module whose every name is a thing that may be called and asked for more, all without effect."""

    __path__ = ()  # as a package has one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self

    def __getitem__(self, index: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter(())

    def _operated(self, other: Any = None) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _operated
    __truediv__ = __rtruediv__ = __pow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _operated

    def __setitem__(self, index: Any, value: Any) -> None: ...


def _field(pytree_node: bool = True, *, metadata: Any = None, **named: Any) -> Any:
    return dataclasses.field(metadata={**(metadata or {}), "pytree_node": pytree_node}, **named)


def _data_class(own: Any) -> Any:
    """Frozen, with `replace`, and known to jax as a tree: what flax.struct.dataclass makes of a class."""
    import jax

    made = dataclasses.dataclass(frozen=True)(own)
    made.replace = dataclasses.replace
    parts: dict[bool, list[str]] = {True: [], False: []}
    for field in dataclasses.fields(made):
        parts[field.metadata.get("pytree_node", True)].append(field.name)
    jax.tree_util.register_dataclass(made, data_fields=parts[True], meta_fields=parts[False])
    return made
