"""A flight without a report draws nothing: its numbers must not cost the import of the drawing library, a second on a
slow machine."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from aeroloop.core.tables import FAMILIES, family, part
for name in FAMILIES:
    part(family(name).analysis)
print([module for module in ("matplotlib", "jinja2", "cv2") if module in sys.modules])
"""


def test_numbers_of_any_family_are_computed_without_drawing() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.strip() == "[]", done.stderr
