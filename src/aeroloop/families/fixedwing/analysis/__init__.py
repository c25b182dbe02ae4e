"""Analysis of flights of the fixed wing."""
