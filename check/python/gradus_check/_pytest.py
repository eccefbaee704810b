"""pytest plugin: a fixture that fails the test with the report unless the verdict is PASS.

    def test_softmax(gradcheck):
        gradcheck(softmax, softmax_vjp, x)
        gradcheck.torch(MyFunction.apply, x)

INCONCLUSIVE also fails, because nothing was measured. The summary has one line per checked function. On GitHub,
failures are annotations at the line of the derivative. `--gradus-sarif=FILE` (or the environment variable
GRADUS_CHECK_SARIF) and `--junitxml=FILE` write the reports for CI.
"""
import contextlib
import json
import os
import time

import pytest

import gradus_check

from ._sarif import merged

CHECKS = pytest.StashKey()  # of a test: its checks, as dicts
HUNT = pytest.StashKey()  # of a session with --gradus-record: the hunt, and what ends its recording


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
    group = parser.getgroup("gradus")
    group.addoption("--gradus-sarif", metavar="FILE", default=os.environ.get("GRADUS_CHECK_SARIF"),
                    help="write gradient checks as SARIF 2.1.0")
    group.addoption("--gradus-record", metavar="PACKAGE",
                    help="record the tests' calls of PACKAGE's hand-written derivatives, and check these at the end")
    group.addoption("--gradus-budget", metavar="SECONDS", type=float, default=60,
                    help="time for --gradus-record (default: 60)")


def pytest_configure(config):
    package = config.getoption("--gradus-record")
    if package:  # before the tests are imported
        from .hunt.record import recording
        from .hunt.worker import Hunt
        hunt, stack = Hunt(package, config.getoption("--gradus-budget")), contextlib.ExitStack()
        stack.enter_context(recording(hunt.recorder))
        config.stash[HUNT] = hunt, stack


def pytest_sessionfinish(session):
    hunt, stack = session.config.stash.get(HUNT, (None, None))
    if hunt:
        stack.close()
        hunt.deadline = time.monotonic() + hunt.budget
        hunt.check()
        if session.exitstatus == 0 and any(e["event"] == "finding" for e in hunt.entries):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
    hunt = config.stash.get(HUNT, (None,))[0]
    if hunt:
        from .hunt.main import summary
        terminalreporter.section(f"derivatives of {hunt.package}")
        terminalreporter.write(summary(hunt.entries))
    path = config.getoption("--gradus-sarif")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(merged([check["sarif"] for check in checks]), file, indent=1)


def _line(check):
    results = check["sarif"]["runs"][0]["results"]
    message = results[0]["message"]["text"].split("\n")[:2] if results else [check["name"]]
    return f"{check['verdict']}  {'; '.join(message)}"
