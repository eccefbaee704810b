"""`python -m gradus_check` is the command gradus-check."""
from .hunt import run

run()
