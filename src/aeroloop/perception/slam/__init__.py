"""RGB-D graph-SLAM: odometry against the last keyframe, loop closures, pose graph, voxel map.

Poses are 4x4 matrices: `T_WC` maps points of the camera's optical frame C (x right, y down, z forward) to W. OpenCV is
imported where it is used, so everything else works without it.
"""
