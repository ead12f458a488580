#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redraws figures 1 to 5 of the paper on unified memory (Oden and Saidi, 2021) with what strata_memory_modes measured.

    perf_tests/report/memory_modes.py            # docs/pictures/memory_modes_*.png, and tables in docs/memory_modes.md
    perf_tests/report/memory_modes.py --check    # changes nothing; status 1 where they and the results disagree
    perf_tests/report/memory_modes.py --results FILE --traces DIR --pictures DIR    # of another run; tables to the terminal

The results are perf_tests/results/h200_memory_modes.json or h100_memory_modes.json, whichever is newer, for figure 5 the traces
beside it: what `strata_memory_modes --json FILE --traces DIR` writes. Between `<!-- modes: NAME -->` and `<!-- end -->` the page belongs
to this program. What was not measured is left out.
"""
import argparse
import json
import pathlib
import re
import sys

import figures
import memory_mode_runs as runs
import report
import targets
from formats import measured, ratio

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = report.newest(ROOT / "perf_tests/results", "memory_modes")
TRACES = RESULTS.with_name(RESULTS.stem + "_traces")
PAGE = ROOT / "docs/memory_modes.md"
PICTURES = ROOT / "docs/pictures"
MARK = re.compile(r"(<!-- modes: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LARGE = 16 << 20  # bytes of an array, from which on the link decides
TABLE_SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30)
# Spans of figure 5, in the order of the legend.
SPANS = {"copy to the device": "#0072b2", "copy to the host": "#56b4e9", "kernel": "#d55e00", "prefetch": "#009e73"}


def path_of(number, pictures):
    return pictures / f"memory_modes_{number}.png"


# ---------------------------------------------------------------------------------------------------- pictures


def draw_curves(pyplot, number, panels):
    lines = list(dict.fromkeys(line for _, series in panels for line in series))
    figure, row = pyplot.subplots(1, len(panels), sharey=True, squeeze=False, dpi=figures.DOTS,
                                  figsize=(figures.PIXELS / figures.DOTS, 4.6))
    for axes, (title, series) in zip(row[0], panels):
        for line, points in series.items():
            turn, style = divmod(lines.index(line), len(figures.STYLES))
            colour, marker = figures.STYLES[style]
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4, linewidth=1.4, label=line,
                      linestyle="-" if turn == 0 else "--", markerfacecolor=colour if turn == 0 else "white")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: runs.size_of(value))
        axes.yaxis.set_major_formatter(lambda value, _: report.duration(value))
        axes.yaxis.set_minor_formatter("")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("bytes of an array", fontsize=9)
        axes.tick_params(labelsize=8.5)
        axes.grid(which="major", color="#d0d0d0", linewidth=0.7)
        axes.set_axisbelow(True)
    handles, labels = row[0][0].get_legend_handles_labels()
    figure.suptitle(f"{runs.CAPTIONS[number]} (figure {number})", fontsize=11.5)
    columns = 4 if max(map(len, labels)) <= 16 else 2
    figure.legend(handles, labels, loc="lower center", ncol=columns, fontsize=8.5, frameon=False)
    rows = -(-len(labels) // columns)
    figure.tight_layout(rect=(0, (0.12 + 0.2 * rows) / figure.get_figheight(), 1, 1), w_pad=1.5)
    return figure


def draw_timeline(pyplot, data):
    figure, axes = pyplot.subplots(figsize=(figures.PIXELS / figures.DOTS, 1.5 + 0.42 * len(data)), dpi=figures.DOTS)
    seen = set()
    for place, (_, (seconds, spans)) in enumerate(data.items()):
        axes.barh(place, seconds, height=0.72, color="#f0f0f0", edgecolor="#a0a0a0", linewidth=0.6)
        for kind, begin, end in spans:
            axes.barh(place, end - begin, left=begin, height=0.5, color=SPANS[kind], label=None if kind in seen else kind)
            seen.add(kind)
    axes.set_yticks(range(len(data)), list(data))
    axes.set_ylim(len(data) - 0.4, -0.6)
    axes.set_xlabel("µs since the first call; grey: until the host has the results", fontsize=9)
    axes.tick_params(labelsize=8.5)
    axes.grid(axis="x", color="#d0d0d0", linewidth=0.7)
    axes.set_axisbelow(True)
    handles = dict(zip(*reversed(axes.get_legend_handles_labels())))
    figure.suptitle(f"{runs.CAPTIONS[5]} (figure 5)", fontsize=11.5)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=4, fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.3 / figure.get_figheight(), 1, 1))
    return figure


def stale(data, pictures):
    """Names of pictures that do not show the results."""
    return [path_of(number, pictures).name for number, shown in data.items()
            if not path_of(number, pictures).exists()
            or figures.digest_in(path_of(number, pictures)) != figures.digest(shown)]


def write_pictures(data, pictures, pyplot):
    pictures.mkdir(parents=True, exist_ok=True)
    for number, shown in data.items():
        figure = draw_timeline(pyplot, shown) if number == 5 else draw_curves(pyplot, number, shown)
        figures.save(figure, path_of(number, pictures), figures.digest(shown))
        pyplot.close(figure)


# ------------------------------------------------------------------------------------------------------ tables


def times_table(test):
    """Each mode beside the same by hand, at some sizes, until the host has checked the results."""
    lines = ["| pattern | mode | " + " | ".join(runs.size_of(size) for size in TABLE_SIZES) + " |",
             "|---|---|" + "---:|" * len(TABLE_SIZES)]
    for pattern in runs.PATTERNS:
        for mode in runs.MODES:
            cells = []
            for size in TABLE_SIZES:
                case = runs.case_of(test, f"{pattern}, verified, {mode}", size)
                text = "" if case is None else report.duration(case["seconds_median"])
                if case is not None and case["baseline_ratio"] is not None:
                    text += f" ({ratio(case['baseline_ratio'])})"
                cells.append(text)
            if any(cells):
                lines.append(f"| {pattern} | {mode} | " + " | ".join(cells) + " |")
    return lines + [""]


def bytes_table(test):
    """Arrays that each pattern copies in and out."""
    people = [*runs.MODES, "smart arrays of the paper"]
    lines = ["| arrays copied in, out | " + " | ".join(people) + " |", "|---|" + "---:|" * len(people)]
    for pattern in runs.PATTERNS:
        cells = []
        for who in people:
            found = [next((case["value"] for case in test["results"]
                           if case["case"] == f"{pattern}, arrays copied, {who}, {way}"), None) for way in ("in", "out")]
            cells.append("" if None in found else f"{found[0]:g}, {found[1]:g}")
        if any(cells):
            lines.append(f"| {pattern} | " + " | ".join(cells) + " |")
    return lines + [""]


def driver_table(test):
    """What the driver counts (CUPTI) beside Strata's own counts, at every size at which it was asked."""
    def value(pattern, mode, size, what):
        return next((case["value"] for case in test["results"] if case["case"] == f"{pattern}, {what}, {mode}"
                     and runs.bytes_of(case) == size), None)

    lines = ["| pattern | mode | bytes of an array | to the device: Strata | driver | to the host: Strata | driver | faults of GPU, host |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    sizes = sorted({runs.bytes_of(case) for case in test["results"] if ", bytes in by the driver, " in case["case"]})
    for pattern in runs.PATTERNS:
        for mode in runs.MODES:
            for size in sizes:
                cells = [value(pattern, mode, size, f"bytes {way} by {who}") for way in ("in", "out") for who in ("Strata", "the driver")]
                if None in cells:
                    continue
                faults = [value(pattern, mode, size, f"faults of the {who}") for who in ("GPU", "host")]
                lines.append(f"| {pattern} | {mode} | {runs.size_of(size)} | " + " | ".join(f"{cell:,.0f}" for cell in cells)
                             + " | " + ("" if None in faults else f"{faults[0]:,.0f}, {faults[1]:,.0f}") + " |")
    return lines + [""] if len(lines) > 2 else []


def reads_table(test):
    """Memory that never moves, against copies, by how often data is read."""
    lines = ["| times read | pinned, copied once | mapped | faster |", "|---:|---:|---:|---|"]
    for count, pinned, mapped in runs.reads(test):
        lines.append(f"| {count} | {report.duration(pinned)} | {report.duration(mapped)} | "
                     f"{'mapped' if mapped < pinned else 'pinned'} |")
    return lines + [""] if len(lines) > 2 else []


def targets_table(test):
    """How many targets are met, and the cases of large arrays that miss theirs; of small ones, by mode, how many do."""
    judged = [(case, v) for case, verdicts in targets.judged(targets.load(), "h200", test) for v in verdicts]
    if not judged:
        return []
    met = sum(v.met for _, v in judged)
    missed = [case for case, v in judged if not v.met and runs.bytes_of(case) < LARGE]
    small = f" Of arrays below {runs.size_of(LARGE)} {len(missed)} are missed, in which calls and not bytes are what takes time." if missed else ""
    large = any(not v.met and runs.bytes_of(case) >= LARGE for case, v in judged)
    lines = [f"{met} of {len(judged)} targets are met.{small}" + (" Missed are:" if large else ""), ""]
    if large:
        lines += ["| case | bytes of an array | measured | of the same by hand | target |", "|---|---:|---:|---:|---|"]
        lines += [f"| {case['case']} | {runs.size_of(runs.bytes_of(case))} | {measured(case['value'], case['unit'])} | "
                  f"{ratio(case['baseline_ratio'])} | {v.target} |" for case, v in judged if not v.met and runs.bytes_of(case) >= LARGE]
        lines.append("")
    return lines


def sections(data, pictures, page):
    lines = []
    for number in data:
        lines += [f"### Figure {number}", "", f"![{runs.CAPTIONS[number]}]({path_of(number, pictures).relative_to(page.parent)})", ""]
    return lines


def blocks(test, data, pictures, page):
    return {"targets": targets_table(test), "times": times_table(test), "bytes": bytes_table(test),
            "driver": driver_table(test), "reads": reads_table(test), "figures": sections(data, pictures, page)}


def with_blocks(text, fresh):
    """The page with what is between its marks written anew."""
    unknown = [match[2] for match in MARK.finditer(text) if match[2] not in fresh]
    if unknown:
        raise runs.ResultError(f"{PAGE.name} has the marks {', '.join(unknown)}; there are {', '.join(fresh)}")
    return MARK.sub(lambda match: match[1] + "\n" + "\n".join(fresh[match[2]]).strip("\n") + "\n\n" + match[4], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compares")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--traces", type=pathlib.Path, default=TRACES, metavar="DIR")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="DIR", help="of another run than that of the page")
    options = parser.parse_args()
    pictures = options.pictures or PICTURES
    has_page = options.pictures is None and PAGE.exists()
    try:
        if not options.results.exists():
            raise runs.ResultError(f"there is no {options.results.name}; strata_memory_modes --device Cuda --json FILE writes it")
        test = runs.of_one_device(report.read(options.results))
        data = runs.data_of(test, runs.read_traces(options.traces))
        fresh = blocks(test, data, pictures, PAGE if options.pictures is None else pictures / "page.md")
        if options.check:
            problems = [f"{name} does not show the results" for name in stale(data, pictures)]
            if has_page and with_blocks(PAGE.read_text(encoding="utf-8"), fresh) != PAGE.read_text(encoding="utf-8"):
                problems.append(f"docs/{PAGE.name} has other tables than the results")
            if problems:
                sys.exit("\n".join(problems) + "\nperf_tests/report/memory_modes.py writes them anew")
            return
        write_pictures(data, pictures, figures.import_pyplot())
        if has_page:
            PAGE.write_text(with_blocks(PAGE.read_text(encoding="utf-8"), fresh), encoding="utf-8")
        else:
            print("\n".join(line for name in fresh for line in fresh[name]))
    except (runs.ResultError, json.JSONDecodeError) as error:
        sys.exit(f"memory_modes.py: {error}")


if __name__ == "__main__":
    main()
