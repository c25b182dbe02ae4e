"""Films of a flight, drawn from its log: scene, cameras, instruments, encoders."""
