#!/usr/bin/env python3
"""Checks that comparisons with the oracle reach every line of the backward passes.

  tests/coverage.py [BUILD]      BUILD: build/coverage, made by
      cmake --preset coverage && cmake --build --preset coverage --target gradus_tests_ops

Runs only two tests: the registry's oracle test, and the test that compares attention in parts with
the formula, because no sample is long enough for multiple parts. Reads gcov's counts for all
functions of ops/ with `backward` in their name, including their lambdas. Fails with a list of the
unreached lines. ops/test_coverage.cpp checks that each needs_grad(i) was true and false.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(build):
    """Runs the comparisons with the oracle to create gcov's counts."""
    for old in build.rglob("*.gcda"):
        old.unlink()
    test = build / "tests" / "gradus_tests_ops"
    subprocess.run([test, "registry: values*,attention with few heads*"], check=True,
                   stdout=subprocess.DEVNULL, cwd=ROOT)


def reports(build):
    objects = build / "CMakeFiles" / "gradus_fast.dir" / "ops"
    for data in sorted(objects.glob("*.gcda")):
        out = subprocess.run(["gcov", "--json-format", "--stdout", data],
                             check=True, capture_output=True, text=True, cwd=build)
        yield json.loads(out.stdout)


def backward_lines(report):
    """Yields (file, line) and the count for functions that compute gradients."""
    for file in report["files"]:
        path = pathlib.Path(os.path.normpath(os.path.join(report["current_working_directory"],
                                                          file["file"])))
        try:
            name = path.resolve().relative_to(ROOT.resolve())
        except ValueError:
            continue
        if name.parts[0] != "ops":
            continue
        backward = {f["name"] for f in file["functions"] if "backward" in f["demangled_name"]}
        for line in file["lines"]:
            if line.get("function_name") in backward:
                yield (str(name), line["line_number"]), line["count"]


def source(place):
    return (ROOT / place[0]).read_text(encoding="utf-8").splitlines()[place[1] - 1].strip()


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "coverage").resolve()
    if not (build / "tests" / "gradus_tests_ops").exists():
        print(f"coverage.py: {build}/tests/gradus_tests_ops is missing. Run {__doc__.splitlines()[3].strip()}",
              file=sys.stderr)
        return 2
    measure(build)
    lines = collections.Counter()  # instantiations of a template count together
    for report in reports(build):
        for place, count in backward_lines(report):
            lines[place] += count
    for place in [p for p in lines if source(p) == "}"]:  # reached only by exceptions
        del lines[place]
    missed = sorted(place for place, count in lines.items() if count == 0)
    for place in missed:
        print(f"not reached: {place[0]}:{place[1]}: {source(place)}")
    print(f"{len(lines) - len(missed)} of {len(lines)} backward lines reached")
    return 1 if missed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
