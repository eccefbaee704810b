#!/usr/bin/env python3
"""Runs the tests repeatedly while every core is busy, and lists the tests that failed.

    tools/under_load.py [--times N] [--preset NAME] [--busy N] [-- CTEST-OPTION…]      20 times, release

Build first. Runs one endless loop per core in the background, or --busy N loops (0 if the machine is already busy). A
test that fails in some runs depends on timing, on other processes, or on chance. The exit code is 1 if any test failed."""
import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # must not outlive this script


def run_once(preset, options):
    """Returns the duration, the failed tests, and whether ctest succeeded."""
    failed = ROOT / "build" / preset / "Testing" / "Temporary" / "LastTestsFailed.log"
    failed.unlink(missing_ok=True)
    start = time.monotonic()
    result = subprocess.run(["ctest", "--preset", preset, "--quiet", "-j", str(os.cpu_count()), *options], cwd=ROOT)
    lines = failed.read_text().splitlines() if failed.exists() else []
    return time.monotonic() - start, [line.split(":", 1)[1] for line in lines], result.returncode == 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--times", type=int, default=20, help="runs of the tests (default: 20)")
    parser.add_argument("--preset", default="release", help="CMake preset (default: release)")
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 1,
                        help="processes that keep cores busy (default: one per core)")
    parser.add_argument("options", nargs="*")
    flags = parser.parse_args()
    failures, broken = Counter(), 0
    load = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(flags.busy)]
    try:
        for number in range(1, flags.times + 1):
            seconds, failed, content = run_once(flags.preset, flags.options)
            failures.update(failed)
            broken += not content
            names = "".join(f"; {name}" for name in failed)
            print(f"run {number} of {flags.times}: {seconds:.0f} s, {len(failed)} failed{names}", flush=True)
    finally:
        for each in load:
            each.kill()
            each.wait()
    for name, count in failures.most_common():
        print(f"failed in {count} of {flags.times} runs: {name}")
    print(f"{flags.times - broken} of {flags.times} runs without a failure")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
