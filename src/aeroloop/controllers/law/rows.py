"""The rows of our own boards: one that owns its timer and asks, two that work by the plant's clock."""

from __future__ import annotations

from aeroloop.core.tables import Controller

REQUEST = Controller(
    name="law",
    roles="aeroloop.controllers.law.request_launch:roles",
    launch="aeroloop.controllers.law.request_launch:launch",
    exchange="aeroloop.controllers.law.request_exchange:exchange",
    inline="aeroloop.controllers.law.inline:request",
)
PERIOD = Controller(
    name="law",
    roles="aeroloop.controllers.law.period_launch:roles",
    launch="aeroloop.controllers.law.period_launch:launch",
    exchange="aeroloop.controllers.law.period_exchange:exchange",
    inline="aeroloop.controllers.law.inline:period",
)
VALUES = Controller(
    name="law",
    roles="aeroloop.controllers.law.values:roles",
    launch="aeroloop.controllers.law.values:launch",
    exchange="aeroloop.controllers.law.values:exchange",
    inline="aeroloop.controllers.law.values:inline",
)
"""Of any family whose row names a `law`."""
