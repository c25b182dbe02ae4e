"""A sled on a rail, pushed by a propeller: a family of five small files outside the package.

Fly it: aeroloop fly examples/aircraft/sled.toml
"""

from aeroloop.core.tables import Family

ROW = Family(
    name="sled",
    tables="sled.scenario:SledTables",
    streams="sled.streams:STREAMS",
    vehicle="sled.build:vehicle",
    controllers={"law": "aeroloop.controllers.law.rows:VALUES"},
    law="sled.law:law",
    faults="sled.build:fault_offers",
)
