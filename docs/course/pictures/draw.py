#!/usr/bin/env python3
"""Draws the pictures of the course: one SVG per lesson, next to this file.

  draw.py            write all
  draw.py --check    exit with code 1 if a file is missing, outdated or larger than 20 KB

Values are computed here as the lessons compute them.
"""
import csv
import math
import pathlib
import sys

from picture import (BLUE, GRAY, GREEN, INK, LINES, ORANGE, Picture, number, product, shade, softmax,
                     softmax_backward, turned)

FOLDER = pathlib.Path(__file__).resolve().parent
EXAMPLES = FOLDER.parents[2] / "examples"
MOST_BYTES = 20000
WORDS = ["the", "cat", "sat"]


# ---- The lessons ----

def nano():
    p = Picture("Each op appends its backward pass to the tape; backward() runs the tape in reverse", 250)
    ops = ["embedding", "rms_norm", "matmul", "softmax", "…", "cross_entropy"]
    for i, op in enumerate(ops):
        x = 20 + i * 116
        p.box(x, 40, 100, 34, op, BLUE, 12)
        p.box(x, 118, 100, 34, f"backward {i + 1}" if op != "…" else "…", ORANGE, 12)
        p.arrow((x + 50, 74), (x + 50, 116))
        if i:
            p.arrow((x - 16, 57), (x - 2, 57), color=BLUE)
            p.arrow((x, 135), (x - 14, 135), color=ORANGE)
    p.text(20, 20, "forward: compute y, then tape.push_back(…)", color=BLUE)
    p.text(700, 176, "backward(loss): call the functions, last first", color=ORANGE, anchor="end")
    p.text(20, 200, "A function reads y.grad and adds to the gradients of its inputs.")
    p.text(20, 224, "Reverse order: y.grad is complete before the op that made y needs it.")
    return p


def neuron():
    x, w, b, target = 0.5, -1.5, 0.25, 1.0
    wx = w * x
    z = wx + b
    y = math.tanh(z)
    error = y - target
    d_error = 2 * error
    d_z = d_error * (1 - y * y)
    p = Picture("The graph of one neuron: values forward, gradients backward", 400)
    ops = [("w · x", wx, "d(w·x)", d_z), ("z = w·x + b", z, "dz", d_z), ("y = tanh z", y, "dy", d_error),
           ("error = y − t", error, "derror", d_error), ("loss = error²", error ** 2, "dloss", 1)]
    for i, (op, value, name, gradient) in enumerate(ops):
        left = 16 + i * 142
        p.box(left, 110, 108, 50, [op, number(value, 4)], BLUE)
        p.box(left, 220, 108, 46, [name, number(gradient, 4)], ORANGE)
        if i:
            p.arrow((left - 34, 135), (left - 2, 135))
            p.arrow((left, 243), (left - 32, 243))
    for left, name, value, to in ((4, "w", w, 50), (78, "x", x, 96), (162, "b", b, 212), (446, "t, the target", target, 496)):
        p.box(left, 34, 66 if to < 100 else 100, 40, [name, number(value, 2)], GRAY)
        p.arrow((min(max(to, left + 10), left + 90), 74), (to, 108))
    for middle, factor in ((141, "× 1"), (283, "× (1 − y²)"), (425, "× 1"), (567, "× 2 error")):
        p.text(middle, 206, factor, 13, ORANGE, "middle")
    p.text(4, 16, "leaves", 13, weight="bold")
    p.text(714, 92, "forward →", 13, BLUE, "end", "bold")
    p.text(714, 284, "← backward: dz is d loss / dz", 13, ORANGE, "end", "bold")
    p.arrow((70, 266), (70, 328))
    p.text(78, 298, "× x", 13, ORANGE)
    p.arrow((212, 266), (212, 328))
    p.text(220, 298, "× 1", 13, ORANGE)
    p.box(16, 330, 108, 46, ["dw", number(d_z * x, 4)], ORANGE)
    p.box(158, 330, 108, 46, ["db", number(d_z, 4)], ORANGE)
    p.text(290, 353, "Each gradient is the one to its right times one derivative.", 13)
    return p


def spiral():
    p = Picture("The spiral, the network, and one training step", 360)
    with open(EXAMPLES / "data" / "spiral.csv", encoding="utf-8") as file:
        rows = [(float(r["x"]), float(r["y"]), r["arm"]) for r in csv.DictReader(file)]
    most = max(max(abs(x), abs(y)) for x, y, _ in rows)
    for arm, color in (("0", BLUE), ("1", ORANGE)):
        dots = "".join(f"M{115 + 100 * x / most:.0f} {150 - 100 * y / most:.0f}h0" for x, y, a in rows if a == arm)
        p.parts.append(f'<path d="{dots}" stroke="{LINES[color]}" stroke-width="5" stroke-linecap="round"/>')
    p.text(115, 22, "200 points, two arms", 13, anchor="middle", weight="bold")
    p.text(460, 22, "the network", 13, anchor="middle", weight="bold")
    chain = [("points", "[50, 2]", GRAY), ("hidden", "[50, 48]", BLUE), ("tanh", "[50, 48]", BLUE),
             ("scores", "[50, 2]", BLUE), ("loss", "[]", GRAY)]
    for i, (name, shape, color) in enumerate(chain):
        left = 246 + i * 95
        p.box(left, 50, 80, 46, [name, shape], color)
        if i:
            p.arrow((left - 15, 73), (left - 2, 73))
    p.text(381, 114, "W [48, 2], b", 12, anchor="middle")
    p.text(571, 114, "W [2, 48], b", 12, anchor="middle")
    p.text(460, 152, "one training step, repeated for each batch of 50", 13, anchor="middle", weight="bold")
    steps = [("1 forward", "loss of this batch", BLUE, 266, 176), ("2 zero_grad", "forget old gradients", GRAY, 492, 176),
             ("3 backward", "d loss / d parameter", ORANGE, 492, 270), ("4 step", "Adam moves parameters", GREEN, 266, 270)]
    for name, what, color, x, y in steps:
        p.box(x, y, 172, 50, [name, what], color)
    p.arrow((438, 201), (490, 201))
    p.arrow((578, 226), (578, 268))
    p.arrow((492, 295), (440, 295))
    p.arrow((352, 270), (352, 228))
    p.text(115, 276, "Can one straight line", 12, anchor="middle")
    p.text(115, 294, "separate the arms? No.", 12, anchor="middle")
    return p


def tensors():
    p = Picture("Strides walk over one row of memory; broadcasting repeats forward and sums backward", 520)
    hues = lambda i, j, v: (BLUE, GREEN, ORANGE)[int(v) % 3]  # noqa: E731
    p.matrix(40, 36, [list(range(6))], 44, 28, 0, "memory: one row, shared by the three tensors", fill=hues, size=13)
    views = [(40, [[0, 1, 2], [3, 4, 5]], "x", "[2, 3], strides [3, 1]"),
             (280, [[0, 3], [1, 4], [2, 5]], "transpose(x)", "[3, 2], strides [1, 3]"),
             (500, [[0, 1], [2, 3], [4, 5]], "reshape(x, {3, 2})", "[3, 2], strides [2, 1]")]
    for x, rows, title, strides in views:
        p.matrix(x, 128, rows, 44, 28, 0, title, fill=hues, size=13)
        p.text(x, 226, strides, 13)
    p.arrow((20, 250), (700, 250), head=False, dashed=True)
    column, row, dy = [-1, 1], [10, 20, 30], [[1, 2, 3], [100, 200, 300]]
    p.text(40, 272, "forward: repeat", 13, BLUE, weight="bold")
    p.matrix(88, 306, [row], 44, 26, 0, size=12)
    p.text(76, 318, "row", 12, anchor="end")
    p.matrix(36, 338, [[v] for v in column], 44, 26, 0, size=12)
    p.text(56, 402, "column", 12, anchor="middle")
    p.matrix(88, 338, [[a * b for b in row] for a in column], 44, 26, 0, size=12, fill=lambda i, j, v: BLUE)
    p.text(266, 272, "backward: sum over the repeats", 13, ORANGE, weight="bold")
    parts = [[d * c for d in line] for line, c in zip(dy, column)]
    p.matrix(276, 338, parts, 44, 26, 0, "dy · column", size=12, fill=lambda i, j, v: ORANGE)
    for j in range(3):
        p.arrow((297 + 44 * j, 392), (297 + 44 * j, 424))
    p.matrix(276, 428, [[sum(c) for c in zip(*parts)]], 44, 26, 0, size=12, fill=lambda i, j, v: ORANGE)
    p.text(276, 472, "d row [3]: summed over rows", 13)
    parts = [[d * r for d, r in zip(line, row)] for line in dy]
    p.matrix(480, 338, parts, 48, 26, 0, "dy · row", size=12, fill=lambda i, j, v: ORANGE)
    for i in range(2):
        p.arrow((626, 350 + 26 * i), (648, 350 + 26 * i))
    p.matrix(652, 338, [[sum(line)] for line in parts], 58, 26, 0, size=12, fill=lambda i, j, v: ORANGE)
    p.text(708, 408, "d column [2, 1]: summed over columns", 13, anchor="end")
    p.text(36, 502, "dy is chosen: 1 2 3 and 100 200 300, so that you see where each value goes.", 13)
    return p


def linear():
    x, w = [[1, 2, 3], [-1, 0, 2]], [[1, 0, 0], [0, 2, 0], [0, 0, -1], [1, 1, 1]]
    b, dy = [10, 20, 30, 40], [[1, 2, 3, 4], [0, -1, 0, 5]]
    p = Picture("A linear layer: three matmuls", 540)

    def row(y, left, right, result, titles, fill, added=None):
        at = 30
        for each, title, color, sign in ((left, titles[0], GRAY, "·"), (right, titles[1], GRAY, "+" if added else "="),
                                         (added, "b", GRAY, "="), (result, titles[2], fill, "")):
            if each is None:
                continue
            p.matrix(at, y, each, 38, 24, 0, title, size=12, fill=lambda i, j, v, c=color: c)
            at += 38 * len(each[0]) + 24
            if sign:
                p.text(at - 12, y + 24, sign, 22, anchor="middle")

    y = [[v + c for v, c in zip(line, b)] for line in product(x, turned(w))]
    row(50, x, turned(w), y, ("x [2, 3]", "Wᵀ [3, 4]", "y [2, 4]"), BLUE, [b])
    p.text(30, 18, "forward: y = x Wᵀ + b", 14, BLUE, weight="bold")
    p.arrow((20, 140), (700, 140), head=False, dashed=True)
    p.text(30, 164, "backward 1: dx = dy W. Every output used every input.", 14, ORANGE, weight="bold")
    row(200, dy, w, product(dy, w), ("dy [2, 4]", "W [4, 3]", "dx [2, 3]"), ORANGE)
    p.text(30, 326, "backward 2 and 3: dW = dyᵀ x, db = Σ dy. Summed over the rows.", 14, ORANGE, weight="bold")
    row(362, turned(dy), x, product(turned(dy), x), ("dyᵀ [4, 2]", "x [2, 3]", "dW [4, 3]"), ORANGE)
    p.matrix(480, 362, [[sum(c)] for c in zip(*dy)], 40, 24, 0, "db [4]", size=12, fill=lambda i, j, v: ORANGE)
    p.text(540, 374, "1 + 0", 12)
    p.text(540, 398, "2 − 1", 12)
    p.text(540, 422, "3 + 0", 12)
    p.text(540, 446, "4 + 5", 12)
    p.text(30, 486, "Only one order and transposition fits each shape: dx is [2, 3] like x, dW is [4, 3] like W.", 13)
    p.text(30, 512, "dy is chosen. A gradient has the shape of its tensor.", 13)
    return p


def softmax_lesson():
    p = Picture("From dp to dx through the Jacobian of softmax", 410)
    scores, target = [0.0, 2.0, 1.0, -1.0], 1
    probabilities = softmax(scores)
    y = [float(i == target) for i in range(4)]
    dp = [-a / b / 2 for a, b in zip(y, probabilities)]
    words = ["the", "cat", "sat", "mat"]
    for i, (top, below, color) in enumerate((("scores x", "[2, 4]", GRAY), ("p = softmax(x)", "rows sum to 1", BLUE),
                                             ("−log p[target]", "one per row", BLUE), ("mean over N = 2", "the loss", BLUE))):
        p.box(20 + 175 * i, 16, 150, 46, [top, below], color)
        if i:
            p.arrow((20 + 175 * i - 25, 39), (20 + 175 * i - 2, 39))
    p.text(20, 92, "Row \"the\", target \"cat\":  p =", 13)
    p.matrix(214, 80, [probabilities], 58, 26, fill=lambda i, j, v: BLUE, size=12)
    jacobian = [[a * ((i == j) - b) for j, b in enumerate(probabilities)] for i, a in enumerate(probabilities)]
    p.matrix(60, 172, jacobian, 62, 32, title="Jacobian: p_i ([i = j] − p_j)", labels=words, columns=words, size=12,
             fill=lambda i, j, v: shade(v, 0.24))
    p.text(326, 234, "·", 32, anchor="middle")
    p.matrix(346, 172, [[v] for v in dp], 70, 32, title="dp = −y / p / N", size=12, fill=lambda i, j, v: shade(v, 0.78))
    p.text(446, 234, "=", 20, anchor="middle")
    dx = softmax_backward(probabilities, dp)
    assert all(abs(a - b) < 1e-12 for a, b in zip(dx, (sum(r * d for r, d in zip(line, dp)) for line in jacobian)))
    p.matrix(474, 172, [[v] for v in dx], 70, 32, title="dx", size=12, fill=lambda i, j, v: shade(v, 0.2))
    for i, (a, b) in enumerate(zip(probabilities, y)):
        p.text(556, 187 + 32 * i, f"= ({number(a)} − {number(b, 0)}) / 2", 13, mono=True)
    p.text(474, 318, "= (p − y) / N, sum 0", 13, weight="bold")
    p.text(20, 352, "blue: positive, orange: negative. Raising one score raises its own p and lowers all others.", 13)
    p.text(20, 378, "The code never builds this matrix: J dp = p (dp − Σ p dp).", 13)
    return p


def pooling():
    p = Picture("One query pools three words into one vector", 450)
    x, q = [[2, 0, 0, 0], [0, 2, 0, 5], [0, 0, 2, 3]], [0, 0, 3, 0]
    scores = [sum(a * b for a, b in zip(row, q)) / 2 for row in x]
    weights = softmax(scores)
    pooled = product([weights], x)
    p.text(20, 18, "forward", 14, BLUE, weight="bold")
    p.matrix(20, 54, [q], 30, 26, 0, "query q, a parameter", size=12, fill=lambda i, j, v: GREEN)
    p.matrix(50, 126, x, 30, 30, 0, "x", labels=WORDS, size=12)
    p.matrix(230, 126, [[v] for v in scores], 60, 30, title="x · q / √C", size=12, fill=lambda i, j, v: BLUE)
    p.arrow((110, 80), (110, 96), (256, 96), (256, 106), color=BLUE)
    p.text(340, 114, "weights", 13, weight="bold")
    for i, weight in enumerate(weights):
        p.arrow((170, 140 + 30 * i), (226, 140 + 30 * i))
        p.arrow((290, 140 + 30 * i), (334, 140 + 30 * i))
        p.box(340, 128 + 30 * i, max(4, 76 * weight), 24, "", BLUE)
        p.text(424, 140 + 30 * i, number(weight), 12, mono=True)
        p.arrow((476, 140 + 30 * i), (524, 171))
    p.matrix(528, 157, pooled, 46, 28, title="pooled = Σ weight x", size=12, fill=lambda i, j, v: BLUE)
    p.text(312, 222, "softmax", 12, anchor="middle")
    p.arrow((20, 254), (700, 254), head=False, dashed=True)
    dpooled = [0, 0, 0, 1]
    dweights = [sum(a * b for a, b in zip(row, dpooled)) for row in x]
    dscores = softmax_backward(weights, dweights)
    dq = [[v / 2 for v in product([dscores], x)[0]]]
    p.text(20, 276, "backward, of pooled's last value", 14, ORANGE, weight="bold")
    p.matrix(560, 344, [dpooled], 30, 28, 0, "dpooled", size=12, fill=lambda i, j, v: ORANGE)
    p.matrix(428, 316, [[v] for v in dweights], 60, 28, 0, "x · dpooled", size=12, fill=lambda i, j, v: ORANGE)
    p.matrix(300, 316, [[v] for v in dscores], 66, 28, title="dscores, sum 0", size=12, fill=lambda i, j, v: ORANGE)
    p.matrix(30, 344, dq, 52, 28, title="dq = Σ dscores x / √C", size=12, fill=lambda i, j, v: ORANGE)
    p.arrow((556, 358), (492, 358))
    p.arrow((424, 358), (370, 358))
    p.arrow((296, 358), (242, 358))
    p.text(20, 424, "dq: less like \"the\", more like \"cat\", whose last value is 5.", 13)
    return p


def attention():
    p = Picture("One attention head, forward and backward", 500)
    q, k = [[1, 2, 0, 1], [0, 1, 2, 0]], [[1, 0, 0, 1], [0, 2, 0, 1], [0, 0, 2, -1]]
    v, dout = [[1, 0, 0, 0, 4], [0, 2, 0, 0, -4], [0, 0, 3, 0, 0]], [[1, 0, -1, 1, 0], [0, 1, 2, 0, -0.5]]
    scores = [[s / 2 for s in row] for row in product(q, turned(k))]
    weights = [softmax(row) for row in scores]
    two, blue, orange = WORDS[1:], lambda i, j, v: BLUE, lambda i, j, v: ORANGE
    p.text(12, 14, "forward", 14, BLUE, weight="bold")
    p.matrix(40, 56, q, 28, 24, 0, "q [2, 4]", labels=two, size=12)
    p.matrix(40, 150, k, 28, 24, 0, "k [3, 4]", labels=WORDS, size=12)
    p.matrix(208, 56, scores, 46, 24, 1, "q kᵀ / √D", columns=WORDS, fill=lambda i, j, v: shade(v, 2.5))
    p.matrix(372, 56, weights, 46, 24, title="weights", columns=WORDS, fill=lambda i, j, v: shade(v, 0.8))
    p.matrix(372, 150, v, 27, 24, 0, "v [3, 5]", size=12)
    p.matrix(532, 94, product(weights, v), 37, 24, 2, "out = weights v", fill=blue)
    p.arrow((154, 80), (202, 80))
    p.arrow((154, 184), (178, 184), (178, 92), (202, 92))
    p.arrow((348, 80), (368, 80))
    p.arrow((512, 80), (518, 80), (518, 117), (530, 117))
    p.arrow((509, 184), (518, 184), (518, 117), head=False)
    p.text(358, 112, "softmax", 11, anchor="middle")
    p.text(208, 130, "row: query", 11)
    p.text(208, 146, "column: key", 11)
    p.arrow((12, 240), (708, 240), head=False, dashed=True)
    dweights = product(dout, turned(v))
    dscores = [softmax_backward(a, b) for a, b in zip(weights, dweights)]
    p.text(12, 260, "backward: the same matrices from right to left", 14, ORANGE, weight="bold")
    p.matrix(532, 306, dout, 37, 24, 1, "dout, chosen", fill=orange)
    p.matrix(372, 306, dweights, 46, 24, 0, "dout vᵀ", columns=WORDS, fill=lambda i, j, v: shade(v, 6))
    p.matrix(208, 306, dscores, 46, 24, title="dscores", columns=WORDS, fill=lambda i, j, v: shade(v, 0.8))
    half = [[s / 2 for s in row] for row in dscores]
    p.matrix(34, 306, product(half, k), 40, 24, 2, "dscores k / √D", labels=["dq", ""], fill=orange)
    p.matrix(34, 398, product(turned(half), q), 40, 24, 2, "dscoresᵀ q / √D", labels=["dk", "", ""], fill=orange)
    p.matrix(372, 398, product(turned(weights), dout), 44, 24, 2, "dv = weightsᵀ dout", fill=orange)
    p.arrow((530, 330), (514, 330))
    p.arrow((368, 330), (350, 330))
    p.arrow((204, 330), (196, 330))
    p.arrow((270, 358), (270, 434), (196, 434))
    p.arrow((618, 358), (618, 434), (594, 434))
    p.text(208, 372, "rows", 11)
    p.text(208, 386, "sum to 0", 11)
    p.text(12, 486, "blue: positive, orange: negative, in the four tables of query and key. A key collects from all queries.", 12)
    return p


def heads():
    p = Picture("Two heads, each on its own columns", 460)
    words = ["the", "cat", "and", "the", "dog"]
    kinds = [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    angles = [math.pi / 4 * t for t in range(5)]
    x = [kind + [math.cos(a), math.sin(a)] for kind, a in zip(kinds, angles)]
    c = 4 * math.cos(math.pi / 4)
    halves = lambda i, j, v: BLUE if j < 2 else GREEN  # noqa: E731
    p.matrix(50, 66, x, 40, 26, 1, "x [5, 4]", labels=words, columns=["article", "noun", "cos", "sin"], fill=halves)
    p.text(56, 214, "word type", 12, BLUE)
    p.text(136, 214, "position", 12, GREEN)
    p.box(262, 66, 96, 24, "q, head 0", BLUE)
    p.box(262, 90, 96, 24, "q, head 1", GREEN)
    p.box(262, 120, 96, 24, "k, head 0", BLUE)
    p.box(262, 144, 96, 24, "k, head 1", GREEN)
    p.box(262, 174, 96, 24, "v, head 0", BLUE)
    p.box(262, 198, 96, 24, "v, head 1", GREEN)
    p.text(310, 50, "x Wᵀ, W [12, 4]", 13, anchor="middle", weight="bold")
    p.arrow((212, 130), (258, 130))

    def weights(scores):
        return [softmax([s / math.sqrt(2) for s in row]) for row in scores]

    same = weights([[9 * (a[0] * b[0] + a[1] * b[1]) for b in kinds] for a in kinds])
    before = weights([[16 * math.cos(b - a + math.pi / 4) for b in angles] for a in angles])
    assert abs(same[2][0] - 0.2) < 1e-12 and abs(before[1][0] - 0.965) < 5e-4 and abs(c - 2.8284) < 1e-4
    p.matrix(450, 66, same, 46, 26, 3, "head 0: same type", labels=words, columns=words,
             fill=lambda i, j, v: BLUE if v > 0.1 else GRAY)
    p.matrix(450, 284, before, 46, 26, 3, "head 1: the word before", labels=words, columns=words,
             fill=lambda i, j, v: GREEN if v > 0.1 else GRAY)
    p.arrow((360, 120), (412, 120), color=BLUE)
    p.arrow((360, 156), (386, 156), (386, 340), (412, 340), color=GREEN)
    values = [[line[2:], line[:2]] for line in x]
    out = [product([a], [v[0] for v in values])[0] + product([b], [v[1] for v in values])[0]
           for a, b in zip(same, before)]
    p.matrix(150, 294, out, 52, 26, 3, "y = [head 0, head 1] [5, 4]", labels=words, fill=halves)
    p.text(20, 442, "The heads run side by side and share nothing. W_out (here the identity) mixes their columns.", 13)
    return p


def masks():
    p = Picture("Masks: rows are queries, columns are keys", 470)
    causal, window = lambda q, k: k <= q, lambda q, k: 0 <= q - k <= 2  # noqa: E731
    grids = [("causal_mask()", causal, 5, 5), ("window_mask(2)", window, 5, 5),
             ("causal | prefix_mask(3)", lambda q, k: causal(q, k) or k < 3, 5, 5),
             ("padding_mask, 3 of 5 words", lambda q, k: k < 3, 4, 5),
             ("causal & padding", lambda q, k: causal(q, k) and k < 3, 4, 5),
             ("causal_lower_right(3, 5)", lambda q, k: k <= q + 2, 3, 5)]
    for n, (title, rule, rows, columns) in enumerate(grids):
        left, top = 40 + 228 * (n % 3), 60 + 196 * (n // 3)
        p.text(left, top - 18, title, 13, weight="bold")
        for q in range(rows):
            for k in range(columns):
                inside = 'fill="%s"' % BLUE if rule(q, k) else f'fill="none" stroke="{INK}"'
                inset = 0 if rule(q, k) else 0.5
                p.parts.append(f'<rect x="{left + 26 * k + inset:g}" y="{top + 26 * q + inset:g}" '
                               f'width="{24 - 2 * inset:g}" height="{24 - 2 * inset:g}" {inside}/>')
    p.text(40, 16, "keys →", 12)
    p.parts.append(f'<text transform="translate(26 152) rotate(-90)" font-size="12" fill="{INK}">← queries</text>')
    p.box(40, 404, 24, 24, "", BLUE)
    p.text(74, 416, "true: may attend", 13)
    p.parts.append(f'<rect x="240.5" y="404.5" width="23" height="23" fill="none" stroke="{INK}"/>')
    p.text(274, 416, "hidden: score −∞, weight 0, gradient 0", 13)
    p.text(40, 448, "&: both masks allow the pair.   |: at least one allows it.", 13)
    return p


def transformer():
    p = Picture("The Transformer of lesson 15: encoder left, decoder right, read from bottom to top", 640)

    def sublayer(x, y, lines, color, width=190):
        """norm, layer and sum, with the residual connection at the left: from y (bottom) to y − 104."""
        p.box(x, y - 32, width, 24, "norm", GRAY, 12)
        p.box(x, y - 76, width, 36, lines, color, 12)
        p.arrow((x + width / 2, y), (x + width / 2, y - 8), head=False)
        p.arrow((x + width / 2, y - 32), (x + width / 2, y - 40), head=False)
        p.parts.append(f'<circle cx="{x + width / 2}" cy="{y - 92}" r="9" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        p.text(x + width / 2, y - 92, "+", 14, anchor="middle")
        p.arrow((x + width / 2, y - 76), (x + width / 2, y - 83), head=False)
        p.arrow((x + width / 2, y - 101), (x + width / 2, y - 112), head=False)
        p.arrow((x + width / 2, y - 2), (x - 16, y - 2), (x - 16, y - 92), (x + width / 2 - 10, y - 92))

    for x, title, ids, name in ((70, "encoder", "source [B, S]", "h c i a e f f"),
                                (440, "decoder", "given [B, T]", "start f f e a i c h")):
        p.box(x, 590, 190, 34, [ids, name], GRAY, 12)
        p.box(x, 530, 190, 34, "embedding · √C + positions", GRAY, 12)
        p.arrow((x + 95, 590), (x + 95, 566))
        p.arrow((x + 95, 530), (x + 95, 512), head=False)
        p.text(x + 95, 40 if x > 200 else 232, title, 15, anchor="middle", weight="bold")
    sublayer(70, 512, ["self-attention", "q, k, v from the source"], BLUE)
    sublayer(70, 400, ["feed-forward", "each position"], GREEN)
    p.box(70, 252, 190, 24, "norm", GRAY, 12)
    p.arrow((165, 288), (165, 278))
    p.text(330, 250, "memory [B, S, C]", 12, BLUE, "middle")
    sublayer(440, 512, ["self-attention", "causal: only letters so far"], BLUE)
    sublayer(440, 400, ["cross-attention", "q: target; k, v: memory"], ORANGE)
    sublayer(440, 288, ["feed-forward", "each position"], GREEN)
    p.arrow((262, 264), (400, 264), (400, 342), (436, 342), color=BLUE)
    p.box(440, 108, 190, 24, "norm", GRAY, 12)
    p.box(440, 62, 190, 34, ["logits [B, T, V]", "by the target embedding"], GRAY, 12)
    p.arrow((535, 176), (535, 134))
    p.arrow((535, 108), (535, 97), head=False)
    p.arrow((440, 79), (420, 79), head=False)
    p.text(310, 72, "wanted: f f e a i c h end", 13, anchor="middle")
    p.text(310, 92, "cross_entropy, all positions at once", 13, anchor="middle")
    return p


def llama():
    p = Picture("A Llama block, read from bottom to top", 600)

    def add(y):
        p.parts.append(f'<circle cx="200" cy="{y}" r="10" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        p.text(200, y, "+", 15, anchor="middle")

    p.box(110, 550, 180, 34, ["x [1, T, C]", "token vectors"], GRAY, 12)
    p.arrow((200, 550), (200, 524))
    p.box(110, 496, 180, 26, "RMS norm", GRAY, 13)
    for x, name in ((60, "q = h Wᵀ"), (154, "k = h Wᵀ"), (248, "v = h Wᵀ")):
        p.box(x, 442, 88, 28, name, BLUE, 12)
        p.arrow((200, 496), (x + 44, 472))
    p.box(60, 398, 88, 26, "rotate", ORANGE, 12)
    p.box(154, 398, 88, 26, "rotate", ORANGE, 12)
    p.arrow((104, 442), (104, 426))
    p.arrow((198, 442), (198, 426))
    p.box(60, 342, 276, 34, ["softmax(q kᵀ / √D, causal) v", "each head"], BLUE, 12)
    p.arrow((104, 398), (104, 378))
    p.arrow((198, 398), (198, 378))
    p.arrow((292, 442), (292, 378))
    p.box(110, 298, 180, 26, "Wo", BLUE, 13)
    p.arrow((200, 342), (200, 326))
    add(268)
    p.arrow((200, 298), (200, 280))
    p.arrow((200, 538), (28, 538), (28, 268), (188, 268))
    p.box(110, 210, 180, 26, "RMS norm", GRAY, 13)
    p.arrow((200, 258), (200, 238))
    p.box(60, 154, 128, 28, "silu(h Gᵀ)", GREEN, 12)
    p.box(208, 154, 128, 28, "h Uᵀ", GREEN, 12)
    p.arrow((200, 210), (124, 184))
    p.arrow((200, 210), (272, 184))
    p.box(110, 102, 180, 28, "⊗, then Dᵀ", GREEN, 13)
    p.arrow((124, 154), (170, 132))
    p.arrow((272, 154), (230, 132))
    add(72)
    p.arrow((200, 102), (200, 84))
    p.arrow((200, 248), (28, 248), (28, 72), (188, 72))
    p.arrow((200, 62), (200, 22))
    p.text(212, 32, "next block; 6. after the last: logits = norm(x) Wᵀ", 13)
    p.text(380, 567, "1. token vectors; no positions are added", 13)
    p.text(380, 509, "2. h = x / √(mean(x²) + ε) ⊗ weight", 13)
    p.text(380, 456, "3. queries, keys, values of all heads", 13)
    p.text(380, 411, "rotated by the angle of the position", 13, ORANGE)
    p.text(380, 359, "4. attention to positions up to its own", 13)
    p.text(380, 268, "x + attention", 13)
    p.text(380, 168, "5. gated feed-forward net (SwiGLU)", 13)
    p.text(380, 72, "x + feed-forward", 13)
    return p


PICTURES = {"00_nano": nano, "01_neuron": neuron, "05_spiral": spiral, "03_tensors": tensors, "04_linear": linear,
            "06_softmax": softmax_lesson, "10_attention": attention, "09_pooling": pooling, "12_masks": masks,
            "11_heads": heads, "15_transformer": transformer, "16_real_model": llama}


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    wrong = 0
    for name, draw in PICTURES.items():
        path, svg = FOLDER / f"{name}.svg", draw().svg()
        if len(svg.encode()) > MOST_BYTES:
            print(f"{path.name} has {len(svg.encode())} bytes; at most {MOST_BYTES}")
            wrong = 1
        if not arguments:
            path.write_text(svg, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            print(f"{path.name} is outdated. Run docs/course/pictures/draw.py.")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
