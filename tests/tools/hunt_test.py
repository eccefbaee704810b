"""Tests that tools/hunt.py ends with exit code 2 and names the problem for wrong arguments and files."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]


class Hunt(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def hunt(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "tools/hunt.py", *map(str, arguments)], capture_output=True,
                              text=True, env={**os.environ, "COLUMNS": "200"})

    def refuses(self, message, *arguments):
        """The last line names the problem; the lines before it are argparse's usage."""
        done = self.hunt(*arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertNotIn("Traceback", done.stderr)
        usage, _, problem = done.stderr.partition("hunt.py: error: ")
        self.assertTrue(usage.startswith("usage: "), done.stderr)
        self.assertEqual(len(problem.splitlines()), 1, problem)
        self.assertIn(message, problem)

    def test_wrong_options(self):
        self.refuses("the following arguments are required: command")
        self.refuses("'shoot'", "shoot")
        self.refuses("--fast", "count", "--fast")
        self.refuses("--budget", "run", "--budget", "soon")
        self.refuses("--budget", "run", "--budget", "-1")
        self.refuses("--budget", "run", "--budget", "nan")
        self.refuses("zuko", "programs", "zuko")

    def test_a_package_that_is_not_in_the_list(self):
        for command in ("run", "count"):
            self.refuses("no_such_package is not in docs/found/packages.toml", command, "zuko", "no_such_package")

    def test_a_results_directory_that_is_missing(self):
        missing = self.folder / "missing"
        self.refuses(f"{missing} is not a directory", "count", "--results", missing)
        missing.write_text("a file")
        self.refuses(f"{missing} is not a directory", "count", "--results", missing)
        self.refuses(f"{self.folder / 'zuko.jsonl'} does not exist", "count", "zuko", "--results", self.folder)

    def test_run_without_what_it_needs(self):
        # Without the package gradus_check, this is reported first.
        done = self.hunt("run", "zuko", "--sources", self.folder / "none", "--results", self.folder)
        self.assertEqual(done.returncode, 2, done)
        self.assertRegex(done.stderr.splitlines()[-1], "none is not a directory|needs the Python package gradus_check")

    def test_damaged_results(self):
        results = self.folder / "zuko.jsonl"
        for damaged in ('{"event": "func', "[]", "{}", "3"):
            results.write_text('{"event": "start"}\n' + damaged + "\n")
            self.refuses(f"{results}, line 2", "count", "zuko", "--results", self.folder)

    def test_results_are_counted(self):
        entry = {"event": "function", "samples": 3, "PASS": 1, "FAIL": 0, "INCONCLUSIVE": 2}
        (self.folder / "zuko.jsonl").write_text(json.dumps(entry) + "\n")
        done = self.hunt("count", "--results", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1].split(), ["all", "1", "3", "1", "0", "2", "none"])


if __name__ == "__main__":
    unittest.main()
