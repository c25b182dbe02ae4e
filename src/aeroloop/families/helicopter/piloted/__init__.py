"""A helicopter that an external autopilot flies: it starts on its skids, and a governor holds its rotor speed."""
