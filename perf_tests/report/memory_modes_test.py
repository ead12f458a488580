#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of memory_modes.py; where results are committed, its page and pictures must show them."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import memory_mode_runs as runs
import memory_modes
import targets

HERE = pathlib.Path(__file__).resolve().parent


def case(name, size=16 << 20, seconds=1e-3, **changes):
    plain = {"case": name, "device": "Cuda", "type": "double", "n": size // 8, "seconds_median": seconds,
             "seconds_min": seconds, "seconds_p90": seconds, "value": seconds * 1e6, "unit": "us", "ceiling": None,
             "fraction_of_ceiling": None, "baseline_ratio": None}
    return {**plain, **changes}


def test_of(*results):
    return {"program": "memory_modes", "date": "2026-01-02T03:04:05Z", "commit": "0123456789ab",
            "machine": {"gpu": "G", "cpu": "C", "processors": 2}, "results": list(results)}


def span(name, category, begin, duration, **arguments):
    return {"ph": "X", "name": name, "cat": category, "ts": begin, "dur": duration, "pid": 1, "tid": 1, "args": arguments}


def trace(*spans, begin=100.0, duration=50.0):
    return [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "threads"}}, *spans,
            span(runs.WHOLE, "region", begin, duration)]


class CommittedPage(unittest.TestCase):
    @unittest.skipUnless(memory_modes.RESULTS.exists(), "no results are committed")
    def test_page_and_pictures_show_the_results(self):
        done = subprocess.run([sys.executable, str(HERE / "memory_modes.py"), "--check"], capture_output=True, text=True,
                              check=False)

        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(memory_modes.RESULTS.exists(), "no results are committed")
    def test_every_figure_of_the_paper_is_there(self):
        test = runs.of_one_device(json.loads(memory_modes.RESULTS.read_text()))
        data = runs.data_of(test, runs.read_traces(memory_modes.TRACES))

        self.assertEqual(list(data), [1, 2, 3, 4, 5])
        self.assertEqual(list(data[5]), list(runs.MODES))


class Curves(unittest.TestCase):
    def test_a_curve_has_its_cases_by_size_and_no_others(self):
        test = test_of(case("full, smart", 8192, 2e-5), case("full, smart", 4096, 1e-5),
                       case("full, verified, smart", 4096, 3e-5), case("full, smart, by hand: pageable copies", 4096, 9e-6))

        data = runs.data_of(test, {})

        self.assertEqual(data[1], [("until the host has the results", {"smart": [(4096, 1e-5), (8192, 2e-5)]}),
                                   ("until it has checked them", {"smart": [(4096, 3e-5)]})])
        self.assertEqual(data[4], [("until the host has the results", {"pageable copies": [(4096, 9e-6)]})])
        self.assertEqual(list(data), [1, 4])

    def test_of_several_devices_the_gpu_is_shown(self):
        test = test_of(case("full, smart", device="Emulated"), case("full, smart", device="Cuda", seconds=7.0))

        self.assertEqual([c["device"] for c in runs.of_one_device(test)["results"]], ["Cuda"])


class Timeline(unittest.TestCase):
    def test_spans_are_named_by_what_they_do(self):
        events = trace(span("copy a to a", "copy", 102.0, 3.0, **{"from": "Host", "to": "Cuda{0}"}),
                       span("copy a to a", "copy", 120.0, 4.0, **{"from": "Cuda{0}", "to": "CudaPinned{0}"}),
                       span("First", "for", 110.0, 2.0, items=5), span("prefetch to the GPU", "region", 101.0, 1.0),
                       span("copy to a", "device", 105.0, 1.0), span("before", "for", 90.0, 1.0))

        whole, spans = runs.spans_of(events, "made up")

        self.assertEqual(whole, 50.0)
        self.assertEqual(spans, [("prefetch", 1.0, 2.0), ("copy to the device", 2.0, 5.0), ("kernel", 10.0, 12.0),
                                 ("copy to the host", 20.0, 24.0)])
        self.assertEqual({kind for kind, *_ in spans}, set(memory_modes.SPANS))

    def test_a_trace_of_something_else_is_refused(self):
        with self.assertRaisesRegex(runs.ResultError, "is it a trace of strata_memory_modes"):
            runs.spans_of([span("First", "for", 1.0, 2.0)], "made up")


class Targets(unittest.TestCase):
    def judged(self, *results):
        found = targets.judged(targets.load(), "h200", test_of(*results))
        return {c["case"]: {v.measure: v.met for v in verdicts} for c, verdicts in found}

    def test_large_arrays_are_held_to_two_percent_and_small_ones_to_microseconds_a_launch(self):
        large = case("full, smart", 16 << 20, 1e-3, baseline_ratio=0.97)
        small = case("partial, verified, pinned", 4096, 20e-6, baseline_ratio=0.7)  # 14 µs by hand
        two = case("multikernel, smart", 4096, 20e-6, baseline_ratio=0.6)           # 12 µs by hand, two launches

        self.assertEqual(self.judged(large, small, two), {"full, smart": {"of_baseline": False},
                                                          "partial, verified, pinned": {"over_baseline": False},
                                                          "multikernel, smart": {"over_baseline": True}})

    def test_managed_is_held_to_a_part_of_pinned(self):
        def both(name, managed, size=64 << 20):
            return (case(f"{name}, pinned", size, unit="GB/s", value=50.0),
                    case(f"{name}, managed", size, unit="GB/s", value=managed))
        found = self.judged(*both("to the device", 41.0), *both("to the host", 13.0), *both("there and back", 22.0))

        self.assertEqual(found["to the device, managed"], {"of_case": True})
        self.assertEqual(found["to the host, managed"], {"of_case": False})
        self.assertEqual(found["there and back, managed"], {"of_case": True})
        # Of what stays with the host nothing moves to it.
        self.assertEqual(self.judged(*both("to the host", 13.0, 16 << 20))["to the host, managed"], {})


class Page(unittest.TestCase):
    def test_tables_say_what_was_measured(self):
        test = test_of(case("full, verified, smart", 4096, 2e-5, baseline_ratio=0.9),
                       case("full, arrays copied, smart, in", unit="arrays", value=1.0),
                       case("full, arrays copied, smart, out", unit="arrays", value=1.0),
                       case("read 2 times, pinned", seconds=3e-3), case("read 2 times, mapped", seconds=2e-3),
                       case("full, smart", baseline_ratio=0.5))

        fresh = memory_modes.blocks(test, {}, HERE, HERE / "page.md")

        self.assertIn("| full | smart | 20 µs (0.900) |  |  |  |  |  |", fresh["times"])
        self.assertIn("| full | 1, 1 |  |  |  |  |  |  |  |", fresh["bytes"])
        self.assertIn("| 2 | 3 ms | 2 ms | mapped |", fresh["reads"])
        self.assertIn("1 of 2 targets are met. Missed are:", fresh["targets"])
        self.assertIn("| full, smart | 16 MiB | 1000 µs | 0.500 | ≥ 0.98 of baseline |", fresh["targets"])

    def test_counts_of_the_driver_stand_beside_those_of_strata(self):
        def counts(mode, size, *values):
            names = ("bytes in by Strata", "bytes in by the driver", "bytes out by Strata", "bytes out by the driver",
                     "faults of the GPU", "faults of the host")
            return [case(f"partial, {name}, {mode}", size, 0.0, unit="bytes", value=float(value)) for name, value in zip(names, values)]
        test = test_of(*counts("smart", 4096, 8192, 8192, 4096, 4096), *counts("managed", 4096, 8192, 131072, 4096, 65536, 1, 2))

        lines = memory_modes.driver_table(test)

        self.assertEqual(lines[2:4], ["| partial | smart | 4 KiB | 8,192 | 8,192 | 4,096 | 4,096 |  |",
                                      "| partial | managed | 4 KiB | 8,192 | 131,072 | 4,096 | 65,536 | 1, 2 |"])
        self.assertEqual(memory_modes.driver_table(test_of(case("full, smart"))), [])

    def test_marks_are_filled_and_unknown_ones_are_named(self):
        text = "before\n<!-- modes: reads -->\nold\n<!-- end -->\nafter\n"

        self.assertEqual(memory_modes.with_blocks(text, {"reads": ["new", ""]}),
                         "before\n<!-- modes: reads -->\n\nnew\n\n<!-- end -->\nafter\n")
        with self.assertRaisesRegex(runs.ResultError, "has the marks reads; there are times"):
            memory_modes.with_blocks(text, {"times": []})

    def test_another_run_is_drawn_where_it_is_asked_for(self):
        try:
            import matplotlib  # noqa: F401  pylint: disable=unused-import
        except ImportError:
            self.skipTest("pictures need matplotlib")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            results = [case(f"{pattern}{until}, {mode}", size, size * 1e-9) for pattern in runs.PATTERNS
                       for until in ("", ", verified") for mode in runs.MODES for size in (4096, 8192)]
            results.append(case("full, smart, by hand: pageable copies", 4096))
            (folder / "results.json").write_text(json.dumps(test_of(*results)))
            (folder / "memory_modes_smart.json").write_text(json.dumps(trace(span("First", "for", 110.0, 2.0))))
            arguments = ["--results", folder / "results.json", "--traces", folder, "--pictures", folder / "pictures"]

            def run(*more):
                return subprocess.run([sys.executable, str(HERE / "memory_modes.py"), *map(str, arguments), *more],
                                      capture_output=True, text=True, check=False)
            done = run()

            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(path.name for path in (folder / "pictures").iterdir()),
                             [f"memory_modes_{number}.png" for number in range(1, 6)])
            self.assertEqual(run("--check").returncode, 0)
            (folder / "memory_modes_smart.json").write_text(json.dumps(trace(span("First", "for", 111.0, 2.0))))
            self.assertIn("memory_modes_5.png does not show the results", run("--check").stderr)


if __name__ == "__main__":
    unittest.main()
