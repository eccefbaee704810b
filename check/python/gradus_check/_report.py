"""What a check found."""


class Report:
    """verdict: "PASS", "FAIL" or "INCONCLUSIVE"; str(report) is the text, json() has all of it."""

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
        """A dict: verdict, inputs, findings, notes, counts, as docs/checking.md has them."""
        return self._handle.json()

    def causes(self):
        """The causes that were named, by input: {"x": "MISSING TERM"}."""
        return {i["name"]: i["cause"] for i in self.json()["inputs"] if i["cause"]}

    def require(self):
        """Raises AssertionError with the report where the verdict is not PASS."""
        if not self:
            raise AssertionError("\n" + self.text())
        return self
