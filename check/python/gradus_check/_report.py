"""The result of a check."""
import json


class Report:
    """verdict is "PASS", "FAIL", "INCONCLUSIVE" or "UNIMPLEMENTED"; str(report) is the text; json() has all data.
    second is the report on the gradient of the gradient, or None."""

    def __init__(self, handle):
        self._handle = handle
        self.second = None
        self._verdict = self.json()["verdict"]

    @property
    def _decisive(self):
        """The report on the second derivative if the first one passes."""
        return self if self.second is None or self._verdict != "PASS" else self.second

    @property
    def verdict(self):
        return self._decisive._verdict

    def __bool__(self):
        return self.verdict == "PASS"

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<{self.verdict}>\n{self.text()}"

    def text(self, colour=False):
        return self._handle.text(colour) + (self.second.text(colour) if self.second is not None else "")

    def json(self):
        """A dict with verdict, inputs, findings, notes and counts; see docs/checking/cpp.md."""
        return {**self._handle.json(), **({} if self.second is None else {"second": self.second.json()})}

    def sarif(self):
        """A dict in SARIF 2.1.0 with one result unless the verdict is PASS, at the line of the derivative."""
        return json.loads(self._decisive._handle.report("sarif"))

    def annotation(self):
        """The line that GitHub shows at the derivative in a pull request, or "" if the verdict is PASS."""
        return self._decisive._handle.report("github")

    def causes(self):
        """The diagnosed causes by input: {"x": "MISSING TERM"}. THROWS and SHAPE are causes too."""
        return {i["name"]: i["cause"] for i in self._decisive.json()["inputs"] if i["cause"]}

    def require(self):
        """Raises AssertionError with the report unless the verdict is PASS."""
        if not self:
            raise AssertionError("\n" + self.text())
        return self
