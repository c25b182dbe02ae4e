"""Errors of colour and depth have the sizes that are stated, and depend on seed, camera and frame alone."""

from __future__ import annotations

import numpy as np

from aeroloop.cameras import effects
from aeroloop.core.camera import Camera, Depth, DepthModel, fitted

TABLE = effects.noise_table(1, "a")


def depth_model(**changes: object) -> DepthModel:
    model = fitted(Camera(name="a", preset="rgbd", depth=Depth(**changes))).depth  # type: ignore[arg-type]
    assert model is not None
    return model


def test_noise_grows_with_brightness() -> None:
    for grey in (0.0, 50.0, 200.0):
        image = np.full((100, 100, 3), grey, np.float32)
        noise = effects.noisy(image, effects.generator(1, "a", effects.FRAME, 4), TABLE, 2.0, 0.08) - grey
        assert abs(noise.std() - np.sqrt(4.0 + 0.08 * grey)) < 0.06
        assert abs(noise.mean()) < 0.1


def test_streams_differ_by_seed_camera_and_frame() -> None:
    draws = {
        effects.generator(seed, camera, effects.FRAME, number).random()
        for seed in (1, 2)
        for camera in ("a", "b")
        for number in (0, 1)
    }
    assert len(draws) == 8


def test_numbers_are_taken_around_the_end_of_the_table() -> None:
    table = np.arange(10, dtype=np.float32)
    assert effects.taken(table, 8, (2, 12)).ravel().tolist() == [(8 + i) % 10 for i in range(24)]


def test_depth_noise_is_that_of_a_kinect() -> None:
    for z_m, sigma_m in ((2.0, 0.0067), (4.0, 0.027)):
        depth = effects.depth_image(
            np.full((240, 320), z_m), depth_model(dropout=0.0), 525.0, None, np.random.default_rng(1)
        )
        assert abs((depth / 1000.0).std() - sigma_m) < 0.1 * sigma_m
        assert (depth[::2, ::2] == depth[1::2, 1::2]).all()  # one error for 2 x 2 pixels


def test_depth_has_no_reading_outside_its_range_at_edges_and_in_lost_blocks() -> None:
    depth_m = np.full((80, 80), 1.0)
    depth_m[:, 40:] = 2.0
    depth_m[0], depth_m[79] = 0.3, 5.0
    exact = depth_model(noise_px=0.0, dropout=0.0)
    depth = effects.depth_image(depth_m, exact, 525.0, None, np.random.default_rng(1))
    assert (depth[5:75, :39] == 1000).all()
    assert (depth[5:75, 41:] == 2000).all()
    assert not depth[5:75, 39:41].any()
    assert not depth[0].any()
    assert not depth[79].any()
    lost = effects.depth_image(
        np.full((400, 400), 1.0), depth_model(dropout=0.1), 525.0, None, np.random.default_rng(1)
    )
    assert 0.07 < (lost == 0).mean() < 0.13


def test_the_calibration_error_is_drawn_once_and_smooth() -> None:
    fields = [effects.calibration_field(seed, "a", (320, 240), 0.005, 0.01) for seed in (1, 1, 2)]
    assert all(field is not None for field in fields)
    assert (fields[0] == fields[1]).all()
    assert (fields[0] != fields[2]).any()
    assert 0.003 < fields[0].std() < 0.03
    assert np.abs(np.diff(fields[0], axis=1)).max() < 0.002
    assert effects.calibration_field(1, "a", (320, 240), 0.0, 0.0) is None
