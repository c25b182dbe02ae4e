"""`python -m aeroloop.cli`, for machines where the command is not on the path."""

from aeroloop.cli import main

main()
