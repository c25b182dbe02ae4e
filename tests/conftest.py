"""Shared by all tests: hypothesis without wall-clock deadlines, since these machines are busy ones."""

from hypothesis import settings

settings.register_profile("aeroloop", deadline=None, print_blob=True)
settings.load_profile("aeroloop")
