#!/usr/bin/env python3
"""Hunts for wrong derivatives in the packages of docs/found/packages.toml, and runs the programs of docs/found/.

    tools/hunt.py run [NAME…]       hunts in the installed packages, or in those named
      --sources DIR                 clones of the packages, by name: their tests are run
      --budget SECONDS              per package (default: 300)
      --results DIR                 one NAME.jsonl per package (default: build/hunt)
    tools/hunt.py count [NAME…]     prints the table of the results: functions, samples, classes, findings without a
                                    verdict in packages.toml. Exit code 1 if there are any
    tools/hunt.py programs          runs the programs of all pages whose package is installed here in the page's version.
                                    Exit code 1 if one prints something else
      --write                       writes their outputs to the pages

`run` needs the wheel of gradus_check and pytest. Wrong arguments and damaged files: one line and exit code 2."""
import argparse
import collections
import fnmatch
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "docs" / "found"
PROGRAM = re.compile(r"```(python|cpp)\n(.*?)```\n\n```text\n(.*?)```", re.S)
VERDICTS = ("found", "internal", "documented", "convention", "edge", "misuse", "checker")


class Problem(Exception):
    """Ends the program with this message."""


def installed(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def run(packages, args):
    if importlib.util.find_spec("gradus_check") is None:
        raise Problem("run needs the Python package gradus_check, which is not installed here")
    if args.sources and not args.sources.is_dir():
        raise Problem(f"--sources {args.sources} is not a directory")
    args.results.mkdir(parents=True, exist_ok=True)
    for name, package in packages.items():
        version = installed(package.get("distribution", name))
        if version is None:
            print(f"{name} is not installed: skipped")
            continue
        if version.partition("+")[0] != package["version"]:
            print(f"{name}: version {version} is installed, the verdicts are on {package['version']}")
        tests = [args.sources / name / t for t in package.get("tests", [])] if args.sources else []
        tests.append(FOUND / "calls" / f"{name}.py")  # calls of our own, where the tests do not run here
        out = args.results / f"{name}.jsonl"
        out.unlink(missing_ok=True)
        subprocess.run([sys.executable, "-m", "gradus_check", "hunt", name, "--budget", str(args.budget), "--out", out,
                        *[word for t in tests if t.exists() for word in ("--tests", t)]],
                       stdout=subprocess.DEVNULL, check=False)
    return count(packages, args)


def count(packages, args):
    """Prints a row per package. Every finding needs a verdict in the package's triage."""
    if not args.results.is_dir():
        raise Problem(f"--results {args.results} is not a directory. hunt.py run writes it")
    missing = [name for name in args.names if not (args.results / f"{name}.jsonl").exists()]
    if missing and args.command == "count":
        raise Problem(f"{args.results / missing[0]}.jsonl does not exist. hunt.py run {missing[0]} writes it")
    columns = ["functions", "samples", "pass", "fail", "inconclusive"]
    print(f"{'package':22}" + "".join(f"{c:>13}" for c in columns) + "  findings")
    total, classes, untriaged = collections.Counter(), collections.Counter(), []
    for name, package in packages.items():
        path = args.results / f"{name}.jsonl"
        if not path.exists():
            continue
        entries = entries_of(path)
        functions = [e for e in entries if e["event"] == "function"]
        row = [len(functions), *(sum(f[k] for f in functions) for k in ("samples", "PASS", "FAIL", "INCONCLUSIVE"))]
        verdicts = collections.Counter()
        for e in entries:
            if e["event"] == "finding":
                key = f"{e['function']} {e['order']} {e['kind']} {', '.join(sorted(set(e['causes'].values())))}"
                verdict = verdict_of(package.get("triage", {}), key)
                verdicts[verdict.partition(":")[0]] += 1
                if not verdict:
                    untriaged.append(f"{name}: {key}")
        total.update(dict(zip(columns, row)))
        classes.update(verdicts)
        print(f"{name:22}" + "".join(f"{n:13}" for n in row) + "  " + shown(verdicts))
    print(f"{'all':22}" + "".join(f"{total[c]:13}" for c in columns) + "  " + shown(classes))
    for each in untriaged:
        print("no verdict on " + each)
    return 1 if untriaged or classes["checker"] else 0


def entries_of(path):
    """The entries of a .jsonl file."""
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            entries.append(json.loads(line))
            entries[-1]["event"]
        except (ValueError, TypeError, KeyError):
            raise Problem(f"{path}, line {number}: not an entry of hunt. Delete the file and run hunt.py again") from None
    return entries


def verdict_of(triage, key):
    """The verdict of the longest pattern that fits the beginning of the finding."""
    if " unimplemented" in key:
        return "documented: a NotImplementedError"
    return triage.get(max((k for k in triage if fnmatch.fnmatchcase(key, k + "*")), key=len, default=""), "")


def shown(counts):
    return ", ".join(f"{n} {k or 'without a verdict'}" for k, n in sorted(counts.items())) or "none"


def programs(args):
    """Runs each program of a page and compares what it prints."""
    wrong = ran = 0
    for page in sorted(FOUND.glob("*.md")):
        text = page.read_text()
        name, _, version = text.splitlines()[0].removeprefix("# ").partition(" ")
        if not PROGRAM.search(text) or (page.stem != "cpp" and installed(name) != version.split()[0].strip()):
            continue

        def replaced(match):
            nonlocal wrong, ran
            language, program, expected = match.groups()
            printed = printed_by(language, program)
            if printed is None:
                return match[0]
            ran += 1
            same = printed == expected
            wrong += not same
            print(f"{page.name}: {'same' if same else 'DIFFERS'}: {program.splitlines()[-1].strip()[:60]}")
            return f"```{language}\n{program}```\n\n```text\n{printed}```"
        changed = PROGRAM.sub(replaced, text)
        if args.write:
            page.write_text(changed)
    if not ran:
        print("SKIPPED: no package of docs/found/ is installed in the version of its page")
    return 1 if wrong and not args.write else 0


def printed_by(language, program):
    """What the program prints, or None if it does not compile here. A C++ program begins with the command that
    compiles it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "program.py"]
        if language == "cpp":
            compile_it = program.splitlines()[0].removeprefix("// ")  # g++ … program.cpp
            (Path(folder) / "program.cpp").write_text(program)
            if subprocess.run(compile_it, shell=True, cwd=folder, capture_output=True, check=False).returncode:
                return None
            command = ["./a.out"]
        else:
            (Path(folder) / "program.py").write_text(program)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
                              env={**os.environ, "PYTHONWARNINGS": "ignore"})
        return done.stdout + (done.stderr.strip().splitlines()[-1] + "\n" if done.returncode else "")


def seconds(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def main():
    parser = argparse.ArgumentParser(prog="hunt.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "count", "programs"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sources", type=Path, metavar="DIR")
    parser.add_argument("--budget", type=seconds, default=300, metavar="SECONDS")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "hunt", metavar="DIR")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_intermixed_args()
    if args.command == "programs":
        if args.names:
            parser.error(f"programs runs all pages and takes no name, not {args.names[0]}")
        return programs(args)
    try:
        import tomllib
    except ImportError:
        parser.error(f"{args.command} needs Python 3.11 or later, not {sys.version.split()[0]}")
    packages = tomllib.loads((FOUND / "packages.toml").read_text())
    unknown = [n for n in args.names if n not in packages]
    if unknown:
        parser.error(f"{unknown[0]} is not in docs/found/packages.toml")
    packages = {n: packages[n] for n in args.names} if args.names else packages
    try:
        return {"run": run, "count": count}[args.command](packages, args)
    except Problem as problem:
        parser.error(str(problem))
    except OSError as error:  # such as a directory that must not be written
        parser.error(f"{error.filename}: {error.strerror}")


if __name__ == "__main__":
    sys.exit(main())
