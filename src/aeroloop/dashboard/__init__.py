"""The control application's pages: one process that watches a flight's live feed, and any number of browsers."""
