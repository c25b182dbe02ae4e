"""The dashboard: one process that reads a flight's live feed, and serves pages to any number of browsers."""
