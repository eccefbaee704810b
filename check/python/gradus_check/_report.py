"""The result of a check."""


class Report:
    """verdict is "PASS", "FAIL", "INCONCLUSIVE" or "UNIMPLEMENTED"; str(report) is the text; json() has all data.
    second is the report on the gradient of the gradient, or None."""

    def __init__(self, handle):
        self._handle = handle
        self.second = None
        self._verdict = self.json()["verdict"]

    @property
    def verdict(self):
        """That of the second derivative if the first one passes."""
        return self._verdict if self.second is None or self._verdict != "PASS" else self.second.verdict

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

    def causes(self):
        """The diagnosed causes by input: {"x": "MISSING TERM"}. THROWS and SHAPE are causes too."""
        first = {i["name"]: i["cause"] for i in self.json()["inputs"] if i["cause"]}
        return first if first or self.second is None else self.second.causes()

    def require(self):
        """Raises AssertionError with the report unless the verdict is PASS."""
        if not self:
            raise AssertionError("\n" + self.text())
        return self
