"""Tests bench/run_speedrun.py (the p value that decides a record, and rejections) and the text of the demo."""
import hashlib
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
from run_speedrun import chance  # noqa: E402


class Speedrun(unittest.TestCase):
    def test_p_agrees_with_tables_of_students_t(self):
        # (seeds, p, t) from a table of quantiles, to three decimals.
        for seeds, p, t in [(8, 0.01, 2.998), (8, 0.05, 1.895), (3, 0.01, 6.965), (2, 0.05, 6.314)]:
            spread = [1.0 if i % 2 else -1.0 for i in range(seeds - seeds % 2)] + [0.0] * (seeds % 2)
            deviation = math.sqrt(sum(x * x for x in spread) / (seeds - 1) / seeds)
            below = [1.5 + x - t * deviation for x in spread]
            self.assertAlmostEqual(chance(below, 1.5), p, delta=p * 1e-3)
            self.assertAlmostEqual(chance([3 - x for x in below], 1.5), 1 - p, delta=p * 1e-3)

    def test_one_seed_has_no_p(self):
        self.assertIsNone(chance([1.2], 1.5))

    def test_another_text_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "mine.txt"
            for make in (lambda: None, lambda: text.write_text("To be, or not to be.")):
                make()
                done = subprocess.run([sys.executable, BENCH / "run_speedrun.py", folder, "A", "--text", text],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertIn("mine.txt", done.stderr)

    def test_the_demos_text_is_the_one_that_was_measured(self):
        text = (ROOT / "examples/data/prose.txt").read_bytes()
        self.assertGreaterEqual(len(text), 300_000)
        self.assertIn(hashlib.sha256(text).hexdigest(), (ROOT / "docs/performance.md").read_text())


if __name__ == "__main__":
    unittest.main()
