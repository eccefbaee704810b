"""pytest plugin: a fixture that fails the test with the report unless the verdict is PASS.

    def test_softmax(gradcheck):
        gradcheck(softmax, softmax_vjp, x)
        gradcheck.torch(MyFunction.apply, x)

INCONCLUSIVE also fails, because nothing was measured. The summary has one line per checked function. On GitHub,
failures are annotations at the line of the derivative. `--gradus-sarif=FILE` (or the environment variable
GRADUS_CHECK_SARIF) and `--junitxml=FILE` write the reports for CI.
"""
import json
import os

import pytest

import gradus_check

from ._sarif import merged

CHECKS = pytest.StashKey()  # of a test: its checks, as dicts


class GradCheck:
    """Callable like gradus_check.check. Each report becomes a property of the test."""

    def __init__(self, record_property, checks):
        self._record, self._checks = record_property, checks

    def __call__(self, f, vjp, *inputs, **options):
        return self._judge(gradus_check.check(f, vjp, *inputs, **options))

    def torch(self, function, *inputs, **options):
        return self._judge(gradus_check.torch(function, *inputs, **options))

    def _judge(self, report):
        __tracebackhide__ = True
        name = report.json()["name"]
        self._record("gradcheck", f"{report.verdict} {name}")
        self._checks.append({"verdict": report.verdict, "name": name, "sarif": report.sarif(),
                             "annotation": report.annotation()})
        if not report:
            pytest.fail(report.text(), pytrace=False)
        return report


@pytest.fixture
def gradcheck(record_property, request):
    return GradCheck(record_property, request.node.stash.setdefault(CHECKS, []))


def pytest_addoption(parser):
    parser.getgroup("gradus").addoption("--gradus-sarif", metavar="FILE",
                                            default=os.environ.get("GRADUS_CHECK_SARIF"),
                                            help="write gradient checks as SARIF 2.1.0")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "call":
        report.gradus_checks = item.stash.get(CHECKS, [])  # xdist sends attributes to the main process


def pytest_terminal_summary(terminalreporter, config):
    checks = [check for reports in terminalreporter.stats.values() for report in reports
              for check in getattr(report, "gradus_checks", [])]
    if checks:
        terminalreporter.section("gradient checks")
    for check in checks:
        terminalreporter.write_line(_line(check))
        if check["annotation"] and os.environ.get("GITHUB_ACTIONS"):
            terminalreporter.write(check["annotation"])
    path = config.getoption("--gradus-sarif")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(merged([check["sarif"] for check in checks]), file, indent=1)


def _line(check):
    results = check["sarif"]["runs"][0]["results"]
    message = results[0]["message"]["text"].split("\n")[:2] if results else [check["name"]]
    return f"{check['verdict']}  {'; '.join(message)}"
