"""Flights of the tilt-rotor, beside the paper's."""
