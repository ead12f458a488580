#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/ci_weight and tools/weigh: ci_weight_test.py SOURCE_FOLDER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
BUDGET = {"cpu_seconds": 1000, "program_cpu_seconds": 60, "loop_seconds": 1.0}


class Weight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build = self.folder / "host"
        self.build.mkdir()
        self.kept = self.folder / "kept.json"
        self.keep({})
        self.objects([("strata_core", "a.cpp.o", "0m1.500000s+0m0.500000s", "miss")])

    def keep(self, phases, loop=1.0):
        phases = {name: {"group": "-", "cpu_seconds": seconds, "loop_seconds": loop, "commit": "before"}
                  for name, seconds in phases.items()}
        self.kept.write_text(json.dumps({"budget": BUDGET, "phases": phases, "programs": {}}))

    def objects(self, lines):
        (self.build / "weight.log").write_text("".join(" ".join(line) + "\n" for line in lines))

    def table(self, phases, loop=1.0, fresh=True, result="passed"):
        """(exit status, what it says, the new file) for phases given as (name, group, processor seconds)."""
        (self.folder / "phases.tsv").write_text(
            "".join(f"{name}\t{group}\t10\t{seconds}\t{result}\n" for name, group, seconds in phases))
        result = subprocess.run(
            [SOURCE / "tools/ci_weight", "table", "--logs", self.folder, "--loop", str(loop), "--kept", self.kept,
             *(["--fresh"] if fresh else []), self.build, self.folder / "no_such_build"], capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        return result.returncode, result.stdout, json.loads((self.folder / "ci_weight.json").read_text())

    def test_within_the_budget_nothing_is_said(self):
        status, said, _ = self.table([("host", "-", 600), ("checks", "-", 300)])
        self.assertEqual(status, 0)
        self.assertIn("the whole: 900 processor s of 1000\n", said)
        self.assertNotIn("OVER", said)

    def test_over_the_budget_is_said_and_fails_from_half_as_much_again(self):
        status, said, _ = self.table([("host", "-", 1400)])
        self.assertEqual(status, 0)
        self.assertIn("1400 processor s of 1000  OVER BUDGET", said)
        self.assertEqual(self.table([("host", "-", 1600)])[0], 1)

    def test_a_slower_machine_has_more(self):
        status, said, _ = self.table([("host", "-", 1600)], loop=2.0)
        self.assertEqual(status, 0)
        self.assertIn("1600 processor s of 2000\n", said)

    def test_of_groups_that_take_turns_the_heaviest_counts(self):
        phases = [("host", "-", 600), ("tsan_build", "tsan", 200), ("tsan", "tsan", 100), ("toy_device", "toy", 250),
                  ("slow_tests", "slow", 5000)]
        self.assertIn("the whole: 900 processor s", self.table(phases)[1])

    def test_each_rotation_adds_its_heaviest_group(self):
        phases = [("host", "-", 500), ("toy_device", "toy", 30), ("naming", "naming", 40),
                  ("asan_views_build", "asan:views", 50), ("asan_views", "asan:views", 60), ("asan_streaming", "asan:streaming", 80)]
        self.assertIn("the whole: 650 processor s", self.table(phases)[1])

    def test_the_slowest_entries_of_ctest_are_named(self):
        log = "".join(f" {k:2}/20 Test {f'#{k}':>4}: views.entry_{k} ......{'***Failed' if k == 7 else '   Passed'}  {k}.25 sec\n"
                      for k in range(1, 21))
        (self.folder / "asan.log").write_text("Test project\n" + log + "100% tests passed\n")
        _, said, _ = self.table([("asan", "-", 100), ("checks", "-", 10)])
        self.assertIn("asan, the slowest of 20 entries of CTest", said)
        self.assertIn("20.2 s  views.entry_20\n", said)
        self.assertIn("7.2 s  views.entry_7\n", said)
        self.assertNotIn("views.entry_5\n", said)
        self.assertNotIn("checks, the slowest", said)

    def test_test_programs_have_a_budget(self):
        self.objects([("strata_views_tests", "a.cpp.o", "0m40.0s+0m1.0s", "miss"),
                      ("strata_views_tests", "b.cpp.o", "0m20.0s+0m1.0s", "miss"),
                      ("strata_streaming_tests_checked", "a.cpp.o", "1m0.5s+0m0.5s", "-"),
                      ("strata_core_tests", "a.cpp.o", "0m59.0s+0m0.5s", "miss"),
                      ("strata_thermal", "a.cpp.o", "5m0.0s+0m1.0s", "miss")])
        _, said, new = self.table([("host", "-", 600)])
        over = [line for line in said.splitlines() if "OVER" in line]
        self.assertEqual(len(over), 2)
        self.assertIn("62.0 s  host/strata_views_tests, 2 objects", over[0])
        self.assertIn("61.0 s  host/strata_streaming_tests_checked, 1 objects", over[1])
        self.assertEqual(new["programs"]["host/strata_thermal"]["cpu_seconds"], 301)

    def test_a_warm_cache_is_no_gain(self):
        self.keep({"host": 1000})
        self.objects([("a", "a.cpp.o", "0m0.01s+0m0.0s", "hit")] + [("a", "b.cpp.o", "0m1.0s+0m0.0s", "miss")] * 9)
        _, said, _ = self.table([("host", "-", 100)])
        self.assertIn("warm", said)
        self.assertIn("ccache knew 1 of 10 objects", said)
        self.assertNotIn("changed", said)

    def test_build_folders_used_before_are_no_gain(self):
        self.keep({"host": 1000})
        _, said, _ = self.table([("host", "-", 100)], fresh=False)
        self.assertIn("warm", said)
        self.assertNotIn("changed", said)

    def test_a_change_of_more_than_a_twentieth_is_to_be_kept(self):
        self.keep({"host": 500, "tsan": 300})
        self.assertIn("changed by -10.0 %: copy", self.table([("host", "-", 450)])[1])
        said = self.table([("host", "-", 510)])[1]
        self.assertIn("changed by +2.0 %", said)
        self.assertNotIn("copy", said)

    def test_what_failed_weighs_nothing(self):
        self.keep({"host": 500})
        _, said, new = self.table([("host", "-", 50), ("checks", "-", 5)], result="FAILED")
        self.assertNotIn("copy", said)
        self.assertEqual(new["phases"].keys(), {"host"})
        self.assertEqual(new["phases"]["host"]["cpu_seconds"], 500)

    def test_a_change_is_that_of_one_machine(self):
        self.keep({"host": 500}, loop=1.0)
        self.assertIn("changed by -10.0 %", self.table([("host", "-", 900)], loop=2.0)[1])

    def test_what_did_not_run_stays_with_its_commit(self):
        self.keep({"host": 500, "tsan": 300})
        _, _, new = self.table([("host", "-", 450)])
        self.assertEqual(new["phases"]["tsan"]["commit"], "before")
        self.assertEqual(new["phases"]["host"]["cpu_seconds"], 450)
        self.assertNotEqual(new["phases"]["host"]["commit"], "before")
        self.assertEqual(new["budget"], BUDGET)

    def test_phases_that_are_new_are_to_be_kept(self):
        self.keep({"host": 500})
        self.assertIn("not kept yet: copy", self.table([("host", "-", 500), ("toy_device", "toy", 50)])[1])

    def test_the_kept_file_has_a_budget(self):
        budget = json.loads((SOURCE / "perf_tests/results/ci_weight.json").read_text())["budget"]
        self.assertEqual(budget.keys(), BUDGET.keys())

    def test_an_object_is_weighed_and_its_compiler_heard(self):
        log = self.folder / "a weight.log"
        spin = "k=0; while [ $k -lt 300000 ]; do k=$((k + 1)); done; echo direct_cache_hit >$CCACHE_STATSLOG; exit 3"
        result = subprocess.run(["sh", SOURCE / "tools/weigh", log, "strata_core", "object.o", "sh", "-c", spin],
                                cwd=self.folder)
        self.assertEqual(result.returncode, 3)
        line = log.read_text()
        self.assertRegex(line, r"^strata_core object\.o \d+m\d\.\d+s\+\d+m\d\.\d+s hit\n$")
        self.assertRegex(line, r" 0m(0\.(0[5-9]|[1-9])|[1-9])", "its processor seconds")
        subprocess.run(["sh", SOURCE / "tools/weigh", log, "strata_core", "object.o", "true"], cwd=self.folder, check=True)
        self.assertRegex(log.read_text().splitlines()[1], r" -$")
        self.assertEqual(sorted(path.name for path in self.folder.glob("object.o*")), [])

    def test_a_header_that_changed_is_no_hit_of_ccache(self):
        log = self.folder / "weight.log"
        said = {"cache_miss direct_cache_miss local_storage_read_hit local_storage_read_miss preprocessed_cache_miss": "miss",
                "direct_cache_miss local_storage_read_hit preprocessed_cache_hit": "hit",
                "direct_cache_hit local_storage_hit local_storage_read_hit": "hit"}
        for words in said:
            command = "printf '%s\\n' '# a.cpp' " + words + " >$CCACHE_STATSLOG"
            subprocess.run(["sh", SOURCE / "tools/weigh", log, "strata_core", "a.o", "sh", "-c", command],
                           cwd=self.folder, check=True)
        self.assertEqual([line.split()[-1] for line in log.read_text().splitlines()], list(said.values()))


if __name__ == "__main__":
    unittest.main()
