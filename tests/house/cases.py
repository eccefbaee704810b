#!/usr/bin/env python3
"""Is each test case of a component's sources in its program? A macro that nobody defines would leave it out.

  cases.py TESTS PROGRAM…    tests/, and gradus_tests_COMPONENT of each component
"""
import re
import subprocess
import sys
from pathlib import Path

CASE = re.compile(r'^(TEMPLATE_)?TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.MULTILINE)
PART = re.compile(r'"((?:[^"\\]|\\.)*)"')


def names_in(source):
    """(title, whether it is of several types) of each case."""
    for found in CASE.finditer(source.read_text()):
        title = "".join(PART.findall(found[2])).replace('\\"', '"').replace("\\\\", "\\")
        yield title, bool(found[1])


LISTS = (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"])  # Catch2 2, Catch2 3


def names_of(program):
    names = set()
    for hidden in ([], ["[.]"]):
        for asked in LISTS:  # what the other version says of it is no title
            done = subprocess.run([program, *hidden, *asked], capture_output=True, text=True)
            names |= {line.strip() for line in done.stdout.splitlines()}
    return names


def main():
    tests, missing, count = Path(sys.argv[1]), [], 0
    for program in sys.argv[2:]:
        there = names_of(program)
        for source in sorted((tests / Path(program).name.removeprefix("gradus_tests_")).rglob("*.cpp")):
            for title, of_types in names_in(source):
                count += 1
                if title not in there and not (of_types and any(name.startswith(title + " - ") for name in there)):
                    missing.append(f"{source}: \"{title}\" is not in {Path(program).name}")
    print("\n".join(missing) or f"{count} cases, each in its program")
    return 1 if missing or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
