# SPDX-License-Identifier: Apache-2.0
"""Pictures for scheduling.py: curves by size with their limits, and orders of tasks over tiles.

A picture of an order shows iterations of the outer loop, a square for each tile: which task of the run updated it. Every
1000 tasks have a colour, from light to dark.
"""
import figures
import scheduling_runs as runs

# 1000 tasks each: the paper's seven colours, then more.
COLOURS = ("#e00000", "#00a000", "#2040ff", "#d8c800", "#e000e0", "#00b8c8", "#ff8000", "#804000", "#606060", "#90b060",
           "#6000a0", "#ff90b0")
SHADES = 6  # of each


def tiles_that_fit(curve, bytes_of_memory):
    """The size whose matrix has as many bytes; of Cholesky its lower half."""
    tiles = bytes_of_memory / (curve["tile"]**2 * runs.ELEMENT)
    return (2 * tiles + 0.25)**0.5 - 0.5 if curve["workload"] == "cholesky" else tiles**0.5


def draw_curves(pyplot, number, data):
    curve = runs.CURVES[number]
    panels = runs.panels_of(number)
    figure, row = pyplot.subplots(1, len(panels), squeeze=False, figsize=(figures.PIXELS / figures.DOTS, 4.3),
                                  dpi=figures.DOTS)
    records = next(iter(data.values()))
    for axes, panel in zip(row[0], panels):
        title, unit, value, lines, is_log = runs.PANELS[panel]
        for scheduler, same in data.items():
            colour, marker = runs.LINES[scheduler]
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
    figure.suptitle(f"{runs.CAPTIONS[number]}, simulated (figure {number})", fontsize=11.5)
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


def panels_of_orders(data, order):
    """[(title, iteration, {(row, column): position})]"""
    panels = []
    for scheduler in order["schedulers"]:
        record = data.get(scheduler)
        if record is None:
            continue
        first = 0
        for iteration in range(order["iterations"]):
            places = runs.tiles_of(order["tiles"], iteration)
            positions = record["positions"][first:first + len(places)]
            devices = record["on"][first:first + len(places)]
            first += len(places)
            for device in range(order["devices"]):
                name = f"GPU {device + 1}" if order["devices"] > 1 else f"iteration {iteration + 1}"
                panels.append((f"{scheduler}, {name}", iteration,
                               {place: position for place, position, on in zip(places, positions, devices) if on == device}))
    return panels


def draw_orders(pyplot, number, data):
    order = runs.ORDERS[number]
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
    memory = next(iter(data.values()))["memory_bytes"] / (1920**2 * runs.ELEMENT)
    for axes, (name, iteration, places) in zip(grid.flat, panels):
        image = [[[1.0, 1.0, 1.0]] * tiles for _ in range(tiles)]
        for m, n in runs.tiles_of(tiles, iteration):
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
    figure.suptitle(f"{runs.CAPTIONS[number]}, simulated (figure {number})", fontsize=11)
    figure.legend(handles, names, loc="lower center", ncol=5, fontsize=8, frameon=False, handlelength=1, columnspacing=1.3)
    return figure


def path_of(number, pictures):
    return pictures / f"scheduling_{number}.png"


def stale(records, pictures):
    """Names of pictures that do not show the records."""
    found = []
    for number in runs.CAPTIONS:
        data, path = runs.data_of(number, records), path_of(number, pictures)
        if data and (not path.exists() or figures.digest_in(path) != figures.digest(data)):
            found.append(path.name)
    return found


def write_pictures(records, pictures, pyplot):
    for number in runs.CAPTIONS:
        data = runs.data_of(number, records)
        if data:
            figure = (draw_orders if number in runs.ORDERS else draw_curves)(pyplot, number, data)
            figures.save(figure, path_of(number, pictures), figures.digest(data), 256 if number in runs.ORDERS else 128)
            pyplot.close(figure)
