"""Campaigns: many flights that differ in a few settings, and the tables that compare them."""
