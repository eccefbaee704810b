"""An SVG picture of boxes, arrows, tables and text, and the mathematics of the lessons.

Colors have enough contrast on white and on #131416.
"""
import math
from html import escape

INK = "#757d87"                                                  # text and lines on the background
BLUE, ORANGE, GREEN, GRAY = "#2f6db5", "#b4541a", "#3b7f4a", "#5b6470"  # fills under white text
LINES = {BLUE: "#3d80cf", ORANGE: "#cb6a2a", GREEN: "#4a9a5b", GRAY: INK, INK: INK}
WORDS = ["the", "cat", "sat"]


# ---- Drawing ----

def number(value, digits=3):
    text = f"{value:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else "−")


def shade(value, most):
    """From gray at 0 to blue at `most` and orange at −most."""
    end, share = (BLUE if value > 0 else ORANGE), min(abs(value) / most, 1)
    mix = (round(int(GRAY[i:i + 2], 16) * (1 - share) + int(end[i:i + 2], 16) * share) for i in (1, 3, 5))
    return "#" + "".join(f"{each:02x}" for each in mix)


class Picture:
    def __init__(self, title, height, width=720):
        self.title, self.width, self.height, self.parts = title, width, height, []

    def text(self, x, y, words, size=14, color=INK, anchor="start", weight="", mono=False):
        """Text whose vertical center is y."""
        length = len(words) * size * (0.61 if mono else 0.56)
        left = x - {"start": 0, "middle": length / 2, "end": length}[anchor]
        assert left >= 0 and left + length <= self.width and 0 < y < self.height, f"{self.title}: {words} is outside"
        cell = mono and anchor == "middle"
        style = ' class="c"' if cell else f' fill="{LINES.get(color, color)}"' + (' class="m"' if mono else "")
        style += f' text-anchor="{anchor}"' if anchor != "start" and not cell else ""
        style += f' font-weight="{weight}"' if weight else ""
        self.parts.append(f'<text x="{x:.4g}" y="{y + 0.35 * size:.4g}" font-size="{size}"{style}>{escape(words)}</text>')

    def box(self, x, y, w, h, lines, fill=GRAY, size=13, mono=False):
        """A filled box with centered lines of white text."""
        lines = [lines] if isinstance(lines, str) else lines
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" fill="{fill}"/>')
        for i, line in enumerate(lines):
            assert len(line) * size * 0.56 <= w, f"{self.title}: {line} does not fit"
            self.text(x + w / 2, y + h / 2 + (i - (len(lines) - 1) / 2) * size * 1.3, line, size, "#ffffff", "middle",
                      "bold" if i == 0 and len(lines) > 1 else "", mono)

    def arrow(self, *points, color=INK, head=True, dashed=False):
        """A line through the points, with a head at the last."""
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        style = (f' marker-end="url(#h{LINES[color][1:]})"' if head else "") + (' stroke-dasharray="5 4"' if dashed else "")
        self.parts.append(f'<path d="{path}" fill="none" stroke="{LINES[color]}" stroke-width="1.6"{style}/>')

    def matrix(self, x, y, rows, w=40, h=22, digits=3, title="", labels=(), columns=(), fill=None, size=11):
        """A table of values. fill(row, column, value) returns a cell's color; default: gray."""
        if title:
            self.text(x, y - (26 if columns else 12), title, 13, weight="bold")
        for j, column in enumerate(columns):
            self.text(x + (j + 0.5) * w, y - 9, column, size, anchor="middle")
        for i, row in enumerate(rows):
            if i < len(labels):
                self.text(x - 6, y + (i + 0.5) * h, labels[i], size, anchor="end")
            for j, value in enumerate(row):
                color = fill(i, j, value) if fill else GRAY
                self.parts.append(f'<rect x="{x + j * w:g}" y="{y + i * h:g}" width="{w - 2:g}" height="{h - 2:g}" '
                                  f'fill="{color}"/>')
                if value != "":
                    shown = value if isinstance(value, str) else number(value, digits)
                    self.text(x + (j + 0.5) * w - 1, y + (i + 0.5) * h - 1, shown, size, "#ffffff", "middle", mono=True)

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" font-family="Helvetica,Arial,sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n"
                "<style>.m,.c{font-family:ui-monospace,Menlo,Consolas,monospace}.c{fill:#fff;text-anchor:middle}</style>\n<defs>"
                + "".join(f'<marker id="h{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                          f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
                          for color in sorted(set(LINES.values())) if f"url(#h{color[1:]})" in "".join(self.parts))
                + "</defs>\n" + "\n".join(self.parts) + "\n</svg>\n")


# ---- Mathematics ----

def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def turned(a):
    return [list(row) for row in zip(*a)]


def softmax(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [x / sum(powers) for x in powers]


def softmax_backward(p, dp):
    """dx = p (dp − Σ p dp)"""
    inner = sum(a * b for a, b in zip(p, dp))
    return [a * (b - inner) for a, b in zip(p, dp)]
