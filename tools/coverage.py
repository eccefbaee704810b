#!/usr/bin/env python3
"""Prints line and branch coverage of each component, measured by gcov and gcovr.

    tools/coverage.py                  builds the preset coverage and runs all unit and slow tests
    tools/coverage.py engine ops       runs only the tests of these components, and prints only these

Branches that only exceptions of called functions take are not counted, nor are those that the compiler cannot reach. The
exit code is 1 below 90 % of the lines or 80 % of the branches, the limits of the OpenSSF badge in gold."""
import json
import os
import shutil
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
    targets = ["--target", *[f"gradus_tests_{component}" for component in components]] if components else []
    run("cmake", "--build", "--preset", "coverage", "-j", CORES, *targets)
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    chosen = ["-R", f"^({'|'.join(components)})/"] if components else []
    run("ctest", "--preset", "coverage", "-LE", "nightly", "-j", CORES, *chosen)


def files(components):
    """gcovr's summary of each source file."""
    done = subprocess.run(
        ["gcovr", "--root", ROOT, "--filter", f"({'|'.join(components)})/", "--exclude-throw-branches",
         "--exclude-unreachable-branches", "--gcov-ignore-parse-errors", "-j", CORES, "--json-summary", "-", BUILD],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["files"]


def table(components, counted):
    """Prints a row per component. Returns whether the sums reach LEAST."""
    sums = {}
    for file in counted:
        for name in (file["filename"].split("/")[0], "all"):
            row = sums.setdefault(name, dict.fromkeys(
                [f"{kind}_{what}" for kind in LEAST for what in ("covered", "total")], 0))
            for key in row:
                row[key] += file[key]
    percent = {name: {kind: 100 * row[f"{kind}_covered"] / max(1, row[f"{kind}_total"]) for kind in LEAST}
               for name, row in sums.items()}
    print(f"{'component':10} {'lines':>8} {'covered':>9} {'branches':>9} {'covered':>9}")
    for name in [*components, "all"]:
        row = sums.get(name)
        if row:
            print(f"{name:10} {row['line_total']:8} {percent[name]['line']:7.1f} % "
                  f"{row['branch_total']:9} {percent[name]['branch']:7.1f} %")
    return "all" in percent and all(percent["all"][kind] >= least for kind, least in LEAST.items())


def main(arguments):
    if arguments in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    for each in arguments:
        if each not in COMPONENTS:
            print(f"coverage: '{each}' is not a component. Use {', '.join(COMPONENTS)}", file=sys.stderr)
            return 2
    if not shutil.which("gcovr"):
        print("coverage: gcovr is not installed. Run apt-get install gcovr", file=sys.stderr)
        return 2
    try:
        measure(arguments)
        reached = table(arguments or COMPONENTS, files(arguments or COMPONENTS))
    except subprocess.CalledProcessError as error:
        print(f"coverage: this command failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
