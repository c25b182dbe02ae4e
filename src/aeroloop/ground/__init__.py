"""The ground side: where the aircraft should be, from a trajectory or from a pilot's stick."""
