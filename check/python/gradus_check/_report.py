"""The result of a check."""
import json


class Report:
    """verdict is "PASS", "FAIL" or "INCONCLUSIVE"; str(report) is the text; json() has all data."""

    def __init__(self, handle):
        self._handle = handle
        self.verdict = self.json()["verdict"]

    def __bool__(self):
        return self.verdict == "PASS"

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<{self.verdict}>\n{self.text()}"

    def text(self, colour=False):
        return self._handle.text(colour)

    def json(self):
        """A dict with verdict, inputs, findings, notes and counts; see docs/checking/cpp.md."""
        return self._handle.json()

    def sarif(self):
        """A dict in SARIF 2.1.0 with one result unless the verdict is PASS, at the line of the derivative."""
        return json.loads(self._handle.report("sarif"))

    def annotation(self):
        """The line that GitHub shows at the derivative in a pull request, or "" if the verdict is PASS."""
        return self._handle.report("github")

    def causes(self):
        """The diagnosed causes by input: {"x": "MISSING TERM"}."""
        return {i["name"]: i["cause"] for i in self.json()["inputs"] if i["cause"]}

    def require(self):
        """Raises AssertionError with the report unless the verdict is PASS."""
        if not self:
            raise AssertionError("\n" + self.text())
        return self
