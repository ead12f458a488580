#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redraws figure 6 of the paper on unified memory (Oden and Saidi, 2021) with what strata_work_sharing measured.

    perf_tests/report/work_sharing.py            # docs/pictures/work_sharing_6.png
    perf_tests/report/work_sharing.py --check    # changes nothing; status 1 where it does not show the results
    perf_tests/report/work_sharing.py --results FILE --picture FILE    # of another run; a table to the terminal

The results are perf_tests/results/h200_work_sharing.json or h100_work_sharing.json, whichever is newer: what `strata_work_sharing --device Cuda --json FILE` writes. A panel
for each size: above, the time of a fit by the number of host threads beside the GPU, static (the host has a share of 0.01, as
in the paper) and dynamic, beside the GPU alone, the host alone and the same by hand; below, by the share of most host threads.
"""
import argparse
import json
import pathlib
import re
import sys

import figures
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = report.newest(ROOT / "perf_tests/results", "work_sharing")
PICTURE = ROOT / "docs/pictures/work_sharing_6.png"
CURVES = {"static": "static, α = 0.01", "dynamic": "dynamic", "host only": "host only"}
LEVELS = {"flow, static, GPU only": "static, GPU only", "flow, dynamic, GPU only": "dynamic, GPU only",
          "flow, by hand, as the suite": "by hand, as the suite", "flow, by hand, at best": "by hand, at best"}
THREADS = re.compile(r"flow, (static|dynamic|host only), (\d+) threads?")
SHARE = re.compile(r"flow, static, (\d+) threads?, alpha (\d\.\d+)")


class ResultError(Exception):
    """A file that is not as strata_work_sharing writes it."""


def data_of(test):
    """[[vectors, {line: [(threads, seconds)]}, {line: [(share, seconds)]}]], by size; lines that depend on neither are level from
    the first to the last."""
    sizes = sorted({case["n"] for case in test["results"] if THREADS.fullmatch(case["case"])})
    panels = []
    for size in sizes:
        curves = {label: [] for label in CURVES.values()}
        cases = [case for case in test["results"] if case["n"] == size]
        for case in cases:
            if match := THREADS.fullmatch(case["case"]):
                curves[CURVES[match[1]]].append((int(match[2]), case["seconds_median"]))
        ends = [threads for points in curves.values() for threads, _ in points]
        for name, label in LEVELS.items():
            for case in cases:
                if case["case"] == name:
                    curves[label] = [(min(ends), case["seconds_median"]), (max(ends), case["seconds_median"])]
        shares = [(int(match[1]), float(match[2]), case["seconds_median"])
                  for case in cases if (match := SHARE.fullmatch(case["case"]))]
        by_share = {}
        if shares:
            most = max(threads for threads, _, _ in shares)
            by_share[f"static, {most} threads"] = sorted((share, seconds) for threads, share, seconds in shares if threads == most)
            at_most = dict(curves["dynamic"]).get(most)
            if at_most is not None:
                by_share[f"dynamic, {most} threads"] = [(0, at_most), (1, at_most)]
        panels.append([size, {label: sorted(points) for label, points in curves.items() if points}, by_share])
    if not panels:
        raise ResultError("there are no fits by threads among the results")
    return panels


def draw_lines(axes, curves, lines):
    for label, points in curves.items():
        colour, marker = figures.STYLES[lines.index(label) % len(figures.STYLES)]
        level = label in LEVELS.values() or (len(points) == 2 and points[0][1] == points[1][1])
        axes.plot(*zip(*points), color=colour, marker=None if level else marker, markersize=4, linewidth=1.4,
                  linestyle="--" if level else "-", label=label)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: report.duration(value))
    axes.yaxis.set_minor_formatter("")
    axes.tick_params(labelsize=8)
    axes.grid(which="major", color="#d0d0d0", linewidth=0.7)
    axes.set_axisbelow(True)


def draw(pyplot, panels):
    rows = 2 if any(by_share for _, _, by_share in panels) else 1
    figure, grid = pyplot.subplots(rows, len(panels), squeeze=False, dpi=figures.DOTS,
                                   figsize=(figures.PIXELS / figures.DOTS, 1.6 + 2.6 * rows))
    for row, name in enumerate(("host threads", "share of the host, α")[:rows]):
        shown = [(size, by_share if row else curves) for size, curves, by_share in panels]
        lines = list(dict.fromkeys(label for _, curves in shown for label in curves))
        for axes, (size, curves) in zip(grid[row], shown):
            draw_lines(axes, curves, lines)
            if row == 0:
                axes.set_xscale("log", base=2)
                axes.set_xticks(sorted({threads for points in curves.values() for threads, _ in points}))
                axes.xaxis.set_minor_locator(pyplot.NullLocator())
                axes.set_title(f"{size} vectors", fontsize=10)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel(name, fontsize=9)
    handles = {}
    for axes in grid.flat:
        handles.update(dict(zip(*reversed(axes.get_legend_handles_labels()))))
    figure.suptitle("Flow by random samples: a host beside a GPU (figure 6)", fontsize=11.5)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=4, fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.75 / figure.get_figheight(), 1, 1), w_pad=1.5)
    return figure


def table(panels):
    lines = []
    for size, curves, by_share in panels:
        threads = sorted({count for points in curves.values() for count, _ in points})
        lines += [f"| {size} vectors | " + " | ".join(str(count) for count in threads) + " |",
                  "|---|" + "---:|" * len(threads)]
        for label, points in curves.items():
            at = dict(points)
            cells = [report.duration(points[0][1] if label in LEVELS.values() else at[count])
                     if label in LEVELS.values() or count in at else "" for count in threads]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        for label, points in by_share.items():
            lines += ["", f"{label}, by α: " + ", ".join(f"{share:g}: {report.duration(seconds)}" for share, seconds in points)]
        lines.append("")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compares")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--picture", type=pathlib.Path, default=PICTURE, metavar="FILE")
    options = parser.parse_args()
    try:
        if not options.results.exists():
            raise ResultError(f"there is no {options.results.name}; strata_work_sharing --device Cuda --json FILE writes it")
        panels = data_of(report.read(options.results))
        if options.check:
            if not options.picture.exists() or figures.digest_in(options.picture) != figures.digest(panels):
                sys.exit(f"{options.picture.name} does not show the results; perf_tests/report/work_sharing.py draws it anew")
            return
        pyplot = figures.import_pyplot()
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        figures.save(draw(pyplot, panels), options.picture, figures.digest(panels))
        print("\n".join(table(panels)))
    except (ResultError, json.JSONDecodeError) as error:
        sys.exit(f"work_sharing.py: {error}")


if __name__ == "__main__":
    main()
