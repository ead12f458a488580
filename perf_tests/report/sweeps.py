# SPDX-License-Identifier: Apache-2.0
"""Rows of `strata-thermal --sweep A:B` and `strata-dynamics --sweep A:B`, from files of several machines.

A file holds what one program printed: a header, then a row for each device, type and size, in any order; several
runs may follow each other, each with its header, and rows of the same run repeated (the median counts). Lines
`# key: value` say where it was measured (gpu, cpu, processors, date, commit); what they leave out is taken from the
JSON results with the same first word in their name, next to the file.
"""
import csv
import dataclasses
import json
import math
import pathlib
import statistics

# The columns that are used, by program; there may be more, in any order.
COLUMNS = {
    "thermal": ("compute_us_per_element", "fill_us_per_element"),
    "dynamics": ("kernels", "us_per_step", "element_steps_per_second"),
}
COMMON = ("device", "type", "elements")
TEXTS = {"device": None, "type": ("double", "float"), "kernels": ("three", "fused")}
NO_MACHINES = ("Emulated",)  # threads that stand in for a GPU: their speed says nothing


class SweepError(Exception):
    """A file that is no sweep; the text says where and what to do."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where rows were measured."""
    gpu: str = ""
    cpu: str = ""
    processors: str = ""
    date: str = ""
    commit: str = ""

    def of(self, device):
        """The part of the machine that a device is, in words."""
        if device.startswith("Cuda"):
            return self.gpu or "GPU"
        cpu = self.cpu or "host"
        if device == "Serial":
            return f"{cpu}, 1 processor"
        return f"{cpu}, {self.processors} processors" if self.processors else cpu


@dataclasses.dataclass(frozen=True)
class Point:
    """One row: who, how large, and the numbers by column."""
    who: str  # device and machine
    device: str
    type: str
    kernels: str  # of strata-dynamics
    elements: int
    numbers: dict


@dataclasses.dataclass(frozen=True)
class Sweep:
    program: str
    path: pathlib.Path
    place: Place
    points: list


def tidy(name):
    for noise in ("(R)", "(TM)", " Processor"):
        name = name.replace(noise, "")
    return name.strip()


def place_of(path, notes):
    """From the notes of the file, else from a JSON result of the same machine."""
    machine = {}
    prefix = path.name.split("_")[0]
    for other in [path.with_name(f"{prefix}_ceilings.json"), *sorted(path.parent.glob(f"{prefix}_*.json"))]:
        if not machine and other.exists():
            machine = json.loads(other.read_text(encoding="utf-8")).get("machine", {})
    known = {**machine, **notes}
    values = {field.name: str(known.get(field.name) or "") for field in dataclasses.fields(Place)}
    return Place(**{**values, "gpu": tidy(values["gpu"]), "cpu": tidy(values["cpu"])})


def program_of(path, line, header):
    for program, columns in COLUMNS.items():
        if all(name in header for name in COMMON + columns):
            return program
    raise SweepError(f"{path}, line {line}: is no header of `strata-thermal --sweep` ("
                     f"{', '.join(COMMON + COLUMNS['thermal'])}) or `strata-dynamics --sweep` "
                     f"({', '.join(COMMON + COLUMNS['dynamics'])}), but: {','.join(header)[:120]}")


def numbers_of(where, row, columns):
    numbers = {}
    for name in columns:
        if name in TEXTS:
            continue
        try:
            numbers[name] = float(row[name])
        except ValueError:
            raise SweepError(f"{where}: {name} is \"{row[name]}\", not a number") from None
        if not (math.isfinite(numbers[name]) and numbers[name] > 0):
            raise SweepError(f"{where}: {name} is {row[name]}; it must be more than 0. Measure this size again")
    return numbers


def point_of(where, header, cells, program, place):
    if len(cells) != len(header):
        raise SweepError(f"{where}: has {len(cells)} values, the header {len(header)} names. "
                         "Was the run cut off, or is something else in the file?")
    row = dict(zip(header, cells))
    for name, allowed in TEXTS.items():
        if allowed and name in COMMON + COLUMNS[program] and row[name] not in allowed:
            raise SweepError(f"{where}: {name} is \"{row[name]}\", not one of {', '.join(allowed)}")
    numbers = numbers_of(where, row, COMMON + COLUMNS[program])
    return Point(f"{row['device']}, {place.of(row['device'])}", row["device"], row["type"], row.get("kernels", ""),
                 int(numbers["elements"]), numbers)


def merged(points):
    """Repeated rows become one, with the median of each number."""
    groups = {}
    for point in points:
        groups.setdefault((point.who, point.type, point.kernels, point.elements), []).append(point)
    return [dataclasses.replace(same[0], numbers={name: statistics.median(p.numbers[name] for p in same)
                                                  for name in same[0].numbers}) for same in groups.values()]


def read(path):
    path = pathlib.Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror}. It is made by `strata-thermal --sweep 1000:4000000 >{path.name}` "
                         "or strata-dynamics") from None
    notes, lines = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            notes[key.strip()] = value.strip()
        elif line.strip():
            lines.append((number, next(csv.reader([line]))))
    if not lines:
        raise SweepError(f"{path}: is empty. Did the program end with an error?")
    place, header, program, points = place_of(path, notes), lines[0][1], None, []
    program = program_of(path, lines[0][0], header)
    for number, cells in lines[1:]:
        where = f"{path}, line {number}"
        if cells == header:
            continue
        if cells[0] == "device":
            raise SweepError(f"{where}: a second header that differs from the first; put other programs in other files")
        points.append(point_of(where, header, cells, program, place))
    points = merged([point for point in points if not point.device.startswith(NO_MACHINES)])
    if not points:
        raise SweepError(f"{path}: has a header, but no row of a machine (Emulated is none)")
    return Sweep(program, path, place, points)


# The order of devices: the faster ones first.
ORDER = ("Cuda", "Threads", "Tbb", "Serial")


def by_series(points):
    """{(who, type): points by size}, devices in a fixed order, double before float, whatever the order of rows."""
    def place(point):
        kind = next((k for k, name in enumerate(ORDER) if point.device.startswith(name)), len(ORDER))
        return kind, point.who, point.type, point.elements
    series = {}
    for point in sorted(points, key=place):
        series.setdefault((point.who, point.type), []).append(point)
    return series


def points_of(sweeps, program):
    return [point for sweep in sweeps if sweep.program == program for point in sweep.points]
