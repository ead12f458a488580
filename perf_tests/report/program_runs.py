# SPDX-License-Identifier: Apache-2.0
"""Runs of the mini-apps, and reports of them in the form of the performance tests."""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import tempfile


class RunError(Exception):
    """A run that failed, and what it said."""


def run(command, limit=None):
    """The report of one run as a dictionary."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        full = [*map(str, command), "--quiet", "--json", str(path)]
        try:
            done = subprocess.run(full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            raise RunError(f"{' '.join(full)} took more than {limit} s") from None
        if done.returncode != 0 or not path.exists():
            raise RunError(f"{' '.join(full)} failed ({done.returncode}):\n{done.stdout[-2000:]}")
        return json.loads(path.read_text(encoding="utf-8"))


def results_of(report):
    return {r["name"]: r["value"] for r in report["runs"][0]["results"]}


def figure_of(report, name):
    return next(f for f in report["runs"][0]["figures"] if f["name"] == name)


def row(report, case, figure, seconds, n, ratio, **changes):
    """A line of a report: `figure` of one run."""
    ran = report["runs"][0]
    return {"baseline_ratio": ratio, "case": case, "ceiling": None, "device": ran["device"], "fraction_of_ceiling": None, "n": n,
            "seconds_median": seconds, "seconds_min": seconds, "seconds_p90": seconds, "type": ran["type"],
            "unit": figure["unit"], "value": figure["value"], **changes}


def machine():
    gpus = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False) if shutil.which("nvidia-smi") else None
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), "")
    found = {"cpu": cpu, "processors": len(os.sched_getaffinity(0))}
    if gpus is not None and gpus.stdout.strip():
        found["gpu"] = gpus.stdout.splitlines()[0].strip()
        found["gpus"] = len(gpus.stdout.splitlines())
    return found


def save(path, program, baseline, commit, rows, wrong, notes=()):
    out = {"baseline": baseline, "commit": commit, "correct": not wrong,
           "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "machine": machine(),
           "notes": [*notes, *wrong], "program": program}
    lines = [f" {json.dumps(k)}: {json.dumps(v)}," for k, v in out.items()]
    rows = ",\n".join(f"  {json.dumps(r)}" for r in rows)
    pathlib.Path(path).write_text("{\n" + "\n".join(lines) + f'\n "results": [\n{rows}\n ]\n}}\n', encoding="utf-8")
