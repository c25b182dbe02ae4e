"""The file of a campaign: a scenario, the parameters that vary, how they are drawn, and the checks of the results.

Every parameter key is a key of the scenario, dotted, with an index for one element of a tuple:
`world.wind.steady_W[0]`. All keys are checked against the scenario when the file is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from aeroloop.analysis.checks import required
from aeroloop.api.scenarios import ScenarioPlan, named
from aeroloop.campaign.batch_file import Rare, SobolIndices
from aeroloop.campaign.design_size import MOST_FLIGHTS, check_size
from aeroloop.campaign.parameter import Parameter, Value
from aeroloop.campaign.search_file import Search
from aeroloop.campaign.sweep_file import Sweep, with_endless
from aeroloop.core.config import Config, convert, meta, note, override, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import parts_of, prefix
from aeroloop.core.noise_source import PHILOX_SEEDS
from aeroloop.core.paths import CAMPAIGNS
from aeroloop.core.scenario_files import HERE, is_campaign
from aeroloop.core.suggest import did_you_mean

if TYPE_CHECKING:
    from aeroloop.batch.flights import Plan as BatchPlan

PASSED = "passed"
"""The rate of flights that ended as planned and met all checks."""
CAMPAIGN_DIRS = (HERE, Path("campaigns"), CAMPAIGNS)
"""Where names are searched: first the user's own files, then the shipped ones."""
IN_CODE = Path("campaign in code")
_ELEMENT = re.compile(r"(.+)\[(\d+)\]")


class RateCheck(Config, frozen=True, kw_only=True):
    """The lower bound of a rate must be at least a limit, not the estimate."""

    rate: Annotated[str, note("`passed`, or the metric of a check of the scenario")] = PASSED
    at_least: Annotated[float, meta("-", "Smallest allowed rate", gt=0.0, lt=1.0)]
    confidence: Annotated[float, meta("-", "Of the lower bound, one-sided", gt=0.5, lt=1.0)] = 0.95


class Definition(Config, frozen=True, kw_only=True):
    """A campaign file."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Name of the campaign")]
    summary: Annotated[str, note("One line for people")] = ""
    scenario: Annotated[str | dict[str, Any], note("Name or file of the scenario, relative to this file")]
    flights: (
        Annotated[int, meta("-", "Number of flights; a grid has its own", ge=1, le=MOST_FLIGHTS["batch"])] | None
    ) = None
    seed: Annotated[int, meta("-", "Seed of the draws and of the flights' noise", ge=0, lt=2**53)] = 1
    design: Annotated[Literal["random", "lhs", "sobol", "grid"], note("How the parameters are drawn")] = "random"
    seeds_per_point: Annotated[int, meta("-", "Noise seeds flown at each point", ge=1, le=10000)] = 1
    loop: Annotated[Literal["mil", "sil", "pil"] | None, note("Rung; by default the scenario's")] = None
    engine: Annotated[Literal["bench", "batch"], note("Each flight with its processes, or thousands at once")] = "bench"
    parameter: Annotated[tuple[Parameter, ...], note("Keys that vary")] = ()
    check: Annotated[tuple[RateCheck, ...], note("Checks of the campaign")] = ()
    search: Annotated[Search | None, note("Boundary search")] = None
    sensitivity: Annotated[SobolIndices | None, note("Sobol indices, engine batch")] = None
    rare: Annotated[Rare | None, note("Rate of a rare failure, engine batch")] = None
    sweep: Annotated[tuple[Sweep, ...], note("Faults to fly")] = ()
    wall_limit_s: Annotated[float, meta("s", "Wall time of a flight at most; else by its duration", gt=0.0)] | None = (
        None
    )
    retries: Annotated[int, meta("-", "For a flight that could not be flown", ge=0, le=100)] = 2
    keep: Annotated[int, meta("-", "Flights in the list of the worst, by each check", ge=1, le=1000)] = 10

    def __post_init__(self) -> None:
        keys = [parameter.key for parameter in self.parameter]
        keys += self.search.names if self.search else ()
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise ValueError(f"{twice[0]}: two parameters have this key; expected one")
        drawn = [parameter.key for parameter in self.parameter if parameter.count is None]
        self._check_batch()
        if self.sweep and self.search:
            raise ValueError("sweep: expected no `search` in the same file")
        if self.sweep and self.engine == "batch":
            raise ValueError('sweep: a batch has no faults; expected engine = "bench"')
        if self.design == "grid" or self.sweep:
            if drawn:
                raise ValueError(
                    f"{drawn[0]}: is drawn; expected `grid` or `lin` where design is grid, or with a sweep"
                )
            if self.flights is not None:
                raise ValueError(
                    "flights: a grid or a sweep has its own number; expected seeds_per_point, or another design"
                )
        elif self.flights is None and not self.own_number:
            raise ValueError(f"flights: missing; expected the number of flights of a {self.design} design")
        if self.search and any(parameter.count is not None for parameter in self.parameter):
            raise ValueError("search: expected parameters that are drawn, without `grid` and `lin`")
        check_size(self)

    @property
    def own_number(self) -> bool:
        """Whether another table than `flights` says how many are flown."""
        return any((self.search, self.sensitivity, self.rare))

    def _check_batch(self) -> None:
        given = [name for name in ("search", "sensitivity", "rare") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{given[1]}: expected no `{given[0]}` in the same file")
        for name in ("sensitivity", "rare"):
            if name not in given:
                continue
            if self.engine != "batch":
                raise ValueError(f'{name}: too many flights for the bench; expected engine = "batch"')
            other = [each.key for each in self.parameter if each.normal is None and each.uniform is None]
            if other or not self.parameter:
                raise ValueError(f"{name}: expected parameters with `normal` or `uniform`, not {other or 'none'}")
            if self.flights is not None or self.seeds_per_point > 1 or self.design != "random":
                raise ValueError(f"{name}: has its own design; expected no flights, seeds_per_point and design")
        if self.engine == "batch" and self.seed >= PHILOX_SEEDS:
            raise ValueError(f"seed: a batch takes 32 bits; expected less than {PHILOX_SEEDS}")


@dataclass(frozen=True)
class CampaignFile:
    """A campaign file that was read, and its scenario."""

    path: Path
    definition: Definition
    scenario: ScenarioPlan  # on the rung of the campaign, in lockstep
    batch: BatchPlan | None = None  # of the engine batch, once it was made

    @property
    def philox(self) -> bool:
        """Whether a flight's noise is selected by its number in a batch: by `noise.flight`, not by `seed`."""
        return any(part.noise.generator == "philox" for part in parts_of(self.scenario.plan))

    def changes(self, values: Mapping[str, Value], seed: int | None = None) -> tuple[str, ...]:
        """The changes of the scenario for one flight, as for `--set`."""
        whole: dict[str, Any] = {}
        for key, value in values.items():
            element = _ELEMENT.fullmatch(key)
            if element is None:
                whole[key] = value
                continue
            of, index = element[1], int(element[2])
            elements = whole.setdefault(of, list(self._elements(of, key)))
            if index >= len(elements):
                raise ConfigError(f"{key}: {of} has {len(elements)} elements; the first is {of}[0]")
            elements[index] = value
        noise: tuple[str, ...] = ()
        if seed is not None and self.philox:
            noise = (override("seed", self.definition.seed), override("noise.flight", seed))
        elif seed is not None:
            noise = (override("seed", seed),)
        return (*(override(key, value) for key, value in whole.items()), *noise)

    def _elements(self, of: str, key: str) -> list[Any]:
        try:
            elements = self.scenario[of]
        except KeyError:
            # The loader of the scenario names the key that is wrong, and those that are known.
            self._load((override(of, 0),))
            raise ConfigError(f"{key}: the scenario has no such key") from None
        if not isinstance(elements, list | tuple):
            raise ConfigError(f"{key}: {of} is not a list; expected {of}")
        return list(elements)

    def _load(self, changes: tuple[str, ...]) -> None:
        try:
            _ = self.scenario.changed(changes).plan
        except ConfigError as error:
            source = f"{self.scenario.path} with {' '.join((*self.scenario.changes, *changes))}: "
            raise ConfigError(str(error).removeprefix(source)) from None

    def check(self) -> None:
        """ConfigError names a key or value that the scenario does not take, or a rate that it does not have."""
        definition = self.definition
        for where, key, values in extremes(definition):
            for value in values:
                try:
                    self._load(self.changes({key: value}))
                except ConfigError as error:
                    raise ConfigError(f"{self.path}: {where}: {error}") from None
        rates = rates_of(self.scenario)
        for index, check in enumerate(definition.check):
            if check.rate not in rates:
                like = did_you_mean(check.rate, rates)
                raise ConfigError(
                    f"{self.path}: check[{index}].rate: unknown rate {check.rate!r}{like}, expected one of: "
                    f"{', '.join(rates)}"
                )


def rates_of(scenario: ScenarioPlan) -> tuple[str, ...]:
    plan = scenario.plan
    parts = parts_of(plan)
    metrics = (
        f"{prefix(plan, part)}{check.metric}" for part in parts for check in required(part, in_fleet=len(parts) > 1)
    )
    return (PASSED, *dict.fromkeys(metrics))


def extremes(definition: Definition) -> Iterator[tuple[str, str, tuple[Value, ...]]]:
    """Where a key is, the key, and values that the scenario must take."""
    for index, parameter in enumerate(definition.parameter):
        yield f"parameter[{index}].key", parameter.key, parameter.samples
    if definition.search:
        for index, axis in enumerate(definition.search.axes):
            where = f"search.keys[{index}].key" if definition.search.keys else "search.key"
            yield where, axis.key, (axis.from_, axis.to)


def find(name: str | Path) -> Path:
    """The file of a campaign given by name or by path."""
    text = str(name)
    if text.endswith(".toml"):
        if not Path(text).is_file():
            beside = [str(each) for each in Path(text).parent.glob("*.toml")]
            raise ConfigError(f"{text}: no such campaign file{did_you_mean(text, beside)}")
        return Path(text)
    for folder in CAMPAIGN_DIRS:
        path = folder / f"{text}.toml"
        if path.is_file() and (folder != HERE or is_campaign(path)):
            return path
    known = [path.stem for path in available()]
    raise ConfigError(
        f"unknown campaign {text!r}{did_you_mean(text, known)}; expected a .toml file or one of: "
        f"{', '.join(known) or 'none'}"
    )


def available() -> list[Path]:
    """The campaigns that can be run by name, each once."""
    found: dict[str, Path] = {}
    for folder in CAMPAIGN_DIRS:
        for path in sorted(folder.glob("*.toml")):
            if folder != HERE or is_campaign(path):
                found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def read(name: str | Path | Mapping[str, Any], engine: str | None = None) -> CampaignFile:
    """Read and check a campaign: a file, a name, or a table with the content of a file. `engine`: in place of the
    file's."""
    path = IN_CODE if isinstance(name, Mapping) else find(name)
    table = dict(name) if isinstance(name, Mapping) else read_toml(path)
    table |= {"engine": engine} if engine else {}
    definition = convert(with_endless(table), Definition, str(path))
    campaign = of_definition(definition, path)
    if definition.engine == "batch":
        from aeroloop.campaign import batch_flights  # imports this module

        campaign = replace(campaign, batch=batch_flights.check(campaign))
    return campaign


def of_definition(definition: Definition, path: Path) -> CampaignFile:
    asked = definition.scenario
    if isinstance(asked, str) and asked.endswith(".toml") and not Path(asked).is_absolute() and path != IN_CODE:
        asked = str((path.resolve().parent / asked).resolve())
    changes = [override("pace", "lockstep")]
    changes += [override("loop", definition.loop)] if definition.loop else []
    changes += [override("noise.generator", "philox")] if definition.engine == "batch" else []
    try:
        if definition.engine == "batch":
            _check_family(named(asked))
        scenario = named(asked).changed(tuple(changes)).checked()
    except ConfigError as error:
        raise ConfigError(f"{path}: scenario: {error}") from None
    campaign = CampaignFile(path, definition, scenario)
    _check_plan(campaign)
    campaign.check()
    return campaign


def _check_family(scenario: ScenarioPlan) -> None:
    from aeroloop.batch import flights  # CasADi is slow to import

    for part in parts_of(scenario.plan):
        flights.checked(part)


def _check_plan(campaign: CampaignFile) -> None:
    plan, where = campaign.scenario.plan, f"{campaign.path}: scenario"
    if not math.isfinite(plan.duration_s) or plan.open_ended:
        raise ConfigError(f"{where}: {plan.name} has no end of its own; expected a scenario that ends by itself")
    if "hil" in plan.loop:
        raise ConfigError(f"{where}: {plan.name} flies an external board; expected loop mil, sil or pil")


def as_table(definition: Definition) -> dict[str, Any]:
    table: dict[str, Any] = msgspec.to_builtins(definition)
    return table
