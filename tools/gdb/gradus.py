"""Gradus in gdb:  source tools/gdb/gradus.py

  print x, info locals      show tensors, masks, nodes …
  bt                        hides frames that only forward a call; bt -no-filters shows every frame
  step                      does not enter the standard library
  gradus-at softmax         stop in this op's forward and backward
  gradus-at 17              stop where node 17 is created, and before its backward
  derive softmax            explains the op's backward line by line; derive: the current op

Compatible with gdb 13.
"""
import os
import re
import sys

import gdb
from gdb.FrameDecorator import FrameDecorator

# __file__ would be wrong: gdb does not change it when a script sources another.
HERE = os.path.dirname(os.path.realpath(sys._getframe().f_code.co_filename))
sys.path.insert(0, os.path.dirname(HERE))
import gradus_cells as cells  # noqa: E402  in the parent folder
import gradus_show as show  # noqa: E402

REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
KINDS = {gdb.TYPE_CODE_PTR: "pointer", gdb.TYPE_CODE_ARRAY: "array", gdb.TYPE_CODE_STRUCT: "struct"}


def guarded(method):
    def call(*arguments):
        try:
            return method(*arguments)
        except gdb.MemoryError:
            raise cells.UNREADABLE from None
        except gdb.error as error:
            raise cells.Trouble("<%s>" % error) from None

    return call


def pointee(pointer):
    """Returns *pointer, through an array type. For a class, gdb would look up the vtable and warn if symbols and
    debugging information spell a template differently (1ul and 1)."""
    try:
        target = pointer.type.strip_typedefs().target()
        return pointer.cast(target.array(0).pointer()).dereference()[0]
    except gdb.MemoryError:
        raise
    except gdb.error:  # a class that is only declared
        return pointer.dereference()


class Cell(cells.Cell):
    @guarded
    def __init__(self, value):
        self.value = pointee(value.address) if value.type.code in REFERENCES else value
        self.type = self.value.type.strip_typedefs().unqualified()
        self.kind = KINDS.get(self.type.code, "scalar")

    @guarded
    def at(self, name):
        return Cell(self.value[name])

    @guarded
    def parts(self):
        fields = [f for f in self.type.fields() if hasattr(f, "bitpos")]  # static fields have no bitpos
        return [("" if f.is_base_class else f.name, Cell(self.value[f])) for f in fields
                if not (f.name or "").startswith("_vptr")]

    @guarded
    def item(self, index):
        if self.kind == "array":
            return Cell(self.value[index])
        return Cell(pointee(self.value + index))

    @guarded
    def number(self):
        return int(self.value)

    def type_name(self):
        return self.type.name or ""

    @guarded
    def address(self):
        return int(self.value.address)

    @guarded
    def dynamic(self):
        pointer = self.value.address.cast(self.type.pointer())  # gdb does not resolve typedefs here
        return Cell(pointee(pointer.cast(pointer.dynamic_type)))

    @guarded
    def fetched(self):
        self.value.fetch_lazy()
        return self.value

    @guarded
    def read(self, address, count):
        return gdb.selected_inferior().read_memory(address, count).tobytes()

    @guarded
    def symbol(self, address):
        return gdb.execute("info symbol %d" % address, to_string=True)


# ---- values ----


class Printer:
    def __init__(self, text, cell):
        self.text, self.cell = text, cell

    def to_string(self):
        in_a_frame = gdb.print_options().get("summary")
        return (show.TITLES.get(self.text, self.text) if in_a_frame else self.text)(self.cell)


class NodePrinter(Printer):
    def children(self):
        """The op with its saved members."""
        try:
            op = self.cell.at("op").target()
            if op is not None:
                yield "op", op.dynamic().fetched()
        except cells.Trouble as trouble:
            yield "op", str(trouble)


class MemberPrinter(Printer):
    """A layer or an op: its class, and the members that it adds to its base."""

    def __init__(self, text, cell, members):
        super().__init__(text, cell)
        self.members = members

    def children(self):
        try:
            members = list(self.members(self.cell.dynamic()))
        except cells.Trouble as trouble:
            members = [("members", str(trouble))]
        for name, member in members:
            yield name, member.value if isinstance(member, Cell) else str(member)


def span_text(cell):
    """libstdc++'s printer fails for the spans of gcc 12, with an error in every backtrace."""
    return "std::span at %#x" % cell.pointer()


def is_a(type_, name):
    """True if this class is derived from the class of that name."""
    while type_.code == gdb.TYPE_CODE_STRUCT:
        if type_.name == name:
            return True
        bases = [f for f in type_.fields() if f.is_base_class]
        if not bases:
            return False
        type_ = bases[0].type.strip_typedefs()
    return False


def find_printer(value):
    if value.type.strip_typedefs().code not in (gdb.TYPE_CODE_STRUCT, *REFERENCES):
        return None
    try:
        cell = Cell(value)
    except cells.Trouble:
        return None
    text = show.SHOW.get(cell.type_name())
    if cell.type_name().startswith("std::span<"):
        text = span_text
    if is_a(cell.type, show.NODE):
        return NodePrinter(show.node_text, cell)
    if text:
        return Printer(text, cell)
    if is_a(cell.type, show.MODULE):
        return MemberPrinter(show.module_title, cell, show.module_members)
    if is_a(cell.type, show.OP):
        return MemberPrinter(show.op_title, cell, show.op_members)
    return None


find_printer.name = "gradus"


# ---- frames ----


def only_forwards(frame):
    """True for frames of the standard library, and for frames of Gradus that only invoke a callable."""
    name = frame.name() or ""
    if re.match(r"(\w+ )?(std|__gnu_cxx)::", name):
        return True
    symtab = frame.find_sal().symtab
    path = os.path.realpath(symtab.fullname()) if symtab else ""
    if path.startswith("/usr/include/c++/"):
        return True
    ours = re.search(r"/(engine|ops|nn)/(\w+/)?\w+\.(h|cpp)$", path) is not None
    callable_ = re.search(r"lambda|operator\(\)|_FUN|FunctionRef|parallel_for|simd::|^_Z.*Ul", name)
    return ours and callable_ is not None


class Frame(FrameDecorator):
    def function(self):
        """The name without parameter types, as in gdb's `bt`."""
        name = super().function()
        if not isinstance(name, str):
            return name
        return name.replace("(anonymous namespace)::", "").partition("(")[0]


class Frames:
    name, priority, enabled = "gradus", 100, True

    def filter(self, frames):
        return (Frame(f) for f in frames
                if f.inferior_frame().level() == 0 or not only_forwards(f.inferior_frame()))


# ---- breakpoints ----


def exists(location):
    try:
        return bool(gdb.decode_line(location)[1])
    except gdb.error:
        return False


def break_at_operation(name):
    class_name, near = show.operation(name)
    for scope in ("gradus::op::", ""):
        both = ["%s%s::%s" % (scope, class_name, part) for part in ("forward", "backward")]
        places = [place for place in both if exists(place)]
        if places:
            return [gdb.Breakpoint(place) for place in places]
    raise gdb.GdbError("%s is not used in this program" % name if near is None else near)


class NodeBreakpoint(gdb.Breakpoint):
    """Stops if `node_here` returns this node's id in the newest frame."""

    def __init__(self, place, node, node_here):
        super().__init__(place, temporary=True)
        self.node, self.node_here = node, node_here

    def stop(self):
        try:
            return self.node_here() == self.node
        except (gdb.error, cells.Trouble, StopIteration):
            return False


def node_being_made():
    last = gdb.parse_and_eval("gradus::detail::last_node_id")
    return next(Cell(last).find("scalar")).number() + 1


def node_being_visited():
    step = Cell(gdb.newest_frame().read_var("step").referenced_value())
    return step.at("node").item(0).at("id").number()


def break_at(where):
    if not re.fullmatch(r"#?\d+", where):
        return break_at_operation(where)
    number = int(where.lstrip("#"))
    for place in ("gradus::Node::Node", "Walk::visit"):
        if not exists(place):
            raise gdb.GdbError("this program does not build a graph")
    return [NodeBreakpoint("gradus::Node::Node", number, node_being_made),
            NodeBreakpoint("Walk::visit", number, node_being_visited)]


def break_when_loaded(where):
    """Sets breakpoints now, or when a program is loaded, because VS Code sets them earlier."""
    if gdb.current_progspace().filename:
        return break_at(where)

    def loaded(_):
        if gdb.current_progspace().filename:
            gdb.events.new_objfile.disconnect(loaded)
            try:
                break_at(where)
            except gdb.GdbError as error:
                gdb.write("gradus-at: %s\n" % error)

    gdb.events.new_objfile.connect(loaded)
    return []


class At(gdb.Command):
    """gradus-at OPERATION|NUMBER: stops in an op, or where a node is created and before its backward."""

    def __init__(self):
        super().__init__("gradus-at", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        if argument.strip():
            break_when_loaded(argument.strip())


def functions():
    """The names of the functions on the stack, innermost first. Empty if no program runs."""
    try:
        frame = gdb.newest_frame()
    except gdb.error:
        return
    while frame is not None:
        yield frame.name()
        frame = frame.older()


class Derive(gdb.Command):
    """derive [OPERATION]: prints the derivation of an op's gradient. Default: the current op."""

    def __init__(self):
        super().__init__("derive", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        text, missing = show.derivation(argument.strip(), functions())
        if missing:
            raise gdb.GdbError(missing)
        gdb.write(text)


def at_or_quit(where):
    """Called by step.sh. An unknown name ends gdb with one line and exit code 2."""
    try:
        break_at(where)
    except gdb.GdbError as error:
        gdb.write("step.sh: --at: %s\n" % error, gdb.STDERR)
        gdb.execute("quit 2")


def put_first(printers):
    printers[:] = [p for p in printers if getattr(p, "name", "") != "gradus"]
    printers.insert(0, find_printer)


def put_before_libraries(_=None):
    """Gives the program's printers priority over those of libstdc++, which would follow references (see pointee)."""
    program = gdb.current_progspace().filename
    if program:
        put_first(gdb.lookup_objfile(program).pretty_printers)


put_first(gdb.pretty_printers)
put_before_libraries()
gdb.events.new_objfile.connect(put_before_libraries)
gdb.frame_filters["gradus"] = Frames()
At()
Derive()
if "__gnu_cxx" not in gdb.execute("info skip", to_string=True):
    for library in ("/usr/include/c++/*/*", "/usr/include/c++/*/*/*"):  # a * does not match a /
        gdb.execute("skip -gfi " + library, to_string=True)
    gdb.execute("skip -rfu ^(std|__gnu_cxx)::", to_string=True)
