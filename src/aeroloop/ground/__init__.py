"""The ground side: setpoints of the aircraft, from a trajectory or from a pilot's stick."""
