#!/usr/bin/env python3
"""Writes the files of a release into build/release-VERSION/, if ./test.sh --release was green on this commit.

    tools/release.py            notes.md, the source archive, its SBOM, the packages of build/packages/ and SHA256SUMS
    tools/release.py --check    only checks that CHANGELOG.md has a dated section for the version

Prints the two commands that publish, and runs neither. The same commit gives the same archive and SBOM."""
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "build/release-checks/green"  # the commit on which every check was green
TOOLS = "build/release-tools/bin"
# Name, license, and whether the library needs it. The programs need CLI11.
DEPENDENCIES = [("nlohmann-json", "MIT", True), ("CLI11", "BSD-3-Clause", False), ("OpenBLAS", "BSD-3-Clause", False),
                ("libgomp", "GPL-3.0-or-later WITH GCC-exception-3.1", False), ("Open MPI", "BSD-3-Clause", False)]


class Refused(Exception):
    """A reason not to release: what is wrong, and the fix."""


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def version():
    numbers = re.findall(r"^#define GRADUS_VERSION_\w+ (\d+)", (ROOT / "engine/base/version.h").read_text(), re.M)
    return ".".join(numbers)


def notes():
    """The changelog's section of the version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = [title for title in re.findall(r"^## (.*)", text, re.M) if version() in title]
    if not titles:
        raise Refused(f"CHANGELOG.md has no section for {version()}, the version in engine/base/version.h. "
                      f"Rename 'Unreleased' to '{version()} (YYYY-MM-DD)'")
    if not re.match(rf"\[?{re.escape(version())}\]?\W+\d{{4}}-\d\d-\d\d\b", titles[0]):
        raise Refused(f"the section '{titles[0]}' of CHANGELOG.md is not dated. Write '## {version()} (YYYY-MM-DD)'")
    section = text.split(f"## {titles[0]}\n", 1)[1].split("\n## ")[0].strip()
    if not section:
        raise Refused(f"the section '{titles[0]}' of CHANGELOG.md is empty. List what changed")
    return section + "\n"


def check_state():
    changed = git("status", "--porcelain").decode().splitlines()
    if changed:
        raise Refused(f"the tree has {len(changed)} changes ('{changed[0]}', …). Commit or remove them")
    commit = git("rev-parse", "HEAD").decode().strip()
    green = (ROOT / STAMP).read_text().strip() if (ROOT / STAMP).exists() else "none"
    if green != commit:
        raise Refused(f"./test.sh --release was not green on {commit[:12]} (last green: {green[:12]}). Run it")
    return commit


def archive(name):
    """All tracked files. git uses the time of the commit, so the bytes depend only on the commit."""
    tar = git("-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={name}/", "HEAD")
    return gzip.compress(tar, mtime=0)


def package_of(name, license_):
    return (f"\nPackageName: {name}\nSPDXID: {reference(name)}\nPackageDownloadLocation: NOASSERTION\n"
            f"FilesAnalyzed: false\nPackageLicenseDeclared: {license_}\n")


def reference(name):
    return "SPDXRef-" + re.sub(r"\W", "-", name)


def sbom(commit):
    """An SPDX document: reuse lists files and licenses, and this adds Gradus and its dependencies as packages."""
    path = f"{ROOT / TOOLS}{os.pathsep}{os.environ.get('PATH', '')}"
    reuse = shutil.which("reuse", path=path)
    if not reuse:
        raise Refused(f"reuse is not installed. ./test.sh --release installs it into {TOOLS}")
    files = subprocess.run([reuse, "spdx", "--creator-organization", "The Gradus authors"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    seconds = int(git("show", "--no-patch", "--format=%ct", commit))
    fixed = {"SPDXVersion": "SPDX-2.3", "DocumentName": f"gradus-{version()}",
             "DocumentNamespace": f"http://spdx.org/spdxdocs/gradus-{version()}-{commit}",
             "Created": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    for key, value in fixed.items():
        files = re.sub(rf"^{key}: .*", f"{key}: {value}", files, count=1, flags=re.M)
    head, *blocks = files.strip().split("\n\n")  # reuse orders files by the speed of its processes
    links = sorted(line for line in head.splitlines() if line.startswith("Relationship"))
    facts = [line for line in head.splitlines() if not line.startswith("Relationship")]
    text = "\n\n".join(["\n".join(facts + links), *sorted(blocks)]) + "\n" + package_of("gradus", "MIT")
    text += f"PackageVersion: {version()}\nRelationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-gradus\n"
    for name, license_, needed in DEPENDENCIES:
        text += package_of(name, license_) + "Relationship: " + (
            f"SPDXRef-gradus DEPENDS_ON {reference(name)}\n" if needed else
            f"{reference(name)} OPTIONAL_DEPENDENCY_OF SPDXRef-gradus\n")
    return text


def write(folder, commit):
    name = f"gradus-{version()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in sorted((ROOT / "build/packages").glob("*")):
        if package.is_file():
            shutil.copy2(package, folder)
    (folder / "notes.md").write_text(notes(), encoding="utf-8")
    (folder / f"{name}.tar.gz").write_bytes(archive(name))
    (folder / f"{name}.spdx").write_text(sbom(commit), encoding="utf-8")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))


def main(arguments):
    if arguments in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if arguments not in ([], ["--check"]):
        print(f"release: unknown option '{arguments[0]}'. Use --check or --help", file=sys.stderr)
        return 2
    try:
        notes()
        if arguments:
            return 0
        commit = check_state()
        folder = ROOT / "build" / f"release-{version()}"
        write(folder, commit)
    except Refused as reason:
        print(f"release: {reason}.", file=sys.stderr)
        return 2
    path = folder.relative_to(ROOT)
    print(f"{path}: {', '.join(file.name for file in sorted(folder.iterdir()))}\n\nTo publish:\n"
          f"  git tag --sign v{version()} --cleanup=whitespace --file {path}/notes.md\n  git push origin v{version()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
