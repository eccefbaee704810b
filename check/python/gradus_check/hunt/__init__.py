"""gradus-check hunt PACKAGE: records calls of hand-written derivatives while a package's tests run, varies their
inputs, and checks each one. See docs/checking/hunt.md.

main.py     the command: starts worker.py in a process with limits, and prints the results
worker.py   imports the package, runs its tests, checks what they called
record.py   finds and records the calls
guess.py    calls of functions that no test calls
vary.py     other inputs for a recorded call
classify.py a class for each finding: wrong, accuracy, edge, throws, unimplemented, convention
hints.py    what the source of a backward suggests
reproduce.py a program without this package that shows a finding
"""
from .main import run

__all__ = ["run"]
