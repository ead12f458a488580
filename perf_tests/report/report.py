#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns JSON files of the performance tests into one Markdown page and, with matplotlib, PNG plots.

    perf_tests/report/report.py [--output DIR] [--no-plots] FILE...

Without --output the page goes to the terminal and nothing is plotted. In DIR the page is report.md; a plot for each
program, type and unit lies next to it. A case whose name begins with another's and a comma is its competitor
("triad, by hand: simd" of "triad").
"""
import argparse
import collections
import json
import pathlib
import re
import sys

SLOW = 0.95  # cases slower than this many times their baseline are listed first


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def duration(seconds):
    if seconds is None:  # what was counted, not timed
        return "-"
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def read(path):
    report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    missing = [key for key in ("program", "date", "commit", "machine", "results") if key not in report]
    if missing:
        sys.exit(f"{path}: is no report of a performance test: it has no {', '.join(missing)}")
    report["stem"] = pathlib.Path(path).stem
    return report


def newest(folder, program, machines=("h200", "h100")):
    """The file of a program in a folder of results that was measured last, on any of the machines; without one the first's."""
    found = [path for path in (folder / f"{machine}_{program}.json" for machine in machines) if path.exists()]
    return max(found, key=lambda path: read(path)["date"]) if found else folder / f"{machines[0]}_{program}.json"


def table(results):
    lines = ["| case | device | type | n | median | min to p90 | value | of ceiling | of baseline |",
             "|---|---|---|---:|---:|---:|---:|---:|---:|"]
    for r in results:
        spread = f"{duration(r['seconds_min'])} to {duration(r['seconds_p90'])}"
        cells = [r["case"], r["device"], r["type"], str(r["n"]), duration(r["seconds_median"]), spread,
                 f"{number(r['value'])} {r['unit']}", number(r["fraction_of_ceiling"]), number(r["baseline_ratio"])]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def section(report, plots):
    machine = report["machine"]
    place = ", ".join(str(machine[key]) for key in ("gpu", "cpu") if machine.get(key))
    lines = [f"## {report['program']}", "",
             f"{place}, {machine.get('processors', '?')} processors; {report['date']}, commit {report['commit']}."]
    if not report.get("correct", True):
        lines += ["", "**A result was wrong.**"]
    if report.get("baseline"):
        lines += ["", f"Baseline: {report['baseline']}."]
    lines += [""] + table(report["results"]) + [""]
    lines += [f"- {note}" for note in report.get("notes", [])] + ([""] if report.get("notes") else [])
    lines += [f"![{plot.stem}]({plot.name})\n" for plot in plots]
    return lines


def slow_cases(reports):
    found = [(r["baseline_ratio"], report["program"], r) for report in reports for r in families(report["results"])
             if r["baseline_ratio"] is not None and r["baseline_ratio"] < SLOW]
    if not found:
        return []
    lines = [f"Cases below {SLOW} of their baseline:", ""]
    lines += [f"- {ratio:.2f}: {program}, {r['case']}, {r['device']}, {r['type']}, n = {r['n']}"
              for ratio, program, r in sorted(found, key=lambda entry: entry[0])]
    return lines + [""]


def page(reports, plots):
    lines = ["# Performance tests", ""] + slow_cases(reports)
    for report, own in zip(reports, plots):
        lines += section(report, own)
    return "\n".join(lines).rstrip() + "\n"


def belongs(case, to):
    """Whether a case is named and measured as a competitor of another."""
    return case["case"].startswith(to["case"] + ", ") and \
        all(case[key] == to[key] for key in ("device", "type", "n", "unit"))


def families(results):
    """The cases that are no competitors; each gets its competitors as a list of pairs (name, result).

    What has competitors of its own is none ("copy, nothing declared", although there is "copy").
    """
    def kind(case):
        return tuple(case[key] for key in ("device", "type", "n", "unit"))

    of_kind = collections.defaultdict(list)
    for r in results:
        of_kind[kind(r)].append(r)
    heads, heads_of = [], collections.defaultdict(list)
    for r in results:
        same = [h for h in heads_of[kind(r)] if belongs(r, h) and h["baseline_ratio"] is not None]
        if same and not any(belongs(other, r) for other in of_kind[kind(r)]):
            head = max(same, key=lambda h: len(h["case"]))
            head["competitors"].append((r["case"][len(head["case"]) + 2:], r))
        else:
            heads.append({**r, "competitors": []})
            heads_of[kind(r)].append(heads[-1])
    return heads


STRATA, BASELINE, OTHERS = "#1f6fb4", "#9a9a9a", ["#e08a1e", "#3f9b52", "#a04fa8", "#cc4444", "#6b5b3e"]
BAR, GAP, COLUMNS = 0.19, 0.6, 3  # inches a bar, bars between cases, panels in a row


def bars_of(head):
    """Strata's bar and its competitors', as (who, result)."""
    plain = head["device"] == "-" or re.search(", by hand", head["case"])
    bars = [("by hand" if plain else "Strata", head)]
    return bars + [(re.sub(r"(: | \(|, \d).*", "", name), result) for name, result in head["competitors"]]


def height_of(heads):
    return sum(len(bars_of(head)) + GAP for head in heads)


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def plot_panel(axes, heads, colours, unit, bottom):
    position, ticks, labels = 0.0, [], []
    sizes = {}
    for head in heads:
        sizes.setdefault(head["case"], set()).add(head["n"])
    for head in heads:
        start = position
        for who, result in bars_of(head):
            axes.barh(position, result["value"], height=0.85, color=colours[who])
            axes.annotate(short(result["value"]), (result["value"], position), (4, 0), textcoords="offset points",
                          va="center", fontsize=7, zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
            position += 1
        if head["ceiling"] is not None:
            axes.plot([head["ceiling"]] * 2, [start - 0.5, position - 0.5], color="black", linewidth=1.2)
        ticks.append((start + position - 1) / 2)
        labels.append(head["case"] + (f"\nn = {head['n']}" if len(sizes[head["case"]]) > 1 else ""))
        position += GAP
    axes.set_yticks(ticks, labels)
    axes.tick_params(labelsize=8)
    axes.set_ylim(bottom - 0.5, -0.8)
    axes.set_title("plain" if heads[0]["device"] == "-" else heads[0]["device"], fontsize=10)
    values = [result["value"] for head in heads for _, result in bars_of(head)]
    if unit != "GB/s" and max(values) > 30 * min(values):
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2, max(values) * 3)
    else:
        axes.set_xlim(0, 1.16 * max(values + [head["ceiling"] or 0 for head in heads]))
    axes.set_xlabel("µs" if unit == "us" else unit, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def plot_group(program, kind, unit, devices, pyplot):
    """A figure with a panel for each device."""
    everyone = list(dict.fromkeys(who for heads in devices.values() for head in heads for who, _ in bars_of(head)))
    others = iter(OTHERS * len(everyone))
    colours = {who: STRATA if who == "Strata" else BASELINE if re.match("by hand|plain|pool", who) else next(others)
               for who in everyone}
    columns = min(COLUMNS, len(devices))
    lines = [list(devices.values())[k:k + columns] for k in range(0, len(devices), columns)]
    bottoms = [max(height_of(heads) for heads in line) for line in lines]
    legend = 0.15 + 0.18 * ((len(everyone) + 5) // 5)
    height = sum(0.9 + BAR * bottom for bottom in bottoms) + 0.4 + legend
    figure, panels = pyplot.subplots(len(lines), columns, squeeze=False, figsize=(1.5 + 4.8 * columns, height),
                                     gridspec_kw={"height_ratios": [0.3 + BAR * bottom for bottom in bottoms]})
    for row, line, bottom in zip(panels, lines, bottoms):
        for axes in row[len(line):]:
            axes.set_visible(False)
        for axes, heads in zip(row, line):
            plot_panel(axes, heads, colours, unit, bottom)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colours[who]) for who in everyone]
    if any(head["ceiling"] is not None for heads in devices.values() for head in heads):
        handles.append(pyplot.Line2D([], [], color="black"))
        everyone.append("ceiling")
    figure.legend(handles, everyone, loc="lower center", ncol=min(5, len(everyone)), fontsize=8, frameon=False)
    figure.suptitle(program + (f", {kind}" if kind != "-" else ""), fontsize=11)
    figure.tight_layout(rect=(0, legend / height, 1, 1))
    return figure


def plot_report(report, folder, pyplot):
    """One file for each type and unit."""
    groups = {}
    for head in families(report["results"]):
        if head["value"] is not None:
            groups.setdefault((head["type"], head["unit"]), {}).setdefault(head["device"], []).append(head)
    paths = []
    for (kind, unit), devices in groups.items():
        name = "_".join([report["stem"]] + ([kind] if kind != "-" else []) + [unit.replace("/", "")])
        paths.append(folder / f"{name}.png")
        figure = plot_group(report["program"], kind, unit, devices, pyplot)
        figure.savefig(paths[-1], dpi=130)
        pyplot.close(figure)
    return paths


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("report.py: plots need matplotlib (Debian: python3-matplotlib); --no-plots does without")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    return pyplot


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON written by a program's --json")
    parser.add_argument("--output", type=pathlib.Path, metavar="DIR", help="where report.md and the plots go")
    parser.add_argument("--no-plots", action="store_true", help="the page only")
    options = parser.parse_args()

    reports = [read(path) for path in options.files]
    if options.output is None:
        sys.stdout.write(page(reports, [[] for _ in reports]))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    plots = [[] for _ in reports]
    if not options.no_plots:
        pyplot = import_pyplot()
        plots = [plot_report(report, options.output, pyplot) for report in reports]
    (options.output / "report.md").write_text(page(reports, plots), encoding="utf-8")


if __name__ == "__main__":
    main()
