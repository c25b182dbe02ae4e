"""Analysis of tilt-rotor flights, compared with the paper's."""
