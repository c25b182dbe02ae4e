"""A rocket that hops on one gimballed motor: a family in a folder outside the package.

Fly it: aeroloop fly examples/aircraft/rocket-hop.toml
"""

from aeroloop.core.tables import Family

ROW = Family(
    name="rocket",
    tables="rocket.scenario:RocketTables",
    streams="rocket.streams:STREAMS",
    vehicle="rocket.build:vehicle",
    check="rocket.airframe:check",
    controllers={"law": "aeroloop.controllers.law.rows:VALUES"},
    law="rocket.law:law",
    analysis="rocket.analysis:ANALYSIS",
    sections="rocket.analysis:sections",
    shape="rocket.shape:shape",
    page="rocket.page:PAGE",
    faults="rocket.build:fault_offers",
)
