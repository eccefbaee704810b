"""pytest plugin: a fixture that fails the test with the report unless the verdict is PASS.

    def test_softmax(gradcheck):
        gradcheck(softmax, softmax_vjp, x)
        gradcheck.torch(MyFunction.apply, x)

INCONCLUSIVE also fails, because nothing was measured. `pytest --junitxml=FILE` writes the reports for CI.
"""
import pytest

import gradus_check


class GradCheck:
    """Callable like gradus_check.check. Each report becomes a property of the test."""

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
            pytest.fail(report.text(), pytrace=False)
        return report


@pytest.fixture
def gradcheck(record_property):
    return GradCheck(record_property)
