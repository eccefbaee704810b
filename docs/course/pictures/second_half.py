"""The pictures of lessons 09 to 17."""
import math

from picture import (BLUE, GRAY, GREEN, INK, LINES, ORANGE, WORDS, Picture, number, product, shade, softmax,
                     softmax_backward, turned)


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


def norm_row(row):
    mean = sum(row) / len(row)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in row) / len(row))
    return [(v - mean) / deviation for v in row]


def block():
    p = Picture("A pre-norm block: two branches read the residual stream and add to it", 452)

    def add(x):
        p.parts.append(f'<circle cx="{x}" cy="82" r="10" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        p.text(x, 82, "+", 15, anchor="middle")

    p.text(106, 60, "the residual stream", 13, weight="bold")
    p.box(14, 64, 76, 36, ["x", "[B, T, C]"], GRAY, 12)
    p.box(636, 64, 76, 36, ["y", "[B, T, C]"], GRAY, 12)
    p.arrow((90, 82), (340, 82))
    p.arrow((362, 82), (586, 82))
    p.arrow((608, 82), (634, 82))
    for x, norm, name, what, color in ((106, "norm1", "attention", "mixes positions", BLUE),
                                       (376, "norm2", "feed-forward", "each position", GREEN)):
        end = 351 if x < 200 else 597
        add(end)
        p.arrow((x, 82), (x, 145), (x + 16, 145))
        p.box(x + 18, 130, 58, 30, norm, GRAY)
        p.arrow((x + 76, 145), (x + 92, 145))
        p.box(x + 94, 122, 108, 46, [name, what], color, 12)
        p.arrow((x + 202, 145), (end, 145), (end, 94))
    p.arrow((634, 36), (92, 36), color=ORANGE)
    p.text(363, 20, "backward: dx = dy + what the branches pass back. dy always gets through.", 13, ORANGE, "middle", "bold")
    p.arrow((20, 196), (700, 196), head=False, dashed=True)
    rows = [[1, 2, 3, 6], [10, 20, 30, 60]]
    p.text(20, 218, "norm: the scale of a row is gone", 14, weight="bold")
    p.matrix(20, 262, rows, 34, 26, 0, "x", size=12)
    p.arrow((160, 287), (186, 287))
    p.matrix(190, 262, [norm_row(row) for row in rows], 52, 26, 3, "y = (x − μ) / σ", size=12,
             fill=lambda i, j, v: BLUE)
    p.text(20, 336, "Σ dx = 0: adding a constant to x changes nothing.", 13)
    p.text(20, 360, "Σ dx y = 0: nor does scaling x.", 13)
    p.text(430, 218, "position: q and k are turned", 14, weight="bold")
    for middle, t, s in ((490, 5, 3), (636, 105, 103)):
        p.parts.append(f'<circle cx="{middle}" cy="300" r="56" fill="none" stroke="{INK}"/>')
        for at, angle, name, color in ((t, 0.5 + 0.6 * t, "q", BLUE), (s, 0.1 + 0.6 * s, "k", ORANGE)):
            x, y = math.cos(angle), -math.sin(angle)
            p.arrow((middle, 300), (round(middle + 54 * x, 1), round(300 + 54 * y, 1)), color=color)
            p.text(middle + 67 * x, 300 + 67 * y, name, 13, color, "middle", "bold")
        p.text(middle, 384, f"q at {t}, k at {s}", 13, anchor="middle")
    p.text(430, 410, "q · k depends on the angle between,", 13)
    p.text(430, 432, "so on the distance, here 2 both times.", 13)
    p.text(20, 384, "The larger row of x gets the smaller dx.", 13)
    return p


def tiny_gpt():
    p = Picture("Four language models, read from bottom to top", 560)
    V, C = 75, 64
    table, head = V * C, V * C + V
    attend = C * 3 * C + 3 * C + C * C + C
    feed = C * 4 * C + 4 * C + 4 * C * C + C
    sizes = [V * V, table + head, table + attend + head, table + 2 * (attend + feed + 4 * C) + 2 * C]
    assert sizes == [5625, 9675, 26315, 104896]
    T = 5
    scores = [[2.0 * (i - j == 2) + 1.5 * (i - j == 1) + 0.3 * j for j in range(i + 1)] for i in range(T)]
    patterns = [[[float(i == j) for j in range(i + 1)] for i in range(T)],
                [[1 / (i + 1)] * (i + 1) for i in range(T)], [softmax(row) for row in scores]]
    names = ["1 bigram", "2 average", "3 attention", "4 GPT"]
    sees = ["only itself", "all, equal weights", "all, learned weights", "8 heads in 2 blocks"]
    for n, name in enumerate(names):
        left = 12 + 178 * n
        middle = left + 81
        p.text(middle, 18, name, 15, anchor="middle", weight="bold")
        p.text(middle, 40, f"{sizes[n]:,} parameters", 13, anchor="middle")
        p.box(left + 6, 510, 150, 38, ["ids", "[B, T]"], GRAY, 12)
        p.box(left + 6, 232, 150, 38, ["scores", "[B, T, V]"], GRAY, 12)
        if n == 0:
            p.box(left + 6, 372, 150, 40, ["table", "[V, V]"], BLUE, 12)
            p.arrow((middle, 510), (middle, 414))
            p.arrow((middle, 372), (middle, 272))
            continue
        p.box(left + 6, 464, 150, 26, "embedding [V, C]", BLUE, 12)
        p.arrow((middle, 510), (middle, 492))
        p.box(left + 6, 290, 150, 26, "norm, embeddingᵀ" if n == 3 else "linear", BLUE, 12)
        p.arrow((middle, 290), (middle, 272))
        if n == 3:
            for y in (402, 334):
                p.box(left + 6, y, 150, 46, ["block", "as in lesson 13"], GREEN, 12)
            p.arrow((middle, 464), (middle, 450))
            p.arrow((middle, 402), (middle, 382))
            p.arrow((middle, 334), (middle, 318))
            continue
        p.box(left + 20, 394, 136, 44, ["mean", "of all so far"] if n == 1 else ["softmax(q kᵀ / √D) v", "of all so far"],
              GRAY if n == 1 else ORANGE, 11)
        p.parts.append(f'<circle cx="{middle}" cy="352" r="10" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        p.text(middle, 352, "+", 15, anchor="middle")
        p.arrow((middle, 464), (middle, 440))
        p.arrow((middle, 394), (middle, 364))
        p.arrow((middle, 452), (left + 6, 452), (left + 6, 352), (middle - 12, 352))
        p.arrow((middle, 342), (middle, 318))
    for n, pattern in enumerate(patterns):
        for i, row in enumerate(pattern):
            for j, weight in enumerate(row):
                p.parts.append(f'<rect x="{39 + 178 * n + 22 * j}" y="{84 + 22 * i}" width="20" height="20" '
                               f'fill="{shade(weight, 0.6)}"/>')
    for k in range(8):
        left, top = 561 + 34 * (k % 4), 96 + 48 * (k // 4)
        p.parts.append(f'<path d="M{left} {top}v32h32z" fill="{GREEN}"/>')
    for n, what in enumerate(sees):
        p.text(93 + 178 * n, 70, what, 12, anchor="middle")
    p.text(12, 212, "Row: a position. Column: a position that it uses. Bluer: a larger weight (in 3, an example).", 12)
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


def find_the_bug():
    p = Picture("Finite differences against two backward passes of softmax", 420)
    scores, j, h = [0.0, 2.0, 1.0, -1.0], 1, 1e-4
    moved = lambda by: softmax([v + by * (i == j) for i, v in enumerate(scores)])  # noqa: E731
    y = softmax(scores)
    numeric = [(a - b) / (2 * h) for a, b in zip(moved(h), moved(-h))]
    right = [y[j] * ((i == j) - y[i]) for i in range(4)]
    wrong = [y[j] * (i == j) for i in range(4)]
    assert all(abs(a - b) < 1e-6 for a, b in zip(numeric, right))
    p.text(20, 18, "Move x_1, and y_1 follows", 14, weight="bold")
    place = lambda by: (130 + 34 * by, 250 - 190 * moved(by)[j])  # noqa: E731
    curve = "M" + "L".join("%.1f %.1f" % place(by / 10) for by in range(-32, 33))
    p.parts.append(f'<path d="{curve}" fill="none" stroke="{LINES[BLUE]}" stroke-width="2"/>')
    p.arrow((16, 254), (254, 254))
    p.arrow((130, 249), (130, 259), head=False)
    (x0, y0), (x1, y1) = place(-1.5), place(1.5)
    slope = (y1 - y0) / (x1 - x0)
    ends = [(round(x, 1), round(y0 + slope * (x - x0), 1)) for x in (x0 - 22, x1 + 22)]
    p.arrow(*ends, color=ORANGE, head=False)
    p.parts.append(f'<path d="M{x0:.1f} {y0:.1f}h0M{x1:.1f} {y1:.1f}h0" stroke="{LINES[ORANGE]}" stroke-width="9" '
                   'stroke-linecap="round"/>')
    p.text(x0 + 40, y0 + 16, "y_1(x − h)", 13, ORANGE, "middle")
    p.text(x1 - 40, y1 - 18, "y_1(x + h)", 13, ORANGE, "middle")
    p.text(130, 272, "x_1", 13, anchor="middle")
    p.text(20, 304, "slope = (y(x + h) − y(x − h)) / 2h", 13, ORANGE)
    p.text(20, 326, "h is drawn large.", 13)
    p.text(290, 18, "Compare d y_i / d x_1", 14, weight="bold")
    columns = ((340, "measured", "differences", numeric), (464, "y (dy − Σ y dy)", "correct", right),
               (588, "y dy", "wrong", wrong))
    for left, title, what, values in columns:
        p.text(left + 54, 62, title, 13, anchor="middle", weight="bold")
        p.text(left + 54, 82, what, 12, anchor="middle")
        p.matrix(left, 96, [[v] for v in values], 108, 40, size=13, labels=["y_0", "y_1", "y_2", "y_3"] if left < 400 else (),
                 fill=lambda i, k, v: GRAY if abs(v - numeric[i]) < 1e-6 else ORANGE)
    p.parts.append(f'<rect x="585" y="133" width="112" height="44" rx="4" fill="none" stroke="{LINES[ORANGE]}" stroke-width="3"/>')
    p.arrow((641, 282), (716, 282), (716, 156), (700, 156), color=ORANGE)
    p.text(634, 282, f"{wrong[j] / right[j]:.2f} times what it should be", 13, ORANGE, "end", "bold")
    p.text(634, 306, "the other three: missing, 0 instead of −y_1 y_i", 13, ORANGE, "end", "bold")
    p.text(20, 364, "Cause: the difference is a multiple of y in each column, so a term with y is missing.", 13)
    p.text(20, 390, "The checker does this for every input element and every output element.", 13)
    return p
