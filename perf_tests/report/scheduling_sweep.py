# SPDX-License-Identifier: Apache-2.0
"""data-aware over sizes of problems and memories: beside the bound of loads, and beside the fastest of the others. For
scheduling.py and simulate_schedules.

The bound of seconds holds for every scheduler: where data-aware takes at most 1.02 times as long, no other one can be faster
by more, and none is run. Elsewhere all are."""
SIZES = range(30, 81, 10)  # tiles of a side
MEMORIES = (60, 80, 100, 142, 200, 300, 400)  # tiles
WORKLOADS = {"cholesky": "Cholesky", "lu": "LU", "gemm": "GEMM", "syrk": "SYRK"}
OWN = "data-aware"
OTHERS = ("eager", "eager-prefetch", "lws", "lfq", "dmda", "dmdas", "ap", "darts", "darts-lru", "darts-corrected")
KEPT = ("seconds", "bytes_to_devices", "bound_seconds", "bound_bytes")
TILE = 1920
MOST_OF_OTHERS = 1.02
LEAST_OF_COMPULSORY = 1.3  # below, the bound says little


def wanted_points():
    return [point(workload, tiles, memory, OWN) for workload in WORKLOADS for memory in MEMORIES for tiles in SIZES]


def point(workload, tiles, memory, scheduler):
    return {"workload": workload, "machine": "v100", "devices": 1, "memory_tiles": memory, "tile": TILE, "tiles": tiles,
            "scheduler": scheduler, "priorities": "bottom-level"}


def key_of(record):
    return record["workload"], record["tiles"], record["memory_tiles"], record["scheduler"]


def is_slow(record):
    """Whether another scheduler could be faster by more than the target allows."""
    return record["seconds"] > MOST_OF_OTHERS * record["bound_seconds"]


def wanted_others(records):
    """Runs of the others where the bound does not say enough."""
    return [point(r["workload"], r["tiles"], r["memory_tiles"], name)
            for r in records if r["scheduler"] == OWN and is_slow(r) for name in OTHERS]


def compulsory_bytes(record):
    """Every array that is read before it is written, once."""
    n = record["tiles"]
    tiles = {"cholesky": n * (n + 1) // 2, "lu": n * n, "gemm": 3 * n * n, "syrk": n * n + n * (n + 1) // 2}
    return tiles[record["workload"]] * record["tile"]**2 * 4


def is_bounded(record):
    return record["bound_bytes"] > LEAST_OF_COMPULSORY * compulsory_bytes(record)


def ratio_to_bound(record):
    return record["bytes_to_devices"] / record["bound_bytes"]


def most_of_bound(record):
    return 2.0 if record["memory_tiles"] < 100 else 1.8


def over_bound(records):
    """Points at which data-aware loads more than it is to."""
    return [r for r in records if r["scheduler"] == OWN and is_bounded(r) and ratio_to_bound(r) > most_of_bound(r)]


def ratio_to_best(record, records):
    """Seconds over those of the fastest other one; over the bound where that is near."""
    same = [r["seconds"] for r in records if key_of(r)[:3] == key_of(record)[:3] and r["scheduler"] != OWN]
    return record["seconds"] / (min(same) if same else record["bound_seconds"])


def over_best(records):
    """Points at which data-aware takes longer than it is to."""
    return [r for r in records if r["scheduler"] == OWN and ratio_to_best(r, records) > MOST_OF_OTHERS]


def named(record):
    return f"{WORKLOADS[record['workload']]}, {record['tiles']} tiles, memory of {record['memory_tiles']}"


def table(records):
    """Bytes by the bound; rows are sizes, columns memories."""
    own = {key_of(r): r for r in records if r["scheduler"] == OWN}
    lines = []
    for workload, name in WORKLOADS.items():
        lines += [f"| {name}, tiles of a side | " + " | ".join(str(memory) for memory in MEMORIES) + " |",
                  "|---:" * (1 + len(MEMORIES)) + "|"]
        for tiles in SIZES:
            cells = []
            for memory in MEMORIES:
                record = own.get((workload, tiles, memory, OWN))
                ratio = f"{ratio_to_bound(record):.2f}" if record and is_bounded(record) else ""
                cells.append(f"**{ratio}**" if ratio and ratio_to_bound(record) > most_of_bound(record) else ratio)
            lines.append(f"| {tiles} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def best_table(records):
    """The points at which the bound does not say how data-aware stands to the others."""
    lines = ["| | tiles | memory, tiles | `data-aware`, s | fastest of the others, s | | ratio |", "|---|---:|---:|---:|---:|---|---:|"]
    for own in (r for r in records if r["scheduler"] == OWN and is_slow(r)):
        best = min((r for r in records if key_of(r)[:3] == key_of(own)[:3] and r["scheduler"] != OWN), key=lambda r: r["seconds"])
        ratio = f"{own['seconds'] / best['seconds']:.3f}"
        lines.append(f"| {WORKLOADS[own['workload']]} | {own['tiles']} | {own['memory_tiles']} | {own['seconds']:.2f} | {best['seconds']:.2f} | "
                     f"`{best['scheduler']}` | " + (f"**{ratio}**" if own["seconds"] > MOST_OF_OTHERS * best["seconds"] else ratio) + " |")
    return lines + [""]
