#!/usr/bin/env python3
"""Plants bugs one at a time and reports the ones that no test detects.

    tools/plant.py [--only WORD,…] [--list]     bugs whose line contains one of these words

Each line of tests/planted.txt is one bug:

    FILE :: FUNCTION :: BEFORE :: AFTER :: COMPONENT FILTER

BEFORE occurs once in FUNCTION of FILE (\\n is a newline; a member is Class::function). With AFTER in its
place, gradus_tests_COMPONENT must fail. FILTER is optional and selects the Catch2 test cases to run. Only the
copy of this tree in build/planted is changed. The exit code is 1 if a bug is not detected. If BEFORE is not
found, change the bug's line, or delete it.
"""
import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "mutate"))
from functions import functions_of  # noqa: E402
from tokens import Source  # noqa: E402

TREE = ROOT / "build" / "planted"
LIST = ROOT / "tests" / "planted.txt"
PATIENCE = 600  # timeout in seconds, as a bug may cause an endless loop


class Misuse(Exception):
    pass


@dataclass
class Bug:
    line: int  # line number in tests/planted.txt
    file: str
    function: str
    before: str
    after: str
    component: str
    filter: str

    def shown(self):
        return f"{self.file}: {self.function}: {self.before} ⇒ {self.after or 'nothing'}".replace("\n", "\\n")


def read_list(text, words):
    bugs = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#") or not any(word in line for word in words):
            continue
        parts = [part.strip(" ").replace("\\n", "\n") for part in line.split(" :: ")]
        if len(parts) != 5:
            raise Misuse(f"{LIST.name}:{number}: FILE :: FUNCTION :: BEFORE :: AFTER :: COMPONENT FILTER has 5 "
                         f"parts, got {len(parts)}")
        component, _, tests = parts[4].partition(" ")
        bugs.append(Bug(number, *parts[:4], component, tests))
    return bugs


def planted(text, bug):
    """The text with the bug in it, or None unless BEFORE occurs once in FUNCTION."""
    source = Source(text, bug.file)
    at = []
    for function in functions_of(source):
        if function.full_name() == bug.function:
            begin, end = source.tokens[function.first].start, source.tokens[function.body[1]].end
            at += [i for i in range(begin, end) if text.startswith(bug.before, i, end)]
    return text[:at[0]] + bug.after + text[at[0] + len(bug.before):] if len(at) == 1 else None


def copy_tree():
    """Writes only files that differ, so that nothing else is recompiled."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, TREE / name
        if not source.is_file() or target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)
    wanted = set(names)
    for path in TREE.rglob("*"):  # otherwise CMake's globs would find deleted files
        name = str(path.relative_to(TREE))
        if path.is_file() and not name.startswith("build/") and name not in wanted:
            path.unlink()


def build(component):
    """Builds the component's tests; returns the errors."""
    done = subprocess.run(["cmake", "--build", "--preset", "release", "--target", f"gradus_tests_{component}"],
                          cwd=TREE, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-2000:]


def tests_pass(bug):
    program = TREE / "build/release/tests" / f"gradus_tests_{bug.component}"
    try:
        done = subprocess.run([str(program), "--abort", *([bug.filter] if bug.filter else [])], cwd=TREE,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL, capture_output=True)
    except subprocess.TimeoutExpired:
        return False
    if b"No test cases matched" in done.stdout + done.stderr:
        raise Misuse(f"{LIST.name}:{bug.line}: gradus_tests_{bug.component} has no test '{bug.filter}'")
    return done.returncode == 0


def judge(bug):
    path = TREE / bug.file
    whole = path.read_text() if path.exists() else ""
    changed = planted(whole, bug)
    if changed is None:
        return "not found"
    try:
        path.write_text(changed)
        if build(bug.component):
            return "does not compile"
        return "NOT DETECTED" if tests_pass(bug) else "detected"
    finally:
        path.write_text(whole)


def prepare(bugs):
    """Builds the test programs, which must pass without a bug."""
    TREE.mkdir(parents=True, exist_ok=True)
    copy_tree()
    subprocess.run(["cmake", "--preset", "release", "-DGRADUS_BUILD_TESTS=ON", "-DGRADUS_BUILD_EXAMPLES=ON"],
                   cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    for component in sorted({bug.component for bug in bugs}):
        if errors := build(component):
            raise SystemExit(f"plant.py: gradus_tests_{component} does not compile:\n{errors}")
    for bug in {(bug.component, bug.filter): bug for bug in bugs}.values():
        if not tests_pass(bug):
            raise SystemExit(f"plant.py: gradus_tests_{bug.component} {bug.filter} fails without a bug")


def run(arguments):
    parser = argparse.ArgumentParser(prog="plant.py", allow_abbrev=False, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD,…")
    parser.add_argument("--list", action="store_true")

    def error(text):
        raise Misuse(text)

    parser.error = error
    flags = parser.parse_args(arguments)
    bugs = read_list(LIST.read_text(), flags.only.split(","))
    if not bugs:
        raise Misuse(f"no line of {LIST.name} contains {flags.only}; --list shows all")
    if flags.list:
        print("\n".join(bug.shown() for bug in bugs))
        return 0
    prepare(bugs)
    verdicts = []
    for bug in bugs:
        verdicts.append(judge(bug))
        print(f"{verdicts[-1]:16}  {bug.shown()}", flush=True)
    print(", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts)))
    return 1 if "NOT DETECTED" in verdicts else 0


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except Misuse as misuse:
        print(f"plant.py: {misuse}", file=sys.stderr)
        sys.exit(2)
