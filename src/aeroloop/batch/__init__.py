"""Many flights at once: a vehicle's whole loop as generated code, one lane or GPU thread per flight."""
