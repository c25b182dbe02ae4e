"""The part of the build that pyproject.toml cannot say: what stands at the top of the repository goes into the wheel.

Scenarios, campaigns, firmware sources and examples become `aeroloop/data`; `core/paths.py` finds them there. An
editable install has none: it reads them where they are.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("scenarios", "firmware", "examples", "campaigns")
LEFT_OUT = ("build", "__pycache__")


class BuildWithData(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source, target in self._data().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target, preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        data = [] if self.editable_mode else list(self._data().values())
        return [*super().get_outputs(include_bytecode), *data]

    def _data(self) -> dict[str, str]:
        found = (path for name in FOLDERS for path in sorted(Path(name).rglob("*")) if path.is_file())
        data = Path(self.build_lib) / "aeroloop" / "data"
        return {str(path): str(data / path) for path in found if not any(part in LEFT_OUT for part in path.parts)}


setup(cmdclass={"build_py": BuildWithData})
