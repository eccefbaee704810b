"""The pytest plugin: a fixture that fails a test with the report.

    def test_softmax(gradcheck):
        gradcheck(softmax, softmax_vjp, x)
        gradcheck.torch(MyFunction.apply, x)

A report that is INCONCLUSIVE fails too: it measured nothing. `pytest --junitxml=FILE` has the reports for CI.
"""
import pytest

import gradus_check


class GradCheck:
    """Called as gradus_check.check; each report becomes a property of the test."""

    def __init__(self, record_property):
        self._record = record_property

    def __call__(self, f, vjp, *inputs, **options):
        return self._judge(gradus_check.check(f, vjp, *inputs, **options))

    def torch(self, function, *inputs, **options):
        return self._judge(gradus_check.torch(function, *inputs, **options))

    def _judge(self, report):
        __tracebackhide__ = True
        self._record("gradcheck", f"{report.verdict} {report.json()['name']}")
        if not report:
            pytest.fail("\n" + report.text(), pytrace=False)
        return report


@pytest.fixture
def gradcheck(record_property):
    return GradCheck(record_property)
