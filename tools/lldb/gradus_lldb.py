"""Gradus in LLDB:  command script import tools/lldb/gradus_lldb.py

  v, p                      show tensors, masks, nodes …
  step                      does not enter the standard library
  gradus-at softmax         stop in this op's forward and backward
  gradus-at 17              stop before the backward of node 17
  derive softmax            explains the op's backward line by line; derive: the current op

Requires LLDB 14 or newer.
"""
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import gradus_cells as cells  # noqa: E402  in the parent folder
import gradus_show as show  # noqa: E402

KINDS = {lldb.eTypeClassPointer: "pointer", lldb.eTypeClassArray: "array",
         lldb.eTypeClassStruct: "struct", lldb.eTypeClassClass: "struct"}


def valid(value):
    if not value.IsValid() or value.GetError().Fail():
        raise cells.UNREADABLE
    return value


class Cell(cells.Cell):
    def __init__(self, value):
        value = valid(value).GetNonSyntheticValue()
        if value.GetType().GetCanonicalType().IsReferenceType():
            value = value.Dereference().GetNonSyntheticValue()
        self.value = value
        self.type = value.GetType().GetCanonicalType().GetUnqualifiedType()
        self.kind = KINDS.get(self.type.GetTypeClass(), "scalar")

    def at(self, name):
        return Cell(self.value.GetChildMemberWithName(name))

    def parts(self):
        bases = self.type.GetNumberOfDirectBaseClasses()
        names = {self.type.GetDirectBaseClassAtIndex(i).GetName() for i in range(bases)}
        for i in range(self.value.GetNumChildren()):
            part = self.value.GetChildAtIndex(i)
            yield "" if part.GetName() in names else part.GetName(), Cell(part)

    def item(self, index):
        if self.kind == "array":
            return Cell(self.value.GetChildAtIndex(index))
        target = self.type.GetPointeeType()
        place = self.number() + index * target.GetByteSize()
        return Cell(self.value.CreateValueFromAddress("item", place, target))

    def number(self):
        error = lldb.SBError()
        number = self.value.GetValueAsSigned(error, 0)
        if error.Fail():
            raise cells.UNREADABLE
        if self.kind == "pointer" or not self.type.GetTypeFlags() & lldb.eTypeIsSigned:
            return number & ((1 << 8 * self.type.GetByteSize()) - 1)
        return number

    def type_name(self):
        return self.type.GetName() or ""

    def address(self):
        return self.value.GetLoadAddress()

    def dynamic(self):
        """By the vtable's name, as LLDB's own lookup has the problem described in symbol()."""
        found = self.value.GetTarget().FindFirstType(self.dynamic_name())
        if not found.IsValid():
            return self
        return Cell(self.value.CreateValueFromAddress("dynamic", self.address(), found))

    def read(self, address, count):
        error = lldb.SBError()
        data = self.value.GetProcess().ReadMemory(address, count, error)
        if error.Fail():
            raise cells.UNREADABLE
        return data

    def symbol(self, address):
        """Searches each module, as thread-local data hide vtables from LLDB's ResolveLoadAddress."""
        target = self.value.GetTarget()
        for module in target.module_iter():
            start = module.GetObjectFileHeaderAddress()
            moved = start.GetLoadAddress(target) - start.GetFileAddress()
            if address >= moved:
                symbol = module.ResolveFileAddress(address - moved).GetSymbol()
                if symbol.IsValid():
                    return symbol.GetName()
        return ""


def summary(value, _):
    cell = Cell(value)
    text = show.SHOW.get(cell.type_name())
    return text(cell) if text else ""


def module_summary(value, _):
    cell = Cell(value)
    try:
        cell.at("training_")
        members = list(show.module_members(cell.dynamic()))
    except cells.Trouble:
        return None
    inside = ["%s %s" % (name, show.module_title(member) if isinstance(member, Cell) else member)
              for name, member in members]
    return "%s {%s}" % (show.module_title(cell), ", ".join(inside))


# ---- breakpoints ----

stops = {}  # node id by breakpoint id


def before_backward(frame, location, _):
    """True if this visit is to the node of the breakpoint."""
    try:
        step = Cell(frame.FindVariable("step"))
        return step.at("node").item(0).at("id").number() == stops[location.GetBreakpoint().GetID()]
    except (cells.Trouble, StopIteration):
        return False


def break_in(target, class_name, function):
    """Sets a breakpoint by name, or by pattern (for a class template). Returns False if neither matches."""
    pattern = "^%s<.*>::%s\\(" % (class_name, function)
    for make, name in ((target.BreakpointCreateByName, "%s::%s" % (class_name, function)),
                       (target.BreakpointCreateByRegex, pattern)):
        place = make(name)
        if place.GetNumLocations():
            return True
        target.BreakpointDelete(place.GetID())
    return False


def at(debugger, argument, result, _):
    """gradus-at OPERATION|NUMBER: stops in an op, or before a node's backward."""
    where, target = argument.strip(), debugger.GetSelectedTarget()
    if where.lstrip("#").isdigit():
        place = target.BreakpointCreateByName("gradus::(anonymous namespace)::Walk::visit")
        stops[place.GetID()] = int(where.lstrip("#"))
        place.SetScriptCallbackFunction("gradus_lldb.before_backward")
    elif where:
        class_name, near = show.operation(where)
        scope = "gradus::op::" if near is None else ""
        both = [break_in(target, scope + class_name, part) for part in ("forward", "backward")]
        if not any(both):
            result.SetError(near or "%s is not used in this program" % where)


def derive(debugger, argument, result, _):
    """derive [OPERATION]: prints the derivation of an op's gradient. Default: the current op."""
    thread = debugger.GetSelectedTarget().GetProcess().GetSelectedThread()
    text, missing = show.derivation(argument.strip(), [frame.GetFunctionName() for frame in thread])
    if missing:
        result.SetError(missing)
    else:
        result.Print(text)


def __lldb_init_module(debugger, _):
    add = "type summary add -w gradus --skip-pointers -F gradus_lldb."
    for name in show.SHOW:
        debugger.HandleCommand(add + "summary " + name)
    debugger.HandleCommand(add + "module_summary --expand -x '^gradus::nn::[A-Z][A-Za-z0-9]+$'")
    debugger.HandleCommand("type category enable gradus")
    avoid = "settings set target.process.thread.step-avoid-regexp "
    debugger.HandleCommand(avoid + "^(std|__gnu_cxx)::")
    debugger.HandleCommand("command script add -f gradus_lldb.at gradus-at")
    debugger.HandleCommand("command script add -f gradus_lldb.derive derive")
