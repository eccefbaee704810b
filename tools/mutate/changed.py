"""Which lines a change touched: those that differ from a commit, edits not yet committed among them."""
import re
import subprocess

FILE = re.compile(r"^\+\+\+ (?:b/(.*)|/dev/null)$")
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def git(tree, *words):
    done = subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def lines_of(diff):
    """path → lines, of `git diff -U0`. Where lines were taken out, those before and after are touched."""
    touched, path = {}, None
    for line in diff.splitlines():
        if found := FILE.match(line):
            path = found[1]
        elif (found := HUNK.match(line)) and path:
            first, count = int(found[1]), int(found[2] or 1)
            here = range(first, first + count) if count else (first, first + 1)
            touched.setdefault(path, set()).update(here)
    return touched


def since(tree, commit=""):
    """path → lines that differ from `commit`, or from where this branch left main."""
    start = commit or (git(tree, "merge-base", "HEAD", "main") or "HEAD").strip()
    diff = git(tree, "diff", "-U0", "--relative", "--no-ext-diff", "--no-color", "--src-prefix=a/",
               "--dst-prefix=b/", start)
    if diff is None:
        raise SystemExit(f"mutate.sh: git knows no commit {start}")
    touched = lines_of(diff)
    for path in (git(tree, "ls-files", "--others", "--exclude-standard") or "").splitlines():
        if path.endswith((".cpp", ".h")):
            touched[path] = set(range(1, (tree / path).read_text().count("\n") + 2))
    return touched
