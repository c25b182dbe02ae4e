"""Logs of flights, flown or simulated, in one form: readers, a DataFlash writer, alignment, scores and their page."""
