"""The mutants of one expression: alternative texts, each a typical bug.

Changes that only cost time or memory are left out, because they are not bugs for users.
"""
import re

ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
              "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
              "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "&": ["|"], "|": ["&"],
              "<<": [">>"], ">>": ["<<"],
              "+=": ["=", "-="], "-=": ["=", "+="], "*=": ["=", "/="], "/=": ["=", "*="], "|=": ["="]}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
DROPS_LEFT = {"+", "*", "&&", "||"}  # a + b → b
DROPS_RIGHT = DROPS_LEFT | {"-", "/", "%", ">>", "&"}
ANOTHER = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "std::max": "std::min",
           "std::min": "std::max", "less": "less_equal", "less_equal": "less",
           "greater": "greater_equal", "greater_equal": "greater", "equal": "not_equal",
           "logical_or": "logical_and", "logical_and": "logical_or", "sin": "cos", "cos": "sin",
           "tril": "triu", "triu": "tril", "index_select": "gather"}
SYMMETRIC = {"std::swap", "std::max", "std::min", "vmath::dot", "dot_row", "logical_or", "logical_and", "equal",
             "broadcast_shapes", "maximum", "minimum", "worse", "distance", "largest_distance", "worst_of",
             "std::strcmp", "std::memcmp"}
NO_ORDER = {"transpose": 1, "std::clamp": 0, "close": 0}  # this argument and the next can be swapped
WHOLE = re.compile(r"[A-Zijknrv]|\d+|.*\b(size|numel|count|rank|length)\([^()]*\)")  # below 2²⁴, so exact in float
TOLERANCE = re.compile(r"[\d.]+e-?\d+")  # no value equals a tolerance, so < and <= give the same result
PRODUCTS = {"matmul", "weighted_sum", "pair_products"}
SAME_WITHOUT = {"std::move", "std::span", "attached",
                # types to which an argument also converts implicitly
                "std::vector", "std::setprecision", "std::setw", "std::string", "std::string_view", "std::ifstream",
                "std::chrono::duration", "fs::path", "std::filesystem::path", "double", "float", "int", "std::int64_t", "std::size_t"}
OPTIONS = re.compile(r"(\w+\.)?(options_?|given|o|block|rotary)")  # usual names of options
ROUNDED = ("engine/", "ops/", "nn/")  # where the digits of a double matter


def is_type(callee):
    """Removes conversions: a mutant is converted to the original's type, so Type(x) and x are the same."""
    return callee.split("::")[-1][0].isupper() or callee.startswith("decltype")


def number_alternatives(text):
    digits = text.replace("'", "")
    if digits.lower().startswith("0x"):
        return [f"({text} * 2)"]
    if any(c in digits for c in ".eEfF"):
        value = float(digits.rstrip("fF"))
        return {0: ["1.0"], 1: ["0.0", "2.0"]}.get(value, []) + ([f"({text} * 1.001)"] if value else [])
    n = int(digits.rstrip("uUlL"))
    return ["1", "-1"] if n == 0 else [str(n + 1), str(n - 1)]


class Alternatives:
    """The alternatives for the nodes of one function."""

    def __init__(self, source, function):
        self.source, self.function = source, function
        self.saved = function.owner.saved if function.owner else []
        self.rounds = source.path.startswith(ROUNDED)

    def text(self, node):
        return self.source.joined(node.begin, node.end)

    def of(self, node, used=True):
        """(kind, text) of each alternative. used=False: the value is not read, so other values are not bugs."""
        if is_fixed(node):
            return []
        made = self.call(node, used) if node.kind == "call" else getattr(self, node.kind, lambda _: [])(node)
        own = self.text(node)
        if node.named and node.kind not in ("number", "string", "braces", "lambda") and own not in ("true", "false"):
            made = made + [("not passed on", f"gradus::gradus_unset({own})")]
        return [(kind, text) for kind, text in made if text != own]

    def name(self, node):
        text = self.text(node)
        return [("constant", {"true": "false", "false": "true"}[text])] if text in ("true", "false") else []

    def member(self, node):
        thing = self.text(node.children[0])
        unset = f"gradus::gradus_unset({thing}){node.op}{self.source.text_of(node.end - 1)}"
        return [("not passed on", unset)] if OPTIONS.fullmatch(thing) else []

    def number(self, node):
        return [("constant", text) for text in number_alternatives(self.text(node))]

    def unary(self, node):
        inner = node.children[0]
        if node.op == "-" and inner.kind == "number":
            return [("constant", f"-({text})") for text in number_alternatives(self.text(inner))] + [
                ("sign", self.text(inner))]
        return [("sign" if node.op == "-" else "negation", self.text(inner))] if node.op in "-!" else []

    def binary(self, node):
        left, right = (self.text(child) for child in node.children)
        others = ARITHMETIC.get(node.op, [])
        if node.op in OPPOSITE and (TOLERANCE.fullmatch(left) or TOLERANCE.fullmatch(right)):
            others = [OPPOSITE[node.op]]
        made = [("operator", f"{left} {other} {right}") for other in others]
        if node.op == "=":
            if node.children[0].kind == "index" and right not in ("true", "false"):
                made.append(("accumulate", f"{left} += {right}"))
            if left in self.saved:
                made += [("saved", f"{left} = {other}") for other in self.function.tensors if other != right]
        if node.op == "-" and left != right:
            made.append(("sign", self.exchanged(node)))
        if node.op in DROPS_RIGHT:
            made.append(("dropped", left))
        if node.op in DROPS_LEFT:
            made.append(("dropped", right))
        return made

    def exchanged(self, node):
        """b - a for a - b."""
        return "({1}) - ({0})".format(*map(self.text, node.children)) if node.kind == "binary" else None

    def ternary(self, node):
        return [("branch", self.text(node.children[1])), ("branch", self.text(node.children[2]))]

    def call(self, node, used):
        callee, arguments = node.children[0], node.children[1:]
        name, texts = self.text(callee), [self.text(argument) for argument in arguments]
        made, plain = [], name.split("<")[0]
        if plain in ("require", "fail"):
            return []
        if callee.kind == "member":
            made += self.member_call(callee, arguments) if used else []
        elif name == "wants":
            made.append(("wanted", f"!{self.text(node)}"))
        elif name.startswith("static_cast"):
            if name == "static_cast<double>":
                made += self.narrowed(texts[0])
        elif not is_type(plain) and used and plain not in SAME_WITHOUT:
            made += [("call dropped", text) for text in texts[:2]]
        if name == "attached":
            made += [("saved", f"{name}({other})") for other in self.saved if other != texts[0]]
            made.append(("detached", f"{texts[0]}.value()"))
        if plain in ANOTHER:
            made.append(("function", f"{name.replace(plain, ANOTHER[plain])}({', '.join(texts)})"))
        made += self.rearranged(name, texts)
        return made

    def narrowed(self, text):
        if not self.rounds or WHOLE.fullmatch(text):
            return []
        return [("narrowed", f"static_cast<double>(static_cast<float>({text}))")]

    def member_call(self, callee, arguments):
        thing, method = self.text(callee.children[0]), self.source.text_of(callee.end - 1)
        if method == "detach" and not arguments:
            return [("call dropped", thing)]
        if method in ("value", "take") and thing in self.saved:
            return [("saved", f"{other}.{method}()") for other in self.saved if other != thing]
        return []

    def rearranged(self, name, texts):
        made = []
        for i in range(len(texts) - 1 if name.split("<")[0] not in SYMMETRIC else 0):
            ordered = NO_ORDER.get(name.split("<")[0]) != i
            if ordered and texts[i] != texts[i + 1] and '"' not in texts[i]:
                other = texts[:i] + [texts[i + 1], texts[i]] + texts[i + 2:]
                made.append(("swapped", f"{name}({', '.join(other)})"))
        if name in PRODUCTS:
            for i in range(2):
                other = texts[:i] + [f"transpose({texts[i]})"] + texts[i + 1:]
                made.append(("transposed", f"{name}({', '.join(other)})"))
        return made


def opposite(source, node):
    """The negated condition."""
    if node.kind == "unary" and node.op == "!":
        return source.joined(node.children[0].begin, node.end)
    sides = [source.joined(child.begin, child.end) for child in node.children]
    return f" {OPPOSITE[node.op]} ".join(sides) if node.op in OPPOSITE else f"!({source.joined(node.begin, node.end)})"


def is_fixed(node):
    """True if the node contains a lambda, which is too long to repeat, or a parameter pack."""
    fixed = node.kind == "lambda" or node.op == "..."
    return fixed or any(is_fixed(child) for child in node.children)
