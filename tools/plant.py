#!/usr/bin/env python3
"""Plants faults one at a time, as a person could make them by hand, and sees whether the tests notice.

  tools/plant.py [--only WORD,…] [--list]     those whose line has one of these words in it

Each line of tests/planted.txt is one fault:

  FILE :: BEFORE :: AFTER :: ROOM FILTER

BEFORE stands once in FILE (\\n is a new line). gradus_tests_ROOM is built with AFTER in its place and
must fail; FILTER, which may be left out, says which of its tests are run, as Catch2 understands it.
The copy of this tree in build/planted is what is changed.
"""
import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "build" / "planted"
LIST = ROOT / "tests" / "planted.txt"
PATIENCE = 600  # seconds for one program of tests: a fault may make it go on for ever


@dataclass
class Fault:
    place: int  # its line in the list
    file: str
    before: str
    after: str
    room: str
    filter: str

    def shown(self):
        after = self.after if self.after else "nothing"
        return f"{self.file}: {self.before}  =>  {after}".replace("\n", "\\n")


def read_list(words):
    faults = []
    for place, line in enumerate(LIST.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#") or not any(word in line for word in words):
            continue
        parts = [part.strip(" ").replace("\\n", "\n") for part in line.split(" :: ")]
        if len(parts) != 4:
            raise SystemExit(f"{LIST.name}:{place}: FILE :: BEFORE :: AFTER :: ROOM FILTER, not {len(parts)} parts")
        room, _, chosen = parts[3].partition(" ")
        faults.append(Fault(place, parts[0], parts[1], parts[2], room, chosen))
    return faults


def copy_tree():
    """Writes what differs, so that nothing else is compiled again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    for name in listed:
        source, target = ROOT / name, TREE / name
        if not source.is_file() or target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)
    wanted = set(listed)
    for path in TREE.rglob("*"):  # a file that is gone here would be found there by a glob
        name = str(path.relative_to(TREE))
        if path.is_file() and not name.startswith(("build/", ".git/")) and name not in wanted:
            path.unlink()


def build(room):
    done = subprocess.run(["cmake", "--build", "--preset", "release", "--target", f"gradus_tests_{room}"],
                          cwd=TREE, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-2000:]


def tests_pass(fault):
    program = TREE / "build/release/tests" / f"gradus_tests_{fault.room}"
    command = [str(program), "--abort", *([fault.filter] if fault.filter else [])]
    try:
        done = subprocess.run(command, cwd=TREE, timeout=PATIENCE, stdin=subprocess.DEVNULL, capture_output=True)
    except subprocess.TimeoutExpired:
        return False
    if b"No test cases matched" in done.stdout + done.stderr:
        raise SystemExit(f"{LIST.name}:{fault.place}: no test of gradus_tests_{fault.room} is '{fault.filter}'")
    return done.returncode == 0


def judge(fault):
    path = TREE / fault.file
    whole = path.read_text() if path.exists() else ""
    if whole.count(fault.before) != 1:
        return f"stands {whole.count(fault.before)} times in {fault.file}"
    try:
        path.write_text(whole.replace(fault.before, fault.after))
        if build(fault.room):
            return "does not compile"
        return "SLIPPED" if tests_pass(fault) else "noticed"
    finally:
        path.write_text(whole)


def prepare(faults):
    """Builds the programs; a test that fails without a fault would notice everything."""
    TREE.mkdir(parents=True, exist_ok=True)
    copy_tree()
    subprocess.run(["cmake", "--preset", "release", "-DGRADUS_BUILD_TESTS=ON", "-DGRADUS_BUILD_EXAMPLES=ON"],
                   cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    for room in sorted({fault.room for fault in faults}):
        if wrong := build(room):
            raise SystemExit(f"gradus_tests_{room} does not build:\n{wrong}")
    for fault in {(fault.room, fault.filter): fault for fault in faults}.values():
        if not tests_pass(fault):
            raise SystemExit(f"gradus_tests_{fault.room} {fault.filter}: fails without a fault")


def main():
    parser = argparse.ArgumentParser(prog="plant.py", allow_abbrev=False)
    parser.add_argument("--only", default="", metavar="WORD,…")
    parser.add_argument("--list", action="store_true")
    flags = parser.parse_args()
    faults = read_list(flags.only.split(","))
    if flags.list:
        print("\n".join(fault.shown() for fault in faults))
        return 0
    if not faults:
        raise SystemExit("plant.py: no fault has that in its line; --list shows all")
    start = time.time()
    prepare(faults)
    verdicts = []
    for fault in faults:
        verdicts.append(judge(fault))
        print(f"{verdicts[-1]:8}  {fault.shown()}", flush=True)
    noticed = verdicts.count("noticed")
    print(f"\n{noticed} of {len(faults)} noticed, {verdicts.count('SLIPPED')} slipped, "
          f"{len(faults) - noticed - verdicts.count('SLIPPED')} could not be planted; "
          f"{(time.time() - start) / 60:.1f} minutes")
    return 0 if noticed == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
