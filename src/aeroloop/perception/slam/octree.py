"""The map as an octree with free space too, by OctoMap where it is installed: `map.bt`, which octovis and ROS read.

Every keyframe is a bundle of rays from its optimised pose: cells on a ray are free, its end is occupied.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.keyframes import SlamState
from aeroloop.perception.slam.settings import Settings

FILE = "map.bt"
RAYS = 1200  # of a keyframe
MISSING = "an octree needs OctoMap: pip install 'aeroloop[octree]'"


def octomap() -> Any:
    try:
        import octomap as module
    except ImportError:
        raise ConfigError(MISSING) from None
    return module


def octree(state: SlamState, settings: Settings) -> Any:
    """An `octomap.OcTree` of the keyframes that are in the map, with its inner nodes up to date."""
    tree = octomap().OcTree(settings.voxel_m)
    for index in state.anchored():
        T_WC, points_C = state.T_WC[index], state.keyframes[index].points_C
        chosen = points_C[:: max(1, -(-len(points_C) // RAYS))].astype(float)
        if len(chosen):
            origin_W = np.ascontiguousarray(T_WC[:3, 3])
            tree.insertPointCloud(se3.transformed(T_WC, chosen), origin_W, maxrange=settings.far_m, lazy_eval=True)
    tree.updateInnerOccupancy()
    return tree


def write(folder: Path, state: SlamState, settings: Settings) -> dict[str, float]:
    """The file, and the volume that is known: free and occupied, in m3."""
    tree = octree(state, settings)
    path = folder / FILE
    if not tree.writeBinary(str(path).encode()):
        raise ConfigError(f"{path}: cannot be written")
    occupied_m3 = free_m3 = 0.0
    for leaf in tree.begin_leafs():
        volume_m3 = float(leaf.getSize()) ** 3
        if tree.isNodeOccupied(leaf):
            occupied_m3 += volume_m3
        else:
            free_m3 += volume_m3
    return {"octree_free_m3": free_m3, "octree_occupied_m3": occupied_m3, "octree_nodes": float(tree.size())}
