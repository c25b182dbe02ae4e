"""Flights of multirotors, each flown by an autopilot over MAVLink HIL."""
