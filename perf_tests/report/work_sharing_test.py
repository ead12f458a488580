#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of work_sharing.py; where results are committed, its picture must show them."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import targets
import work_sharing

HERE = pathlib.Path(__file__).resolve().parent


def case(name, n=5922, seconds=1e-4, **changes):
    plain = {"case": name, "device": "Cuda", "type": "float", "n": n, "seconds_median": seconds, "seconds_min": seconds,
             "seconds_p90": seconds, "value": seconds * 1e6, "unit": "us", "ceiling": None, "fraction_of_ceiling": None,
             "baseline_ratio": None}
    return {**plain, **changes}


def test_of(*results):
    return {"program": "work_sharing", "date": "2026-01-02T03:04:05Z", "commit": "0123456789ab",
            "machine": {"gpu": "G", "cpu": "C", "processors": 2}, "results": list(results)}


def run(*arguments):
    return subprocess.run([sys.executable, str(HERE / "work_sharing.py"), *map(str, arguments)], capture_output=True, text=True,
                          check=False)


class CommittedPicture(unittest.TestCase):
    @unittest.skipUnless(work_sharing.RESULTS.exists(), "no results are committed")
    def test_it_shows_the_results(self):
        done = run("--check")

        self.assertEqual(done.returncode, 0, done.stderr)


class Panels(unittest.TestCase):
    results = test_of(case("flow, dynamic, 2 threads", seconds=2e-4), case("flow, dynamic, 1 thread", seconds=1e-4),
                      case("flow, static, 1 thread", seconds=3e-4), case("flow, static, 16 threads, alpha 0.50"),
                      case("flow, static, GPU only", seconds=5e-4), case("flow, dynamic, 1 thread, over the ideal"),
                      case("flow, host only, 1 thread", n=59220, seconds=7e-3))

    def test_they_have_their_curves_by_threads_and_no_others(self):
        panels = work_sharing.data_of(self.results)

        self.assertEqual([size for size, _, _ in panels], [5922, 59220])
        self.assertEqual(panels[0][1], {"static, α = 0.01": [(1, 3e-4)], "dynamic": [(1, 1e-4), (2, 2e-4)],
                                        "static, GPU only": [(1, 5e-4), (2, 5e-4)]})
        self.assertEqual(panels[1][1], {"host only": [(1, 7e-3)]})

    def test_shares_are_those_of_most_threads_beside_the_dynamic_fit(self):
        _, _, by_share = work_sharing.data_of(test_of(
            case("flow, dynamic, 16 threads", seconds=1e-4), case("flow, static, 16 threads, alpha 0.50", seconds=5e-4),
            case("flow, static, 16 threads, alpha 0.00", seconds=2e-4), case("flow, static, 2 threads, alpha 0.50")))[0]

        self.assertEqual(by_share, {"static, 16 threads": [(0.0, 2e-4), (0.5, 5e-4)],
                                    "dynamic, 16 threads": [(0, 1e-4), (1, 1e-4)]})

    def test_a_table_has_a_column_for_each_number_of_threads(self):
        lines = work_sharing.table(work_sharing.data_of(self.results))

        self.assertEqual(lines[0], "| 5922 vectors | 1 | 2 |")
        self.assertIn("static, α = 0.01", lines[2])
        self.assertTrue(lines[2].endswith("|  |"), "static was not measured with 2 threads")

    def test_results_without_fits_are_an_error(self):
        with self.assertRaises(work_sharing.ResultError):
            work_sharing.data_of(test_of(case("claim, one thread")))


class Picture(unittest.TestCase):
    def test_it_is_drawn_and_stale_when_the_results_change(self):
        try:
            import matplotlib  # noqa: F401  pylint: disable=unused-import,import-outside-toplevel
        except ImportError:
            self.skipTest("no matplotlib")
        with tempfile.TemporaryDirectory() as folder:
            results, picture = pathlib.Path(folder, "r.json"), pathlib.Path(folder, "p.png")
            results.write_text(json.dumps(Panels.results))
            self.assertEqual(run("--results", results, "--picture", picture).returncode, 0)
            self.assertEqual(run("--results", results, "--picture", picture, "--check").returncode, 0)
            results.write_text(json.dumps(test_of(case("flow, dynamic, 1 thread", seconds=9e-4))))
            done = run("--results", results, "--picture", picture, "--check")

        self.assertNotEqual(done.returncode, 0)
        self.assertIn("does not show the results", done.stderr)

    def test_missing_results_say_what_writes_them(self):
        done = run("--results", "/nowhere.json")

        self.assertNotEqual(done.returncode, 0)
        self.assertIn("strata_work_sharing --device Cuda --json FILE", done.stderr)


class Targets(unittest.TestCase):
    def verdicts(self, *cases):
        return {c["case"]: [v.met for v in verdicts]
                for c, verdicts in targets.judged(targets.load(), "h200", test_of(*cases))}

    def test_they_can_be_met_and_missed(self):
        good = self.verdicts(case("flow, dynamic, 4 threads, over the better alone", value=1.04, unit="x"),
                             case("map, dynamic, over the ideal", value=1.09, unit="x"),
                             case("claim, one thread", n=1, value=1.9),
                             case("flow beside the suite's, dynamic, GPU only", baseline_ratio=1.31),
                             case("flow, dynamic, GPU only", baseline_ratio=1.0))
        bad = self.verdicts(case("flow, dynamic, 4 threads, over the better alone", value=1.06, unit="x"),
                            case("map, dynamic, over the ideal", value=1.11, unit="x"),
                            case("claim, one thread", n=1, value=2.1),
                            case("flow beside the suite's, dynamic, GPU only", baseline_ratio=1.29),
                            case("flow, dynamic, GPU only", baseline_ratio=0.99))

        self.assertEqual(set(map(tuple, good.values())), {(True,)}, good)
        self.assertEqual(set(map(tuple, bad.values())), {(False,)}, bad)


if __name__ == "__main__":
    unittest.main()
