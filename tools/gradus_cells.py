"""Reads Gradus objects from the memory of a debugged process, through a Cell that a debugger provides.

Never calls functions in the process, so it also works on core dumps and in the middle of an op. A variable may
contain anything (uninitialized, moved-from), so counts are limited and addresses are checked. Only this file
contains the field names of C++ classes.
"""
import math
import re
import struct

MAX_RANK = 8
MAX_ELEMENTS = 1 << 48  # a larger count means invalid memory
MEMBERS = 8  # number of elements shown of a list
DTYPES = (("f32", "f", 4), ("f64", "d", 8), ("i64", "q", 8), ("bool", "?", 1))


class Trouble(Exception):
    """Shown in place of a value that cannot be read."""


UNREADABLE = Trouble("<unreadable>")


class Cell:
    """An object in the process. A debugger's subclass implements the abstract methods, which raise Trouble on
    failure."""

    kind = ""  # "pointer", "array", "struct" or "scalar"

    def at(self, name):
        """The member `name` of the class or a base."""
        raise NotImplementedError

    def parts(self):
        """Pairs of name and Cell: bases first, in memory order."""
        raise NotImplementedError

    def item(self, index):
        """An element of an array, or of the target of a pointer."""
        raise NotImplementedError

    def number(self):
        raise NotImplementedError

    def type_name(self):
        raise NotImplementedError

    def dynamic(self):
        """The object as its dynamic class, if its type is known."""
        raise NotImplementedError

    def read(self, address, count):
        raise NotImplementedError

    def symbol(self, address):
        """The linker symbol at this address, or ""."""
        raise NotImplementedError

    # ---- shared by all debuggers ----

    def find(self, kind):
        """Nested parts of this kind, depth first. In any standard library, a shared_ptr's first pointer is the
        one it owns, and a vector's first two are begin and end."""
        if self.kind == kind:
            yield self
        elif self.kind == "struct":
            for _, part in self.parts():
                yield from part.find(kind)

    def pointer(self):
        return next(self.find("pointer")).number()

    def target(self):
        """The target of a (smart) pointer, or None if null."""
        pointer = next(self.find("pointer"))
        return pointer.item(0) if pointer.number() else None

    def elements(self):
        """The first elements of a std::vector (begin, end) or std::span (begin, count), and their count."""
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
            raise Trouble("<not initialized: %d elements>" % count)
        return [begin.item(i) for i in range(min(count, MEMBERS))], count

    def address(self):
        raise NotImplementedError

    def text(self):
        """A C string. Raises Trouble unless it is short and printable."""
        start, out = self.number(), b""
        if not start:
            return ""
        while len(out) < 160 and not out.endswith(b"\0"):
            out += self.read(start + len(out), 1)
        if not out.endswith(b"\0") or not out[:-1].decode("ascii", "replace").isprintable():
            raise UNREADABLE
        return out[:-1].decode("ascii")

    def dynamic_name(self):
        """The class according to the object's vtable, or its static type."""
        vtable = struct.unpack("=Q", self.read(self.address(), 8))[0]
        found = re.search(r"vtable for (.*?)(?: \+ \d+.*)?$", self.symbol(vtable).strip())
        return found.group(1) if found else self.type_name()

    def class_name(self):
        return short(self.dynamic_name())


def short(name):
    """`Block` from `gradus::nn::Block`, ignoring template arguments."""
    head, bracket, rest = name.partition("<")
    return head.split("::")[-1] + bracket + rest


# ---- readers: the fields of each class ----


def sizes(cell):
    rank = cell.at("rank_").number()
    if not 0 <= rank <= MAX_RANK:
        raise Trouble("<not initialized: rank %d>" % rank)
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
            raise Trouble("<not initialized: dtype %d>" % dtype)
        self.dtype, self.code, self.bytes = DTYPES[dtype]
        self.count = math.prod(self.shape)
        if any(n < 0 for n in self.shape) or self.count > MAX_ELEMENTS:
            raise Trouble("<not initialized: shape %s>" % self.shape)

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
        """The first inputs and their count; none after backward freed them."""
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
    except Trouble:  # no debugging symbols: nn::Module is not known
        return True
