"""Gradus's objects in a debugged process, read from memory through a Cell that a debugger provides.

Nothing is called in the process, so a core dump and a program stopped in the middle of an operation
read the same. A variable may hold anything (not initialised, moved from): each count is capped,
each address checked. A field of a C++ class is named in its reader here, and nowhere else.
"""
import math
import re
import struct

MAX_RANK = 8
MAX_ELEMENTS = 1 << 48  # more is not a tensor but an accident
MEMBERS = 8  # of a list
DTYPES = (("f32", "f", 4), ("f64", "d", 8), ("i64", "q", 8), ("bool", "?", 1))


class Trouble(Exception):
    """What is shown in place of something that cannot be."""


UNREADABLE = Trouble("<unreadable>")


class Cell:
    """An object in the process. A debugger's subclass provides what raises NotImplementedError
    here, and raises Trouble where it cannot."""

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
        """Of a std::vector (begin, end) or a std::span (begin, count): the first few; the count."""
        pointers = list(self.find("pointer"))
        begin = pointers[0]
        if len(pointers) == 1:
            count = next(self.find("scalar")).number()
        elif begin.number():
            size = begin.item(1).address() - begin.item(0).address()
            count = (pointers[1].number() - begin.number()) // size
        else:
            count = 0
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
    numbers = next(cell.at("numbers_").find("array"))
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
        """The first few, and how many there are; none once backward has used them."""
        return ([], 0) if self.used else self.cell.at("inputs").elements()

    def grad(self):
        extra = self.extra.target()
        return extra and extra.at("grad")

    def title(self):
        return "%s #%d" % (self.name or "leaf", self.id)


class Saved:
    def __init__(self, cell):
        self.tensor = cell.at("tensor_")
        self.producer = cell.at("producer_").target()
        self.version = cell.at("version_").number()


class Gradient:
    def __init__(self, cell):
        self.part = cell.at("part_")
        region = cell.at("region_").target()
        self.whole = region is None
        if region is not None:
            self.index = region.at("index")
            self.where = tuple(region.at(name).number() for name in ("axis", "start", "step"))


def mask_rule(cell):
    return cell.at("rule_").target()


def training(cell):
    try:
        return cell.at("training_").number() != 0
    except Trouble:  # a library without debugging symbols: the layer is known, nn::Module is not
        return True
