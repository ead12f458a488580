# SPDX-License-Identifier: Apache-2.0
"""Arrays larger than a device, for performance.py: figures 17 to 20 of the paper on array streaming, redrawn with their
rooflines, and the table of targets and predictions. The table comes from h200_streaming.json; a figure, with its roofs of
the link and its predictions, from h200_streaming_figures.json or h200_streaming.json, the newest that has its cases; roofs
of memory from h200_ceilings.json.

A figure has panels by iterations, or steps, with lines by way of computing (17, 18) or by size (19, 20). Names of cases:

    map of 64, WAY                   17     3 points, 64 steps, WAY                 18
    map of 64 in 8 slots             19     3 points, 64 steps in 8 slots[, WAY]    20

Rooflines: what crosses the link both ways at once and one way at a time, and what memory of the device gives. A
stencil has one of the link for one step a pass, and one for all steps in one pass.
"""
import re

import figures
import targets
from formats import counted, measured, ratio

PROGRAM, FIGURES = "streaming", "streaming_figures"
CAPTIONS = {
    17: "Map: bytes in and out per second, by size",
    18: "3-point stencil: updates per second, by size",
    19: "Map: bytes in and out per second, by slices on the device at once",
    20: "3-point stencil: updates per second, by slices on the device at once",
}
CASES = {
    17: re.compile(r"map of (\d+), (.+)"),
    18: re.compile(r"3 points, (\d+) steps, (.+)"),
    19: re.compile(r"map of (\d+) in (\d+) slots"),
    20: re.compile(r"3 points, (\d+) steps in (\d+) slots(?:, (.+))?"),
}
BYTES = {"float": 4, "double": 8}
LINK, ONE_WAY = "link both ways, by hand", "link to the device, by hand"
ROOFS = {  # of a picture: dashes
    "memory of the device": (0, (6, 2)),
    "link, both ways at once": (0, (4, 2, 1, 2)),
    "link, one way at a time": (0, (1, 1.5)),
    "link, all steps in a pass": (0, (4, 2, 1, 2)),
    "link, one step a pass": (0, (1, 1.5)),
}
OF_FIGURES = re.compile(r"3 points, \d+ steps")  # whose predictions come with figure 18
PREDICTED = re.compile(r"(.+): ([0-9.]+) of the time was predicted(?:, (.+))?")


def is_map(number):
    return number in (17, 19)


def array_bytes(number, case):
    """Of all arrays on the host: two of a map, one of a stencil."""
    return case["n"] * BYTES[case["type"]] * (2 if is_map(number) else 1)


def run_of(results):
    """The run on the GPU that the table is of, or nothing."""
    return next((test for test in results.tests["h200"] if test["program"] == PROGRAM), None)


def figure_run(results, number):
    """The newest run that has cases of a figure, or nothing: the lines of a figure and its roofs are of one run."""
    found = [test for test in results.tests["h200"] if test["program"] in (PROGRAM, FIGURES) and
             any(CASES[number].fullmatch(case["case"]) for case in test["results"])]
    return max(found, key=lambda test: test["date"], default=None)


def value_of(test, name):
    return next((case["value"] for case in test["results"] if case["case"] == name), None)


def memory_bandwidth(results, kind):
    """Of a triad of large arrays by hand, GB/s."""
    ceilings = next((test for test in results.tests["h200"] if test["program"] == "ceilings"), None)
    found = [case["value"] for case in (ceilings or {}).get("results", ())
             if re.match(r"triad, .* GB", case["case"]) and case["type"] == kind and case["device"] == "Cuda"]
    return max(found, default=None)


def roofs(results, number, steps, kind):
    """{name: value} of a panel, in GB/s of a map, in 10^9 updates a second of a stencil."""
    test = figure_run(results, number)
    memory, link, one_way = memory_bandwidth(results, kind), value_of(test, LINK), value_of(test, ONE_WAY)
    if is_map(number):
        found = {"memory of the device": memory, "link, both ways at once": link, "link, one way at a time": one_way}
    else:  # an update reads an element and writes one
        update = 2 * BYTES[kind]
        found = {"memory of the device": memory and memory / update,
                 "link, all steps in a pass": link and steps > 1 and steps * link / update,
                 "link, one step a pass": link and link / update}
    return {name: value for name, value in found.items() if value}


def data_of(number, results):
    """[(title, {line: [(x, value)]}, {roof: value})]; empty where nothing was measured."""
    test = figure_run(results, number)
    panels = {}
    for case in test["results"] if test else ():
        match = CASES[number].fullmatch(case["case"])
        if not match or case["device"] == "Emulated":
            continue
        lines, kinds = panels.setdefault(int(match[1]), ({}, set()))
        if number in (17, 18):
            line, x = match[2], array_bytes(number, case)
        else:
            way = match[3] if number == 20 and match[3] else ""
            line = f"{figures.counted(array_bytes(number, case))}B" + (f", {way}" if way else "")
            x = int(match[2])
        lines.setdefault(line, []).append((x, case["value"]))
        kinds.add(case["type"])
    noun = "iteration" if is_map(number) else "step"
    return [(f"{steps:,} {noun}{'s' if steps != 1 else ''}",
             {line: sorted(points) for line, points in lines.items()}, roofs(results, number, steps, max(kinds)))
            for steps, (lines, kinds) in sorted(panels.items())]


def path_of(number, pictures):
    return pictures / f"streaming_{number}.png"


# ---------------------------------------------------------------------------------------------------- pictures


def draw(pyplot, number, panels):
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    lines = list(dict.fromkeys(line for _, series, _ in panels for line in series))
    legend = -(-(len(lines) + 3) // 4)
    height = 0.75 + 2.5 * rows + 0.2 * legend
    figure, grid = pyplot.subplots(rows, columns, sharex=True, sharey=is_map(number), squeeze=False,
                                   figsize=(figures.PIXELS / figures.DOTS, height), dpi=figures.DOTS)
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    for axes, (title, series, found) in zip(grid.flat, panels):
        for line, points in series.items():
            colour, marker = figures.STYLES[lines.index(line) % len(figures.STYLES)]
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4.5, linewidth=1.5, label=line)
        axes.set_xscale("log", base=10 if number in (17, 18) else 2)
        highest = max(value for points in series.values() for _, value in points)
        if is_map(number):  # the link bounds a map: far above it a roof is only named
            below = [value for value in found.values() if value < 5 * highest]
            axes.set_ylim(0, 1.25 * max([highest, *below]))
        else:
            below = list(found.values())
            axes.set_yscale("log")
        for name, value in found.items():
            if value in below:
                axes.axhline(value, color="#505050", linewidth=1.2, linestyle=ROOFS[name], label=name, zorder=1)
            else:
                axes.annotate(f"↑ {name}: {figures.counted(value)}B/s".replace(" kB", " TB"), (0.98, 0.97),
                              xycoords="axes fraction", ha="right", va="top", fontsize=8, color="#505050")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: figures.counted(value))
            axis.set_minor_formatter("")
        axes.set_title(title, fontsize=10)
        axes.tick_params(labelsize=8.5)
        axes.grid(which="major", color="#d0d0d0", linewidth=0.7)
        axes.set_axisbelow(True)
    for axes in grid[:, 0]:
        axes.set_ylabel("GB/s" if is_map(number) else "10⁹ updates/s", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("slices on the device" if number in (19, 20) else "bytes of all arrays", fontsize=9)
    handles = {label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels())}
    handles = {name: handles[name] for name in [*lines, *ROOFS] if name in handles}
    figure.suptitle(f"{CAPTIONS[number]} (figure {number})", fontsize=11.5)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=4, fontsize=8, frameon=False,
                  handlelength=3)
    figure.tight_layout(rect=(0, (0.1 + 0.2 * legend) / height, 1, 1))
    return figure


def stale(results, pictures):
    """Names of pictures that do not show the results."""
    found = []
    for number in CAPTIONS:
        data, path = data_of(number, results), path_of(number, pictures)
        if data and (not path.exists() or figures.digest_in(path) != figures.digest(data)):
            found.append(path.name)
    return found


def write(results, pictures, pyplot):
    for number in CAPTIONS:
        data = data_of(number, results)
        if data:
            figure = draw(pyplot, number, data)
            figures.save(figure, path_of(number, pictures), figures.digest(data))
            pyplot.close(figure)


# ------------------------------------------------------------------------------------------------------ tables


def predictions(results):
    """(run, predicted over measured, whether it is as near as it is to be, how near, why if it is known and not)"""
    rule, table_run, figures_run = results.book["predictions"], run_of(results), figure_run(results, 18)
    runs = [table_run] if table_run is figures_run else [table_run, figures_run]
    found = []
    for test, note in ((test, note) for test in runs if test for note in test.get("notes", ())):
        match = PREDICTED.fullmatch(note.strip())
        if match and test is (figures_run if OF_FIGURES.match(match[1]) else table_run):
            run = match[1] + (f", {match[3]}" if match[3] else "")
            share = float(match[2])
            why = next((entry["why"] for entry in rule["reasons"] if re.fullmatch(entry["run"], run)), "")
            found.append((run, share, abs(share - 1) <= rule["within"] + 1e-9, rule["within"], why))
    return found


def table(results):
    """The cases that are in no figure, beside their targets."""
    test = run_of(results)
    if not test:
        return []
    lines = ["| case | type | n | measured | of the link's limit | of in core | target | |", "|---|---|---:|---:|---:|---:|---|---|"]
    for case, verdicts in targets.judged(results.book, "h200", test):
        if any(pattern.fullmatch(case["case"]) for pattern in CASES.values()) or case["value"] is None:
            continue
        missed = {v.measure: v.bound for v in verdicts if not v.met}
        # A stencil's ceiling is the same in core, not the link.
        of_link = None if case["baseline_ratio"] else case["fraction_of_ceiling"]
        cells = [case["case"], case["type"], counted(case["n"]) if case["n"] else "",
                 measured(case["value"], "10^9/s" if case["unit"] == "G/s" else case["unit"]),
                 ratio(of_link, [missed[m] for m in ("of_ceiling",) if m in missed]),
                 ratio(case["baseline_ratio"], [missed[m] for m in ("of_baseline",) if m in missed]),
                 "; ".join(v.target.replace("of ceiling", "of the limit").replace("of baseline", "of in core") for v in verdicts),
                 "" if not verdicts else "**missed**" if missed else "met"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def predicted(results):
    """What the model said, beside how near it is to be."""
    lines, said = [], predictions(results)
    if said:
        lines += ["| run | predicted / measured | target | |", "|---|---:|---|---|"]
        lines += [f"| {run} | {share:.2f} | within {within:.0%} | {'met' if met else '**missed**'} |".replace("%", " %")
                  for run, share, met, within, _ in said]
        lines.append("")
        reasons = list(dict.fromkeys(why or "The reason is not known." for *_, met, _, why in said if not met))
        lines += [f"- {why}" for why in reasons] + ([""] if reasons else [])
    return lines


def sections(results, pictures, page):
    lines = []
    for number, caption in CAPTIONS.items():
        panels = data_of(number, results)
        if not panels:
            continue
        picture = path_of(number, pictures).relative_to(page.parent)
        lines += [f"### Figure {number} of the streaming paper", "", f"![{caption}]({picture})", "",
                  "<details><summary>The numbers</summary>", ""]
        what, unit = ("slices" if number in (19, 20) else "bytes"), ("GB/s" if is_map(number) else "10^9 updates/s")
        for title, series, found in panels:
            lines += [f"| {title}, {unit}: {what} | " + " | ".join([*series, *(f"roof: {name}" for name in found)]) + " |",
                      "|---:" * (1 + len(series) + len(found)) + "|"]
            for x in sorted({x for points in series.values() for x, _ in points}):
                values = [dict(points).get(x) for points in series.values()] + list(found.values())
                lines.append(f"| {x:,} | " + " | ".join("" if v is None else f"{v:.4g}" for v in values) + " |")
            lines.append("")
        lines += ["</details>", ""]
    return lines


def block(results, pictures, page):
    return table(results) + predicted(results) + sections(results, pictures, page)


def summary(results):
    """A line for the top of the page."""
    test = run_of(results)
    if not test:
        return []
    judged = [v for _, verdicts in targets.judged(results.book, "h200", test) for v in verdicts]
    said = predictions(results)
    text = f"{sum(v.met for v in judged)} of {len(judged)} targets are met"
    if said:
        text += f", {sum(met for _, _, met, *_ in said)} of {len(said)} predictions within {100 * said[0][3]:g} %"
    return [f"- [Out of core](#out-of-core), on the H200: {text}."]
