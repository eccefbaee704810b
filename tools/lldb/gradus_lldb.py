"""Gradus in LLDB:  command script import tools/lldb/gradus_lldb.py

Tensors, masks, nodes … show as themselves (tools/gradus_show.py), and `step` does not enter the
standard library. Made for LLDB 14 and newer.
"""
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import gradus_show as show  # noqa: E402  it lies beside this folder

KINDS = {lldb.eTypeClassPointer: "pointer", lldb.eTypeClassArray: "array",
         lldb.eTypeClassStruct: "struct", lldb.eTypeClassClass: "struct"}


def valid(value):
    if not value.IsValid() or value.GetError().Fail():
        raise show.UNREADABLE
    return value


class Cell(show.Cell):
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
            raise show.UNREADABLE
        if self.kind == "pointer" or not self.type.GetTypeFlags() & lldb.eTypeIsSigned:
            return number & ((1 << 8 * self.type.GetByteSize()) - 1)
        return number

    def type_name(self):
        return self.type.GetName() or ""

    def address(self):
        return self.value.GetLoadAddress()

    def dynamic(self):
        pointer = self.value.AddressOf().GetDynamicValue(lldb.eDynamicDontRunTarget)
        return Cell(pointer.Dereference()) if pointer.IsValid() else self

    def read(self, address, count):
        error = lldb.SBError()
        data = self.value.GetProcess().ReadMemory(address, count, error)
        if error.Fail():
            raise show.UNREADABLE
        return data

    def symbol(self, address):
        place = self.value.GetTarget().ResolveLoadAddress(address)
        return place.GetSymbol().GetName() or ""


def summary(value, _):
    cell = Cell(value)
    text = show.SHOW.get(cell.type_name())
    return text(cell) if text else ""


def module_summary(value, _):
    cell = Cell(value)
    try:
        cell.at("training_")
        members = list(show.module_members(cell.dynamic()))
    except show.Trouble:
        return None
    inside = ["%s %s" % (name, show.module_title(member) if isinstance(member, Cell) else member)
              for name, member in members]
    return "%s {%s}" % (show.module_title(cell), ", ".join(inside))


def __lldb_init_module(debugger, _):
    add = "type summary add -w gradus --skip-pointers -F gradus_lldb."
    for name in show.SHOW:
        debugger.HandleCommand(add + "summary " + name)
    debugger.HandleCommand(add + "module_summary --expand -x '^gradus::nn::[A-Z][A-Za-z0-9]+$'")
    debugger.HandleCommand("type category enable gradus")
    debugger.HandleCommand("settings set target.process.thread.step-avoid-regexp ^(std|__gnu_cxx)::")
