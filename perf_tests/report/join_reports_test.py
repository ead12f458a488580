#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of join_reports.py."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def report(case, **other):
    return {"program": "made_up", "commit": "1", "machine": {"cpu": "-"}, "date": "-", "baseline": "-", "correct": True,
            "notes": ["said of all", f"Cuda, double: of {case}"], "results": [{"case": case, "value": 1.0}], **other}


class Joined(unittest.TestCase):
    def join(self, *reports):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            arguments = []
            for number, (label, content) in enumerate(reports):
                path = pathlib.Path(folder) / f"{number}.json"
                if content is not None:
                    path.write_text(json.dumps(content), encoding="utf-8")
                arguments.append(f"{label}={path}" if label else str(path))
            done = subprocess.run([sys.executable, str(HERE / "join_reports.py"), str(out), *arguments],
                                  capture_output=True, text=True, encoding="utf-8", check=False)
            return done, json.loads(out.read_text(encoding="utf-8")) if out.exists() else None

    def test_cases_have_the_labels_of_their_files_and_what_all_say_is_said_once(self):
        done, whole = self.join(("", report("a")), ("tiles of 8", report("a", correct=False)))

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([result["case"] for result in whole["results"]], ["a", "tiles of 8: a"])
        self.assertEqual(whole["notes"], ["said of all", "Cuda, double: of a"])
        self.assertFalse(whole["correct"])

    def test_files_that_are_not_there_are_left_out(self):
        done, whole = self.join(("one", None), ("two", report("b")))

        self.assertEqual(done.returncode, 0)
        self.assertIn("is not there", done.stderr)
        self.assertEqual([result["case"] for result in whole["results"]], ["two: b"])
        self.assertIn("two: Cuda, double: of b", whole["notes"])

    def test_reports_of_other_programs_or_machines_are_refused(self):
        for other in ({"program": "other"}, {"commit": "2"}, {"machine": {"cpu": "other"}}):
            done, whole = self.join(("", report("a")), ("b", report("b", **other)))

            self.assertEqual(done.returncode, 1)
            self.assertIn(next(iter(other)), done.stderr)
            self.assertIsNone(whole)

    def test_no_report_at_all_is_an_error(self):
        done, whole = self.join(("", None))

        self.assertEqual(done.returncode, 1)
        self.assertIn("none of the reports", done.stderr)
        self.assertIsNone(whole)


if __name__ == "__main__":
    unittest.main()
