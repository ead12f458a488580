#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins reports of one performance test into one file.

    join_reports.py OUT.json [LABEL=]FILE.json...

A LABEL stands before the names of the cases of its file, so that runs with other options can be told apart. Files
that are not there are left out; all others are to be of one program, commit and machine."""
import json
import os
import sys


class JoinError(Exception):
    """Reports that do not belong together."""


def joined(reports):
    """One report of (label, report) pairs."""
    whole = None
    for label, report in reports:
        if whole is None:
            whole = {**report, "correct": True, "notes": [], "results": []}
        for key in ("program", "commit", "machine"):
            if report[key] != whole[key]:
                raise JoinError(f"{label or 'a report'}: {key} is {report[key]!r}, and {whole[key]!r} in the first")
        before = f"{label}: " if label else ""
        whole["correct"] = whole["correct"] and report["correct"]
        whole["results"] += [{**result, "case": before + result["case"]} for result in report["results"]]
        for note in report["notes"]:
            # What is said of all runs is said once.
            if note not in whole["notes"]:
                whole["notes"].append(before + note if ": " in note and before else note)
    if whole is None:
        raise JoinError("none of the reports is there")
    return whole


def text_of(report):
    """As performance tests write it: a line a result."""
    lines = []
    for key in sorted(report):
        value = report[key]
        if key in ("notes", "results"):
            rows = ",\n".join("  " + json.dumps(row, sort_keys=True, separators=(",", ":")) for row in value)
            lines.append(f' "{key}": [\n{rows}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value, sort_keys=True, separators=(",", ":"))}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    reports = []
    for argument in arguments[1:]:
        label, _, path = argument.rpartition("=")
        if not os.path.exists(path):
            print(f"join_reports: {path} is not there, and left out", file=sys.stderr)
            continue
        with open(path, encoding="utf-8") as file:
            reports.append((label, json.load(file)))
    try:
        text = text_of(joined(reports))
    except JoinError as error:
        print(f"join_reports: {error}", file=sys.stderr)
        return 1
    with open(arguments[0], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
