"""Aeroloop: a hardware-in-the-loop bench for UAV flight controllers."""

__version__ = "0.2.0"
