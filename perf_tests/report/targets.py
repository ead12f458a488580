# SPDX-License-Identifier: Apache-2.0
"""Targets of the performance tests (targets.json): which hold for a case, and whether it meets them."""
import dataclasses
import json
import pathlib
import re

import report

FILE = pathlib.Path(__file__).with_name("targets.json")
MEASURES = ("of_ceiling", "over_ceiling", "near_ceiling", "of_baseline", "over_baseline", "value_at_least", "value_at_most", "of_competitor", "of_case",
            "over_case")


@dataclasses.dataclass(frozen=True)
class Verdict:
    target: str   # in words
    measure: str  # as targets.json calls it
    met: bool
    bound: float  # what the measure is compared with


def load():
    return checked(json.loads(FILE.read_text(encoding="utf-8")))


def checked(book):
    """The book; ValueError where a target cannot be missed, as every case is at or above zero."""
    for rule in [book["every_case"]] + book["targets"]:
        bounds = [(name, rule[name]) for name in MEASURES + ("at_least", "at_most") if name in rule]
        for name, bound in bounds:
            if isinstance(bound, str) or bound is None and name == "of_baseline":
                continue
            if bound is None or bound <= 0:
                raise ValueError(f"{FILE.name}: {name} is {bound} in {json.dumps(rule)}: no target; give a bound above 0, "
                                 '"of_baseline": null where there is none')
    return book


def unit_of(case):
    return "µs" if case["unit"] == "us" else case["unit"]


def holds(rule, machine, program, case):
    """Whether an entry is about a case of a program, measured on a machine ("h200", "host")."""
    def fits(key, value):
        return key not in rule or re.fullmatch(str(rule[key]), str(value)) is not None
    return (fits("results", machine) and fits("program", program) and fits("case", case["case"]) and
            fits("device", case["device"]) and fits("type", case["type"]) and fits("n", case["n"]))


def neighbour(pattern, case, results):
    """The case of the same run, device and size that a target compares with; a plain one has no device."""
    found = [r for r in results if re.fullmatch(pattern, r["case"]) and r["device"] in (case["device"], "-")]
    same = [r for r in found if (r["n"], r["type"]) == (case["n"], case["type"])] or found
    return same[0] if same else None


def by_hand(case):
    """The baseline's value, as the ratio tells it."""
    is_time = case["unit"] in ("us", "ns")
    return case["value"] * case["baseline_ratio"] if is_time else case["value"] / case["baseline_ratio"]


def verdict(rule, case, results):
    """None where the case lacks what the target is about, or the rule says that there is no target."""
    measure = next(name for name in MEASURES if name in rule)
    if rule[measure] is None:
        return None
    bound, value, unit = rule[measure], case["value"], unit_of(case)
    if measure == "of_ceiling":
        share = case["fraction_of_ceiling"]
        return share and Verdict(f"≥ {bound:.2f} of ceiling", measure, share >= bound, bound)
    if measure == "over_ceiling":
        share = case["fraction_of_ceiling"]
        return share and Verdict(f"≤ {bound:g} times the simulation", measure, share <= bound, bound)
    if measure == "near_ceiling":
        share = case["fraction_of_ceiling"]
        return share and Verdict(f"within {100 * bound:g} % of the simulation", measure, abs(share - 1) <= bound, bound)
    if measure == "of_baseline":
        ratio = case["baseline_ratio"]
        return ratio and Verdict(f"≥ {bound:g} of baseline", measure, ratio >= bound, bound)
    if measure == "over_baseline":
        if not case["baseline_ratio"]:
            return None
        limit = by_hand(case) + bound
        return Verdict(f"≤ baseline + {bound:g} {unit}", measure, value <= limit, limit)
    if measure == "value_at_least":
        return Verdict(f"≥ {bound:g} {unit}", measure, value >= bound, bound)
    if measure == "value_at_most":
        return Verdict(f"≤ {bound:g} {unit}", measure, value <= bound, bound)
    if measure == "of_competitor":
        other = next((r for name, r in case["competitors"] if name.startswith(bound)), None)
        share = rule["at_least"]
        return other and Verdict(f"≥ {share:g} of {bound}", measure, value >= share * other["value"], share)
    other = neighbour(bound, case, results)
    if not other:
        return None
    name = re.sub(r"\.\*$", "", bound)
    if measure == "of_case":
        limit = rule["at_least"] * other["value"]
        return Verdict(f"≥ {rule['at_least']:g} times `{name}`", measure, value >= limit, limit)
    limit = other["value"] + rule["at_most"]
    return Verdict(f"≤ `{name}` + {rule['at_most']:g} {unit}", measure, value <= limit, limit)


def verdicts(book, machine, program, case, results):
    """All targets of a case. What compares with the baseline by name stands in for the target of every case."""
    if case["value"] is None or case["device"] == "Emulated":
        return []
    rules = [rule for rule in book["targets"] if holds(rule, machine, program, case)]
    by_name = any("of_baseline" in rule or "over_baseline" in rule for rule in rules)
    if not by_name and holds(book["every_case"], machine, program, case):
        rules = [book["every_case"]] + rules
    found = [verdict(rule, case, results) for rule in rules]
    return [one for one in found if one]


def reason(book, machine, program, case, measure):
    """Why a target is missed, as far as it is known."""
    for entry in book["reasons"]:
        if holds(entry, machine, program, case) and entry.get("measure", measure) == measure:
            return entry["why"]
    return ""


def judged(book, machine, test):
    """(case, its verdicts) of a program's results: competitors are no cases."""
    return [(case, verdicts(book, machine, test["program"], case, test["results"]))
            for case in report.families(test["results"])]
