"""The lines that differ from a commit, uncommitted edits included."""
import re
import subprocess

FILE = re.compile(r"^\+\+\+ (?:b/(.*)|/dev/null)$")
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def git(tree, *words):
    done = subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def lines_of(diff):
    """path → changed lines, from `git diff -U0`. The neighbors of deleted lines count as changed."""
    touched, path = {}, None
    for line in diff.splitlines():
        if found := FILE.match(line):
            path = found[1]
        elif (found := HUNK.match(line)) and path:
            first, count = int(found[1]), int(found[2] or 1)
            here = range(first, first + count) if count else (first, first + 1)
            touched.setdefault(path, set()).update(here)
    return touched


def since(tree, ref=""):
    """path → lines that differ from `ref`, or from the commit where this branch left main. Returns an error
    message if `ref` is unknown."""
    start = ref or git(tree, "merge-base", "HEAD", "main") or git(tree, "merge-base", "HEAD", "origin/main") or "HEAD"
    diff = git(tree, "diff", "-U0", "--relative", "--no-ext-diff", "--no-color", "--src-prefix=a/",
               "--dst-prefix=b/", start.strip(), "--")
    if diff is None:
        return f"unknown commit '{start.strip()}'"
    touched = lines_of(diff)
    for path in (git(tree, "ls-files", "--others", "--exclude-standard") or "").splitlines():
        if path.endswith((".cpp", ".h")):
            touched[path] = set(range(1, (tree / path).read_text().count("\n") + 2))
    return touched
