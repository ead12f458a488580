#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redraws figures 19, 20 and 26 of the Kokkos Array paper with the devices that were measured.

    perf_tests/report/figures.py [--output DIR] SWEEP.csv...

A SWEEP is what `strata-thermal --sweep 1000:4000000` or `strata-dynamics --sweep 1000:4000000` printed (sweeps.py),
on any machine. In DIR come figure_19.png and figure_20.png (thermal), figure_26.png (dynamics) and figures.md with
their tables; without --output the tables go to the terminal. A picture carries the sum of its numbers, by which
performance.py sees whether it is up to date.
"""
import argparse
import hashlib
import json
import pathlib
import sys

import sweeps

# Figure 20 has one size; a row of a sweep counts as it within these bounds.
SIZE, SIZE_FROM, SIZE_TO = 1_060_000, 750_000, 1_500_000
# Colours that are told apart with any eyes (Okabe and Ito), and by their markers in grey.
STYLES = [("#d55e00", "o"), ("#0072b2", "s"), ("#009e73", "^"), ("#000000", "D"), ("#cc79a7", "v"), ("#56b4e9", "P"),
          ("#e69f00", "X"), ("#8c564b", "<")]
PIXELS, DOTS = 1200, 150
CAPTIONS = {
    19: "Thermal: elements computed, and filled into the matrix, per second",
    20: "Thermal: compute and fill of 1.05 million elements",
    26: "Explicit dynamics: element-steps per second",
}


def rate(point, column):
    return 1e6 / point.numbers[column]


def both(point):
    return 1e6 / (point.numbers["compute_us_per_element"] + point.numbers["fill_us_per_element"])


def panels_19(points):
    """[(title, {(who, type): [(elements, elements a second)]})]"""
    return [(title, {key: [(p.elements, rate(p, column)) for p in same]
                     for key, same in sweeps.by_series(points).items()})
            for title, column in (("computation of elements", "compute_us_per_element"),
                                  ("fill of the matrix", "fill_us_per_element"))]


def rows_20(points):
    """{(who, type): (elements, computed, filled, both, a second)} of the size next to that of the paper."""
    rows = {}
    for key, same in sweeps.by_series(points).items():
        near = [p for p in same if SIZE_FROM <= p.elements <= SIZE_TO]
        if near:
            p = min(near, key=lambda q: abs(q.elements - SIZE))
            rows[key] = (p.elements, rate(p, "compute_us_per_element"), rate(p, "fill_us_per_element"), both(p))
    return rows


def panels_26(points):
    panels = []
    for kernels, title in (("three", "the paper's functors"), ("fused", "one fused functor")):
        chosen = [p for p in points if p.kernels == kernels]
        if chosen:
            panels.append((title, {key: [(p.elements, p.numbers["element_steps_per_second"]) for p in same]
                                   for key, same in sweeps.by_series(chosen).items()}))
    return panels


def data_of(number, all_sweeps):
    """What a figure shows; empty where no file has it."""
    thermal, dynamics = (sweeps.points_of(all_sweeps, program) for program in ("thermal", "dynamics"))
    return {19: panels_19, 20: rows_20, 26: panels_26}[number](dynamics if number == 26 else thermal) \
        if (dynamics if number == 26 else thermal) else []


def digest(data):
    """A sum of what a figure shows, kept in the picture."""
    plain = [list(map(str, entry)) for entry in (data.items() if isinstance(data, dict) else data)]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def digest_in(picture):
    """What savefig left in a PNG (a chunk tEXt before the pixels), or nothing."""
    marker, head = b"Source\0", picture.read_bytes()[:4096]
    at = head.find(marker)
    return head[at + len(marker):at + len(marker) + 64].decode("latin-1") if at >= 0 else ""


# ---------------------------------------------------------------------------------------------------- pictures


def styles_of(all_sweeps):
    """The colour and the marker of each device on each machine, the same in all figures."""
    points = [point for sweep in all_sweeps for point in sweep.points]
    people = list(dict.fromkeys(who for who, _ in sweeps.by_series(points)))
    if len(people) > len(STYLES):
        raise sweeps.SweepError(f"{len(people)} devices do not fit in a figure ({len(STYLES)} do): give fewer files")
    return dict(zip(people, STYLES))


def counted(value, _=None):
    """Three digits and a letter: 1e3 as 1,000 is too wide for an axis, as a power too small."""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def draw_curves(pyplot, panels, title, unit, styles):
    """Log-log panels side by side with one scale; solid lines are double, dashed ones with open markers float."""
    figure, row = pyplot.subplots(1, len(panels), sharey=True, squeeze=False, figsize=(PIXELS / DOTS, 4.6), dpi=DOTS)
    for axes, (name, lines) in zip(row[0], panels):
        for (who, kind), points in lines.items():
            colour, marker = styles[who]
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4.5, linewidth=1.5,
                      linestyle="-" if kind == "double" else "--", label=f"{who}, {kind}",
                      markerfacecolor=colour if kind == "double" else "white")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(counted)
        axes.yaxis.set_major_formatter(counted)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("elements", fontsize=9)
        axes.tick_params(labelsize=8.5)
        axes.grid(which="major", color="#d0d0d0", linewidth=0.7)
        axes.grid(which="minor", color="#ececec", linewidth=0.4)
        axes.set_axisbelow(True)
    row[0][0].set_ylabel(unit, fontsize=9)
    handles = {label: line for axes in row[0] for line, label in zip(*axes.get_legend_handles_labels())}
    # A column for double, one for float.
    handles = dict(sorted(handles.items(), key=lambda entry: entry[0].endswith("float")))
    columns = len({label.rsplit(" ", 1)[1] for label in handles})
    lines = -(-len(handles) // columns)
    figure.suptitle(title, fontsize=11.5)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=columns, fontsize=8.5, frameon=False,
                  handlelength=3.2)
    figure.set_figheight(3.9 + 0.2 * lines)
    figure.tight_layout(rect=(0, (0.1 + 0.2 * lines) / figure.get_figheight(), 1, 1), w_pad=1.5)
    return figure


def draw_figure_20(pyplot, rows, title):
    """A line for each device and type; a logarithmic scale has no zero for bars to stand on, hence points."""
    figure, axes = pyplot.subplots(figsize=(PIXELS / DOTS, 1.75 + 0.34 * len(rows)), dpi=DOTS)
    shapes = (("computed", "#0072b2", "s", 6.5), ("filled", "#e69f00", "^", 7), ("computed and filled", "#000000", "D", 6.5))
    for place, (_, *rates) in enumerate(rows.values()):
        axes.plot([min(rates), max(rates)], [place, place], color="#c0c0c0", linewidth=1.5, zorder=1)
        for (name, colour, marker, size), value in zip(shapes, rates):
            axes.plot(value, place, marker=marker, color=colour, markersize=size, linestyle="none", zorder=2,
                      label=name if place == 0 else None)
        axes.annotate(counted(rates[2]), (rates[2], place), (-8, 0), textcoords="offset points", ha="right", va="center",
                      fontsize=8.5)
    axes.set_yticks(range(len(rows)), [f"{who}, {kind}" for who, kind in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    values = [value for row in rows.values() for value in row[1:]]
    axes.set_xlim(min(values) / 6, max(values) * 2)
    axes.xaxis.set_major_formatter(counted)
    axes.grid(axis="x", which="major", color="#d0d0d0", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8.5)
    axes.set_xlabel("elements per second", fontsize=9)
    figure.suptitle(title, fontsize=11.5)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    return figure


def draw(pyplot, number, data, styles):
    title = f"{CAPTIONS[number]} (figure {number})"
    if number == 20:
        return draw_figure_20(pyplot, data, title)
    return draw_curves(pyplot, data, title, "elements per second" if number == 19 else "element-steps per second", styles)


def write(folder, all_sweeps, pyplot):
    """The pictures of what was measured; their paths by figure."""
    paths, styles = {}, styles_of(all_sweeps)
    for number in CAPTIONS:
        data = data_of(number, all_sweeps)
        if data:
            paths[number] = folder / f"figure_{number}.png"
            figure = draw(pyplot, number, data, styles)
            save(figure, paths[number], digest(data))
            pyplot.close(figure)
    return paths


def save(figure, path, source, colours=128):
    """A PNG with a palette: a third of the size of one without, and nobody sees the difference."""
    from PIL import Image, PngImagePlugin  # matplotlib needs Pillow, so it is there
    figure.canvas.draw()
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Source", source)
    size = figure.canvas.get_width_height()
    pixels = Image.frombuffer("RGBA", size, figure.canvas.buffer_rgba(), "raw", "RGBA", 0, 1)
    pixels.convert("RGB").quantize(colours).save(path, pnginfo=notes, optimize=True)


# ------------------------------------------------------------------------------------------------------ tables


def curve_table(panels):
    """A row for each size, a column for each device and type, in millions a second."""
    lines = []
    for title, series in panels:
        sizes = sorted({elements for points in series.values() for elements, _ in points})
        lines += [f"| {title}, 10^6/s: elements | " + " | ".join(f"{who}, {kind}" for who, kind in series) + " |",
                  "|---:" * (1 + len(series)) + "|"]
        for size in sizes:
            found = [dict(points).get(size) for points in series.values()]
            lines.append(f"| {size:,} | " + " | ".join("" if v is None else f"{v / 1e6:.4g}" for v in found) + " |")
        lines.append("")
    return lines


def table_20(rows):
    lines = ["| device | type | elements | computed, 10^6/s | filled, 10^6/s | computed and filled, 10^6/s |",
             "|---|---|---:|---:|---:|---:|"]
    for (who, kind), (elements, *rates) in rows.items():
        lines.append(f"| {who} | {kind} | {elements:,} | " + " | ".join(f"{v / 1e6:.4g}" for v in rates) + " |")
    return lines + [""]


def table(number, data):
    return table_20(data) if number == 20 else curve_table(data)


def section(number, data, picture):
    """A chapter of a page: heading, picture, and the numbers behind it."""
    lines = [f"### Figure {number}", ""]
    if picture:
        lines += [f"![{CAPTIONS[number]}]({picture})", ""]
    return lines + ["<details><summary>The numbers</summary>", ""] + table(number, data) + ["</details>", ""]


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("figures need matplotlib (Debian: python3-matplotlib); without --output only the tables are printed")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    return pyplot


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="SWEEP.csv")
    parser.add_argument("--output", type=pathlib.Path, metavar="DIR", help="where pictures and figures.md go")
    options = parser.parse_args()
    try:
        all_sweeps = [sweeps.read(path) for path in options.files]
        paths = {}
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            paths = write(options.output, all_sweeps, import_pyplot())
        lines = ["# Figures 19, 20 and 26", ""]
        for number in CAPTIONS:
            data = data_of(number, all_sweeps)
            if data:
                lines += section(number, data, paths[number].name if number in paths else None)
    except sweeps.SweepError as error:
        sys.exit(f"figures.py: {error}")
    page = "\n".join(lines).rstrip() + "\n"
    if options.output:
        (options.output / "figures.md").write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main()
