#!/usr/bin/env python3
"""Tests `gradus-check hunt` with a package that has known faults."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    sys.exit(print(f"SKIPPED: {error.name} is not installed. Run pip install torch numpy pytest"))

SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample")


def hunt(*arguments):
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), SAMPLE])
    return subprocess.run([sys.executable, "-m", "gradus_check", "hunt", *arguments], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": path}, check=False, timeout=600)


class Hunt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = os.path.join(cls.folder.name, "out.jsonl")
        cls.programs = os.path.join(cls.folder.name, "programs")
        examples = os.path.join(cls.folder.name, "examples")
        os.mkdir(examples)
        with open(os.path.join(examples, "first.py"), "w", encoding="utf-8") as file:
            file.write("import faulty_package, torch\nfaulty_package.Square.apply(torch.ones(2, 2, 2, requires_grad=True))\n")
        cls.done = hunt("faulty_package", "--tests", os.path.join(SAMPLE, "test_faulty_package.py"), "--tests", examples,
                        "--budget", "90", "--out", out, "--programs", cls.programs)
        with open(out, encoding="utf-8") as file:
            cls.entries = [json.loads(line) for line in file]
        cls.findings = {(e["function"].rpartition(".")[2], e["order"], e["kind"]): e for e in cls.entries
                        if e["event"] == "finding"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_finds_the_faults_and_nothing_else(self):
        self.assertEqual(self.done.returncode, 1, self.done.stderr)
        self.assertEqual(set(self.findings), {("Padded", 1, "wrong"), ("Constant", 2, "wrong"), ("Clamped", 1, "edge"),
                                              ("NeverCalled", 1, "wrong"), ("faulty::cube", 1, "wrong")},
                         self.done.stdout)

    def test_runs_folders_of_scripts_too(self):
        calls = [e["calls"] for e in self.entries if e["event"] == "function" and e["function"].endswith("Square")]
        self.assertEqual(calls, [2])

    def test_tries_options_that_only_the_source_names(self):
        self.assertIn("reflect", self.findings["Padded", 1, "wrong"]["sample"])

    def test_a_crash_ends_only_one_check(self):
        crashes = [e for e in self.entries if e["event"] == "crash"]
        self.assertEqual([e["function"] for e in crashes], ["faulty_package.Crash"])
        self.assertIn("faulty_package.Square", [e["function"] for e in self.entries if e["event"] == "function"])

    def test_the_source_hints_at_the_second_derivative(self):
        hints = [e["function"] for e in self.entries if e["event"] == "hint"]
        self.assertIn("faulty_package.Constant", hints)
        self.assertNotIn("faulty_package.Square", hints)

    def test_programs_show_the_findings_without_the_checker(self):
        for name in os.listdir(self.programs):
            path = os.path.join(self.programs, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn("gradus", text)
            self.assertLessEqual(text.count("\n"), 20)
            done = subprocess.run([sys.executable, path], text=True, capture_output=True, check=True,
                                  env={**os.environ, "PYTHONPATH": SAMPLE})
            autograd, differences = done.stdout.splitlines()[-2:]
            self.assertNotEqual(autograd.split(None, 1)[1], differences.split(None, 1)[1])
        self.assertEqual(len(os.listdir(self.programs)), sum(e["event"] == "finding" for e in self.entries))

    def test_pytest_records_a_projects_own_tests(self):
        text = """
import faulty_package as package, torch

def test_values():
    x = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    assert package.Square.apply(x)[1, 2] == 36
    assert package.NeverCalled.apply(x).shape == (2, 3)
"""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_values.py"), "w", encoding="utf-8") as file:
                file.write(text)
            path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), SAMPLE])
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "gradus_check._pytest",
                                   "--gradus-record", "faulty_package", folder], text=True, capture_output=True,
                                  env={**os.environ, "PYTHONPATH": path}, check=False, cwd=folder)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 passed", done.stdout)
        self.assertIn("wrong: faulty_package.NeverCalled", done.stdout)
        self.assertNotIn("wrong: faulty_package.Square", done.stdout)

    def test_misuse_exits_with_2(self):
        for arguments in (["faulty_package", "--tests", "/nowhere"], ["faulty_package", "--budget", "-1"],
                          ["faulty_package", "--budget", "soon"], [], ["no_such_package_at_all"]):
            done = hunt(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertTrue(done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
