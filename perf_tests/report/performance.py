#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what was measured into docs/performance.md: tables, targets, figures.

    perf_tests/report/performance.py            # after new files in perf_tests/results
    perf_tests/report/performance.py --check    # changes nothing; status 1 where page and results disagree

Between `<!-- measured: NAME -->` and `<!-- end -->` the page belongs to this program, the rest to its authors. Results
are perf_tests/results/{h200,host}_PROGRAM.json and {h200,host}_{thermal,dynamics}_sweep.csv; what no file has is
left out. Of the memory modes h100_PROGRAM.json counts where it is newer. Targets and reasons are in targets.json, the figures
of Kokkos 4.6.99 in kokkos_4_6_99.json.
"""
import argparse
import pathlib
import re
import statistics
import sys

import figures
import kokkos
import report
import streaming
import sweeps
import targets
from formats import counted, measured, power, ratio, times

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = re.compile(r"(<!-- measured: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
FIRST = ("ceilings", "stream")  # the order of programs: these, then by name
# Programs with more cases than the list of all cases bears, and where they are.
OWN_PAGES = {"memory_modes": "memory_modes.md", "miniapp_modes": "#the-mini-apps"}


class Results:
    """What lies in a folder of results."""

    def __init__(self, folder):
        self.book = targets.load()
        self.tests = {machine: self.read_tests(folder, machine) for machine in ("h200", "host")}
        # Races on all of 16 processors: beside Kokkos only.
        self.host16 = self.read_tests(folder, "host16")
        # Races with Kokkos whose programs were measured again where it was not.
        self.with_kokkos = {machine: self.read_tests(folder / "kokkos", machine) for machine in self.tests}
        # What has a page of its own may have been measured on another GPU since: it counts neither here nor there.
        newer = [test for test in self.read_tests(folder, "h100") if test["program"] in OWN_PAGES]
        dates = {test["program"]: test["date"] for test in newer}
        self.tests["h200"] = [test for test in self.tests["h200"] if test["date"] >= dates.get(test["program"], "")]
        here = {test["program"] for test in self.tests["h200"]}
        self.elsewhere = [test for test in newer if test["program"] not in here]
        self.sweeps = [sweeps.read(path) for machine in ("h200", "host")
                       for path in sorted(folder.glob(f"{machine}_*_sweep.csv"))]

    @staticmethod
    def read_tests(folder, machine):
        found = [report.read(path) for path in folder.glob(f"{machine}_*.json")]
        return sorted(found, key=rank)


def rank(test):
    name = test["program"]
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def bounds_missed(verdicts, *measures):
    return [v.bound for v in verdicts if not v.met and v.measure in measures]


def mark(verdicts):
    return "" if not verdicts else "met" if all(v.met for v in verdicts) else "**missed**"


def where_when(test):
    machine = test["machine"]
    place = ", ".join(sweeps.tidy(str(machine[key])) for key in ("gpu", "cpu") if machine.get(key))
    return f"{place}, {machine.get('processors', '?')} processors; {test['date'][:10]}, commit {test['commit'][:7]}."


def program_section(book, machine, test):
    """A program's cases. Devices have a column where there are several."""
    if test["program"] in OWN_PAGES:
        return [f"**{test['program']}**: {where_when(test)} [Figures and tables]({OWN_PAGES[test['program']]}).", ""]
    judged = targets.judged(book, machine, test)
    shown = ["case"] + ["device"] * (len({case["device"] for case, _ in judged}) > 1) + ["type", "n"]
    head = shown + ["measured", "of ceiling", "of baseline", "target", ""]
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join("---:" if name in ("n", "measured", "of ceiling", "of baseline") else "---" for name in head) + "|"]
    for case, verdicts in judged:
        name = re.sub(r": .*", "", case["case"]) if test["program"] == "ceilings" else case["case"]
        values = {**case, "case": name, "n": counted(case["n"])}
        cells = [values[key] for key in shown] + [
            measured(case["value"], case["unit"],
                     bounds_missed(verdicts, "value_at_least", "value_at_most", "over_baseline", "of_case", "over_case")),
            ratio(case["fraction_of_ceiling"], bounds_missed(verdicts, "of_ceiling", "over_ceiling")),
            ratio(case["baseline_ratio"], bounds_missed(verdicts, "of_baseline")),
            "; ".join(v.target for v in verdicts), mark(verdicts)]
        lines.append("| " + " | ".join(cells) + " |")
    baseline = re.sub(r" (of the line below|that the line names)$", "", test.get("baseline", ""))  # the file has those lines
    about = where_when(test) + (f" Baseline: {baseline}." if baseline else "")
    return [f"<details><summary><b>{test['program']}</b></summary>", "", about, ""] + \
        lines + ["", "</details>", ""]


def tables(results, machine):
    tests = results.tests[machine] + (results.elsewhere if machine == "h200" else [])
    return [line for test in tests for line in program_section(results.book, machine, test)]


def overview(results, machine):
    """A line for each program: its targets, and how its cases stand to their baselines."""
    lines = ["| program | targets | met | cases with a baseline | at 0.98 of it or above | median | least |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for test in results.tests[machine]:
        judged = targets.judged(results.book, machine, test)
        found = [v for _, verdicts in judged for v in verdicts]
        ratios = [case["baseline_ratio"] for case, _ in judged if case["baseline_ratio"] and case["device"] != "Emulated"]
        if found or ratios:
            share = [str(sum(r >= 0.98 for r in ratios))] + [ratio(r, [0.98] if r < 0.98 else [])
                                                             for r in (statistics.median(ratios), min(ratios))] \
                if ratios else ["", "", ""]
            lines.append(f"| {test['program']} | {len(found)} | {sum(v.met for v in found)} | {len(ratios) or ''} | "
                         + " | ".join(share) + " |")
    return lines + [""] if len(lines) > 2 else []


def missed(results, machine):
    """Counts, then what was missed: grouped by its reason, then by case and target."""
    groups, met, all_of_them = {}, 0, 0
    for test in results.tests[machine]:
        for case, verdicts in targets.judged(results.book, machine, test):
            for v in verdicts:
                all_of_them, met = all_of_them + 1, met + v.met
                if not v.met:
                    why = targets.reason(results.book, machine, test["program"], case, v.measure)
                    of_case = groups.setdefault((test["program"], why), {})
                    who = " ".join(text for text in (case["device"] if machine == "host" else "", case["type"]) if text != "-")
                    of_case.setdefault((case["case"], case["n"], v.target), []).append((who + " " + miss(case, v)).strip())
    if not all_of_them:
        return []
    lines = [f"{met} of {all_of_them} targets are met." + (" Missed are:" if met < all_of_them else ""), ""]
    for (program, why), cases in groups.items():
        lines.append(f"- **{program}.** {why or 'The reason is not known.'}")
        lines += [f"  - `{name}`, n = {counted(n)}: {', '.join(found)} ({target})" for (name, n, target), found in cases.items()]
    return lines + [""]


def miss(case, v):
    """What was measured, in the words of the target."""
    if v.measure == "near_ceiling":
        return f"{case['fraction_of_ceiling']:.3f}"
    if v.measure in ("of_ceiling", "over_ceiling"):
        return ratio(case["fraction_of_ceiling"], [v.bound])
    if v.measure == "of_baseline":
        return ratio(case["baseline_ratio"], [v.bound])
    if v.measure == "over_baseline":
        return f"{measured(case['value'], case['unit'])} against {measured(targets.by_hand(case), case['unit'])}"
    if v.measure == "of_competitor":
        name = v.target.rsplit(" ", 1)[1]
        other = next(r for who, r in case["competitors"] if who.startswith(name))
        return ratio(case["value"] / other["value"], [v.bound])
    return measured(case["value"], case["unit"], [v.bound])


# ------------------------------------------------------------------------------------------------ memory modes


def memory_modes_of_miniapps(results):
    """The mini-apps in every memory mode: a line for each figure of theirs, a column for each mode."""
    lines = []
    for tests in (*results.tests.values(), results.elsewhere):
        for test in (test for test in tests if test["program"] == "miniapp_modes"):
            cases = [(*case["case"].rsplit(", ", 1), case) for case in test["results"]]
            modes = list(dict.fromkeys(mode for _, mode, _ in cases))
            lines += [f"{where_when(test)} {'All modes have the same bits.' if test['correct'] else '**Bits differ.**'} In brackets "
                      "times as fast as smart.", "", "| rate | elements | " + " | ".join(modes) + " |",
                      "|---|---:|" + "---:|" * len(modes)]
            for name in dict.fromkeys(name for name, *_ in cases):
                row = {mode: case for of, mode, case in cases if of == name}
                unit = next(iter(row.values()))["unit"]
                cells = [power(row[mode]["value"]) + (f" ({ratio(row[mode]['baseline_ratio'])})" if row[mode]["baseline_ratio"] else "")
                         if mode in row else "" for mode in modes]
                lines.append(f"| {name}, {unit} | {counted(next(iter(row.values()))['n'])} | " + " | ".join(cells) + " |")
            lines.append("")
    return lines


# ------------------------------------------------------------------------------------------------------ sweeps


def sweep_rows(results):
    """What the rows of the sweeps say to the targets of the mini-apps: the largest size in the bounds counts.
    (rule, what, point, measured, target, whether it is met)"""
    rows = []
    for rule in results.book["sweeps"]:
        low, high = rule["elements"]
        points = [p for p in sweeps.points_of(results.sweeps, rule["program"])
                  if re.fullmatch(rule["device"], p.device) and p.type == rule["type"] and low <= p.elements <= high
                  and p.kernels == rule.get("kernels", p.kernels)]
        for p in {(q.who, q.kernels): q for q in sorted(points, key=lambda q: q.elements)}.values():
            if "step_at_most" in rule:
                value, limit = p.numbers["us_per_step"], rule["step_at_most"]
                met = value <= limit
                text, target = measured(value, "us", [] if met else [limit]), f"≤ {limit} µs"
            else:
                value = figures.both(p) if rule["program"] == "thermal" else p.numbers["element_steps_per_second"]
                limit = rule["rate_at_least"]
                met = value >= limit
                text, target = f"{power(value, [] if met else [limit])} /s", f"≥ {power(limit)} /s"
            kernels = f", {p.kernels}" if p.kernels and "kernels" not in rule else ""
            rows.append((rule, rule["what"] + kernels, p, text, target, met))
    return rows


def sweep_targets(results):
    rows = sweep_rows(results)
    if not rows:
        return []
    lines = [f"| {what} | {p.who} | {counted(p.elements)} | {text} | {target} | {'met' if met else '**missed**'} |"
             for _, what, p, text, target, met in rows]
    reasons = ["- **{}**, {}: {}".format(*rule["what"].split(", ", 1), rule.get("why", "the reason is not known."))
               for rule, *_, met in rows if not met]
    return ["| double | device | elements | measured | target | |", "|---|---|---:|---:|---|---|"] + lines + [""] + \
        (["Missed are:", ""] + list(dict.fromkeys(reasons)) + [""] if reasons else [])


def sweep_figures(results, pictures, page):
    lines = []
    for number in figures.CAPTIONS:
        data = figures.data_of(number, results.sweeps)
        if data:
            lines += figures.section(number, data, (pictures / f"figure_{number}.png").relative_to(page.parent))
    if lines:
        runs = [f"`{s.path.name}`" + "".join(f", {text}" for text in (s.place.date[:10], s.place.commit[:7] and
                                                                     f"commit {s.place.commit[:7]}") if text)
                for s in results.sweeps]
        lines += ["Measured: " + "; ".join(runs) + ".", ""]
    return lines


# ----------------------------------------------------------------------------------------------------- summary


def summary(results):
    """The page in five lines."""
    places = {"h200": "the H200", "host": "a host"}
    lines, counts = [], []
    for machine, place in places.items():
        judged = [(test["program"], case, verdicts) for test in results.tests[machine]
                  for case, verdicts in targets.judged(results.book, machine, test)]
        found = [v for *_, verdicts in judged for v in verdicts]
        if found:
            counts.append(f"{sum(v.met for v in found)} of {len(found)} on {place}")
        if machine == "h200":
            compared = sorted(((case["baseline_ratio"], program, case) for program, case, _ in judged
                               if case["baseline_ratio"] and case["device"] != "Emulated"), key=lambda entry: entry[0])
    if counts:
        lines.append(f"- [Targets](#targets-missed): {', '.join(counts)} are met.")
    if compared:
        ratios = [r for r, *_ in compared]
        worst = "; ".join(f"{program}, `{case['case']}`, n = {counted(case['n'])}, {case['type']}: {ratio(r)}"
                          for r, program, case in compared[:3])
        lines += [f"- [Against code by hand, or the library to beat](#one-nvidia-h200), on the H200: the median of {len(ratios)} "
                  f"cases is {ratio(statistics.median(ratios))} of the baseline; {sum(r >= 0.98 for r in ratios)} reach 0.98.",
                  f"- [Worst](#every-case) of them: {worst}."]
    for machine, place in {"h200": "the H200", "host16": "16 processors of a host"}.items():
        races = sorted(kokkos.speed(case, other) for where, _, case, _, other in kokkos.races(results) if where == machine)
        if races:
            lines.append(f"- [Against Kokkos](#kokkos), in {len(races)} races on {place}: {times(statistics.median(races))} times as "
                         f"fast in the median, {times(races[0])} at least, {times(races[-1])} at most.")
    rows = sweep_rows(results)
    if rows:
        told = "; ".join(f"{what}: {text}" for rule, what, _, text, *_ in rows if "rate_at_least" in rule)
        lines.append(f"- [Mini-apps](#the-mini-apps), in double: {sum(row[-1] for row in rows)} of {len(rows)} targets are met"
                     f"{'; ' + told if told else ''}.")
    lines += streaming.summary(results)
    return lines + [""] if lines else []


# -------------------------------------------------------------------------------------------------------- page


def blocks(results, pictures, page):
    """What stands between the marks, by name."""
    return {
        "summary": summary(results),
        "h200-overview": overview(results, "h200"),
        "h200-missed": missed(results, "h200"),
        "h200": tables(results, "h200"),
        "host-overview": overview(results, "host"),
        "host-missed": missed(results, "host"),
        "host": tables(results, "host"),
        "kokkos-race": kokkos.raced(results),
        "kokkos-quoted": kokkos.quoted(results),
        "miniapps": sweep_targets(results),
        "miniapp-modes": memory_modes_of_miniapps(results),
        "figures": sweep_figures(results, pictures, page),
        "streaming": streaming.block(results, pictures, page),
    }


def filled(text, contents, path):
    unknown = [name for _, name, _, _ in MARK.findall(text) if name not in contents]
    lacking = [name for name in contents if f"<!-- measured: {name} -->" not in text]
    if unknown or lacking:
        sys.exit(f"performance.py: {path}: marks without contents: {', '.join(unknown) or 'none'}; contents without "
                 f"`<!-- measured: NAME -->`: {', '.join(lacking) or 'none'}")
    return MARK.sub(lambda m: m[1] + "".join(f"{line}\n" for line in ["", *contents[m[2]]] if contents[m[2]]) + m[4], text)


def stale_pictures(results, pictures):
    stale = []
    for number in figures.CAPTIONS:
        data, path = figures.data_of(number, results.sweeps), pictures / f"figure_{number}.png"
        if data and (not path.exists() or figures.digest_in(path) != figures.digest(data)):
            stale.append(path.name)
    return stale


def check(page, text, fresh, results, pictures):
    faults = stale_pictures(results, pictures) + streaming.stale(results, pictures)
    if text != fresh:
        old, new = text.splitlines(), fresh.splitlines()
        at = next((k for k, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        line = old[at] if at < len(old) else "(nothing)"
        faults.insert(0, f"{page.name}, line {at + 1}: {line[:100]}")
    if faults:
        sys.exit(f"performance.py: not as the results say: {'; '.join(faults)}. Run perf_tests/report/performance.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "perf_tests/results", metavar="DIR")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/performance.md", metavar="FILE")
    options = parser.parse_args()
    page = options.page.resolve()
    pictures = page.parent / "pictures"
    try:
        results = Results(options.results)
        text = page.read_text(encoding="utf-8")
        fresh = filled(text, blocks(results, pictures, page), page)
        if options.check:
            check(page, text, fresh, results, pictures)
            return
        if stale_pictures(results, pictures):
            pictures.mkdir(exist_ok=True)
            figures.write(pictures, results.sweeps, figures.import_pyplot())
        if streaming.stale(results, pictures):
            pictures.mkdir(exist_ok=True)
            streaming.write(results, pictures, figures.import_pyplot())
        page.write_text(fresh, encoding="utf-8")
    except sweeps.SweepError as error:
        sys.exit(f"performance.py: {error}")
    print(page)


if __name__ == "__main__":
    main()
