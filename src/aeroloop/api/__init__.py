"""The public Python interface: fly a scenario, open a past run, step a vehicle in your own loop.

`import aeroloop` offers these names, and imports the modules of this package when they are first used.
"""
