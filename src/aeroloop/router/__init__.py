"""The router of the control application: it passes frames between endpoints and knows the state of every line."""
