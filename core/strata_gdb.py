# SPDX-License-Identifier: Apache-2.0
"""How gdb shows Strata's arrays. Programs that link Strata carry this text in their section .debug_gdb_scripts, from
which gdb loads it where the program is in its auto-load safe-path; `source strata_gdb.py` does the same.

    print x               "x" on Threads, 1000 x 3, LayoutRight = {(0, 0) = 1, (0, 1) = 2, ...}
    print x.at(2, 1)      an element; also x.operator()(2, 1), and x[2] for views of rank 1
    print $at(x, 2, 1)    the same, of any expression
    print u               a coherent array: which memories have the values of which part, and which have old ones
    set print strata-elements 10    elements of views that are shown

Elements are read from the memory of the program: gdb has no access to that of GPUs, and to that of Emulated in threads
that run its kernels only. A coherent array is described by a function of the program, which has to run for that.
"""
import re

import gdb
import gdb.printing
import gdb.xmethod

VIEW = re.compile(r"^strata::(\w+::)?View<")
COHERENT = re.compile(r"^strata::(\w+::)?BasicCoherentArray<")


class ElementsShown(gdb.Parameter):
    """How many elements of a view of Strata are shown."""
    set_doc = "Set how many elements of a view of Strata are shown."
    show_doc = "Show how many elements of a view of Strata are shown."

    def __init__(self):
        super().__init__("print strata-elements", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 10

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"{value} elements of a view of Strata are shown."


elements_shown = ElementsShown()


def plain(name):
    """A name without the namespaces of Strata."""
    return re.sub(r"strata::(?:\w+::)*", "", name)


def type_of(value):
    """The type of a view or array, without const, references and typedefs."""
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        type_ = type_.target()
    return type_.unqualified().strip_typedefs()


def numbers_of(type_):
    """The template arguments of a type that are numbers; gdb gives no access to those of packs."""
    return [int(n) for n in re.findall(r"-?\d+", plain(type_.name).partition("<")[2])]


def extents_of(extents):
    type_ = type_of(extents)
    if plain(type_.name).startswith("DynamicRank"):
        return [int(extents["extent_"][r]) for r in range(int(extents["rank_"]))]
    dynamic = 0
    result = []
    for n in numbers_of(type_):
        if n < 0:
            n = int(extents["value"][dynamic])
            dynamic += 1
        result.append(n)
    return result


class Mapping:
    """From indices to offsets, for the layouts of Strata; `name` and `extents` for any other."""

    def __init__(self, mapping):
        self.mapping = mapping
        self.kind = plain(type_of(mapping).name).split("<")[0]
        self.inner = Mapping(mapping["inner_"]) if self.kind == "OffsetMapping" else None
        self.extents = self.inner.extents if self.inner else extents_of(mapping["extents_"])
        self.begin = [int(mapping["begin_"][r]) for r in range(len(self.extents))] if self.inner else [0] * len(self.extents)
        self.is_known = self.kind in ("RightMapping", "LeftMapping", "StridedMapping", "TiledMapping", "TiledPartMapping") or (
            self.inner is not None and self.inner.is_known)

    def row_offset(self, index):
        offset = 0
        for r in range(1, len(self.extents)):
            offset = offset * self.extents[r] + index[r]
        return offset

    def offset(self, index):
        """In elements, of an index that has as many numbers as the array dimensions."""
        if self.inner:
            return self.inner.offset([i - b for i, b in zip(index, self.begin)])
        mapping, shift = self.mapping, int(self.mapping["shift_"])
        if not index:
            return shift
        if self.kind == "StridedMapping":
            return shift + sum(i * int(mapping["stride_"][r]) for r, i in enumerate(index))
        leading = int(mapping["leading_"])
        if self.kind == "RightMapping":
            return shift + (index[0] if len(index) == 1 else index[0] * leading + self.row_offset(index))
        if self.kind == "LeftMapping":
            column = 0
            for r in range(len(index) - 1, 0, -1):
                column = column * self.extents[r] + index[r]
            return shift + index[0] + leading * column
        width = int(type_of(mapping).template_argument(0))
        if self.kind == "TiledMapping":
            return shift + index[0] // width * leading + index[0] % width + self.row_offset(index) * width
        row = index[0] + int(mapping["phase_"])  # TiledPartMapping
        return shift + row // width * leading + row % width + sum(
            index[r] * int(mapping["stride_"][r]) for r in range(1, len(index)))

    def shift(self):
        """What is part of the offset of any index, where the mapping tells (core/layout.hpp)."""
        if self.inner:
            return self.inner.shift() + int(self.mapping["base_"]) if self.inner.is_strided() else 0
        return int(self.mapping["shift_"]) if self.is_known else 0

    def is_strided(self):
        return self.kind in ("RightMapping", "LeftMapping", "StridedMapping")

    def first_row(self):
        """The first one that is in memory: slices hold some rows of their array."""
        if self.kind not in ("RightMapping", "LeftMapping", "TiledMapping") or not self.extents:
            return 0
        shift, leading = -int(self.mapping["shift_"]), int(self.mapping["leading_"])
        if self.kind == "TiledMapping":
            row = shift // leading * int(type_of(self.mapping).template_argument(0)) if leading else 0
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
        self.value = value
        self.type = type_of(value)
        self.device = plain(self.type.template_argument(1).name)
        self.layout = plain(self.type.template_argument(3).name)
        self.mapping = Mapping(value["mapping_"])

    def label(self):
        try:
            record = self.value["allocation_"]["record_"]
            return record["label"].string() if int(record) != 0 else ""
        except gdb.error:  # a view without a share in the allocation
            return ""

    def data(self):
        """As the view's: the address of its first element. On GPUs it holds that of index 0."""
        return self.value["base_"] - (self.mapping.shift() if self.device.startswith("Cuda") else 0)

    def is_empty(self):
        return int(self.data()) == 0

    def address(self):
        """The address of what the view has as its first element, where this thread may touch it."""
        data = self.data()
        if self.device != "Emulated":
            return data
        space = re.match(r"(strata::(?:\w+::)?)View<", self.type.name)[1]
        offset = int(gdb.parse_and_eval(f"{space}detail::emulated_offset"))
        if offset == 0:
            raise gdb.MemoryError("elements are in the memory of Emulated, which threads with its kernels see")
        return (data.cast(gdb.lookup_type("char").pointer()) + offset).cast(data.type)

    def element(self, index):
        extents, begin = self.mapping.extents, self.mapping.begin
        if self.is_empty():
            raise gdb.GdbError("strata: a view of nothing has no elements")
        if len(index) != len(extents):
            raise gdb.GdbError(f"strata: {len(index)} indices of a view of {len(extents)} dimensions")
        for r, i in enumerate(index):
            if not begin[r] <= i < begin[r] + extents[r]:
                raise gdb.GdbError(f"strata: index {r} is {i}, of {begin[r]} to {begin[r] + extents[r] - 1}")
        if not self.mapping.is_known:
            raise gdb.GdbError(f"strata: gdb does not know where {self.layout} has its elements")
        address = self.address() + self.mapping.offset(list(index))
        if not self.holds(address):
            raise gdb.MemoryError("not among the rows that this view holds")
        return address.dereference()

    def holds(self, address):
        """Whether the allocation, where the view has a share in one, has the address."""
        try:
            record = self.value["allocation_"]["record_"]
            if int(record) == 0 or self.device == "Emulated":
                return True
            return 0 <= int(address) - int(record["data"]) < int(record["bytes"])
        except gdb.error:
            return True


def shape(extents):
    return " x ".join(str(n) for n in extents) if extents else "one element"


class ViewPrinter:
    def __init__(self, value):
        self.view = View(value)

    def to_string(self):
        view = self.view
        if view.is_empty():
            return f"a view of nothing on {view.device}, {view.layout}"
        label = f'"{view.label()}" ' if view.label() else ""
        begins = view.mapping.begin
        since = f" from ({', '.join(map(str, begins))})" if any(begins) else ""
        return f"{label}on {view.device}, {shape(view.mapping.extents)}{since}, {view.layout}"

    def children(self):
        if self.view.is_empty() or not self.view.mapping.is_known:
            return
        for count, index in enumerate(self.view.mapping.indices()):
            name = f"({', '.join(map(str, index))})"
            if count == elements_shown.value:
                yield "...", gdb.Value("more")
                return
            try:
                element = self.view.element(index)
                element.fetch_lazy()
            except gdb.MemoryError as error:
                yield name, f"<{error}>"
                return
            yield name, element


def described(state):
    """What the program says of the coherent array with this state."""
    call = f"((const char* (*)(const void*))strata_describe_coherent_array)((const void*){int(state):#x})"
    locking = gdb.parameter("scheduler-locking")
    try:
        gdb.execute("set scheduler-locking on", to_string=True)  # other threads stay where they are
        return gdb.parse_and_eval(call).string()
    finally:
        gdb.execute(f"set scheduler-locking {locking}", to_string=True)


class CoherentArrayPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        state = self.value["state_"]["object_"]
        if int(state) == 0:
            return "no coherent array"
        mapping = Mapping(self.value["mapping_"])
        type_ = type_of(self.value)
        kind = f"{shape(mapping.extents)} of {plain(str(type_.template_argument(0)))}, {plain(type_.template_argument(2).name)}"
        try:
            return f"{kind}: {described(state)}"
        except gdb.error as error:
            return f"{kind}: where its values are needs a running program ({error})"


class ElementFunction(gdb.Function):
    """$at(x, i, j): an element of a view of Strata."""

    def __init__(self):
        super().__init__("at")

    def invoke(self, value, *index):
        if not VIEW.match(str(type_of(value).name)):
            raise gdb.GdbError("strata: $at is for views")
        return View(value).element([int(i) for i in index])


class ElementWorker(gdb.xmethod.XMethodWorker):
    def __init__(self, rank):
        self.rank = rank

    def get_arg_types(self):
        return [gdb.lookup_type("long")] * self.rank

    def get_result_type(self, value, *_):
        type_ = value.type.strip_typedefs()
        return type_of(value.dereference() if type_.code == gdb.TYPE_CODE_PTR else value).template_argument(0)

    def __call__(self, value, *index):
        object_ = value.dereference() if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR else value
        return View(object_).element([int(i) for i in index])


class ElementMatcher(gdb.xmethod.XMethodMatcher):
    """operator(), operator[] and at(), which gdb could call only where the program has used them."""

    def __init__(self):
        super().__init__("strata")
        self.methods = [gdb.xmethod.XMethod("elements")]

    def match(self, class_type, name):
        if not VIEW.match(str(class_type.tag)) or name not in ("operator()", "operator[]", "at"):
            return None
        return [ElementWorker(rank) for rank in (range(1, 2) if name == "operator[]" else range(9))]


def printer_of(value):
    name = str(type_of(value).name)
    if VIEW.match(name):
        return ViewPrinter(value)
    return CoherentArrayPrinter(value) if COHERENT.match(name) else None


class Printers(gdb.printing.PrettyPrinter):
    def __call__(self, value):
        return printer_of(value)


gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers("strata"), replace=True)
gdb.xmethod.register_xmethod_matcher(gdb.current_objfile(), ElementMatcher(), replace=True)
ElementFunction()
