"""Cameras: geometry, scene, renderer and image errors. Pure functions except the renderer, which has a GL context."""
