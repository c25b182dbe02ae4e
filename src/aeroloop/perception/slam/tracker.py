"""SLAM on frames in order: view, motion against the last keyframe, keyframe rule, loops, pose graph.

Results depend on frames, calibration and settings alone; the clock (CPU time of this thread) is read for the
times of the parts only.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time_ns

import numpy as np

from aeroloop.perception.slam import front_end, pose_graph, se3
from aeroloop.perception.slam.camera import Frame, Intrinsics, cloud
from aeroloop.perception.slam.front_end import Kept, Motion, View
from aeroloop.perception.slam.keyframes import PARTS, Keyframe, SlamState, Tracked, edge_sigma
from aeroloop.perception.slam.pose_graph import Edge
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings

T_WC_FIRST = se3.compose(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]), np.zeros(3))
"""The first camera is the origin: W is x right, y forward, z up of it."""


class Slam:
    """`T_WC_first`: pose of the first frame, where something else knows it."""

    def __init__(
        self,
        camera: Intrinsics,
        settings: Settings,
        clock_ns: Callable[[], int] = thread_time_ns,
        T_WC_first: Array = T_WC_FIRST,
    ) -> None:
        self.state = SlamState()
        self._T_WC_first = T_WC_first
        self._camera, self._settings = camera, settings
        self._front = front_end.make(settings.front_end, camera, settings)
        self._watch = _Watch(clock_ns)
        self._relative = self._velocity = np.eye(4)  # pose in the last keyframe; motion of the last frame
        self._lost = 0  # frames in a row
        self._followed = 0  # frames measured against the newest keyframe
        self._optimised_at_s = -np.inf
        self._waiting = False  # loops not yet optimised

    def add(self, frame: Frame) -> Tracked:
        self._watch.restart()
        view = self._front.view(frame)
        self._watch.lap("features")
        if not self.state.keyframes:
            self._keep(frame, view, self._T_WC_first, segment=0)
            self.state.T_WC.append(self._T_WC_first)
            return self._told(frame, inliers=0, lost=False, loops=0)
        # Rounding errors of rotations would grow: each prediction is made of the last ones.
        predicted = se3.normalised(self._relative @ self._velocity)
        motion = self._motion(self.state.keyframes[-1].view, view, predicted, frame.number)
        lost = motion is None or motion.inliers < self._settings.min_inliers
        pose = predicted if motion is None or lost else motion.T_AB
        if not lost:
            # After a loss the last pose was a prediction: a difference from it is no velocity.
            self._velocity = np.eye(4) if self._lost else se3.inverse(self._relative) @ pose
            self._followed += 1
        self._lost = self._lost + 1 if lost else 0
        self._relative = pose
        inliers = 0 if motion is None else motion.inliers
        loops = 0
        if self._lost >= self._settings.lost_frames:
            loops = self._begin_segment(frame, view)
        elif not lost and self._is_keyframe(pose, inliers):
            loops = self._extend(frame, view, edge_sigma(pose, inliers, self._settings), new_segment=False)
        # A pose of a segment that no loop joins to the first one is a guess, however well its frames agree.
        placed = self.state.is_placed(len(self.state.keyframes) - 1)
        return self._told(frame, inliers=inliers, lost=not placed or (lost and not loops), loops=loops)

    def finish(self) -> SlamState:
        """Optimise what the period between optimisations left waiting."""
        if self._waiting:
            self._optimise()
        return self.state

    def _motion(self, a: View, b: View, guess_AB: Array, number: int) -> Motion | None:
        pairs = self._front.matched(a, b)
        self._watch.lap("matching")
        motion = self._front.motion(pairs, guess_AB, (self._settings.seed * 1_000_003 + number) % 2**31)
        self._watch.lap("pose")
        return motion

    def _is_keyframe(self, pose: Array, inliers: int) -> bool:
        return (
            se3.distance_m(pose) > self._settings.keyframe_m
            or np.degrees(se3.angle_rad(pose)) > self._settings.keyframe_deg
            or inliers < self._settings.keyframe_inliers
        )

    def _begin_segment(self, frame: Frame, view: View) -> int:
        """After too many lost frames: a keyframe of which only loops can say where it is. In the dark one such keyframe
        replaces the other, so that neither their number grows nor a dark first frame stays the origin."""
        state, newest = self.state, len(self.state.keyframes) - 1
        self._velocity = np.eye(4)
        alone = newest == 0 or state.keyframes[newest - 1].segment != state.keyframes[newest].segment
        if self._followed or not alone or any(newest in (edge.i, edge.j) for edge in state.loops):
            return self._extend(frame, view, self._settings.lost_sigma, new_segment=True)
        replaced = state.keyframes.pop()
        self._keep(frame, view, replaced.T_WC_odometry, segment=replaced.segment)
        return self._close_loops(frame)

    def _extend(self, frame: Frame, view: View, sigma: float, *, new_segment: bool) -> int:
        """A new keyframe with its edge; the number of loops that it closes."""
        state, last = self.state, len(self.state.keyframes) - 1
        state.edges.append(Edge(last, last + 1, self._relative, sigma))
        odometry = state.keyframes[last].T_WC_odometry @ self._relative
        state.T_WC.append(state.T_WC[last] @ self._relative)
        self._keep(frame, view, odometry, segment=state.keyframes[last].segment + new_segment)
        return self._close_loops(frame)

    def _keep(self, frame: Frame, view: View, T_WC_odometry: Array, *, segment: int) -> None:
        settings = self._settings
        points, colours = cloud(
            frame,
            self._camera,
            stride=settings.map_stride,
            near_m=settings.near_m,
            far_m=min(settings.far_m, settings.map_far_m),
        )
        place = len(self.state.frames)
        kept = Keyframe(place, frame.t_s, view, points.astype(np.float32), colours, T_WC_odometry, segment)
        self.state.keyframes.append(kept)
        self._relative = np.eye(4)
        self._lost = self._followed = 0

    def _close_loops(self, frame: Frame) -> int:
        if not self._settings.loops:
            return 0
        loops = self._loops(frame)
        self._waiting |= loops > 0
        if self._waiting and frame.t_s - self._optimised_at_s >= self._settings.optimise_period_s:
            self._optimise()
            self._optimised_at_s = frame.t_s
        return loops

    def _loops(self, frame: Frame) -> int:
        """Edges from older keyframes to the newest."""
        state, settings = self.state, self._settings
        newest = len(state.keyframes) - 1
        old = self._searched(newest)
        kept = [Kept(state.keyframes[i].view, state.T_WC[i]) for i in old]
        candidates = self._front.similar(state.keyframes[newest].view, state.T_WC[newest], kept)
        accepted = 0
        for candidate in candidates[: settings.loop_candidates]:
            index = old[candidate]
            guess = se3.inverse(state.T_WC[index]) @ state.T_WC[newest]
            pairs = self._front.matched(kept[candidate].view, state.keyframes[newest].view)
            seed = (settings.seed * 1_000_003 + frame.number * 7919 + index + 1) % 2**31
            motion = self._front.motion(pairs, guess, seed)
            if motion is None or motion.inliers < settings.loop_inliers:
                continue
            if motion.inliers < settings.loop_fraction * motion.matches:
                continue
            sigma = edge_sigma(motion.T_AB, motion.inliers, settings)
            state.close_loop(Edge(index, newest, motion.T_AB, sigma, loop=True))
            accepted += 1
            if accepted == settings.loops_per_keyframe:
                break
        self._watch.lap("loops")
        return accepted

    def _searched(self, newest: int) -> list[int]:
        """Keyframes that a loop may join to the newest: old ones; after a loss also young ones from before it."""
        state = self.state
        segment, placed = state.keyframes[newest].segment, state.is_placed(newest)
        return [
            index
            for index in range(newest)
            if newest - index > self._settings.loop_age or (not placed and state.keyframes[index].segment != segment)
        ]

    def _optimise(self) -> None:
        result = pose_graph.optimise(np.array(self.state.T_WC), self.state.edges, cauchy=self._settings.cauchy)
        self.state.T_WC = list(result.T_W)
        self.state.optimisations += 1
        self._waiting = False
        self._watch.lap("graph")

    def _told(self, frame: Frame, *, inliers: int, lost: bool, loops: int) -> Tracked:
        keyframe = len(self.state.keyframes) - 1
        told = Tracked(frame.t_s, keyframe, self._relative, inliers, lost, loops, self._watch.read_ms())
        self.state.frames.append(told)
        return told


class _Watch:
    """Times of the parts of one frame."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns
        self.restart()

    def restart(self) -> None:
        self._ms = dict.fromkeys(PARTS, 0.0)
        self._since_ns = self._clock_ns()

    def lap(self, part: str) -> None:
        now_ns = self._clock_ns()
        self._ms[part] += (now_ns - self._since_ns) / 1e6
        self._since_ns = now_ns

    def read_ms(self) -> dict[str, float]:
        return dict(self._ms)
