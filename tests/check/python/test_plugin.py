#!/usr/bin/env python3
"""Tests the pytest plugin in a separate pytest run: passing tests, failing tests, and output for CI."""
import json
import os
import subprocess
import sys
import tempfile

TESTS = '''
def test_right(gradcheck):
    assert gradcheck(lambda x: x[0] * x[1], lambda x, dy: [x[1] * dy, x[0] * dy], [2.0, 3.0], name="product")


def test_wrong(gradcheck):
    gradcheck(lambda x: x[0] * x[1], lambda x, dy: [x[0] * dy, x[1] * dy], [2.0, 3.0], name="swapped")
'''


def main():
    try:
        import pytest  # noqa: F401
    except ImportError:
        return print("SKIPPED: pytest is not installed. Run pip install pytest")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_it.py"), "w", encoding="utf-8") as file:
            file.write(TESTS)
        on_github = {**os.environ, "GITHUB_ACTIONS": "true", "GRADUS_CHECK_SARIF": "out.sarif"}
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=out.xml"],
                              cwd=folder, env=on_github, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with open(os.path.join(folder, "out.xml"), encoding="utf-8") as file:
            xml = file.read()
        with open(os.path.join(folder, "out.sarif"), encoding="utf-8") as file:
            (result,) = json.load(file)["runs"][0]["results"]
    for part in ("1 failed, 1 passed", "GRADCHECK FAIL  swapped", "\nPASS  product\n", "\nFAIL  swapped: d out",
                 "test_it.py,line=7,title=GRADCHECK FAIL::swapped: d out"):
        assert part in done.stdout, done.stdout
    for part in ("GRADCHECK FAIL  swapped", 'name="gradcheck" value="PASS product"'):
        assert part in xml, xml
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7, result
    print("the fixture fails with the report, and the report is in the JUnit file")


if __name__ == "__main__":
    main()
