"""The pictures of lessons 00 to 08."""
import csv
import math
import pathlib

from picture import (BLUE, GRAY, GREEN, INK, LINES, ORANGE, Picture, number, product, shade, softmax,
                     softmax_backward, turned)

SPIRAL = pathlib.Path(__file__).resolve().parents[3] / "examples" / "data" / "spiral.csv"


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


def engine():
    p = Picture("The tape of y = x · x + x at x = 3: pushed forward, run in reverse", 374)
    x, dx, dm, dy = 3, 0, 0, 1
    m = x * x
    y = m + x
    rows = [[dy, dm, dx]]
    dm, dx = dm + dy, dx + dy
    rows.append([dy, dm, dx])
    dx = dx + dm * x + dm * x
    rows.append([dy, dm, dx])
    assert dx == 2 * x + 1
    p.text(20, 16, "forward: compute a value, push a function", 14, BLUE, weight="bold")
    p.box(20, 50, 110, 46, ["x", number(x, 0)], GRAY)
    p.box(250, 50, 170, 46, ["m = x · x", number(m, 0)], BLUE)
    p.box(530, 50, 170, 46, ["y = m + x", number(y, 0)], BLUE)
    p.arrow((130, 66), (248, 66))
    p.arrow((130, 80), (248, 80))
    p.arrow((420, 73), (528, 73))
    p.arrow((75, 50), (75, 36), (615, 36), (615, 48))
    for middle in (335, 615):
        p.arrow((middle, 96), (middle, 138))
        p.text(middle + 10, 117, "push", 13)
    p.text(232, 165, "the tape", 14, anchor="end", weight="bold")
    p.box(250, 140, 170, 50, ["function 1", "dx += dm x, twice"], ORANGE)
    p.box(530, 140, 170, 50, ["function 2", "dm += dy, dx += dy"], ORANGE)
    p.arrow((700, 206), (252, 206), color=ORANGE)
    p.text(20, 226, "backward: set dy to 1, then run the last function first", 14, ORANGE, weight="bold")
    p.matrix(150, 266, rows, 60, 26, 0, labels=["start", "function 2", "function 1"], columns=["dy", "dm", "dx"],
             size=13, fill=lambda i, j, v: ORANGE if i and v != rows[i - 1][j] else GRAY)
    p.text(352, 279, "the derivative of y with respect to y", 13)
    p.text(352, 305, "y uses m and x once: + 1 each", 13)
    p.text(352, 331, f"m uses x twice: dx = 1 + {x} + {x}", 13)
    p.text(20, 360, "Function 1 reads dm. In reverse order, dm is complete by then.", 13)
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


def spiral():
    p = Picture("The spiral, the network, and one training step", 360)
    with open(SPIRAL, encoding="utf-8") as file:
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


def paths():
    """name, points from (1, 1), steps until the loss is below 1e-6: as in lesson 07."""
    steepness = (100.0, 1.0)

    def descend(rule):
        point, state, points = [1.0, 1.0], [[0.0, 0.0], [0.0, 0.0]], [(1.0, 1.0)]
        while sum(s / 2 * v * v for s, v in zip(steepness, point)) >= 1e-6 and len(points) <= 2000:
            for i, s in enumerate(steepness):
                point[i] -= rule(s * point[i], state[i], len(points))
            points.append(tuple(point))
        return points

    def momentum(g, state, _):
        state[0] = 0.9 * state[0] + g
        return 0.01 * state[0]

    def adam(g, state, t):
        state[0], state[1] = 0.9 * state[0] + 0.1 * g, 0.999 * state[1] + 0.001 * g * g
        return 0.1 * (state[0] / (1 - 0.9 ** t)) / (math.sqrt(state[1] / (1 - 0.999 ** t)) + 1e-8)

    rules = (("SGD, lr 0.018", lambda g, _, t: 0.018 * g), ("SGD, lr 0.021", lambda g, _, t: 0.021 * g),
             ("momentum 0.9, lr 0.01", momentum), ("Adam, lr 0.1", adam))
    return [(name, descend(rule)) for name, rule in rules]


def optimizers():
    p = Picture("Four optimizers in a narrow valley, from the same start", 412)
    all_paths = paths()
    assert [len(points) - 1 for _, points in all_paths] == [362, 2000, 138, 82]
    for n, (name, points) in enumerate(all_paths):
        left, top = 20 + 354 * (n % 2), 40 + 184 * (n // 2)
        steps = len(points) - 1
        p.text(left, top - 16, name, 13, weight="bold")
        p.text(left + 326, top - 16, f"{steps} steps" if steps < 2000 else "diverges", 13, anchor="end")
        place = lambda across, along: (163 + 126 * along, 66 - 52 * across)  # noqa: E731
        p.parts.append(f'<svg x="{left}" y="{top}" width="326" height="132">')
        for level in (0.02, 0.5, 5, 20, 50):
            p.parts.append(f'<ellipse cx="163" cy="66" rx="{126 * math.sqrt(2 * level):.0f}" '
                           f'ry="{52 * math.sqrt(level / 50):.1f}" fill="none" stroke="{INK}" stroke-width="0.7"/>')
        shown = [place(across, along) for across, along in points[:60]]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in shown if abs(y) < 160)
        p.parts.append(f'<path d="{path}" fill="none" stroke="{LINES[BLUE]}" stroke-width="1.4"/>')
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in shown if abs(y) < 160)
        p.parts.append(f'<path d="{dots}" stroke="{LINES[ORANGE]}" stroke-width="4" stroke-linecap="round"/>')
        p.parts.append(f'<path d="M158 66h10M163 61v10" stroke="{LINES[GREEN]}" stroke-width="2.5"/>')
        p.parts.append(f'</svg><rect x="{left}" y="{top}" width="326" height="132" fill="none" stroke="{INK}"/>')
    p.text(20, 376, "All start at (1, 1), top right; 60 steps are drawn. Cross: the minimum. Gray lines: equal loss.", 13)
    p.text(20, 398, "Vertical: across the valley, 100 times steeper. Numbers: steps until the loss is below 10⁻⁶.", 13)
    return p


def tokens():
    p = Picture("Text becomes ids, ids select rows; gradients return to the same rows", 442)
    words, vocabulary = ["cat", "and", "cat"], ["0 and", "1 the", "2 cat", "3 sat"]
    ids, table = [2, 0, 2], [[1, 0, 2], [0, 1, 1], [3, 3, 0], [5, 1, 4]]
    dx = [[0.1, 0.2, 0.3], [1.0, 1.0, 1.0], [0.4, 0.4, 0.4]]
    dtable = [[sum(d[c] for t, d in zip(ids, dx) if t == v) for c in range(3)] for v in range(4)]
    colors = {0: GREEN, 2: BLUE}
    used = lambda i, j, v: colors.get(i, GRAY)  # noqa: E731
    by_id = lambda i, j, v: colors[ids[i]]  # noqa: E731
    p.text(20, 18, "forward: text → ids → rows", 14, BLUE, weight="bold")
    p.box(20, 92, 100, 32, "cat and cat", GRAY)
    p.arrow((120, 108), (200, 108))
    p.text(160, 94, "tokenizer", 12, anchor="middle")
    p.matrix(244, 70, [[v] for v in ids], 32, 26, 0, "ids [T]", labels=words, size=13, fill=by_id)
    p.matrix(400, 57, table, 34, 26, 0, "table W [V, C]", labels=vocabulary, size=13, fill=used)
    p.matrix(594, 70, [table[v] for v in ids], 34, 26, 0, "x = W[ids]", size=13, fill=by_id)
    for t, v in enumerate(ids):
        p.arrow((276, 82 + 26 * t), (342, 69 + 26 * v), color=colors[v])
        p.arrow((502, 69 + 26 * v), (590, 82 + 26 * t), color=colors[v])
    p.arrow((20, 196), (700, 196), head=False, dashed=True)
    p.text(20, 218, "backward: each row of dx is added to the row that it came from", 14, ORANGE, weight="bold")
    p.matrix(572, 272, dx, 42, 26, 1, "dx [T, C], chosen", size=13, fill=by_id)
    p.matrix(376, 259, dtable, 42, 26, 1, "dW [V, C]", labels=vocabulary, size=13, fill=used)
    for t, v in enumerate(ids):
        p.arrow((568, 284 + 26 * t), (506, 271 + 26 * v), color=colors[v])
    p.text(20, 271, "dW[0] = dx_1", 13, GREEN)
    p.text(20, 297, "not in the text: 0", 13)
    p.text(20, 323, "dW[2] = dx_0 + dx_2, token 2 occurs twice", 13, BLUE)
    p.text(20, 349, "not in the text: 0", 13)
    p.text(20, 398, "As matmuls: x = one_hot(ids) W and dW = one_hot(ids)ᵀ dx.", 13)
    p.text(20, 424, "The code copies and adds rows instead. A matmul would mostly multiply by 0.", 13)
    return p
