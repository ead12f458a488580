#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of measure_memory_modes, with programs that only pretend."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("smart", "pinned", "managed", "mapped", "explicit", "explicit-pinned", "implicit")
# Writes a report, and fields where it is asked to; the mode `odd` has other ones.
PROGRAM = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --memory) mode=$2 ;; --output) output=$2 ;; --json) json=$2 ;; esac
  shift
done
if [ "$mode" = "{failing}" ]; then echo "no memory of that kind"; exit 1; fi
fields=fields result=1.0 rate=1000.0
if [ "$mode" = smart ]; then rate=2000.0; fi
if [ "$mode" = "{odd}" ] && [ {what} = fields ]; then fields=other; fi
if [ "$mode" = "{odd}" ] && [ {what} = results ]; then result=2.0; fi
if [ -n "$output" ]; then echo $fields >"$output"; fi
cat >"$json" <<END
{{"commit": "0123", "runs": [{{"device": "Fake", "type": "double", "mesh": {{"elements": 1000}},
  "results": [{{"name": "energy", "value": $result}}],
  "figures": [{{"name": "compute and fill", "value": $rate, "unit": "elements/s"}},
              {{"name": "conjugate gradients", "value": $rate, "unit": "1/s"}},
              {{"name": "element-steps", "value": $rate, "unit": "1/s"}}]}}]}}
END
"""


class MeasureMemoryModes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_it(self, odd="none", what="fields", failing="none"):
        for name in ("strata-thermal", "strata-dynamics"):
            path = self.folder / name
            path.write_text(PROGRAM.format(odd=odd, what=what, failing=failing))
            path.chmod(0o755)
        return subprocess.run([sys.executable, str(HERE / "measure_memory_modes"), str(self.folder / "out.json"), "fake",
                               "--bin", str(self.folder), "--repeat", "1"], capture_output=True, text=True, check=False)

    def report(self):
        return json.loads((self.folder / "out.json").read_text())

    def test_every_mode_has_a_row_beside_smart(self):
        done = self.run_it()

        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        self.assertTrue(report["correct"])
        self.assertEqual(report["program"], "miniapp_modes")
        rows = {row["case"]: row for row in report["results"]}
        self.assertEqual(len(rows), 4 * len(MODES))
        self.assertIsNone(rows["dynamics fused, element-steps, smart"]["baseline_ratio"])
        self.assertEqual(rows["thermal, conjugate gradients, explicit-pinned"]["baseline_ratio"], 0.5)
        self.assertEqual(rows["thermal, compute and fill, mapped"]["seconds_median"], 1.0)
        self.assertEqual(rows["thermal, conjugate gradients, mapped"]["seconds_median"], 0.0)

    def test_other_bits_are_wrong_wherever_they_show(self):
        for what in ("fields", "results"):
            with self.subTest(what):
                done = self.run_it("mapped", what)

                self.assertEqual(done.returncode, 1)
                self.assertIn(f"WRONG: thermal, mapped: other {what} than smart", done.stdout)
                self.assertFalse(self.report()["correct"])

    def test_a_run_that_fails_is_told_with_its_command_and_the_others_are_measured(self):
        done = self.run_it(failing="managed")

        self.assertEqual(done.returncode, 1)
        self.assertIn("--memory managed", done.stdout)
        self.assertIn("no memory of that kind", done.stdout)
        self.assertFalse(self.report()["correct"])
        self.assertEqual(len(self.report()["results"]), 4 * (len(MODES) - 1))


if __name__ == "__main__":
    unittest.main()
