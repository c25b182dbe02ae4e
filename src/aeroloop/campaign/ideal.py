"""The same tables in an ideal loop: a simulation of law and plant alone, at the same step, in double precision.

Sensors, link, estimator and the flight law of the bench are not in it. The bench is compared with it number by number:
what moves farther than the tolerance is listed beside the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aeroloop.campaign.plants import PLANTS, Cell
from aeroloop.campaign.results import Results

WITHIN = {"rrr": 0.10, "quad": 0.25}
"""Relative tolerance: the robot's model and step are the same, the aircraft's are not."""
_RRR = """
none pid .190/.179/.454/.053/.063/.0003
none smc .182/.177/.509/.049/.063/.0003
none smc-sync .104/.094/.301/.025/.063/.0003
none smc-sync-pidnn .073/.058/.210/.015/.063/.0004
load pid 1.89/1.58/5.62/.454/.356/.008
load smc 1.91/1.60/5.52/.458/.356/.008
load smc-sync 1.35/.854/3.71/.249/.353/.010
load smc-sync-pidnn 1.08/.273/2.71/.089/.350/.015
payload pid .323/.310/1.01/.093/.103/.0005
payload smc .262/.256/.748/.080/.103/.0005
payload smc-sync .142/.130/.517/.040/.103/.0007
payload smc-sync-pidnn .086/.065/.445/.020/.103/.0010
friction pid 1.23/1.07/4.81/.296/.272/.005
friction smc 1.25/1.11/4.70/.308/.272/.005
friction smc-sync .824/.579/3.27/.163/.272/.007
friction smc-sync-pidnn .632/.233/2.19/.074/.272/.010
weak pid .253/.236/.842/.069/.080/.0003
weak smc .223/.213/.762/.062/.080/.0003
weak smc-sync .129/.111/.504/.032/.080/.0004
weak smc-sync-pidnn .091/.063/.392/.018/.080/.0005
noise pid .191/.181/.470/.053/.140/8.28
noise smc .184/.178/.525/.049/.140/8.28
noise smc-sync .109/.098/.335/.026/.175/10.7
noise smc-sync-pidnn .088/.075/.290/.020/.186/11.5
all pid 2.72/2.33/9.69/.647/.764/8.28
all smc 2.75/2.37/9.79/.657/.764/8.27
all smc-sync 1.82/1.18/6.52/.325/.763/10.7
all smc-sync-pidnn 1.45/.390/4.97/.114/.767/12.8
"""
_QUAD = """
none esc 28.8/28.7/38.1/-/72.1/0
none pid .010/.007/.020/-/72.1/0
none smc .010/.006/.019/-/72.1/0
none smc-sync .008/.003/.014/-/72.1/0
none smc-sync-pidnn .008/.001/.013/-/72.1/0
gust esc 28.8/28.7/38.3/23.1/72.1/0
gust pid .042/.036/.19/23.1/72.1/0
gust smc .026/.015/.13/23.1/72.1/0
gust smc-sync .022/.008/.10/23.1/72.1/0
gust smc-sync-pidnn .021/.005/.09/23.1/72.1/0
payload esc 31.4/31.3/48.7/1.01/79.1/.004
payload pid .466/.365/13.5/1.02/79.1/.005
payload smc .289/.271/10.6/1.06/79.1/.007
payload smc-sync .193/.166/8.4/1.04/79.1/.011
payload smc-sync-pidnn .189/.165/7.7/1.05/79.1/.013
weak esc 107/98.2/242/4.12/76.1/.002
weak pid 5.55/4.83/138/1.71/76.1/.003
weak smc 5.40/4.68/127/1.62/76.1/.004
weak smc-sync 3.64/2.43/84.4/.82/76.1/.010
weak smc-sync-pidnn 2.80/.687/54.6/.114/76.1/.020
load esc 51.7/50.5/116/1.40/72.9/.002
load pid 12.7/10.9/48.5/.86/72.9/.002
load smc 11.8/10.1/45.7/.82/72.9/.003
load smc-sync 8.06/5.25/28.4/.41/72.9/.007
load smc-sync-pidnn 6.27/1.28/19.9/.110/73.0/.021
noise esc 30.0/29.6/70.1/.053/71.9/1.6
noise pid 6.98/6.97/29.6/.062/71.9/1.9
noise smc 7.22/7.20/30.7/.063/71.8/2.8
noise smc-sync 7.69/7.65/31.5/.064/71.6/5.0
noise smc-sync-pidnn 8.15/8.10/33.8/.065/71.6/5.2
all esc 88.7/83.9/210/10.6/77.5/1.5
all pid 14.8/13.2/118/10.6/77.5/1.9
all smc 14.2/12.7/107/10.6/77.4/2.7
all smc-sync 11.2/9.17/77.0/10.4/77.2/4.8
all smc-sync-pidnn 10.1/7.87/48.2/10.5/77.2/5.1
"""


def _read(plant: str, text: str) -> Iterator[tuple[Cell, dict[str, float]]]:
    keys = [column.key for column in PLANTS[plant].columns]
    for line in text.strip().splitlines():
        disturbance, law, numbers = line.split()
        values = zip(keys, numbers.split("/"), strict=True)
        yield Cell(plant, law, disturbance), {key: float(value) for key, value in values if value != "-"}


IDEAL: dict[Cell, dict[str, float]] = {**dict(_read("rrr", _RRR)), **dict(_read("quad", _QUAD))}


@dataclass(frozen=True)
class Moved:
    """A number of the bench that is farther from the ideal loop's than the tolerance."""

    cell: Cell
    key: str
    value: float
    ideal: float


def moved(results: Results) -> list[Moved]:
    found = []
    for cell, numbers in results.numbers.items():
        for key, ideal in IDEAL.get(cell, {}).items():
            value = numbers[key]
            if not abs(value - ideal) <= WITHIN[cell.plant] * ideal + ROUNDED:
                found.append(Moved(cell, key, value, ideal))
    return found


ROUNDED = 5e-4
"""Half of the last digit of the ideal loop's smallest numbers."""
WHY = {
    "rrr": "Every number crosses the link in single precision: this is the chatter of the undisturbed robot. Under "
    "noise the largest error depends on the numbers drawn.",
    "quad": "The flight law is another one: it runs every 4 ms on estimates, and takes the mean of two gyro samples. "
    "So less noise reaches the setpoints; but they have steps of 4 ms, and a jump at each satellite fix. The small "
    "errors without a disturbance of the motors, and the chatter, come from these steps. The air at home, 488 m above "
    "the sea, is thinner: the rotors turn 2.4 % faster.",
}
