#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of report.py on the committed results; matplotlib is not needed."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# ci_weight.json is about compilations (tools/ci_weight), the schedules about machines that are only described.
OTHERS = ("ci_weight.json", "drawn_schedules.json")
RESULTS = sorted(path for path in (HERE.parent / "results").glob("*.json")
                 if path.name not in OTHERS and not path.name.startswith("simulated_"))


def report(*arguments):
    return subprocess.run([sys.executable, str(HERE / "report.py"), *map(str, arguments)], capture_output=True,
                          text=True, encoding="utf-8", check=False, env={"PYTHONUTF8": "1"})


class Report(unittest.TestCase):
    def test_page_has_a_section_for_each_file_and_a_row_for_each_case(self):
        done = report(*RESULTS)

        self.assertEqual(done.returncode, 0, done.stderr)
        expected = [r["case"] for path in RESULTS for r in json.loads(path.read_text())["results"]]
        rows = [line.split(" | ")[0][2:] for line in done.stdout.splitlines() if line.startswith("| ")]
        self.assertGreater(len(expected), 0)
        self.assertEqual([case for case in rows if case != "case"], expected)
        self.assertEqual(done.stdout.count("\n## "), len(RESULTS))

    def test_competitors_do_not_count_as_slow_cases_of_their_own(self):
        case = {"device": "Cuda", "n": 8, "type": "double", "seconds_median": 1e-3, "seconds_min": 1e-3,
                "seconds_p90": 1e-3, "value": 2.0, "unit": "GB/s", "ceiling": None, "fraction_of_ceiling": None}
        results = [{**case, "case": "copy", "baseline_ratio": 0.5},
                   {**case, "case": "copy, by hand: simd", "baseline_ratio": None},
                   {**case, "case": "copy, Kokkos", "baseline_ratio": 0.1}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "made_up.json"
            path.write_text(json.dumps({"program": "made_up", "date": "-", "commit": "-", "machine": {"cpu": "-"},
                                        "results": results}))
            done = report("--no-plots", "--output", folder, path)
            page = (pathlib.Path(folder) / "report.md").read_text() if done.returncode == 0 else ""

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- 0.50: made_up, copy, Cuda, double, n = 8\n", page)
        self.assertNotIn("- 0.10", page)

    def test_a_file_that_is_no_report_is_named_with_what_it_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "other.json"
            path.write_text('{"program": "other"}')
            done = report(path)

        self.assertNotEqual(done.returncode, 0)
        self.assertIn("other.json", done.stderr)
        self.assertIn("results", done.stderr)


if __name__ == "__main__":
    unittest.main()
