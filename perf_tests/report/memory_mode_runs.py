# SPDX-License-Identifier: Apache-2.0
"""What strata_memory_modes wrote, as memory_modes.py shows it: curves by size, and a timeline for each mode."""
import json
import re

PATTERNS = ("full", "partial", "multikernel")
MODES = ("smart", "pinned", "managed", "mapped", "explicit", "explicit-pinned", "implicit")
CAPTIONS = {
    1: "Full: the host fills an array, a kernel changes it, the host checks it",
    2: "Partial: a kernel computes an array from two, the host checks it",
    3: "Multikernel: two kernels in turn change an array, the host checks it",
    4: "Full, by hand in CUDA C++",
    5: "Calls of the full pattern, by memory mode",
}
BYTES = {"float": 4, "double": 8}
WHOLE = "from the first call to the results"  # the region around the calls of a trace


class ResultError(Exception):
    """Files that are not as strata_memory_modes writes them."""


def size_of(value):
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= limit:
            return f"{value / limit:g} {unit}"
    return f"{value:g} B"


def bytes_of(case):
    return case["n"] * BYTES[case["type"]]


def of_one_device(test):
    """The results of one device only: the GPU, where there is one."""
    devices = list(dict.fromkeys(case["device"] for case in test["results"]))
    chosen = "Cuda" if "Cuda" in devices else devices[0]
    return {**test, "results": [case for case in test["results"] if case["device"] == chosen]}


def case_of(test, name, size):
    return next((case for case in test["results"] if case["case"] == name and bytes_of(case) == size), None)


def curve(test, name):
    """[(bytes of an array, seconds)] of the first type that was measured."""
    found = [case for case in test["results"] if case["case"] == name]
    return sorted((bytes_of(case), case["seconds_median"]) for case in found if case["type"] == found[0]["type"])


def panels(test, pattern, lines):
    """[(title, {line: points})]; `lines`: line -> the rest of the case's name."""
    both = []
    for title, prefix in (("until the host has the results", pattern), ("until it has checked them", f"{pattern}, verified")):
        series = {line: curve(test, f"{prefix}, {rest}") for line, rest in lines.items()}
        series = {line: points for line, points in series.items() if points}
        if series:
            both.append((title, series))
    return both


def by_hand(test):
    """Line -> the rest of the case's name, of what was done by hand."""
    pattern = re.compile(r"full, ([\w-]+, by hand: (.+))")
    matches = [pattern.fullmatch(case["case"]) for case in test["results"]]
    return {match[2]: match[1] for match in matches if match}


def reads(test):
    """[(times read, seconds of pinned, of mapped)]"""
    found = {}
    for case in test["results"]:
        if match := re.fullmatch(r"read (\d+) times, (pinned|mapped)", case["case"]):
            found.setdefault(int(match[1]), {})[match[2]] = case["seconds_median"]
    return [(count, both["pinned"], both["mapped"]) for count, both in sorted(found.items()) if len(both) == 2]


# ------------------------------------------------------------------------------------------------------ traces


def kind_of(event):
    """What a span of a trace is in figure 5; nothing: it is not in it."""
    category, name = event.get("cat", ""), event["name"]
    if category == "region" and name.startswith("prefetch"):
        return "prefetch"
    if category == "copy":
        to = event["args"].get("to", "")
        return "copy to the device" if re.fullmatch(r"(Cuda|Emulated)\{\d+\}", to) else "copy to the host"
    return "kernel" if category in ("for", "reduce", "scan", "graph") else None


def spans_of(events, name):
    """(microseconds of all, [(kind, begin, end)]) of a trace."""
    whole = next((event for event in events if event.get("ph") == "X" and event["name"] == WHOLE), None)
    if whole is None:
        raise ResultError(f"{name}: has no region \"{WHOLE}\"; is it a trace of strata_memory_modes?")
    spans = []
    for event in events:
        if event.get("ph") != "X" or kind_of(event) is None:
            continue
        begin = event["ts"] - whole["ts"]
        if 0 <= begin <= whole["dur"]:
            spans.append((kind_of(event), round(begin, 3), round(begin + event["dur"], 3)))
    return whole["dur"], sorted(spans, key=lambda span: span[1])


def read_traces(folder):
    """{mode: its spans}, of the modes that have a trace."""
    found = {}
    for mode in MODES:
        path = folder / f"memory_modes_{mode}.json"
        if path.exists():
            found[mode] = spans_of(json.loads(path.read_text(encoding="utf-8")), path.name)
    return found


def data_of(test, traces):
    """{number of a figure: what it shows}, of those for which there are results."""
    data = {}
    for number, pattern in enumerate(PATTERNS, 1):
        data[number] = panels(test, pattern, {mode: mode for mode in MODES})
    data[4] = panels(test, "full", by_hand(test))
    data[5] = traces
    return {number: shown for number, shown in data.items() if shown}
