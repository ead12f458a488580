# SPDX-License-Identifier: Apache-2.0
"""The runs of strata-simulate that figures 5 to 14 of the paper on data-aware scheduling and the tables beside them are
made of: which there are, and what their records say. For scheduling.py and simulate_schedules."""
import json

GIB = 2.0**30
ELEMENT = 4  # bytes

# Figures of curves: what is run. `sizes`: tiles of a side.
CURVES = {
    5: {"workload": "cholesky", "machine": "v100", "devices": 1, "memory": "2000 MiB", "tile": 1920, "sizes": range(5, 61, 5)},
    8: {"workload": "cholesky", "machine": "v100", "devices": 8, "memory": "2000 MiB", "tile": 1920, "sizes": range(10, 101, 10)},
    11: {"workload": "cholesky", "machine": "v100", "devices": 8, "memory": "29 GiB", "tile": 1920, "sizes": range(10, 101, 10)},
    12: {"workload": "lu", "machine": "v100", "devices": 4, "memory": "2000 MiB", "tile": 1920, "sizes": range(5, 56, 5)},
    13: {"workload": "lu", "machine": "v100", "devices": 1, "memory": "29 GiB", "tile": 1920, "sizes": range(10, 71, 10)},
    14: {"workload": "lu", "machine": "disk", "devices": 1, "memory": "2000 MiB", "tile": 320, "sizes": range(25, 151, 25)},
}
CURVES[9] = CURVES[8]
# Figures of orders: the schedulers, and how many iterations are shown.
ORDERS = {
    6: {"schedulers": ("dmdas",), "tiles": 40, "devices": 1, "iterations": 4},
    7: {"schedulers": ("darts", "data-aware"), "tiles": 40, "devices": 1, "iterations": 4},
    10: {"schedulers": ("darts", "data-aware"), "tiles": 40, "devices": 2, "iterations": 1},
}
# Of the lines: colour, marker. `ap` is not in figures of LU, as in the paper.
LINES = {
    "eager-prefetch": ("#56b4e9", "v"),
    "lws": ("#009e73", "^"),
    "ap": ("#cc79a7", "P"),
    "dmdas": ("#e69f00", "s"),
    "darts": ("#0072b2", "o"),
    "data-aware": ("#d55e00", "D"),
}
CAPTIONS = {
    5: "Cholesky on one GPU of 2000 MiB",
    6: "Order of tasks, Cholesky of 40 x 40 tiles, one GPU of 2000 MiB",
    7: "Order of tasks, Cholesky of 40 x 40 tiles, one GPU of 2000 MiB",
    8: "Cholesky on eight GPUs of 2000 MiB: speed",
    9: "Cholesky on eight GPUs of 2000 MiB: what is moved",
    10: "Order of tasks, iteration 1, Cholesky of 40 x 40 tiles, two GPUs",
    11: "Cholesky on eight GPUs of 29 GiB",
    12: "LU on four GPUs of 2000 MiB",
    13: "LU on one GPU of 29 GiB",
    14: "LU on 48 cores with 2000 MiB, and a disk",
}
# The study's reference runs on v100.json, in the real code or its simulator: workload, scheduler, priorities, tiles, devices, memory;
# GiB to and from the devices, and between them; seconds.
STUDY = [
    *[("cholesky", "darts", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 4.4, 2.9, 1.401), (30, 18.0, 8.9, 4.658), (40, 52.9, 20.5, 11.014), (50, 115.5, 39.0, 21.667),
       (60, 201.1, 64.8, 37.590))],
    *[("cholesky", "eager-prefetch", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 4.9, 4.9, 1.774), (30, 35.9, 35.9, 8.468), (40, 110.7, 110.7, 23.019), (50, 243, 243, 47.871),
       (60, 447, 447, 85.538))],
    *[("cholesky", "lws", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 14.1, 2.9, 2.225), (30, 109.7, 6.4, 11.141), (40, 382.8, 110, 45.358), (50, 808, 256, 97.189),
       (60, 1440, 472, 174.204))],
    *[("cholesky", "dmdas", "parsec", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 14.0, 2.9, 1.913), (30, 83.6, 6.4, 8.551), (40, 234, 11.3, 22.624), (50, 491, 17.5, 46.375),
       (60, 889, 25.1, 82.923))],
    *[("cholesky", "darts", "bottom-level", 40, 1, memory, into, None, None, None) for memory, into in
      (("500 MiB", 134), ("1000 MiB", 89), ("4000 MiB", 34))],
    *[("cholesky", "darts-corrected", "bottom-level", 60, 1, "2000 MiB", 231, None, None, None),
      ("cholesky", "darts-lru", "bottom-level", 60, 1, "2000 MiB", 399, None, None, None),
      ("cholesky", "dmdas", "bottom-level", 60, 1, "2000 MiB", 1590, None, None, None),
      ("cholesky", "dmda", "bottom-level", 60, 1, "2000 MiB", 624, None, None, None),
      ("cholesky", "ap", "parsec", 60, 1, "2000 MiB", 776, None, None, None)],  # printed in the paper
    # The study corrects an index out of bounds only, which `darts` here does not have; without, it may never end.
    ("cholesky", "darts", "bottom-level", 50, 4, "2000 MiB", 87, 41, 64, 11.921),
    ("cholesky", "darts", "bottom-level", 60, 4, "2000 MiB", None, None, None, 20.268),
    ("cholesky", "darts", "bottom-level", 60, 8, "2000 MiB", 176, 52, 148, 23.689),
    ("cholesky", "dmdas", "bottom-level", 60, 8, "2000 MiB", 571, 31, 337, 54.895),
    ("cholesky", "lws", "bottom-level", 60, 8, "2000 MiB", 581, 25, 385, 59.400),
    # Where all tiles fit the memories together.
    *[("cholesky", scheduler, "bottom-level", n, 8, "2000 MiB", None, None, None, seconds) for n, of_all in
      ((20, (1.27, 0.59, 1.02)), (30, (2.54, 1.37, 2.79)), (40, (6.0, 3.2, 7.3))) for scheduler, seconds in zip(("darts", "dmdas", "lws"), of_all)],
    # Of LU where several figures are given, the middle.
    *[("lu", scheduler, "bottom-level", n, 4, "2000 MiB", into, None, None, None) for n, scheduler, into in
      ((45, "eager-prefetch", 732), (45, "lws", 742), (45, "dmdas", 737), (45, "darts", 166), (55, "eager-prefetch", 1438),
       (55, "lws", 1468), (55, "dmdas", 1775), (55, "darts", 318))],
]


# Beside those of figure 14, at its last point: all others.
DISK_OTHERS = ("eager", "lfq", "dmda", "ap", "darts-lru", "darts-corrected")
LAST_OF_DISK = {**CURVES[14], "tiles": CURVES[14]["sizes"][-1]}


# What strata-simulate-drawn draws: arguments, by the part of the results.
DRAWS = {
    "bytes": ("--bounded", "--tiles", "50", "--count", "150"),
    "seconds": ("--tiles", "30", "--devices", "4", "--count", "200"),
}


def ratio_to_others(draw):
    """Seconds of data-aware over those of the fastest of the others; over the bound where that is near, and no other one was run."""
    others = [value for name, value in draw["seconds"].items() if name != "data-aware"]
    return draw["seconds"]["data-aware"] / (min(others) if others else draw["bound_seconds"])


class ResultError(Exception):
    """The results are not what simulate_schedules writes."""


def read(path):
    """The records of a file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from error


def priorities_of(workload, scheduler):
    """As the paper ran them: ap with PaRSEC's, which are for cholesky."""
    return "parsec" if scheduler == "ap" and workload == "cholesky" else "bottom-level"


def queued_of(workload, scheduler):
    """Tasks that a device of eager-prefetch takes ahead of those that are next, where that is not as in the runs of Cholesky:
    the study's runs of LU are those of StarPU's own setting."""
    return {"tasks_queued": 2} if scheduler == "eager-prefetch" and workload == "lu" else {}


def wanted_runs():
    """All runs that figures and tables are made of, each once."""
    found = {}
    for curve in CURVES.values():
        for scheduler in LINES:
            for tiles in curve["sizes"]:
                if scheduler != "ap" or curve["workload"] == "cholesky":
                    run = {**curve, "tiles": tiles, "scheduler": scheduler,
                           "priorities": priorities_of(curve["workload"], scheduler),
                           **queued_of(curve["workload"], scheduler)}
                    del run["sizes"]
                    found[key_of(run)] = run
    for row in STUDY:
        run = run_of(row)
        found[key_of(run)] = run
    for scheduler in DISK_OTHERS:
        run = {**LAST_OF_DISK, "scheduler": scheduler, "priorities": "bottom-level"}
        del run["sizes"]
        found[key_of(run)] = run
    return list(found.values())


def wanted_orders():
    """The same, of orders; those that two figures share once."""
    found = {}
    for order in ORDERS.values():
        for scheduler in order["schedulers"]:
            entry = {**order, "scheduler": scheduler, "workload": "cholesky", "machine": "v100", "memory": "2000 MiB",
                     "tile": 1920, "priorities": "bottom-level"}
            del entry["schedulers"]
            found[key_of(entry)] = entry
    return list(found.values())


def key_of(record):
    """What a run or an order is of."""
    return tuple(record.get(name) for name in ("workload", "machine", "devices", "memory", "tile", "tiles", "scheduler",
                                               "priorities", "iterations", "tasks_queued"))


def run_of(row):
    """What a row of the study is of."""
    workload, scheduler, priorities, tiles, devices, memory = row[:6]
    return {"workload": workload, "machine": "v100", "devices": devices, "memory": memory, "tile": 1920, "tiles": tiles,
            "scheduler": scheduler, "priorities": priorities, **queued_of(workload, scheduler)}


def number_of_flops(workload, tiles, tile):
    """As the paper counts them."""
    return (1 if workload == "cholesky" else 2) * (tiles * tile)**3 / 3


def data_of(number, records):
    """Of curves {scheduler: [record]} by size, of orders {scheduler: record}; empty where no record has them."""
    if number in ORDERS:
        order = ORDERS[number]
        return {record["scheduler"]: record for record in records if "positions" in record and
                record["scheduler"] in order["schedulers"] and record["devices"] == order["devices"] and
                record["iterations"] == order["iterations"]}
    curve = CURVES[number]
    found = {}
    for scheduler in LINES:
        same = [record for record in records if "positions" not in record and record["scheduler"] == scheduler and
                all(record[name] == curve[name] for name in ("workload", "machine", "devices", "memory", "tile")) and
                record["tiles"] in curve["sizes"] and
                record["priorities"] == priorities_of(curve["workload"], scheduler)]
        if same and (scheduler != "ap" or curve["workload"] == "cholesky"):  # as in the paper
            found[scheduler] = sorted(same, key=lambda record: record["tiles"])
    return found


def tiles_of(tiles, iteration):
    """The tiles that an iteration updates, in the order of a record: (row, column)."""
    return [(m, n) for m in range(iteration, tiles) for n in range(iteration, m + 1)]


def speed(record):
    return number_of_flops(record["workload"], record["tiles"], record["tile"]) / record["seconds"] / 1e12


def bus_limit(record):
    """GiB that the links of the host move while the devices compute without a pause."""
    return record["work_seconds"] * record["host_bytes_per_second"] / GIB


PANELS = {  # of a figure: title, unit, value of a record, lines {name: (value, dashes)}, whether the scale is logarithmic
    "speed": ("speed", "TFLOP/s", speed,
              {"all devices busy": (lambda r: number_of_flops(r["workload"], r["tiles"], r["tile"]) / r["work_seconds"] / 1e12,
                                    (0, (1, 1.5)))}, False),
    "loads": ("from the host", "GiB", lambda r: r["bytes_to_devices"] / GIB,
              {"bus limit": (bus_limit, (0, (6, 2))),
               "lower bound": (lambda r: r["bound_bytes"] / GIB, (0, (4, 2, 1, 2)))}, True),
    "between": ("between GPUs", "GiB", lambda r: r["bytes_between_devices"] / GIB, {}, True),
}


def panels_of(number):
    """The panels of a figure of curves; 8 and 9 are of the same runs."""
    return {8: ("speed",), 9: ("loads", "between")}.get(number, ("speed", "loads"))
