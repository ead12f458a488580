#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redraws figures 5 to 14 of the paper on data-aware scheduling (Gonthier, Marchal, Thibault, 2023) from simulated runs.

    perf_tests/report/scheduling.py            # docs/pictures/scheduling_*.png, and tables in docs/scheduling.md
    perf_tests/report/scheduling.py --check    # changes nothing; status 1 where they and the results disagree

Between `<!-- simulated: NAME -->` and `<!-- end -->` the page belongs to this program. The results are
perf_tests/results/simulated_schedules.json, simulated_spread.json, simulated_sweep.json, simulated_requests.json and drawn_schedules.json, which `simulate_schedules` writes: a record
a line, each a run of strata-simulate, the order of its tasks, or a draw of strata-simulate-drawn. What no record has is left out.
"""
import argparse
import pathlib
import re
import sys

import figures
import scheduling_pictures as pictures_of
import scheduling_runs as runs
import scheduling_spread as spread_of
import scheduling_sweep as sweep_of
import scheduling_targets as targets_of
from scheduling_runs import GIB, ResultError

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "perf_tests/results/simulated_schedules.json"
DRAWN = ROOT / "perf_tests/results/drawn_schedules.json"
SPREAD = ROOT / "perf_tests/results/simulated_spread.json"
SWEEP = ROOT / "perf_tests/results/simulated_sweep.json"
MODELS = ROOT / "perf_tests/results/simulated_requests.json"
PAGE = ROOT / "docs/scheduling.md"
PICTURES = ROOT / "docs/pictures"
MARK = re.compile(r"(<!-- simulated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


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
    known = {runs.key_of(record): record for record in records if "positions" not in record}
    lines = ["| | scheduler | tiles | GPUs | memory | GiB loaded: here / study | | GiB stored | | GiB between GPUs | | seconds | |",
             "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in runs.STUDY:
        workload, scheduler, priorities, tiles, devices, memory, into, out, between, seconds = row
        record = known.get(runs.key_of(runs.run_of(row)))
        if record is None:
            continue
        name = f"`{scheduler}`" + (", priorities of PaRSEC" if priorities == "parsec" else "")
        if record.get("tasks_queued"):
            name += f", {record['tasks_queued']} queued"
        cells = [{"cholesky": "Cholesky", "lu": "LU"}[workload], name, str(tiles), str(devices), memory, *against(record["bytes_to_devices"] / GIB, into),
                 *against(record["bytes_from_devices"] / GIB, out), *against(record["bytes_between_devices"] / GIB, between),
                 *against(record["seconds"], seconds)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def limits_table(records):
    """What the paper prints as bus limits."""
    known = {runs.key_of(record): record for record in records if "positions" not in record}
    lines = ["| bus limit | here | paper | |", "|---|---:|---:|---:|"]
    for what, tiles, devices, unit, size, printed in (("Cholesky, 60, one GPU", 60, 1, "GiB", GIB, 403),
                                                      ("Cholesky, 100, eight GPUs", 100, 8, "GB", 1e9, 250)):
        record = known.get(("cholesky", "v100", devices, "2000 MiB", 1920, tiles, "darts", "bottom-level", None, None))
        if record:
            value = runs.bus_limit(record) * GIB / size
            lines.append(f"| {what} | {value:.1f} {unit} | {printed} {unit} | {against(value, printed)[1]} |")
    return lines + [""]


def drawn_table(records):
    """How runs that were drawn at random are distributed, beside what is to be reached."""
    def row(what, values, is_met, target):
        values = sorted(values)
        at = [f"{values[int(part * (len(values) - 1))]:.2f}" for part in (0, 0.5, 0.9, 0.99, 1)]
        share = f"{100 * sum(is_met) / len(is_met):.0f} % {target}"
        return "| " + " | ".join([what, str(len(values)), *at, share]) + " |"

    lines = ["| | runs | least | median | 90 % below | 99 % below | most | within the target |",
             "|---|---:|---:|---:|---:|---:|---:|---|"]
    loads = [record for record in records if record["part"] == "bytes"]
    ratios = [record["bytes_to_devices"] / record["bound_bytes"] for record in loads]
    met = [ratio <= (2 if record["memory_tiles"] < 100 else 1.8) for ratio, record in zip(ratios, loads)]
    lines.append(row("bytes loaded over the bound of loads, one device, where it is above 1.3 times each array once", ratios, met,
                     "at most 1.8 (2.0 below 100 tiles)"))
    for what, is_in in (("seconds over those of the fastest of ten others: the same draws", lambda r: r["part"] == "bytes"),
                        ("up to four devices: one", lambda r: r["part"] == "seconds" and r["devices"] == 1),
                        ("two to four devices of one speed", lambda r: r["devices"] > 1 and min(r["speeds"]) == 1),
                        ("two to four devices of different speed", lambda r: min(r["speeds"]) < 1),
                        ("all", lambda r: True)):
        ratios = [runs.ratio_to_others(record) for record in records if is_in(record)]
        lines.append(row(what, ratios, [ratio <= 1.02 for ratio in ratios], "at most 1.02"))
    return lines + [""]


def sections(records, pictures, page):
    lines = []
    for number, caption in runs.CAPTIONS.items():
        data = runs.data_of(number, records)
        if not data:
            continue
        lines += [f"### Figure {number}", "", f"![{caption}]({pictures_of.path_of(number, pictures).relative_to(page.parent)})", ""]
        if number in runs.ORDERS:
            continue
        lines += ["<details><summary>The numbers</summary>", ""]
        for panel in runs.panels_of(number):
            title, unit, value, bounds, _ = runs.PANELS[panel]
            lines += [f"| {title}, {unit}: tiles | " + " | ".join([*data, *bounds]) + " |",
                      "|---:" * (1 + len(data) + len(bounds)) + "|"]
            for tiles in runs.CURVES[number]["sizes"]:
                same = [next((r for r in records_of if r["tiles"] == tiles), None) for records_of in data.values()]
                any_of = next((r for r in same if r), None)
                if any_of:
                    values = [r and value(r) for r in same] + [bound(any_of) for bound, _ in bounds.values()]
                    lines.append(f"| {tiles} | " + " | ".join("" if v is None else f"{v:.4g}" for v in values) + " |")
            lines.append("")
        lines += ["</details>", ""]
    return lines


def found_rules(records):
    return targets_of.rules(targets_of.Results(records, runs.read(DRAWN), runs.read(SWEEP), runs.read(SPREAD)))


def blocks(records, pictures, page):
    return {"study": study_table(records), "spread": spread_of.table(records, runs.read(SPREAD), plain),
            "requests": spread_of.model_table(records, runs.read(MODELS), against, plain),
            "reasons": spread_of.reason_table(runs.read(MODELS), against, plain), "drawn": drawn_table(runs.read(DRAWN)),
            "sweep": sweep_of.table(runs.read(SWEEP)), "sweep-best": sweep_of.best_table(runs.read(SWEEP)),
            "targets": targets_of.table(found_rules(records), targets_of.REASONS), "bus-limits": limits_table(records),
            "figures": sections(records, pictures, page)}


def with_blocks(text, fresh):
    """The page with what is between its marks written anew."""
    marks = [match[2] for match in MARK.finditer(text)]
    if sorted(marks) != sorted(fresh):
        raise ResultError(f"{PAGE.name} has the marks {marks}, and there are {sorted(fresh)}")
    return MARK.sub(lambda match: match[1] + "\n" + "\n".join(fresh[match[2]]).strip("\n") + "\n\n" + match[4], text)


def rewrite(records, page=PAGE, pictures=PICTURES):
    """Tables from the records."""
    page.write_text(with_blocks(page.read_text(encoding="utf-8"), blocks(records, pictures, page)), encoding="utf-8")


def redraw(records, page=PAGE, pictures=PICTURES):
    """Pictures and tables from the records."""
    pictures_of.write_pictures(records, pictures, figures.import_pyplot())
    rewrite(records, page, pictures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compares")
    options = parser.parse_args()
    try:
        records = runs.read(RESULTS)
        if options.check:
            text = PAGE.read_text(encoding="utf-8")
            problems = [f"docs/pictures/{name} does not show the results" for name in pictures_of.stale(records, PICTURES)]
            if with_blocks(text, blocks(records, PICTURES, PAGE)) != text:
                problems.append(f"docs/{PAGE.name} has other tables than the results")
            problems += targets_of.problems(found_rules(records), targets_of.REASONS)
            if problems:
                sys.exit("\n".join(problems) + "\nperf_tests/report/scheduling.py writes them anew")
        else:
            redraw(records)
    except ResultError as error:
        sys.exit(f"scheduling.py: {error}")


if __name__ == "__main__":
    main()
