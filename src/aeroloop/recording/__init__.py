"""Flight logs: written as MCAP while flying, read back whole or up to where they were cut off."""
