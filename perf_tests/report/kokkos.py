# SPDX-License-Identifier: Apache-2.0
"""Kokkos beside Strata in docs/performance.md: in races of the committed results, and as it was measured apart."""
import json

import report
import targets
from formats import counted, measured, times

FASTER = "Strata / Kokkos (above 1: Strata is faster)"


def find_case(tests, program, name, kind, n):
    for test in tests:
        for case in test["results"] if test["program"] == program else []:
            if (case["case"], case["type"], case["n"]) == (name, kind, n):
                return case
    return None


def quoted(results):
    """Kokkos as it was measured before beside Strata as it is now."""
    book = json.loads(targets.FILE.with_name("kokkos_4_6_99.json").read_text(encoding="utf-8"))
    lines = [f"| on one H200, in separate runs | Kokkos {book['version']} | Strata | {FASTER} |",
             "|---|---:|---:|---:|"]
    for entry in book["cases"]:
        case = find_case(results.tests["h200"], *entry["at"])
        if case:
            theirs, ours, is_time = entry["kokkos"], case["value"], case["unit"] in ("us", "ns")
            lines.append(f"| {entry['what']} | {measured(theirs, case['unit'])} | {measured(ours, case['unit'])} | "
                         f"{times(theirs / ours if is_time else ours / theirs)} |")
    return lines + [""] if len(lines) > 2 else []


def races(results):
    """(machine, test, case, name of Kokkos, its result) wherever it took part in a race, also in races that were measured again
    without it."""
    raced_in = [(machine, tests + results.with_kokkos[machine]) for machine, tests in results.tests.items()] + [("host16", results.host16)]
    return [(machine, test, case, name, other) for machine, tests in raced_in for test in tests
            for case in report.families(test["results"])
            for name, other in case["competitors"] if name.startswith("Kokkos")]


def speed(case, other):
    """How many times as fast as Kokkos Strata is."""
    return other["seconds_median"] / case["seconds_median"]


def raced(results):
    """The races, a line each."""
    rows = [f"| {test['program']}, {case['case']} | {machine} | {test['commit'][:7]} | {name.removeprefix('Kokkos ')} | {case['device']} | "
            f"{case['type']} | {counted(case['n'])} | {measured(other['value'], other['unit'])} | {measured(case['value'], case['unit'])} | "
            f"{times(speed(case, other))} |" for machine, test, case, name, other in races(results)]
    if not rows:
        return []
    return [f"| in one race | machine | commit | Kokkos backend | device | type | n | Kokkos | Strata | {FASTER} |",
            "|---|---|---|---|---|---|---:|---:|---:|---:|"] + rows + [""]
