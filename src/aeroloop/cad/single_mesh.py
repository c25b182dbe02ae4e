"""A mesh alone as a model: one link, named after the file."""

from __future__ import annotations

from pathlib import Path

from aeroloop.cad.inertial import HERE
from aeroloop.cad.model import Link, MeshReference, Model, Shape
from aeroloop.cad.xml_tree import checked_name


def read(path: Path) -> Model:
    name = checked_name(path.stem, f"{path}: name of the file")
    body = Shape("", "mesh", (0.0, 0.0, 0.0), HERE, MeshReference(path.name))
    return Model(str(path), name, path.parent, (Link(name, HERE, visuals=(body,)),))
