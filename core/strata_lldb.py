# SPDX-License-Identifier: Apache-2.0
"""How lldb shows Strata's arrays: `command script import strata_lldb.py`, in ~/.lldbinit for all sessions.

    frame variable x          "x" on Threads, 1000 x 3, LayoutRight { (0, 0) = 1 (0, 1) = 2 ... }
    strata_at x 2 1           an element, of any expression without blanks
    frame variable u          a coherent array: which memories have the values of which part, and which have old ones
    strata_elements 20        elements of views that are shown from now on; 10 without it

Elements are read from the memory of the program: lldb has no access to that of GPUs, and to that of Emulated in threads
that run its kernels only. A coherent array is described by a function of the program, which has to run for that.
"""
import re

import lldb

# lldb's own regular expressions know no \w.
VIEW = "^strata::([A-Za-z0-9_]+::)?View<"
COHERENT = "^strata::([A-Za-z0-9_]+::)?BasicCoherentArray<"
KNOWN = ("RightMapping", "LeftMapping", "StridedMapping", "TiledMapping", "TiledPartMapping")

elements_shown = 10


class NoElement(Exception):
    """Why there is no element to show."""


def type_name(value):
    """The name of a value's type, without const, references and typedefs."""
    type_ = value.GetType()
    if type_.IsReferenceType():
        type_ = type_.GetDereferencedType()
    return type_.GetCanonicalType().GetUnqualifiedType().GetName()


def plain(name):
    """A name without the namespaces of Strata."""
    return re.sub(r"strata::(?:\w+::)*", "", name)


def arguments_of(name):
    """The template arguments in the name of a type."""
    arguments, depth, begin = [], 0, name.find("<") + 1
    for at in range(begin, len(name)):
        if name[at] in "<(":
            depth += 1
        elif depth > 0 and name[at] in ">)":
            depth -= 1
        elif depth == 0 and name[at] in ",>":
            arguments.append(name[begin:at].strip())
            begin = at + 1
            if name[at] == ">":
                break
    return [argument for argument in arguments if argument]


def member(value, name):
    return value.GetNonSyntheticValue().GetChildMemberWithName(name)


def number(value):
    return value.GetValueAsSigned()


def extents_of(extents):
    name = plain(type_name(extents))
    if name.startswith("DynamicRank"):
        return [number(member(extents, "extent_").GetChildAtIndex(r)) for r in range(number(member(extents, "rank_")))]
    dynamic, result = 0, []
    for n in map(int, arguments_of(name)):
        if n < 0:
            n = number(member(extents, "value").GetChildAtIndex(dynamic))
            dynamic += 1
        result.append(n)
    return result


class Mapping:
    """From indices to offsets, for the layouts of Strata; `kind` and `extents` for any other."""

    def __init__(self, mapping):
        self.mapping = mapping
        self.name = plain(type_name(mapping))
        self.kind = self.name.split("<")[0]
        self.inner = Mapping(member(mapping, "inner_")) if self.kind == "OffsetMapping" else None
        self.extents = self.inner.extents if self.inner else extents_of(member(mapping, "extents_"))
        self.begin = [self.numbers("begin_", r) for r in range(len(self.extents))] if self.inner else [0] * len(self.extents)
        self.is_known = self.kind in KNOWN or (self.inner is not None and self.inner.is_known)

    def numbers(self, name, at):
        return number(member(self.mapping, name).GetChildAtIndex(at))

    def width(self):
        return int(arguments_of(self.name)[0])

    def row_offset(self, index):
        offset = 0
        for r in range(1, len(self.extents)):
            offset = offset * self.extents[r] + index[r]
        return offset

    def offset(self, index):
        """In elements, of an index that has as many numbers as the array dimensions."""
        if self.inner:
            return self.inner.offset([i - b for i, b in zip(index, self.begin)])
        shift = number(member(self.mapping, "shift_"))
        if not index:
            return shift
        if self.kind == "StridedMapping":
            return shift + sum(i * self.numbers("stride_", r) for r, i in enumerate(index))
        leading = number(member(self.mapping, "leading_"))
        if self.kind == "RightMapping":
            return shift + (index[0] if len(index) == 1 else index[0] * leading + self.row_offset(index))
        if self.kind == "LeftMapping":
            column = 0
            for r in range(len(index) - 1, 0, -1):
                column = column * self.extents[r] + index[r]
            return shift + index[0] + leading * column
        width = self.width()
        if self.kind == "TiledMapping":
            return shift + index[0] // width * leading + index[0] % width + self.row_offset(index) * width
        row = index[0] + number(member(self.mapping, "phase_"))  # TiledPartMapping
        return shift + row // width * leading + row % width + sum(
            index[r] * self.numbers("stride_", r) for r in range(1, len(index)))

    def shift(self):
        """What is part of the offset of any index, where the mapping tells (core/layout.hpp)."""
        if self.inner:
            return self.inner.shift() + number(member(self.mapping, "base_")) if self.inner.is_strided() else 0
        return number(member(self.mapping, "shift_")) if self.is_known else 0

    def is_strided(self):
        return self.kind in ("RightMapping", "LeftMapping", "StridedMapping")

    def first_row(self):
        """The first one that is in memory: slices hold some rows of their array."""
        if self.kind not in ("RightMapping", "LeftMapping", "TiledMapping") or not self.extents:
            return 0
        shift, leading = -number(member(self.mapping, "shift_")), number(member(self.mapping, "leading_"))
        if self.kind == "TiledMapping":
            row = shift // leading * self.width() if leading else 0
        else:
            row = shift // leading if self.kind == "RightMapping" and len(self.extents) > 1 and leading else shift
        return row if 0 < row < self.extents[0] else 0

    def indices(self):
        """All of them from the first row on that is in memory, the last one fastest."""
        if any(n <= 0 for n in self.extents):
            return
        index = list(self.begin)
        if index:
            index[0] += self.first_row()
        while True:
            yield tuple(index)
            for r in range(len(index) - 1, -1, -1):
                index[r] += 1
                if index[r] < self.begin[r] + self.extents[r]:
                    break
                index[r] = self.begin[r]
            else:
                return


class View:
    def __init__(self, value):
        self.value = value.GetNonSyntheticValue()
        _, device, _, layout = arguments_of(type_name(value))[:4]
        self.device, self.layout = plain(device), plain(layout)
        self.mapping = Mapping(member(value, "mapping_"))
        self.base = member(value, "base_")

    def data(self):
        """As the view's: the address of its first element. On GPUs it holds that of index 0."""
        size = self.base.GetType().GetPointeeType().GetByteSize()
        shift = self.mapping.shift() if self.device.startswith("Cuda") else 0
        return self.base.GetValueAsUnsigned() - shift * size & 0xFFFFFFFFFFFFFFFF

    def is_empty(self):
        return self.data() == 0

    def record(self):
        """What the allocation is, where the view has a share in one."""
        record = member(member(self.value, "allocation_"), "record_")
        return record if record.IsValid() and record.GetValueAsUnsigned() != 0 else None

    def label(self):
        record = self.record()
        summary = member(record, "label").GetSummary() if record else None
        return summary.strip('"') if summary else ""

    def element(self, index):
        extents, begin = self.mapping.extents, self.mapping.begin
        if self.is_empty():
            raise NoElement("a view of nothing has no elements")
        if len(index) != len(extents):
            raise NoElement(f"{len(index)} indices of a view of {len(extents)} dimensions")
        for r, i in enumerate(index):
            if not begin[r] <= i < begin[r] + extents[r]:
                raise NoElement(f"index {r} is {i}, of {begin[r]} to {begin[r] + extents[r] - 1}")
        if not self.mapping.is_known:
            raise NoElement(f"lldb does not know where {self.layout} has its elements")
        type_ = self.base.GetType().GetPointeeType()
        place = self.mapping.offset(list(index)) * type_.GetByteSize()
        address = self.data() + place
        record = self.record()
        if self.device == "Emulated":
            address += self.emulated_offset()
        elif record and not 0 <= address - member(record, "data").GetValueAsUnsigned() < member(record, "bytes").GetValueAsUnsigned():
            raise NoElement("not among the rows that this view holds")
        return self.value.CreateValueFromAddress(f"({', '.join(map(str, index))})", address, type_)

    def emulated_offset(self):
        """From an address of Emulated to where this thread may touch it."""
        offset = called(self.value, "((long (*)())strata_offset_of_emulated)()")
        if offset is None or offset.GetValueAsSigned() == 0:
            raise NoElement("elements are in the memory of Emulated, which threads with its kernels see")
        return offset.GetValueAsSigned()


def called(value, call):
    """What a call gives in the program, on the thread that `value` was looked at in; None: it cannot be called."""
    options = lldb.SBExpressionOptions()
    options.SetStopOthers(True)  # other threads stay where they are
    options.SetTryAllThreads(False)
    result = value.GetFrame().EvaluateExpression(call, options)
    return result if result.GetError().Success() else None


def shape(extents):
    return " x ".join(str(n) for n in extents) if extents else "one element"


def view_summary(value, _):
    view = View(value)
    if view.is_empty():
        return f"a view of nothing on {view.device}, {view.layout}"
    label = f'"{view.label()}" ' if view.label() else ""
    begins = view.mapping.begin
    since = f" from ({', '.join(map(str, begins))})" if any(begins) else ""
    text = f"{label}on {view.device}, {shape(view.mapping.extents)}{since}, {view.layout}"
    try:
        index = next(view.mapping.indices(), None)
        if index is not None:
            view.element(index)
    except NoElement as why:
        text += f": {why}"
    return text


class ViewChildren:
    """The first elements as children."""

    def __init__(self, value, _):
        self.value, self.elements = value, []

    def update(self):
        self.elements = []
        view = View(self.value)
        if view.is_empty() or not view.mapping.is_known:
            return
        for count, index in enumerate(view.mapping.indices()):
            if count == elements_shown:
                return
            try:
                self.elements.append(view.element(index))
            except NoElement:
                return

    def num_children(self):
        return len(self.elements)

    def get_child_at_index(self, at):
        return self.elements[at] if 0 <= at < len(self.elements) else None

    def get_child_index(self, name):
        names = [element.GetName() for element in self.elements]
        return names.index(name) if name in names else -1

    def has_children(self):
        return bool(self.elements)


def coherent_summary(value, _):
    state = member(member(value, "state_"), "object_").GetValueAsUnsigned()
    if state == 0:
        return "no coherent array"
    arguments = arguments_of(type_name(value))
    kind = f"{shape(Mapping(member(value, 'mapping_')).extents)} of {plain(arguments[0])}, {plain(arguments[2])}"
    text = called(value, f"((const char* (*)(const void*))strata_describe_coherent_array)((const void*){state:#x})")
    if text is not None:
        error = lldb.SBError()
        described = value.GetProcess().ReadCStringFromMemory(text.GetValueAsUnsigned(), 1 << 16, error)
        if error.Success():
            return f"{kind}: {described}"
    return f"{kind}: where its values are needs a running program"


def element_command(debugger, command, result, _):
    """strata_at VIEW I J...: an element of a view of Strata."""
    words = command.split()
    frame = debugger.GetSelectedTarget().GetProcess().GetSelectedThread().GetSelectedFrame()
    if len(words) < 1 or not all(re.fullmatch(r"-?\d+", word) for word in words[1:]):
        result.SetError("strata_at takes a view and whole numbers, as in: strata_at x 2 1")
        return
    value = frame.GetValueForVariablePath(words[0])
    if not value.IsValid() or not value.GetError().Success():
        value = frame.EvaluateExpression(words[0])
    if not value.GetError().Success():
        result.SetError(f"strata_at: {value.GetError()}")
    elif not re.match(VIEW, type_name(value)):
        result.SetError(f"strata_at is for views, and {words[0]} is none")
    else:
        try:
            result.AppendMessage(str(View(value).element([int(word) for word in words[1:]]).GetValue()))
        except NoElement as why:
            result.SetError(f"strata_at: {why}")


def elements_command(debugger, command, result, _):
    """strata_elements N: how many elements of a view of Strata are shown."""
    global elements_shown
    if not command.strip().isdigit():
        result.SetError("strata_elements takes a number, as in: strata_elements 20")
        return
    elements_shown = int(command)


def __lldb_init_module(debugger, _):
    for line in (f"type summary add -w strata -e -x '{VIEW}' -F strata_lldb.view_summary",
                 f"type synthetic add -w strata -x '{VIEW}' -l strata_lldb.ViewChildren",
                 f"type summary add -w strata -x '{COHERENT}' -F strata_lldb.coherent_summary",
                 "type category enable strata",
                 "command script add -f strata_lldb.element_command strata_at",
                 "command script add -f strata_lldb.elements_command strata_elements"):
        debugger.HandleCommand(line)
