"""Tests tools/release_checks.py on trivial rows, release.py on a small repository, the sums of coverage.py, and wrong
arguments."""
import collections
import contextlib
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import coverage  # noqa: E402
import everything  # noqa: E402
import release  # noqa: E402
import release_checks  # noqa: E402
from release_checks import Row  # noqa: E402

NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
         "GIT_CONFIG_GLOBAL": os.devnull}
VERSION = "#define GRADUS_VERSION_MAJOR 3\n#define GRADUS_VERSION_MINOR 2\n#define GRADUS_VERSION_PATCH 1\n"
DATED = "# Changelog\n\n## Unreleased\n\n## 3.2.1 (2031-02-03)\n\nA new op.\n\n## 3.2.0 (2030-01-01)\n\nOlder.\n"
PASSES, FAILS = [[sys.executable, "-c", "pass"]], [[sys.executable, "-c", "raise SystemExit(4)"]]
FAKE_REUSE = """#!/bin/sh
printf 'SPDXVersion: SPDX-2.1\\nDocumentName: x\\nDocumentNamespace: x\\nCreated: now\\n'
printf 'Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-1\\n\\nFileName: ./a\\nSPDXID: SPDXRef-1\\n'
"""


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for module in (everything, release):
            self.addCleanup(setattr, module, "ROOT", module.ROOT)
            module.ROOT = self.root
        self.addCleanup(setattr, release_checks, "LOGS", release_checks.LOGS)
        release_checks.LOGS = self.root / "build/release-checks"
        os.environ.update(NAMES)
        self.write("engine/base/version.h", VERSION)
        self.write("CHANGELOG.md", DATED)
        self.write(".gitignore", "/build/\n")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A change")

    def call(self, main, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = main(*arguments)
        return code, out.getvalue()


class Checks(Repository):
    ROWS = [Row("good", "1 passes", PASSES), Row("person", "13 cannot run", [], by_people="nobody is here")]
    BAD = [Row("bad", "2 fails", FAILS), Row("away", "3 has no tool", PASSES, lacks=lambda: "no tool")]

    def run_with(self, rows, *arguments):
        return self.call(release_checks.main, list(arguments), rows)

    def stamp(self):
        path = self.root / "build/release-checks/green"
        return path.read_text().strip() if path.exists() else None

    def test_each_row_has_its_number_and_state(self):
        code, out = self.run_with(self.ROWS + self.BAD)
        self.assertEqual(code, 1)
        rows = [line.split() for line in out.splitlines()[:-1]]
        self.assertEqual([row[:2] for row in rows], [["1", "good"], ["13", "person"], ["2", "bad"], ["3", "away"]])
        self.assertRegex(out, "good .* green\n")
        self.assertRegex(out, "person .* not here: nobody is here\n")
        self.assertRegex(out, r"bad .* FAILED: .*SystemExit\(4\) \(build/release-checks/bad.log\)\n")
        self.assertRegex(out, "away .* not here: no tool\n")
        self.assertTrue((self.root / "build/release-checks/bad.log").exists())

    def test_the_commit_is_stamped_only_if_every_row_is_green(self):
        self.assertEqual(self.run_with(self.ROWS)[0], 0)
        self.assertEqual(self.stamp(), self.git("rev-parse", "HEAD"))
        self.run_with(self.ROWS, "--list")
        self.assertIsNotNone(self.stamp())
        for rows, arguments in [(self.ROWS, ["--only", "good"]), (self.ROWS + self.BAD[:1], []),
                                (self.ROWS + self.BAD[1:], [])]:
            self.run_with(rows, *arguments)
            self.assertIsNone(self.stamp())

    def test_the_real_rows_cover_every_expectation(self):
        rows = release_checks.rows()
        self.assertEqual(len({row.name for row in rows}), len(rows))
        numbers = {word for row in rows for word in row.about.split() if word.isdigit()}
        self.assertEqual(numbers, {str(n) for n in range(1, 17)})
        for row in rows:
            self.assertTrue(row.commands or row.by_people, row.name)
        self.assertEqual(self.run_with(rows, "--never")[0], 2)


class Release(Repository):
    def setUp(self):
        super().setUp()
        self.write("build/release-tools/bin/reuse", FAKE_REUSE)
        (self.root / "build/release-tools/bin/reuse").chmod(0o755)
        self.write("build/packages/libgradus0.deb", "a package")
        self.stamp()

    def stamp(self):
        self.write("build/release-checks/green", self.git("rev-parse", "HEAD") + "\n")

    def refused(self, *arguments):
        code, out = self.call(release.main, list(arguments))
        self.assertEqual((code, out.count("\n")), (2, 1), out)
        self.assertFalse((self.root / "build/release-3.2.1").exists())
        return out

    def test_it_writes_everything_and_the_same_again(self):
        found = []
        for _ in range(2):
            code, out = self.call(release.main, [])
            self.assertEqual(code, 0, out)
            folder = self.root / "build/release-3.2.1"
            found.append({file.name: file.read_bytes() for file in folder.iterdir()})
        self.assertEqual(found[0], found[1])
        self.assertEqual(set(found[0]), {"notes.md", "gradus-3.2.1.tar.gz", "gradus-3.2.1.spdx", "libgradus0.deb",
                                         "SHA256SUMS"})
        self.assertEqual(found[0]["notes.md"], b"A new op.\n")
        for line in found[0]["SHA256SUMS"].decode().splitlines():
            digest, name = line.split()
            self.assertEqual(digest, hashlib.sha256(found[0][name]).hexdigest())
        with tarfile.open(fileobj=io.BytesIO(found[0]["gradus-3.2.1.tar.gz"])) as tar:
            self.assertIn("gradus-3.2.1/engine/base/version.h", tar.getnames())
            times = {str(int(member.mtime)) for member in tar.getmembers()}
        self.assertEqual(times, {self.git("show", "--no-patch", "--format=%ct")})
        sbom = found[0]["gradus-3.2.1.spdx"].decode()
        for word in ["FileName: ./a", "PackageName: gradus\n", "PackageName: OpenBLAS", self.git("rev-parse", "HEAD")]:
            self.assertIn(word, sbom)
        self.assertIn("git tag --sign v3.2.1", out)
        self.assertEqual(self.git("tag"), "")

    def test_it_refuses_with_one_line(self):
        self.write("new.txt", "x")
        self.assertIn("new.txt", self.refused())
        self.commit()
        self.assertIn("./test.sh --release", self.refused())
        for text, word in [(DATED.replace("(2031-02-03)", ""), "not dated"),
                           (DATED.replace("A new op.", ""), "is empty"), ("# Changelog\n", "no section for 3.2.1")]:
            self.write("CHANGELOG.md", text)
            self.commit()
            self.stamp()
            self.assertIn(word, self.refused())
            self.assertIn(word, self.refused("--check"))
        self.refused("--never")

    def test_check_asks_only_for_the_changelog(self):
        self.write("new.txt", "x")
        self.assertEqual(self.call(release.main, ["--check"])[0], 0)


class Coverage(unittest.TestCase):
    """On this file, because the first two lines have words."""
    PATH = "tests/tools/release_test.py"

    def counts(self, *lines):
        counts = {kind: collections.Counter() for kind in coverage.LEAST}
        report = {"current_working_directory": str(coverage.ROOT), "files": [{"file": self.PATH, "lines": list(lines)}]}
        coverage.add(counts, report, ["tests"])
        return counts

    def line(self, number, count, *branches, **more):
        branches = [{"count": n, "throw": False} for n in branches]
        return {"line_number": number, "count": count, "branches": branches, **more}

    def percent(self, counts):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            reached = coverage.table(["tests"], counts)
        return reached, out.getvalue().splitlines()[-1].split()[1:]

    def test_instances_of_a_template_count_once(self):
        one, two = self.line(1, 4, 4, 0, function_name="f<int>"), self.line(1, 0, 0, 3, function_name="f<float>")
        both = self.line(1, 4, 4, 0, 0, 3)
        for lines in ([one, two], [one, two, both], [both]):
            self.assertEqual(self.percent(self.counts(*lines)), (True, ["1", "100.0", "%", "2", "100.0", "%"]))
        self.assertEqual(self.percent(self.counts(one)), (False, ["1", "100.0", "%", "2", "50.0", "%"]))

    def test_branches_of_exceptions_do_not_count(self):
        line = self.line(1, 1, 1, 1, function_name="f")
        line["branches"].append({"count": 0, "throw": True})
        self.assertTrue(self.percent(self.counts(line))[0])

    def test_missing_lines_fail(self):
        missed = self.line(2, 0, function_name="f")
        self.assertFalse(self.percent(self.counts(self.line(1, 1, function_name="f"), missed))[0])
        self.assertFalse(self.percent(self.counts())[0])


class Arguments(unittest.TestCase):
    def test_wrong_ones_end_with_exit_code_2(self):
        for command in [["packaging/package.py", "rpm"], ["tools/abi.py"], ["tools/abi.py", "compare"],
                        ["tools/release_checks.py", "--only", "rpm"], ["tools/coverage.py", "rpm"]]:
            done = subprocess.run([sys.executable, *command], cwd=release.ROOT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, command)
            self.assertNotIn("Traceback", done.stderr, command)


if __name__ == "__main__":
    unittest.main()
