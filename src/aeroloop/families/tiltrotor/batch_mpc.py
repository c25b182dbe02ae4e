"""The law `mpc` in a batch: one control period as calls, so that an iteration's steps are compiled once.

    prepare, then in every iteration: back through the horizon, ahead through it; then choose

They are the functions of `control/mpc.py`. As one function they would be 33,000 statements, which no cache of code
holds; so every step of the horizon is a call of its own, and the iterations are a repetition.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.batch.layout import Layout
from aeroloop.batch.loop import Call, Item, Repeat
from aeroloop.control import mpc
from aeroloop.families.tiltrotor.batch_channels import STATE

FALLBACKS = "law_fallbacks"
_STATES, _INPUTS = 20, 4


class PredictiveControl:
    """Parts of the state, and the calls of a control period."""

    def __init__(self, problem: mpc.Problem, prepare: ca.Function, choose: ca.Function) -> None:
        self._problem, self._prepare, self._choose = problem, prepare, choose
        self._back, self._ahead = mpc.backward(problem), mpc.forward(problem)
        self._block = int(self._back.numel_in(2))

    @property
    def parts(self) -> dict[str, int]:
        return {
            "law_x": _STATES,  # where the horizon begins
            "law_c": _STATES,
            "law_Pc": _STATES,
            "law_gradient": _STATES,
            "law_feeds": _INPUTS * self._problem.horizon.steps,
            "law_ahead": _STATES,
            "law_residual": 1,
            "law_lqr": _INPUTS,
            "law_level": 1,  # what flies: the solution, the last good command, or the LQR law
            FALLBACKS: 1,
        }

    def calls(self, parts: Layout, sensors: Any, inputs: dict[str, Any], reference: Any) -> tuple[Item, ...]:
        """Sets `commands` (the newest before the one of the cycle before), `memory` and the parts above. `inputs` are
        what `sensors` and `reference` are made of, by name."""
        steps = range(self._problem.horizon.steps)
        once = [Call(self._backward(parts, k)) for k in reversed(steps)] + [
            Call(self._forward(parts, k)) for k in steps
        ]
        return (
            Call(self._prepared(parts, sensors, inputs, reference), stream=STATE),
            Repeat(self._problem.horizon.iterations, tuple(once)),
            Call(self._chosen(parts)),
        )

    def _prepared(self, s: Layout, sensors: Any, inputs: dict[str, Any], reference: Any) -> ca.Function:
        head = s["memory"][: mpc.HEAD]
        x, c, Pc, command, head = self._prepare(sensors, reference, head)
        memory = _with(s["memory"], 0, head)
        changes = {"law_x": x, "law_c": c, "law_Pc": Pc, "law_lqr": command, "memory": memory}
        return s.event("prepare", inputs, changes)

    def _place(self, step: int) -> int:
        """Of a step's iterates in the memory."""
        return mpc.HEAD + step * self._block

    def _iterates(self, s: Layout, step: int) -> Any:
        return s["memory"][self._place(step) : self._place(step + 1)]

    def _backward(self, s: Layout, step: int) -> ca.Function:
        is_last = step == self._problem.horizon.steps - 1
        behind = ca.SX.zeros(_STATES) if is_last else s["law_gradient"]
        feed, gradient = self._back(behind, s["law_Pc"], self._iterates(s, step))
        feeds = _with(s["law_feeds"], _INPUTS * step, feed)
        return s.event(f"back_{step}", {}, {"law_feeds": feeds, "law_gradient": gradient})

    def _forward(self, s: Layout, step: int) -> ca.Function:
        x, residual = (s["law_ahead"], s["law_residual"]) if step else (s["law_x"], ca.SX(0))
        feed = s["law_feeds"][_INPUTS * step : _INPUTS * (step + 1)]
        x, block, residual = self._ahead(x, feed, s["law_c"], self._iterates(s, step), residual)
        memory = _with(s["memory"], self._place(step), block)
        return s.event(f"ahead_{step}", {}, {"law_ahead": x, "memory": memory, "law_residual": residual})

    def _chosen(self, s: Layout) -> ca.Function:
        head, iterates = s["memory"][: mpc.HEAD], s["memory"][mpc.HEAD :]
        command, head, iterates, status = self._choose(s["law_lqr"], head, iterates, s["law_residual"])
        fell = ca.logic_and(status[0] > mpc.SOLVED, ca.logic_not(status[0] == s["law_level"]))
        changes = {
            "memory": ca.vertcat(head, iterates),
            "commands": ca.vertcat(command, s["commands"][:_INPUTS]),
            "law_level": status[0],
            FALLBACKS: s[FALLBACKS] + ca.logic_and(s["alive"], fell),
        }
        return s.event("choose", {}, changes)


def _with(vector: Any, place: int, part: Any) -> Any:
    """The vector with this part from `place` on."""
    return ca.vertcat(vector[:place], part, vector[place + part.numel() :])
