#!/usr/bin/env python3
"""Prints line and branch coverage of each component, measured by gcov.

    tools/coverage.py                  builds the preset coverage, and runs the unit and slow tests of all components
    tools/coverage.py engine ops       only these components

A line or branch of a template counts once, however many types it is compiled for. Branches of exceptions and of
destructors do not count.
Without arguments, the exit code is 1 below 90 % of the lines or 80 % of the branches, the limits of the OpenSSF badge
in gold."""
import collections
import json
import multiprocessing.pool
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
COMPONENTS = ["engine", "ops", "nn", "train", "io", "trace", "check"]
LEAST = {"line": 90, "branch": 80}
CORES = str(os.cpu_count() or 1)


def measure(components):
    """Runs the tests; gcov's counts are then in BUILD."""
    def run(*command):
        subprocess.run(command, cwd=ROOT, check=True)

    run("cmake", "--preset", "coverage", "-DGRADUS_BUILD_TESTS=ON", "-DGRADUS_BUILD_EXAMPLES=ON")
    run("cmake", "--build", "--preset", "coverage", "-j", CORES,
        "--target", *[f"gradus_tests_{component}" for component in components])
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    # Tests of the applications limit the size of files, which would cut off gcov's.
    run("ctest", "--preset", "coverage", "-LE", "nightly", "-j", CORES, "-R", f"^({'|'.join(components)})/")


def report(data):
    """gcov's counts of one object file."""
    done = subprocess.run(["gcov", "--branch-probabilities", "--json-format", "--stdout", data], cwd=BUILD, check=True,
                          capture_output=True)
    return json.loads(done.stdout)


def add(counts, report_, components):
    """Adds the counts of lines, (path, number), and of branches, (path, number, i), so that a line is covered if one
    instance of its template is. For some templates, gcov only lists the branches of all instances in sequence: their
    even ones then count as one branch, and their odd ones as another."""
    for file in report_["files"]:
        path = os.path.relpath(os.path.join(report_["current_working_directory"], file["file"]), ROOT)
        if path.split(os.sep)[0] not in components:
            continue
        source = (ROOT / path).read_text(encoding="utf-8").splitlines()
        named = {line["line_number"] for line in file["lines"] if "function_name" in line}
        for line in file["lines"]:
            number = line["line_number"]
            if number in named and "function_name" not in line:
                continue  # the sum of the instances, which are in the list, too
            counts["line"][path, number] += line["count"]
            if not re.search(r"\w", source[number - 1]):
                continue  # branches of destructors
            for i, branch in enumerate(each for each in line["branches"] if not each["throw"]):
                counts["branch"][path, number, i if number in named else i % 2] += branch["count"]


def collect(components):
    counts = {kind: collections.Counter() for kind in LEAST}
    with multiprocessing.pool.ThreadPool(int(CORES)) as pool:
        for each in pool.imap_unordered(report, BUILD.rglob("*.gcno")):
            add(counts, each, components)
    return counts


def table(components, counts):
    """Prints a row per component. Returns whether the sums reach LEAST."""
    print(f"{'component':10} {'lines':>8} {'covered':>9} {'branches':>9} {'covered':>9}")
    for name in [*components, "all"]:
        row, percent = f"{name:10}", {}
        for kind, least in LEAST.items():
            inside = [n for place, n in counts[kind].items() if name in ("all", place[0].split(os.sep)[0])]
            percent[kind] = 100 * sum(n > 0 for n in inside) / max(1, len(inside))
            row += f" {len(inside):8} {percent[kind]:7.1f} %"
        print(row)
    return all(percent[kind] >= least for kind, least in LEAST.items())


def main(arguments):
    if arguments in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    for each in arguments:
        if each not in COMPONENTS:
            print(f"coverage: '{each}' is not a component. Use {', '.join(COMPONENTS)}", file=sys.stderr)
            return 2
    components = arguments or COMPONENTS
    try:
        measure(components)
        reached = table(components, collect(components))
    except subprocess.CalledProcessError as error:
        print(f"coverage: this command failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    return 0 if arguments or reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
