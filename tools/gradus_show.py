"""How Gradus's objects look in a debugger, for gdb (tools/gdb) and LLDB (tools/lldb) alike.

Everything is read from memory, through a Cell that each debugger provides; nothing is called in the
process, so a core dump and a program stopped in the middle of an operation show the same. A variable
may hold anything (not initialised, moved from): each count is capped, each address checked. A
field of a C++ class is named in one place: in the reader of that class, below.
"""
import difflib
import math
import os
import re
import struct

MAX_RANK = 8
MAX_ELEMENTS = 1 << 48  # more is not a tensor but an accident
SHOWN = 72  # numbers of a tensor: two corners of a matrix
EDGE = 3  # positions at each end of a long axis; 1 for all but the last two axes
MEMBERS = 8  # of a list
DTYPES = (("f32", "f", 4), ("f64", "d", 8), ("i64", "q", 8), ("bool", "?", 1))


class Trouble(Exception):
    """What is shown in place of something that cannot be."""


UNREADABLE = Trouble("<unreadable>")


class Cell:
    """An object in the process. A debugger's subclass provides what raises here; it raises Trouble."""

    kind = ""  # "pointer", "array", "struct" or "scalar"

    def at(self, name):
        """The member `name`, of the class itself or of a base."""
        raise NotImplementedError

    def parts(self):
        """Pairs of name and Cell: bases first, in the order of memory."""
        raise NotImplementedError

    def item(self, index):
        """An element of an array, or of what a pointer points at."""
        raise NotImplementedError

    def number(self):
        raise NotImplementedError

    def type_name(self):
        raise NotImplementedError

    def dynamic(self):
        """The same object as the class that its vtable names, where there are types for that."""
        raise NotImplementedError

    def read(self, address, count):
        raise NotImplementedError

    def symbol(self, address):
        """The linker's name for what is at this address, or ""."""
        raise NotImplementedError

    # ---- what every debugger shares ----

    def find(self, kind):
        """This, or the parts inside it, of that kind, depth first: a shared_ptr's first pointer is
        the one that it owns, a vector's first two are begin and end, with any standard library."""
        if self.kind == kind:
            yield self
        elif self.kind == "struct":
            for _, part in self.parts():
                yield from part.find(kind)

    def pointer(self):
        return next(self.find("pointer")).number()

    def target(self):
        """What a (smart) pointer points at; None where that is nothing."""
        pointer = next(self.find("pointer"))
        return pointer.item(0) if pointer.number() else None

    def elements(self):
        """Of a std::vector, the first few, and how many there are."""
        pointers = self.find("pointer")
        begin, end = next(pointers), next(pointers)
        size = begin.item(1).address() - begin.item(0).address() if begin.number() else 1
        count = (end.number() - begin.number()) // size
        if not 0 <= count <= MAX_ELEMENTS:
            raise Trouble("<not initialised: %d elements>" % count)
        return [begin.item(i) for i in range(min(count, MEMBERS))], count

    def address(self):
        raise NotImplementedError

    def text(self):
        """A C string; Trouble unless it is short and printable."""
        start, out = self.number(), b""
        if not start:
            return ""
        while len(out) < 160 and not out.endswith(b"\0"):
            out += self.read(start + len(out), 1)
        if not out.endswith(b"\0") or not out[:-1].decode("ascii", "replace").isprintable():
            raise UNREADABLE
        return out[:-1].decode("ascii")

    def dynamic_name(self):
        """The class that the object's vtable names; what its type says where there is none."""
        vtable = struct.unpack("=Q", self.read(self.address(), 8))[0]
        found = re.search(r"vtable for (.*?)(?: \+ \d+.*)?$", self.symbol(vtable).strip())
        return found.group(1) if found else self.type_name()

    def class_name(self):
        return short(self.dynamic_name())


def short(name):
    """`Block` from `gradus::nn::Block`, template arguments kept out of the search."""
    head, bracket, rest = name.partition("<")
    return head.split("::")[-1] + bracket + rest


# ---- readers: the fields of each class, by name ----


def sizes(cell):
    rank = cell.at("rank_").number()
    if not 0 <= rank <= MAX_RANK:
        raise Trouble("<not initialised: rank %d>" % rank)
    numbers = next(cell.at("sizes_").find("array"))
    return [numbers.item(axis).number() for axis in range(rank)]


class Tensor:
    def __init__(self, cell):
        self.cell = cell
        self.shape = sizes(cell.at("shape_"))
        self.strides = sizes(cell.at("strides_"))
        self.offset = cell.at("offset_").number()
        self.storage = cell.at("storage_")
        self.node = cell.at("node_")
        dtype = cell.at("dtype_").number()
        if not 0 <= dtype < len(DTYPES):
            raise Trouble("<not initialised: dtype %d>" % dtype)
        self.dtype, self.code, self.bytes = DTYPES[dtype]
        self.count = math.prod(self.shape)
        if any(n < 0 for n in self.shape) or self.count > MAX_ELEMENTS:
            raise Trouble("<not initialised: shape %s>" % self.shape)

    def defined(self):
        return self.storage.pointer() != 0

    def contiguous(self):
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


class Storage:
    def __init__(self, cell):
        self.data = cell.at("data_").number()
        self.bytes = cell.at("bytes_").number()
        self.version = cell.at("version_").number()
        self.borrowed = cell.at("borrowed_").number()
        self.where = cell.at("last_write_")

    def last_write(self):
        line = self.where.at("line_").number()
        return "%s:%d" % (self.where.at("file_").text(), line) if line else ""


class Node:
    def __init__(self, cell):
        self.id = cell.at("id").number()
        self.name = cell.at("op_name").text()  # "" for a leaf
        self.shape = sizes(cell.at("shape"))
        self.wanted = cell.at("requires_grad").number()
        self.used = cell.at("used").number()
        self.op = cell.at("op")
        self.extra = cell.at("extra_")
        self.cell = cell

    def inputs(self):
        return self.cell.at("inputs").elements()

    def grad(self):
        extra = self.extra.target()
        return extra and extra.at("grad")

    def title(self):
        return "%s #%d" % (self.name or "leaf", self.id)


# ---- numbers ----


def shown_positions(size, edge):
    """The positions of an axis that are shown; None stands for the gap."""
    if size <= 2 * edge:
        return list(range(size))
    return [*range(edge), None, *range(size - edge, size)]


class Numbers:
    """A corner of a tensor's values, in nested brackets as NumPy writes them."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.storage = Storage(tensor.storage.target())
        self.left = SHOWN
        self.tree = self.collect(0, tensor.offset)
        self.choose_style()

    def value(self, position):
        start = position * self.tensor.bytes
        if start < 0 or start + self.tensor.bytes > self.storage.bytes:
            raise Trouble("<outside of its storage>")
        raw = self.tensor.cell.read(self.storage.data + start, self.tensor.bytes)
        return struct.unpack("=" + self.tensor.code, raw)[0]

    def collect(self, axis, position):
        shape = self.tensor.shape
        if axis == len(shape):
            self.left -= 1
            return self.value(position)
        out = []
        for i in shown_positions(shape[axis], EDGE if axis >= len(shape) - 2 else 1):
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

    def text(self, lines, tree=None, depth=1):
        tree = self.tree if depth == 1 else tree
        if tree is None:
            return "…"
        if not isinstance(tree, list):
            return self.one(tree).rjust(self.width if lines else 0)
        inner = [self.text(lines, each, depth + 1) for each in tree]
        rows = lines and any(isinstance(each, list) for each in tree)
        return "[" + (",\n" + " " * depth if rows else ", ").join(inner) + "]"


# ---- what is shown ----


def guarded(show):
    """A show function that answers with the trouble it meets."""

    def text(cell, *more):
        try:
            return show(cell, *more)
        except Trouble as trouble:
            return str(trouble)
        except StopIteration:  # a class without the pointer that should be in it
            return "<not understood>"

    return text


@guarded
def origin(tensor):
    """Where a tensor stands in the graph."""
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
    return Numbers(tensor).text(lines)


@guarded
def tensor_title(cell):
    tensor = Tensor(cell)
    if tensor.defined():
        return header(tensor)
    return "undefined, %s %s without numbers" % (tensor.dtype, tensor.shape) if tensor.shape else "undefined"


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
    tensor, producer = cell.at("tensor_"), cell.at("producer_").target()
    if producer is not None:
        return "made again by %s when needed: %s" % (Node(producer).title(), tensor_title(tensor))
    if not Tensor(tensor).defined():
        return "nothing" if not Tensor(tensor).shape else "given away: " + tensor_title(tensor)
    out = tensor_text(tensor, False)
    storage, version = Storage(Tensor(tensor).storage.target()), cell.at("version_").number()
    if storage.version != version:
        out += " WRITTEN TO since it was saved, at " + storage.last_write()
    return out


@guarded
def input_title(cell):
    node = cell.target()
    return Node(node).title() if node is not None else "none"


@guarded
def node_text(cell):
    node = Node(cell)
    out = "%s %s" % (node.title(), node.shape)
    shown, count = node.inputs()
    if count:
        names = [input_title(each) for each in shown] + ["…"] * (count > len(shown))
        out += " ← " + ", ".join(names)
    out += "" if node.wanted else " frozen"
    out += " used" if node.used else ""
    grad = node.grad()
    return out + (" grad " + tensor_text(grad, False) if grad else "")


@guarded
def gradient_text(cell):
    part, region = cell.at("part_"), cell.at("region_").target()
    if not Tensor(part).defined():
        return "nothing"
    if region is None:
        return tensor_text(part)
    if Tensor(region.at("index")).defined():
        return "rows %s of %s" % (numbers(Tensor(region.at("index")), False), tensor_text(part))
    where = tuple(region.at(name).number() for name in ("axis", "start", "step"))
    return "slice axis %d start %d step %d of " % where + tensor_text(part)


@guarded
def rule_text(rule, depth=0):
    """One rule of a mask, from its class and its fields."""
    if depth > MEMBERS:
        return "…"
    name, fields = rule.class_name(), rule.dynamic().parts()
    values = {n.rstrip("_"): field_text(part, depth) for n, part in fields if n}
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
        return "[%s]" % ", ".join([str(each.number()) for each in shown] + ["…"] * (count > MEMBERS))
    if name == "bool":
        return "true" if cell.number() else "false"
    return str(cell.number()) if cell.kind == "scalar" else "…"


@guarded
def mask_text(cell):
    rule = cell.at("rule_").target()
    return rule_text(rule) if rule is not None else "everything"


@guarded
def module_title(cell):
    try:
        mode = "" if cell.at("training_").number() else " eval"
    except Trouble:  # a library without debugging symbols: the layer is known, nn::Module is not
        mode = ""
    return cell.class_name() + mode


def module_members(cell):
    """Pairs of name and what to show: text for a tensor and a list of modules, else the Cell."""
    for name, part in cell.parts():
        type_name = part.type_name()
        if not name:  # a base class, as nn::Layer<Block>
            continue
        if type_name == "gradus::Tensor":
            yield name, tensor_title(part)
        elif type_name.startswith("std::vector<") and "gradus::Tensor" not in type_name:
            yield name, list_title(part)
        else:
            yield name, part


@guarded
def list_title(cell):
    shown, count = cell.elements()
    return "%d × %s" % (count, short(shown[0].type_name())) if shown else "none"


SHOW = {
    "gradus::Tensor": tensor_text,
    "gradus::Sizes": sizes_text,
    "gradus::Storage": storage_text,
    "gradus::Saved": saved_text,
    "gradus::Node": node_text,
    "gradus::Gradient": gradient_text,
    "gradus::Mask": mask_text,
}
MODULE = "gradus::nn::Module"


# ---- operations by name ----


def operations():
    """Class by name, as graphs and errors show it, from the sources: {"softmax": "Softmax", …}."""
    found = {}
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "ops")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        current = ""
        for line in open(os.path.join(folder, file), encoding="utf-8"):
            opens = re.match(r"struct (\w+).*: .*\{", line)
            current = opens.group(1) if opens else current
            if "const char* name() const override" in line:
                found.update((name, current) for name in re.findall(r'"(\w+)"', line))
    return found


def operation(name):
    """The class of an operation, and what to say when there is none such; None for one of ours."""
    known = operations()
    if name in known:
        return known[name], None
    for class_name in known.values():
        if class_name == name:
            return name, None
    near = difflib.get_close_matches(name, known, 5, 0.5)
    near += [each for each in sorted(known) if name in each and each not in near]
    said = "no operation is called '%s'" % name
    if near:
        said += ": did you mean %s?" % ", ".join(near[:8])
    else:
        said += "; errors and ops/*.cpp name them, as softmax or matmul"
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")), said
