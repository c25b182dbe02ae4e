"""The tracker alone, with a front end whose motions are written down: predictions, and the velocity after a loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aeroloop.perception.slam import front_end, se3
from aeroloop.perception.slam.camera import Frame, Intrinsics
from aeroloop.perception.slam.front_end import Motion
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.tracker import Slam

CAMERA = Intrinsics(width=16, height=16, fx=20.0, fy=20.0, cx=7.5, cy=7.5)
STEP = se3.exp(np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.01]))
EMPTY = np.zeros((16, 16), np.uint8)


class Written:
    """`motion` is given the guess, and returns what was written down for it; None: lost."""

    def __init__(self, told: Callable[[np.ndarray], np.ndarray | None]) -> None:
        self._told = told
        self.guesses: list[np.ndarray] = []

    def view(self, frame: Frame) -> int:
        return frame.number

    def matched(self, a: int, b: int) -> tuple[int, int]:
        return a, b

    def motion(self, pairs: tuple[int, int], guess_AB: np.ndarray, seed: int) -> Motion | None:
        self.guesses.append(guess_AB)
        found = self._told(guess_AB)
        return None if found is None else Motion(found, 500, 500)

    def similar(self, view: int, T_WC: np.ndarray, kept: object) -> list[int]:
        return []


def tracked(
    monkeypatch: pytest.MonkeyPatch, told: Callable[[np.ndarray], np.ndarray | None], frames: int, **keys: float
) -> Written:
    written = Written(told)
    monkeypatch.setattr(front_end, "make", lambda *_: written)
    slam = Slam(CAMERA, Settings(**keys), clock_ns=lambda: 0)  # type: ignore[arg-type]
    for number in range(frames):
        slam.add(Frame(number, 0.1 * number, EMPTY, np.zeros((16, 16, 3), np.uint8), np.zeros((16, 16))))
    return written


def test_predictions_of_predictions_stay_rigid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measured rotation that is off by rounding would be multiplied with itself for as long as the view is lost."""
    first = STEP.copy()
    first[:3, :3] *= 1.0 + 1e-7
    answers = iter([first])
    written = tracked(monkeypatch, lambda guess: next(answers, None), frames=400, lost_frames=1000)
    rotation = written.guesses[-1][:3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)


def test_after_a_loss_the_velocity_is_not_taken_from_a_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    found = se3.exp(np.array([0.05, 0.02, 0.0, 0.0, 0.0, 0.0]))
    answers = iter([STEP, None, None, found])
    written = tracked(monkeypatch, lambda guess: next(answers, None), frames=6)
    np.testing.assert_allclose(written.guesses[1], STEP @ STEP, atol=1e-12)
    np.testing.assert_allclose(written.guesses[4], found, atol=1e-12)
