"""Sensors with planned faults, without the loop that switches them in a flight."""

from __future__ import annotations

from aeroloop.core.faults import PlannedFault, Switch
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.scene import Scene
from aeroloop.sensors.suite import Sample, SensorSet, Suite
from aeroloop.sim.fault_plan import FaultPlan


class FailingSuite(Suite):
    def __init__(self, sensors: SensorSet, streams: Streams, faults: tuple[PlannedFault, ...] = ()) -> None:
        super().__init__(sensors, streams)
        self._plan = FaultPlan(faults)

    def sample_scene(self, scene: Scene) -> list[Sample]:
        for due in self._plan.due(scene.state.t_ns):
            assert isinstance(due.action, Switch)
            self.switch(due.action)
        return super().sample_scene(scene)
