"""Displays Gradus objects in a debugger, for both gdb (tools/gdb) and LLDB (tools/lldb)."""
import difflib
import glob
import math
import os
import re
import struct

from gradus_cells import (MEMBERS, Gradient, Node, Saved, Storage, Tensor, Trouble, mask_rule, short,
                          sizes, training)

SHOWN = 72  # values shown of a tensor at most
EDGE = 3  # shown at each end of a long axis; 1 for all but the last two axes


# ---- numbers ----


def shown_positions(size, edge):
    """The shown indices of an axis; None is the gap."""
    if size <= 2 * edge:
        return list(range(size))
    return [*range(edge), None, *range(size - edge, size)]


class Numbers:
    """A tensor's values, or their corners, in nested brackets as in NumPy."""

    def __init__(self, tensor, lines):
        self.tensor = tensor
        self.lines = lines  # one line per row, in columns
        self.edge = EDGE if lines or tensor.count <= 24 else 1
        self.storage = Storage(tensor.storage.target())
        self.left = SHOWN
        self.tree = self.collect(0, tensor.offset)
        self.choose_style()

    def value(self, position):
        start = position * self.tensor.bytes
        if start < 0 or start + self.tensor.bytes > self.storage.bytes:
            raise Trouble("<outside its storage>")
        raw = self.tensor.cell.read(self.storage.data + start, self.tensor.bytes)
        return struct.unpack("=" + self.tensor.code, raw)[0]

    def collect(self, axis, position):
        shape = self.tensor.shape
        if axis == len(shape):
            self.left -= 1
            return self.value(position)
        out = []
        for i in shown_positions(shape[axis], self.edge if axis >= len(shape) - 2 else 1):
            if i is None or self.left <= 0:
                if not out or out[-1] is not None:
                    out.append(None)
                continue
            out.append(self.collect(axis + 1, position + i * self.tensor.strides[axis]))
        return out

    def leaves(self, tree):
        if isinstance(tree, list):
            for each in tree:
                yield from self.leaves(each)
        elif tree is not None:
            yield tree

    def choose_style(self):
        numbers = list(self.leaves(self.tree))
        sizes_ = [abs(v) for v in numbers if isinstance(v, float) and math.isfinite(v) and v]
        largest, smallest = max(sizes_, default=0), min(sizes_, default=1)
        whole = all(v == math.trunc(v) for v in sizes_)
        if largest >= 1e8 or not whole and (largest >= 1e5 or smallest < 1e-4):
            self.format = "%.4e"
        else:
            self.format = "%#.0f" if whole else "%.4f"
        self.width = max((len(self.one(v)) for v in numbers), default=0)

    def one(self, value):
        if isinstance(value, float):
            return self.format % value if math.isfinite(value) else str(value)
        return str(value).lower()  # 3, true

    def text(self, tree=None, depth=1):
        tree = self.tree if depth == 1 else tree
        if tree is None:
            return "…"
        if not isinstance(tree, list):
            return self.one(tree).rjust(self.width if self.lines else 0)
        inner = [self.text(each, depth + 1) for each in tree]
        rows = self.lines and any(isinstance(each, list) for each in tree)
        return "[" + (",\n" + " " * depth if rows else ", ").join(inner) + "]"


# ---- text of objects ----


def guarded(show):
    """Makes a show function return the message of Trouble that it raises."""

    def text(cell, *more):
        try:
            return show(cell, *more)
        except Trouble as trouble:
            return str(trouble)
        except StopIteration:  # a class without the expected pointer
            return "<unknown class layout>"

    return text


@guarded
def origin(tensor):
    """A tensor's node in the graph."""
    found = tensor.node.target()
    if found is None:
        return ""
    node = Node(found)
    out = "from " + node.title() if node.name else node.title()
    out += " requires_grad" if node.name or node.wanted else " frozen"
    grad = node.grad()
    return out + (" with grad" if grad and Tensor(grad).defined() else "")


def header(tensor):
    out = "%s %s" % (tensor.dtype, tensor.shape)
    if not tensor.contiguous():
        out += " strides %s" % tensor.strides
    if tensor.offset:
        out += " offset %d" % tensor.offset
    place = origin(tensor)
    return out + (" " if place else "") + place


@guarded
def numbers(tensor, lines):
    return Numbers(tensor, lines).text()


@guarded
def tensor_title(cell):
    tensor = Tensor(cell)
    if tensor.defined():
        return header(tensor)
    if not tensor.shape:
        return "undefined"
    return "undefined, %s %s without values" % (tensor.dtype, tensor.shape)


@guarded
def tensor_text(cell, lines=True):
    tensor = Tensor(cell)
    if not tensor.defined() or tensor.count == 0:
        return tensor_title(cell)
    values = numbers(tensor, lines)
    if "\n" not in values:
        return header(tensor) + " " + values
    return header(tensor) + "\n  " + values.replace("\n", "\n  ")


@guarded
def sizes_text(cell):
    return str(sizes(cell))


@guarded
def storage_text(cell):
    storage = Storage(cell)
    out = "%d bytes at %#x version %d" % (storage.bytes, storage.data, storage.version)
    written = storage.last_write() if storage.version else ""
    return out + (" written at " + written if written else "") + (
        " borrowed" if storage.borrowed else "")


@guarded
def saved_text(cell):
    saved = Saved(cell)
    if saved.producer is not None:
        maker = Node(saved.producer).title()
        return "recomputed by %s when needed: %s" % (maker, tensor_title(saved.tensor))
    tensor = Tensor(saved.tensor)
    if not tensor.defined():
        return "released: " + tensor_title(saved.tensor) if tensor.shape else "nothing"
    out = tensor_text(saved.tensor, False)
    storage = Storage(tensor.storage.target())
    if storage.version != saved.version:
        out += " MODIFIED since it was saved, at " + storage.last_write()
    return out


@guarded
def node_title(cell):
    node = cell.target()
    return Node(node).title() if node is not None else "none"


@guarded
def node_text(cell):
    node = Node(cell)
    out = "%s %s" % (node.title(), node.shape)
    shown, count = node.inputs()
    if count:
        names = [node_title(each) for each in shown] + ["…"] * (count > len(shown))
        out += " ← " + ", ".join(names)
    out += "" if node.wanted else " frozen"
    out += " used" if node.used else ""
    grad = node.grad()
    return out + (" grad " + tensor_text(grad, False) if grad and Tensor(grad).defined() else "")


@guarded
def gradient_text(cell, tensor_text=tensor_text):
    gradient = Gradient(cell)
    if not Tensor(gradient.part).defined():
        return "nothing"
    if gradient.whole:
        return tensor_text(gradient.part)
    index = Tensor(gradient.index)
    if index.defined():
        return "rows %s of %s" % (numbers(index, False), tensor_text(gradient.part))
    return "slice axis %d start %d step %d of " % gradient.where + tensor_text(gradient.part)


def gradient_title(cell):
    return gradient_text(cell, tensor_title)


@guarded
def rule_text(rule, depth=0):
    """A rule of a mask as text."""
    if depth > MEMBERS:
        return "…"
    name, fields = rule.class_name(), rule.dynamic().parts()
    values = {field.rstrip("_"): field_text(part, depth) for field, part in fields if field}
    if name == "Combined" and len(values) == 3:
        return "(%s %s %s)" % (values["a"], "&" if values["both"] == "true" else "|", values["b"])
    inside = ", ".join("%s %s" % pair for pair in values.items())
    return name.lower() + ("(%s)" % inside if inside else "")


@guarded
def field_text(cell, depth):
    name = cell.type_name()
    if name in SHOW:
        return (tensor_title if name == "gradus::Tensor" else SHOW[name])(cell)
    if "Mask::Rule" in name:
        return rule_text(cell.target(), depth + 1)
    if name.startswith("std::vector<"):
        shown, count = cell.elements()
        texts = [str(each.number()) for each in shown] + ["…"] * (count > MEMBERS)
        return "[%s]" % ", ".join(texts)
    if name == "bool":
        return "true" if cell.number() else "false"
    return str(cell.number()) if cell.kind == "scalar" else "…"


@guarded
def mask_text(cell):
    rule = mask_rule(cell)
    return rule_text(rule) if rule is not None else "everything"


@guarded
def module_title(cell):
    return cell.class_name() + ("" if training(cell) else " eval")


@guarded
def owned_text(cell):
    """The class of a std::unique_ptr's target."""
    target = cell.target()
    return target.class_name() if target is not None else "none"


def module_members(cell):
    """Pairs of name and value: text for tensors and lists of modules, otherwise a Cell."""
    for name, part in cell.parts():
        type_name = part.type_name()
        if not name:  # a base class: its own members, unless it is nn::Layer<Block> or nn::Module
            if not re.match(r"gradus::nn::(Layer<|Module$)", type_name):
                yield from module_members(part)
            continue
        if type_name == "gradus::Tensor":
            yield name, tensor_title(part)
        elif type_name.startswith("std::unique_ptr<"):
            yield name, owned_text(part)
        elif type_name.startswith("std::vector<") and "gradus::Tensor" not in type_name:
            yield name, list_title(part)
        else:
            yield name, part


@guarded
def op_title(cell):
    return cell.class_name()


def op_members(cell):
    """Pairs of name and value, including those of base classes such as op::Unary."""
    for name, part in cell.parts():
        if name:
            yield name, part
        elif part.type_name() != OP:
            yield from op_members(part)


@guarded
def list_title(cell):
    shown, count = cell.elements()
    return "%d × %s" % (count, short(shown[0].type_name())) if shown else "none"


SHOW = {
    "gradus::Tensor": tensor_text,
    "gradus::Shape": sizes_text,
    "gradus::Strides": sizes_text,
    "gradus::Axes": sizes_text,
    "gradus::Storage": storage_text,
    "gradus::Saved": saved_text,
    "gradus::Node": node_text,
    "gradus::NodePtr": node_title,
    "gradus::Gradient": gradient_text,
    "gradus::Mask": mask_text,
}
TITLES = {tensor_text: tensor_title, gradient_text: gradient_title}  # shown in the line of a frame
MODULE, OP, NODE = "gradus::nn::Module", "gradus::Op", "gradus::Node"


# ---- operations by name ----


def operations():
    """Maps names of ops to classes, from the sources: {"softmax": "Softmax", …}."""
    found = {}
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for file in sorted(glob.glob(root + "/ops/**/*.*", recursive=True) + glob.glob(root + "/engine/*.cpp")):
        current = ""
        for line in open(file, encoding="utf-8"):
            opens = re.match(r"struct (\w+).*: .*\{", line)
            current = opens.group(1) if opens else current
            if "const char* name() const override" in line:
                found.update((name, current) for name in re.findall(r'"(\w+)"', line))
    return found


def operation(name):
    """The class of an op (guessed if unknown), and None or an error message."""
    known = operations()
    if name in known:
        return known[name], None
    for class_name in known.values():
        if class_name == name:
            return name, None
    near = difflib.get_close_matches(name, known, 5, 0.5)
    near += [each for each in sorted(known) if name in each and each not in near]
    message = "unknown operation '%s'. " % name
    if near:
        message += "Did you mean %s?" % ", ".join(near[:8])
    else:
        message += "Error messages and ops/*.cpp have the names, for example softmax or matmul."
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")), message


# ---- derivations ----


def derivation(name, functions=()):
    """The derivation of an op and None, or None and an error message. Without a name, uses the first op in
    `functions`."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "docs", "derivations")
    known = {file[:-3] for file in os.listdir(folder) if file.endswith(".md")}
    names = [name]
    if not name:
        stops = [found for each in functions for found in re.findall(r"gradus::op::(\w+)", each or "")]
        names = [each for each, class_name in operations().items() if stops[:1] == [class_name]]
    texts = [open(os.path.join(folder, each + ".md"), encoding="utf-8").read() for each in names if each in known]
    if texts:
        return "\n".join(texts), None
    if not name:
        return None, "no operation is on the stack. Give a name, for example: derive softmax"
    near = difflib.get_close_matches(name, known, 5, 0.5) or sorted(each for each in known if name in each)[:5]
    return None, "no derivation of '%s'. %s" % (name, "Did you mean %s?" % ", ".join(near) if near else
                                               "docs/derivations has, for example, softmax and matmul.")
