"""Tests tools/everything.py on trivial parts: a failing part sets the exit code and does not stop the others."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import everything  # noqa: E402
from everything import Part  # noqa: E402

CTEST = """
97% tests passed, 1 tests failed out of 31
The following tests did not run:
\t 3 - outside/doctest (Skipped)
The following tests FAILED:
\t 12 - io/a file (that shrinks) (Failed)
"""


def python(code):
    return [sys.executable, "-c", code]


PARTS = [
    Part("good", "passes", [python("import os; assert os.environ['WIDTH'] == '4'")], {"WIDTH": "4"}),
    Part("bad-first", "its first command fails", [python("raise SystemExit(3)"), python("open('never', 'w')")]),
    Part("bad-ctest", "as ctest fails", [python(f"print({CTEST!r}); raise SystemExit(8)")]),
    Part("none", "no such program", [["/no/such/program"]]),
    Part("elsewhere", "cannot run", [python("raise SystemExit(9)")], lacks=lambda: "no such machine"),
    Part("last", "passes", [python("pass")]),
]


class Everything(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        everything.ROOT = Path(self.folder.name)
        everything.LOGS = everything.ROOT / "logs"
        self.addCleanup(self.folder.cleanup)

    def run_with(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = everything.main(list(arguments), PARTS)
        return code, out.getvalue()

    def test_a_failing_part_stops_no_other(self):
        code, out = self.run_with()
        self.assertEqual(code, 1)
        results = {line.split()[0]: line.split(maxsplit=2)[2] for line in out.splitlines()[1:-1]}
        self.assertEqual(list(results), [part.name for part in PARTS])
        self.assertEqual([results["good"], results["last"]], ["passed", "passed"])
        self.assertRegex(results["bad-first"], r"^FAILED: .* \(logs/bad-first.log\)$")
        self.assertRegex(results["bad-ctest"], r"^FAILED: 31 tests, 1 skipped, 1 failed: io/a file \(that shrinks\) \(")
        self.assertRegex(results["none"], "^FAILED: /no/such/program")
        self.assertEqual(results["elsewhere"], "skipped: no such machine")
        self.assertRegex(out, "6 parts: 2 passed, 3 failed, 1 skipped; ")
        self.assertFalse((everything.ROOT / "never").exists())
        self.assertIn("/no/such/program", (everything.LOGS / "none.log").read_text())

    def test_parts_are_chosen_by_the_beginning_of_their_names(self):
        code, out = self.run_with("--only", "good,last")
        self.assertEqual(code, 0)
        self.assertRegex(out, "2 parts: 2 passed, 0 failed, 0 skipped; ")
        code, out = self.run_with("--only", "bad", "--list")
        self.assertEqual((code, [line.split()[0] for line in out.splitlines()]), (0, ["bad-first", "bad-ctest"]))
        self.assertEqual(self.run_with("--only", "x")[0], 2)
        self.assertEqual(self.run_with("--never")[0], 2)

    def test_the_real_parts_have_names_of_their_own(self):
        parts = everything.parts()
        self.assertEqual(len({part.name for part in parts}), len(parts))
        for part in parts:
            self.assertIsInstance(part.lacks(), str, part.name)


if __name__ == "__main__":
    unittest.main()
