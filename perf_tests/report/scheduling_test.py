#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scheduling.py; docs/scheduling.md and its pictures must show what the committed results say."""
import copy
import pathlib
import tempfile
import unittest

import figures
import scheduling
import scheduling_pictures as pictures
import scheduling_runs as runs
import scheduling_spread as spread
import scheduling_sweep as sweep
import scheduling_targets as targets
import task_updates as updates


def run(**changes):
    plain = {"workload": "cholesky", "machine": "v100", "devices": 1, "memory": "2000 MiB", "tile": 1920, "tiles": 20,
             "scheduler": "darts", "priorities": "bottom-level", "seconds": 2.0, "bytes_to_devices": 3 * 2**30,
             "bytes_from_devices": 2**30, "bytes_between_devices": 0, "bound_bytes": 2**30, "memory_bytes": 2000 * 2**20,
             "work_seconds": 1.0, "host_bytes_per_second": 12e9}
    return {**plain, **changes}


def order(**changes):
    plain = {"workload": "cholesky", "machine": "v100", "devices": 1, "memory": "2000 MiB", "tile": 1920, "tiles": 40,
             "scheduler": "dmdas", "priorities": "bottom-level", "iterations": 4, "memory_bytes": 2000 * 2**20}
    count = sum(len(runs.tiles_of(40, k)) for k in range(4))
    return {**plain, "positions": list(range(count)), "on": [0] * count, **changes}


class CommittedPage(unittest.TestCase):
    def setUp(self):
        self.records = runs.read(scheduling.RESULTS)

    def test_the_page_says_what_the_results_say(self):
        text = scheduling.PAGE.read_text(encoding="utf-8")
        fresh = scheduling.blocks(self.records, scheduling.PICTURES, scheduling.PAGE)

        self.assertEqual(scheduling.with_blocks(text, fresh), text, "perf_tests/report/scheduling.py writes it anew")

    def test_every_figure_of_the_paper_is_there_and_shows_the_results(self):
        self.assertEqual(list(runs.CAPTIONS), list(range(5, 15)))
        for number in runs.CAPTIONS:
            self.assertTrue(runs.data_of(number, self.records), number)
        self.assertEqual(pictures.stale(self.records, scheduling.PICTURES), [],
                         "perf_tests/report/scheduling.py draws them anew")

    def test_the_results_have_all_runs_and_no_other_ones(self):
        wanted = [runs.key_of(entry) for entry in runs.wanted_runs() + runs.wanted_orders()]

        self.assertEqual([runs.key_of(record) for record in self.records], wanted)

    def test_the_spread_has_all_varied_runs_and_its_first_ones_are_those_as_stated(self):
        known = {runs.key_of(record): record for record in self.records}
        varied = runs.read(scheduling.SPREAD)

        self.assertEqual([(runs.key_of(record), record["variation"]) for record in varied],
                         [(runs.key_of(record), record["variation"]) for record in spread.wanted_runs(self.records)])
        for record in varied:
            if not record["variation"]:
                self.assertEqual(record["bytes_to_devices"], known[runs.key_of(record)]["bytes_to_devices"], record)

    def test_no_run_is_better_than_its_bounds(self):
        for record in self.records:
            if "positions" not in record:
                self.assertGreaterEqual(record["seconds"], record["work_seconds"] * (1 - 1e-9), record)


    def test_every_missed_target_has_a_reason_and_every_reason_a_missed_target(self):
        self.assertEqual(targets.problems(scheduling.found_rules(self.records), targets.REASONS), [])

    def test_a_result_that_becomes_worse_is_a_missed_target_without_a_reason(self):
        for changed, missed in ((dict(workload="lu", devices=4, tiles=55, scheduler="darts"), "LU, 55 tiles, four GPUs"),
                                (dict(workload="lu", machine="disk", tiles=150, scheduler="data-aware"), "CPU and disk"),
                                (dict(workload="cholesky", devices=8, tiles=60, scheduler="data-aware", memory="2000 MiB"), "eight GPUs, 60 tiles")):
            records = [{**record, "seconds": 9 * record["seconds"], "bytes_to_devices": 9 * record["bytes_to_devices"]}
                       if "positions" not in record and changed.items() <= record.items() else record for record in self.records]
            self.assertIn(missed, "\n".join(targets.problems(scheduling.found_rules(records), targets.REASONS)))

    def test_a_window_of_darts_that_loads_more_is_a_missed_target(self):
        spread_of_all = [{**r, "bytes_to_devices": 2 * r["bytes_to_devices"]} if r["scheduler"] == "darts" and r["variation"] == {"window": 7} else r
                         for r in runs.read(scheduling.SPREAD)]
        results = targets.Results(self.records, runs.read(scheduling.DRAWN), runs.read(scheduling.SWEEP), spread_of_all)

        self.assertIn("Cholesky, darts, most with 5 to 15 tasks", "\n".join(targets.problems(targets.rules(results), targets.REASONS)))

    def test_a_bus_limit_that_is_another_one_is_a_missed_target(self):
        records = [{**record, "host_bytes_per_second": 2 * record["host_bytes_per_second"]} if "positions" not in record else record
                   for record in self.records]
        self.assertIn("bus limits: 60 tiles, one GPU", "\n".join(targets.problems(scheduling.found_rules(records), targets.REASONS)))

    def test_the_sweep_has_all_points_and_the_others_where_the_bound_says_too_little(self):
        records = runs.read(scheduling.SWEEP)
        own = sweep.wanted_points()

        self.assertEqual([sweep.key_of(record) for record in records],
                         [sweep.key_of(entry) for entry in own + sweep.wanted_others(records)])


class Targets(unittest.TestCase):
    def test_a_reason_of_what_is_met_is_a_problem(self):
        rule = targets.Rule("what", "at most 2", [targets.at_most("one", 1, 2), targets.at_most("other", 3, 2)])

        self.assertEqual(targets.problems([rule], [("other", "why")]), [])
        self.assertEqual(len(targets.problems([rule], [])), 1)
        self.assertEqual(len(targets.problems([rule], [("other", "why"), ("one", "why")])), 1)

    def test_the_others_are_needed_where_the_bound_is_far(self):
        near, far = ({**sweep.point("lu", 30, 60, sweep.OWN), "seconds": seconds, "bound_seconds": 1.0} for seconds in (1.02, 1.03))
        other = {**far, "scheduler": "darts", "seconds": 1.0}

        self.assertEqual(sweep.wanted_others([near]), [])
        self.assertEqual(len(sweep.wanted_others([far])), len(sweep.OTHERS))
        self.assertEqual(sweep.over_best([far, other]), [far])


class Updates(unittest.TestCase):
    def test_words_are_those_of_mt19937(self):
        words = updates.random_words(5489)

        self.assertEqual([next(words) for _ in range(10000)][-1], 4123659995)  # as the C++ standard says

    def test_updates_read_two_tiles_of_the_first_half_and_write_one_of_the_second(self):
        graph = updates.graph()

        self.assertEqual(len(graph["tasks"]), 3200)
        for task in graph["tasks"]:
            numbers = [int(name.split()[1]) for name in (*task["in"], *task["inout"])]
            self.assertEqual([number < updates.READ for number in numbers], [True, True, False])
            self.assertNotEqual(numbers[0], numbers[1])

    def test_the_results_have_all_runs(self):
        records = runs.read(scheduling.ROOT / "perf_tests/results/simulated_updates.json")

        self.assertEqual([{name: record[name] for name in wanted} for record, wanted in zip(records, updates.wanted_runs(), strict=True)],
                         updates.wanted_runs())


class Figures(unittest.TestCase):
    def test_a_curve_has_its_runs_by_size_and_no_others(self):
        records = [run(tiles=30), run(tiles=10), run(tiles=10, devices=8), run(tiles=10, memory="500 MiB"),
                   run(tiles=10, scheduler="ap", priorities="parsec"), run(tiles=7)]

        data = runs.data_of(5, records)

        self.assertEqual({name: [r["tiles"] for r in same] for name, same in data.items()}, {"ap": [10], "darts": [10, 30]})

    def test_a_picture_is_stale_when_a_number_changes(self):
        before = run(tiles=10)
        after = copy.deepcopy(before)
        after["seconds"] += 1
        digests = {figures.digest(runs.data_of(5, [record])) for record in (before, after)}

        self.assertEqual(len(digests), 2)

    def test_speed_counts_a_third_of_the_cube_for_cholesky_and_two_for_lu(self):
        self.assertAlmostEqual(runs.speed(run()), (20 * 1920)**3 / 3 / 2e12)
        self.assertAlmostEqual(runs.speed(run(workload="lu")), 2 * (20 * 1920)**3 / 3 / 2e12)

    def test_memories_stand_at_the_size_that_fits(self):
        self.assertAlmostEqual(pictures.tiles_that_fit(runs.CURVES[5], 2000 * 2**20), 16.4, delta=0.1)
        self.assertAlmostEqual(pictures.tiles_that_fit(runs.CURVES[12], 2000 * 2**20), 11.9, delta=0.1)

    def test_an_order_gives_each_tile_its_position(self):
        panels = pictures.panels_of_orders({"dmdas": order()}, runs.ORDERS[6])

        self.assertEqual([title for title, _, _ in panels], [f"dmdas, iteration {k}" for k in (1, 2, 3, 4)])
        self.assertEqual(panels[0][2][0, 0], 0)
        self.assertEqual(panels[0][2][1, 0], 1)
        self.assertEqual(panels[1][2][1, 1], 820)  # after the 40 * 41 / 2 tiles of the first

    def test_several_devices_share_the_tiles_of_an_order(self):
        record = order(scheduler="darts", devices=2, iterations=1, positions=list(range(820)), on=[0, 1] * 410)

        panels = pictures.panels_of_orders({"darts": record}, runs.ORDERS[10])

        self.assertEqual([len(places) for _, _, places in panels], [410, 410])


class Tables(unittest.TestCase):
    def test_differences_beyond_a_tenth_are_bold(self):
        self.assertEqual(scheduling.against(110, 100), ["110 / 100", "+10 %"])
        self.assertEqual(scheduling.against(89, 100), ["89.0 / 100", "**-11 %**"])
        self.assertEqual(scheduling.against(5, None), ["", ""])

    def test_rows_of_the_study_have_the_run_of_the_same_priorities(self):
        record = run(scheduler="dmdas", priorities="parsec", bytes_to_devices=28 * 2**30)

        lines = scheduling.study_table([record, {**record, "priorities": "bottom-level", "bytes_to_devices": 7 * 2**30}])

        self.assertEqual(len(lines), 4)
        self.assertIn("| `dmdas`, priorities of PaRSEC | 20 | 1 | 2000 MiB | 28.0 / 14.0 | **+100 %** |", lines[2])

    def test_the_spread_says_where_the_figures_of_the_study_lie(self):
        def table(*loads):
            as_stated = run(scheduler="dmda", tiles=60, bytes_to_devices=400 * 2**30)
            varied = [{**as_stated, "variation": {}, "bytes_to_devices": gib * 2**30} for gib in loads]
            return spread.table([as_stated], varied, scheduling.plain)[2:-1]

        for loads, where in (((400, 630), "among them"), ((400, 600), "within 10 % of some"), ((380, 400), "beyond all")):
            self.assertEqual(table(*loads), [f"| Cholesky | `dmda` | 60 | 1 | GiB loaded | 624 | 400 | 2 | {loads[0]} | "
                                             f"{sum(loads) / 2:.0f} | {loads[1]} | {where} |"])

    def test_variations_change_the_machine_or_the_options(self):
        content = {"devices": [{"rates": {"gemm": 2.0}}], "links": [{"bytes_per_second": 10.0, "latency": 1.0}]}

        self.assertEqual(spread.machine_of(content, {}), content)
        self.assertEqual(spread.machine_of(content, {"link": 0.5, "latency": 2.0})["links"], [{"bytes_per_second": 5.0, "latency": 2.0}])
        self.assertEqual(spread.machine_of(content, {"kernels": 3})["devices"], [{"rates": {"gemm": 6.0}}])
        self.assertEqual(spread.options_of({"jitter": 2, "seed": 7}), ["--jitter", "2", "--seed", "7"])
        self.assertEqual(spread.options_of({"window": 5}), ["--tasks-ahead", "5"])

    def test_a_page_without_the_marks_is_refused(self):
        with self.assertRaises(runs.ResultError):
            scheduling.with_blocks("no marks", {"figures": []})

    def test_results_that_cannot_be_read_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            path.write_text("[")
            with self.assertRaisesRegex(runs.ResultError, "results.json"):
                runs.read(path)


if __name__ == "__main__":
    unittest.main()
