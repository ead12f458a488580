#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the devices of mini-app runs side by side: seconds by phase, figures of merit, results.

    ./device_table.py REPORT.json... [--tolerance EPS]

A REPORT is what strata-thermal and strata-dynamics write with --json. Ends with status 1 if a run or a check in a
report failed, or if devices differ in a result by more than EPS of it.
"""
import argparse
import json
import pathlib
import sys

# Results that are compared, by program, and how their names begin.
RESULTS = {
    "strata-thermal": ("least temperature", "mean temperature", "greatest temperature", "heat in"),
    "strata-dynamics": ("time", "kinetic energy", "elastic energy", "total energy"),
}


def named(entries, key):
    return {entry["name"]: entry[key] for entry in entries}


def names(runs, section):
    """What at least one run has, in the order of the runs."""
    return list(dict.fromkeys(entry["name"] for run in runs for entry in run[section]))


def row(title, of_device, devices, form):
    """`of_device` has a number for each device; None, as JSON has no other word for it, is not a number."""
    numbers = [of_device.get(device, "-") for device in devices]
    return ["  " + title] + [number if number == "-" else "nan" if number is None else format(number, form)
                             for number in numbers]


def figure_row(name, runs, devices):
    """Figures of merit; rates in millions."""
    figures = {run["device"]: figure for run in runs for figure in run["figures"] if figure["name"] == name}
    unit = next(iter(figures.values()))["unit"]
    values = {device: figure["value"] for device, figure in figures.items()}
    if not unit.endswith("/s"):
        return row(f"{name}, {unit}", values, devices, ".1f")
    millions = {device: value and value / 1e6 for device, value in values.items()}
    return row(f"{name}, 10^6 {unit}", millions, devices, ".2f")


def finished(report):
    """The runs that did not end with an error."""
    return [run for run in report["runs"] if "error" not in run]


def compared(report, devices, tolerance):
    """Rows of results, and whether all devices agree."""
    runs, rows, largest = finished(report), [], 0.0
    wanted = [name for name in names(runs, "results") if name.startswith(RESULTS.get(report["program"], ()))]
    for name in wanted:
        values = {run["device"]: named(run["results"], "value").get(name) for run in runs}
        numbers = [float("nan") if value is None else value for value in values.values()]
        scale = max(abs(number) for number in numbers) or 1
        largest = max(largest, *(abs(number - numbers[0]) / scale for number in numbers), key=lambda d: (d != d, d))
        rows.append(row(name, values, devices, ".7g"))
    agree = largest <= tolerance
    rows.append([f"  devices differ by {largest:.0e} at most" + ("" if agree else f", MORE than {tolerance:g}")])
    return rows, agree


def section(report, devices, tolerance):
    """Rows of the table for one program."""
    runs = finished(report)
    if not runs:
        return [[], [f"{report['program']}: no device finished"]], True
    mesh = runs[0]["mesh"]
    refined = f" refined {mesh['refinements']}" if mesh["refinements"] else ""
    rows = [[], [f"{report['program']}: {pathlib.Path(mesh['source']).name}{refined}, {mesh['elements']:,} elements, "
                 f"{mesh['nodes']:,} nodes, {runs[0]['type']}"]]
    seconds = {run["device"]: named(run["phases"], "seconds") for run in runs}
    for name in names(runs, "phases"):
        of_device = {device: phases[name] for device, phases in seconds.items() if name in phases}
        rows.append(row(f"{name}, s", of_device, devices, ".3f"))
    rows += [figure_row(name, runs, devices) for name in names(runs, "figures")]
    results, agree = compared(report, devices, tolerance)
    return rows + results, agree


def print_table(rows):
    cells = [texts for texts in rows if len(texts) > 1]
    width = [max(len(texts[column]) for texts in cells) for column in range(len(cells[0]))]
    for texts in rows:
        if len(texts) < 2:
            print(*texts)
        else:
            print(texts[0].ljust(width[0]), *(cell.rjust(width[k]) for k, cell in enumerate(texts[1:], 1)), sep="  ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=pathlib.Path, nargs="+")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="relative (default: 1e-9)")
    options = parser.parse_args()

    reports = [json.loads(path.read_text()) for path in options.reports]
    devices = list(dict.fromkeys(run["device"] for report in reports for run in report["runs"]))
    rows, failures = [[""] + devices], []
    for report in reports:
        more, agree = section(report, devices, options.tolerance)
        rows += more
        if not agree:
            failures.append(f"{report['program']}: the devices differ")
        for run in report["runs"]:
            failures += [f"{report['program']} on {run['device']}: {check['name']}" for check in run["checks"]
                         if not check["passed"]]
            if "error" in run:
                failures.append(f"{report['program']} on {run['device']}: {run['error']}")
    print(f"Strata {reports[0]['version']} on {reports[0]['machine']}\n")
    print_table(rows)
    if failures:
        sys.exit("device_table: FAILED: " + "; ".join(failures))


if __name__ == "__main__":
    main()
