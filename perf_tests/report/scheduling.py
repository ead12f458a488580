#!/usr/bin/env python3
"""Redraws figures 5 to 14 of the paper on data-aware scheduling (Gonthier, Marchal, Thibault, 2023) from simulated runs.

    perf_tests/report/scheduling.py            # docs/pictures/scheduling_*.png, and tables in docs/scheduling.md
    perf_tests/report/scheduling.py --check    # changes nothing; status 1 where they and the results disagree

Between `<!-- simulated: NAME -->` and `<!-- end -->` the page belongs to this program. The results are
perf_tests/results/simulated_schedules.json, which `simulate_schedules` writes: a record a line, each a run of
strata-simulate, or the order of its tasks. What no record has is left out.

A picture of an order shows iterations of the outer loop, a square for each tile: which task of the run updated it. Every
1000 tasks have a colour, from light to dark.
"""
import argparse
import json
import pathlib
import re
import sys

import figures

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "perf_tests/results/simulated_schedules.json"
PAGE = ROOT / "docs/scheduling.md"
PICTURES = ROOT / "docs/pictures"
MARK = re.compile(r"(<!-- simulated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
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
# 1000 tasks each: the paper's seven colours, then more.
COLOURS = ("#e00000", "#00a000", "#2040ff", "#d8c800", "#e000e0", "#00b8c8", "#ff8000", "#804000", "#606060", "#90b060",
           "#6000a0", "#ff90b0")
SHADES = 6  # of each
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
# The study's reference runs on v100.json, in the real code or its simulator: scheduler, priorities, tiles, devices, memory;
# GiB to and from the devices, and between them; seconds.
STUDY = [
    *[("darts", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 4.4, 2.9, 1.401), (30, 18.0, 8.9, 4.658), (40, 52.9, 20.5, 11.014), (50, 115.5, 39.0, 21.667),
       (60, 201.1, 64.8, 37.590))],
    *[("eager-prefetch", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 4.9, 4.9, 1.774), (30, 35.9, 35.9, 8.468), (40, 110.7, 110.7, 23.019), (50, 243, 243, 47.871),
       (60, 447, 447, 85.538))],
    *[("lws", "bottom-level", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 14.1, 2.9, 2.225), (30, 109.7, 6.4, 11.141), (40, 382.8, 110, 45.358), (50, 808, 256, 97.189),
       (60, 1440, 472, 174.204))],
    *[("dmdas", "parsec", n, 1, "2000 MiB", into, out, None, seconds) for n, into, out, seconds in
      ((20, 14.0, 2.9, 1.913), (30, 83.6, 6.4, 8.551), (40, 234, 11.3, 22.624), (50, 491, 17.5, 46.375),
       (60, 889, 25.1, 82.923))],
    *[("darts", "bottom-level", 40, 1, memory, into, None, None, None) for memory, into in
      (("500 MiB", 134), ("1000 MiB", 89), ("4000 MiB", 34))],
    # The study corrects an index out of bounds only, which `darts` here does not have; without, it may never end.
    ("darts", "bottom-level", 50, 4, "2000 MiB", 87, 41, 64, 11.921),
    ("darts", "bottom-level", 60, 4, "2000 MiB", None, None, None, 20.268),
    ("darts", "bottom-level", 60, 8, "2000 MiB", 176, 52, 148, 23.689),
    ("dmdas", "bottom-level", 60, 8, "2000 MiB", 571, 31, 337, 54.895),
    ("lws", "bottom-level", 60, 8, "2000 MiB", 581, 25, 385, 59.400),
]


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


def wanted_runs():
    """The keys of all runs that figures and tables are made of, each once."""
    found = {}
    for curve in CURVES.values():
        for scheduler in LINES:
            for tiles in curve["sizes"]:
                if scheduler != "ap" or curve["workload"] == "cholesky":
                    run = {**curve, "tiles": tiles, "scheduler": scheduler,
                           "priorities": priorities_of(curve["workload"], scheduler)}
                    del run["sizes"]
                    found[key_of(run)] = run
    for scheduler, priorities, tiles, devices, memory, *_ in STUDY:
        run = {"workload": "cholesky", "machine": "v100", "devices": devices, "memory": memory, "tile": 1920, "tiles": tiles,
               "scheduler": scheduler, "priorities": priorities}
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
                                               "priorities", "iterations"))


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
        if same:
            found[scheduler] = sorted(same, key=lambda record: record["tiles"])
    return found


# ---------------------------------------------------------------------------------------------------- pictures


def tiles_that_fit(curve, bytes_of_memory):
    """The size whose matrix has as many bytes; of Cholesky its lower half."""
    tiles = bytes_of_memory / (curve["tile"]**2 * ELEMENT)
    return (2 * tiles + 0.25)**0.5 - 0.5 if curve["workload"] == "cholesky" else tiles**0.5


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


def draw_curves(pyplot, number, data):
    curve = CURVES[number]
    panels = {8: ("speed",), 9: ("loads", "between")}.get(number, ("speed", "loads"))
    figure, row = pyplot.subplots(1, len(panels), squeeze=False, figsize=(figures.PIXELS / figures.DOTS, 4.3),
                                  dpi=figures.DOTS)
    records = next(iter(data.values()))
    for axes, panel in zip(row[0], panels):
        title, unit, value, lines, is_log = PANELS[panel]
        for scheduler, same in data.items():
            colour, marker = LINES[scheduler]
            points = [(record["tiles"], value(record)) for record in same if not is_log or value(record) > 0]
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4.5, linewidth=1.5, label=scheduler)
        for name, (line, dashes) in lines.items():
            axes.plot([r["tiles"] for r in records], [line(r) for r in records], color="#303030", linewidth=1.3,
                      linestyle=dashes, label=name, zorder=1)
        if is_log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        else:
            axes.set_ylim(0, None)
        memory = records[0]["memory_bytes"]
        at = tiles_that_fit(curve, curve["devices"] * memory)
        if curve["sizes"][0] < at < curve["sizes"][-1]:
            name = "as large as the memory" if curve["devices"] == 1 else "as large as all memories"
            axes.axvline(at, color="#30a030", linewidth=1.2, linestyle=(0, (2, 2)), label=f"matrix {name}", zorder=1)
        axes.set_title(title, fontsize=10)
        axes.set_ylabel(unit, fontsize=9)
        axes.set_xlabel(f"tiles of a side, {curve['tile']} x {curve['tile']} floats each", fontsize=9)
        axes.tick_params(labelsize=8.5)
        axes.grid(which="major", color="#d0d0d0", linewidth=0.7)
        axes.set_axisbelow(True)
    handles = {label: handle for axes in row[0] for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.suptitle(f"{CAPTIONS[number]}, simulated (figure {number})", fontsize=11.5)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=5, fontsize=8, frameon=False,
                  handlelength=2.8, columnspacing=1.3)
    figure.tight_layout(rect=(0, 0.12, 1, 1), w_pad=1.5)
    return figure


def shade(position):
    """The colour of a task: of its thousand, light at first."""
    from matplotlib import colors
    plain = colors.to_rgb(COLOURS[min(position // 1000, len(COLOURS) - 1)])
    whiteness = 0.65 * (1 - position % 1000 * SHADES // 1000 / (SHADES - 1))
    return [channel + (1 - channel) * whiteness for channel in plain]


def tiles_of(tiles, iteration):
    """The tiles that an iteration updates, in the order of a record: (row, column)."""
    return [(m, n) for m in range(iteration, tiles) for n in range(iteration, m + 1)]


def panels_of_orders(data, order):
    """[(title, iteration, {(row, column): position})]"""
    panels = []
    for scheduler in order["schedulers"]:
        record = data.get(scheduler)
        if record is None:
            continue
        first = 0
        for iteration in range(order["iterations"]):
            places = tiles_of(order["tiles"], iteration)
            positions = record["positions"][first:first + len(places)]
            devices = record["on"][first:first + len(places)]
            first += len(places)
            for device in range(order["devices"]):
                name = f"GPU {device + 1}" if order["devices"] > 1 else f"iteration {iteration + 1}"
                panels.append((f"{scheduler}, {name}", iteration,
                               {place: position for place, position, on in zip(places, positions, devices) if on == device}))
    return panels


def draw_orders(pyplot, number, data):
    order = ORDERS[number]
    panels = panels_of_orders(data, order)
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    last = max(position for _, _, places in panels for position in places.values())
    thousands = range(last // 1000 + 1)
    lines = -(-(len(thousands) + 2) // 5)  # of the legend
    # In inches: squares, above each a title, the figure's on top, the legend at the bottom.
    width, between, title, bottom = figures.PIXELS / figures.DOTS, 0.05, 0.25, 0.2 + 0.2 * lines
    square = 0.97 * width / (columns + (columns - 1) * between)
    height = 0.4 + rows * (title + square) + bottom
    figure, grid = pyplot.subplots(rows, columns, squeeze=False, dpi=figures.DOTS, figsize=(width, height))
    figure.subplots_adjust(left=0.015, right=0.985, wspace=between, hspace=title / square, bottom=bottom / height,
                           top=1 - (0.4 + title) / height)
    tiles = order["tiles"]
    memory = next(iter(data.values()))["memory_bytes"] / (1920**2 * ELEMENT)
    for axes, (name, iteration, places) in zip(grid.flat, panels):
        image = [[[1.0, 1.0, 1.0]] * tiles for _ in range(tiles)]
        for m, n in tiles_of(tiles, iteration):
            image[m][n] = shade(places[m, n]) if (m, n) in places else [0.9, 0.9, 0.9]
        axes.imshow(image, interpolation="nearest", extent=(0, tiles, tiles, 0))
        side = memory**0.5
        axes.add_patch(pyplot.Rectangle((tiles - side - 1, 1), side, side, fill=False, linewidth=1.2))
        axes.set_title(name, fontsize=9, pad=4)
        axes.set_xticks([])
        axes.set_yticks([])
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS[min(k, len(COLOURS) - 1)]) for k in thousands]
    names = [f"tasks {1000 * k + 1:,} to {1000 * (k + 1):,}" for k in thousands]
    if order["devices"] > 1:
        handles.append(pyplot.Rectangle((0, 0), 1, 1, color="#e6e6e6"))
        names.append("of the other GPU")
    handles.append(pyplot.Rectangle((0, 0), 1, 1, fill=False))
    names.append("tiles that fit a memory")
    figure.suptitle(f"{CAPTIONS[number]}, simulated (figure {number})", fontsize=11)
    figure.legend(handles, names, loc="lower center", ncol=5, fontsize=8, frameon=False, handlelength=1, columnspacing=1.3)
    return figure


def path_of(number, pictures):
    return pictures / f"scheduling_{number}.png"


def stale(records, pictures):
    """Names of pictures that do not show the records."""
    found = []
    for number in CAPTIONS:
        data, path = data_of(number, records), path_of(number, pictures)
        if data and (not path.exists() or figures.digest_in(path) != figures.digest(data)):
            found.append(path.name)
    return found


def write_pictures(records, pictures, pyplot):
    for number in CAPTIONS:
        data = data_of(number, records)
        if data:
            figure = (draw_orders if number in ORDERS else draw_curves)(pyplot, number, data)
            figures.save(figure, path_of(number, pictures), figures.digest(data), 256 if number in ORDERS else 128)
            pyplot.close(figure)


# ------------------------------------------------------------------------------------------------------ tables


def against(value, reference):
    """A value, the reference, and how far apart they are; bold beyond 10 %."""
    if reference is None:
        return ["", ""]
    share = round(100 * (value / reference - 1))
    text = f"{share:+d} %" if share else "0 %"
    return [f"{plain(value)} / {plain(reference)}", f"**{text}**" if abs(value / reference - 1) > 0.1 + 1e-9 else text]


def plain(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def study_table(records):
    """Every reference run of the study beside ours."""
    known = {key_of(record): record for record in records if "positions" not in record}
    lines = ["| scheduler | tiles | GPUs | memory | GiB loaded: here / study | | GiB stored | | GiB between GPUs | | seconds | |",
             "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for scheduler, priorities, tiles, devices, memory, into, out, between, seconds in STUDY:
        record = known.get(("cholesky", "v100", devices, memory, 1920, tiles, scheduler, priorities, None))
        if record is None:
            continue
        name = f"`{scheduler}`" + (", priorities of PaRSEC" if priorities == "parsec" else "")
        cells = [name, str(tiles), str(devices), memory, *against(record["bytes_to_devices"] / GIB, into),
                 *against(record["bytes_from_devices"] / GIB, out), *against(record["bytes_between_devices"] / GIB, between),
                 *against(record["seconds"], seconds)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def limits_table(records):
    """What the paper prints as bus limits."""
    known = {key_of(record): record for record in records if "positions" not in record}
    lines = ["| bus limit | here | paper | |", "|---|---:|---:|---:|"]
    for what, tiles, devices, unit, size, printed in (("Cholesky, 60, one GPU", 60, 1, "GiB", GIB, 403),
                                                      ("Cholesky, 100, eight GPUs", 100, 8, "GB", 1e9, 250)):
        record = known.get(("cholesky", "v100", devices, "2000 MiB", 1920, tiles, "darts", "bottom-level", None))
        if record:
            value = bus_limit(record) * GIB / size
            lines.append(f"| {what} | {value:.1f} {unit} | {printed} {unit} | {against(value, printed)[1]} |")
    return lines + [""]


def sections(records, pictures, page):
    lines = []
    for number, caption in CAPTIONS.items():
        data = data_of(number, records)
        if not data:
            continue
        lines += [f"### Figure {number}", "", f"![{caption}]({path_of(number, pictures).relative_to(page.parent)})", ""]
        if number in ORDERS:
            continue
        lines += ["<details><summary>The numbers</summary>", ""]
        for panel in {8: ("speed",), 9: ("loads", "between")}.get(number, ("speed", "loads")):
            title, unit, value, bounds, _ = PANELS[panel]
            lines += [f"| {title}, {unit}: tiles | " + " | ".join([*data, *bounds]) + " |",
                      "|---:" * (1 + len(data) + len(bounds)) + "|"]
            for tiles in CURVES[number]["sizes"]:
                same = [next((r for r in records_of if r["tiles"] == tiles), None) for records_of in data.values()]
                any_of = next((r for r in same if r), None)
                if any_of:
                    values = [r and value(r) for r in same] + [bound(any_of) for bound, _ in bounds.values()]
                    lines.append(f"| {tiles} | " + " | ".join("" if v is None else f"{v:.4g}" for v in values) + " |")
            lines.append("")
        lines += ["</details>", ""]
    return lines


def blocks(records, pictures, page):
    return {"study": study_table(records), "bus-limits": limits_table(records), "figures": sections(records, pictures, page)}


def with_blocks(text, fresh):
    """The page with what is between its marks written anew."""
    marks = [match[2] for match in MARK.finditer(text)]
    if sorted(marks) != sorted(fresh):
        raise ResultError(f"{PAGE.name} has the marks {marks}, and there are {sorted(fresh)}")
    return MARK.sub(lambda match: match[1] + "\n" + "\n".join(fresh[match[2]]).strip("\n") + "\n\n" + match[4], text)


def redraw(records, page=PAGE, pictures=PICTURES):
    """Pictures and tables from the records."""
    write_pictures(records, pictures, figures.import_pyplot())
    page.write_text(with_blocks(page.read_text(encoding="utf-8"), blocks(records, pictures, page)), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compares")
    options = parser.parse_args()
    try:
        records = read(RESULTS)
        if options.check:
            text = PAGE.read_text(encoding="utf-8")
            problems = [f"docs/pictures/{name} does not show the results" for name in stale(records, PICTURES)]
            if with_blocks(text, blocks(records, PICTURES, PAGE)) != text:
                problems.append(f"docs/{PAGE.name} has other tables than the results")
            if problems:
                sys.exit("\n".join(problems) + "\nperf_tests/report/scheduling.py writes them anew")
        else:
            redraw(records)
    except ResultError as error:
        sys.exit(f"scheduling.py: {error}")


if __name__ == "__main__":
    main()
