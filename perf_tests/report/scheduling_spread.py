# SPDX-License-Identifier: Apache-2.0
"""How far simulated figures vary with what the study did not fix: whether a figure of its single runs lies among ours. For
simulate_schedules --spread, which runs them, and scheduling.py."""
import scheduling_runs as runs
from scheduling_runs import GIB

NAMES = {"cholesky": "Cholesky", "lu": "LU"}
MOST = 0.1  # difference of a row that is met
WINDOWS = range(5, 16)  # tasks in the buffer of darts; the study's is ten, its figures are given for 5 to 15
# Beside the windows: factors of the machine's rates, the seconds of latency, and jitter in percent by seed.
RATES = ({"link": 0.98}, {"link": 1.02}, {"kernels": 0.98}, {"kernels": 1.02}, {"latency": 0.0}, {"latency": 2e-5})
VARIATIONS = [*RATES, *[{"jitter": 2, "seed": seed} for seed in range(1, 6)]]
# Of a row of the study: where its figure is, what it is called, ours.
FIGURES = ((6, "GiB loaded", lambda r: r["bytes_to_devices"] / GIB), (7, "GiB stored", lambda r: r["bytes_from_devices"] / GIB),
           (8, "GiB between GPUs", lambda r: r["bytes_between_devices"] / GIB), (9, "seconds", lambda r: r["seconds"]))


def is_met(value, reference):
    return abs(value / reference - 1) <= MOST + 1e-9


def is_of_table_1(row):
    """The rows of darts that are given for windows of 5 to 15 tasks."""
    return row[1].startswith("darts") and row[3:5] == (60, 1)


def figures_of(row, record):
    """Of a row: (name, the study's figure, function of a record) of what is missed; of Table 1's darts what is loaded too."""
    return [(name, row[at], value) for at, name, value in FIGURES if row[at] is not None and
            (not is_met(value(record), row[at]) or (is_of_table_1(row) and at == 6))]


def varied_rows(records):
    """[(row, its record)] of the study's rows that are missed, and of Table 1's darts."""
    known = {runs.key_of(record): record for record in records if "positions" not in record}
    rows = [(row, known.get(runs.key_of(runs.run_of(row)))) for row in runs.STUDY]
    return [(row, record) for row, record in rows if record and figures_of(row, record)]


def wanted_runs(records):
    """All runs, each with its `variation`; the first of a row is the one as stated."""
    wanted = []
    for row, _ in varied_rows(records):
        windows = [{"window": window} for window in WINDOWS] if row[1].startswith("darts") else []
        wanted += [{**runs.run_of(row), "variation": variation} for variation in ({}, *windows, *VARIATIONS)]
    return wanted


def spread_key(record):
    return runs.key_of(record), tuple(sorted(record["variation"].items()))


def machine_of(content, variation):
    """A machine file's content with other rates."""
    link, kernels = variation.get("link", 1), variation.get("kernels", 1)
    devices = [{**device, "rates": {name: kernels * rate for name, rate in device["rates"].items()}} for device in content["devices"]]
    links = [{**entry, "bytes_per_second": link * entry["bytes_per_second"], "latency": variation.get("latency", entry["latency"])}
             for entry in content["links"]]
    return {**content, "devices": devices, "links": links}


def options_of(variation):
    """Further options of strata-simulate."""
    names = {"window": "--tasks-ahead", "jitter": "--jitter", "seed": "--seed"}
    return [text for name, value in variation.items() if name in names for text in (names[name], str(value))]


# Of the model of StarPU's requests (perf_tests/starpu/request_model.cpp): percent of the copies that are kept clean, and of its rows
# that the schedulers here miss what makes the difference, each with its options, of the program or of the machine (machine_of).
CLEAN = (5, 0)
MODELLED = ("lws", "eager-prefetch", "dmda", "dmdas", "darts")
CORES = tuple({"cores": cores} for cores in (1, 2, 3, 4, 5, 6, 7))  # of the computer on which StarPU ran
REASONS = {
    ("dmdas", 60, 8): ({}, {"expects-sharing": 0}, *RATES),
    ("lws", 20, 8): ({}, *CORES),
    ("lws", 30, 8): ({}, *CORES),
    ("lws", 40, 8): ({}, *CORES),
    ("darts", 20, 1): (*({"window": window} for window in (2, 5, 6, 8, 10, 12, 15, 20, 30)),
                       *({"window": window, **rate} for window in (3, 5) for rate in RATES)),
    ("darts", 60, 8): (*({"window": window} for window in (5, 10, 15)), {"window": 10, "expects-sharing": 0},
                       {"window": 10, "returns-planned-uses": 1}),
}


def modelled_rows():
    """The study's rows by schedulers that the model has."""
    return [row for row in runs.STUDY if row[1] in MODELLED and row[5] == "2000 MiB"]


def cleans_of(row):
    """darts runs with no share kept clean, as StarPU's documentation has it."""
    return (0,) if row[1] == "darts" else CLEAN


def wanted_models():
    plain = [{**runs.run_of(row), "clean_percent": clean, "options": {}} for row in modelled_rows() for clean in cleans_of(row)]
    varied = [{**runs.run_of(row), "clean_percent": cleans_of(row)[0], "options": options} for row in modelled_rows()
              if row[0] == "cholesky" for options in REASONS.get((row[1], row[3], row[4]), ()) if options]
    return plain + varied


def program_options(options):
    """Those of the program; the others are of the machine."""
    return {name: value for name, value in options.items() if name not in ("link", "kernels", "latency")}


def model_key(record):
    return (runs.key_of(record), record["clean_percent"], tuple(sorted(record["options"].items())))


def named(row):
    return f"`{row[1]}`" + (", priorities of PaRSEC" if row[2] == "parsec" else "")


def model_table(records, models, against, plain):
    """The study's rows beside the model, and beside the schedulers of strata-simulate."""
    known = {runs.key_of(record): record for record in records if "positions" not in record}
    by_key = {model_key(model): model for model in models}
    lines = ["| | scheduler | tiles | GPUs | figure | study | model, 5 % kept clean | | none | | `strata-simulate` | |",
             "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|"]
    for row in modelled_rows():
        key = runs.key_of(runs.run_of(row))
        ours = [by_key.get((key, clean, ())) for clean in CLEAN] + [known.get(key)]
        if not any(ours[:2]) or ours[2] is None:
            continue
        for at, name, value in FIGURES:
            if row[at] is None:
                continue
            cells = [NAMES[row[0]], named(row), str(row[3]), str(row[4]), name, plain(row[at])]
            for one in ours:
                cells += [plain(value(one)), against(value(one), row[at])[1]] if one else ["", ""]
            lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def reason_table(models, against, plain):
    """What the model's options change in the rows that the schedulers here miss."""
    by_key = {model_key(model): model for model in models}
    lines = ["| scheduler | tiles | GPUs | options | GiB loaded: model / study | | GiB stored | | GiB between GPUs | | seconds | |",
             "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in modelled_rows():
        for options in REASONS.get((row[1], row[3], row[4]), ()) if row[0] == "cholesky" else ():
            model = by_key.get((runs.key_of(runs.run_of(row)), cleans_of(row)[0], tuple(sorted(options.items()))))
            if model is None:
                continue
            text = ", ".join(f"`{name}={value}`" for name, value in options.items())
            cells = [named(row), str(row[3]), str(row[4]), text]
            for at, _, value in FIGURES:
                cells += [f"{plain(value(model))} / {plain(row[at])}", against(value(model), row[at])[1]] if row[at] is not None else ["", ""]
            lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def table(records, spread, plain):
    """Where the study's figures lie among ours; `plain` writes a number."""
    by_row = {}
    for record in spread:
        by_row.setdefault(runs.key_of(record), []).append(record)
    lines = ["| | scheduler | tiles | GPUs | figure | study | here | runs | least | median | most | the study's |",
             "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---|"]
    for row, record in varied_rows(records):
        same = by_row.get(runs.key_of(record), [])
        for name, study, value in figures_of(row, record) if same else ():
            values = [value(one) for one in same]
            where = "among them" if min(values) <= study <= max(values) else "beyond all"
            if where == "beyond all" and any(is_met(one, study) for one in values):
                where = "within 10 % of some"
            cells = [NAMES[row[0]], f"`{row[1]}`", str(row[3]), str(row[4]), name, plain(study),
                     plain(value(record)), str(len(values)), plain(min(values)), plain(median(values)), plain(max(values)), where]
            lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]
