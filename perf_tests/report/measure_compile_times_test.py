#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of measure_compile_times, with compilers that only pretend."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# Works as long as the file has lines, twice as long with checks or slow headers; refuses what it is told to. Python without its
# site packages, whose search would take longer than what is measured.
COMPILER = """#!PYTHON -IS
import pathlib, sys, time
if "--version" in sys.argv:
    print("pretending compiler 1.2")
    sys.exit()
if "-###" in sys.argv:
    sys.exit("/there/cc1plus " + " ".join(sys.argv[1:]))
source = pathlib.Path(sys.argv[sys.argv.index("-c") + 1]).read_text()
if "REFUSED" != "" and "REFUSED" in source:
    sys.exit("no such header")
end = time.process_time() + 0.0005 * source.count("\\n") * (2 if {"-DSTRATA_CHECKED=1", "-I/slow"} & set(sys.argv) else 1)
while time.process_time() < end:
    pass
"""


# Counts as many instructions as a compiler that works so long would need.
VALGRIND = """#!PYTHON -IS
import sys
print("==1== I   refs:      ", "4,000,000,000" if "-I/slow" in sys.argv else "2,000,000,000", file=sys.stderr)
"""


class MeasureCompileTimes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_script(self, refused="", cuda=True, *options):
        for name, text in (("cxx", COMPILER), ("nvcc", COMPILER), ("valgrind", VALGRIND)):
            program = self.folder / name
            program.write_text(text.replace("REFUSED", refused).replace("PYTHON", sys.executable))
            program.chmod(0o755)
        commands = [{"file": "/there/examples/axpy.cpp", "command": f"ccache {self.folder}/cxx -I/there/include -O3 -c axpy.cpp"}]
        (self.folder / "compile_commands.json").write_text(json.dumps(commands))
        (self.folder / "CMakeCache.txt").write_text(f"CMAKE_CUDA_COMPILER:FILEPATH={self.folder}/nvcc\n" if cuda else "")
        self.report = self.folder / "report.json"
        return subprocess.run([sys.executable, HERE / "measure_compile_times", self.report, "--build", self.folder, "--repeat", "1",
                               *options], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})

    def test_rows_have_their_baselines(self):
        done = self.run_script("", True, "--kokkos=-I/kokkos", "--kokkos-cuda=-I/kokkos")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["case"]: row for row in json.loads(self.report.read_text())["results"]}
        self.assertEqual(len(rows), 32)
        self.assertLess(rows["nvcc -O3: ten kernels, checked"]["baseline_ratio"], 0.95)
        self.assertIsNotNone(rows["nvcc -O0: strata.hpp alone"]["baseline_ratio"])
        self.assertIsNone(rows["nvcc -O3: ten kernels, Kokkos"]["baseline_ratio"])

    def test_an_earlier_checkout_is_the_baseline_of_first_programs(self):
        self.run_script("", False)
        earlier = self.folder / "earlier"
        earlier.mkdir()
        command = f"{self.folder}/cxx -I/slow -O3 -c axpy.cpp"
        (earlier / "compile_commands.json").write_text(json.dumps([{"file": "/earlier/examples/axpy.cpp", "command": command}]))
        (earlier / "CMakeCache.txt").write_text("")
        done = self.run_script("", False, "--earlier", earlier)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["case"]: row for row in json.loads(self.report.read_text())["results"]}
        self.assertEqual(len(rows), 16)
        self.assertEqual(rows["g++ -O0: a for and a reduce, instructions"]["value"], 2)
        self.assertEqual(rows["g++ -O0: a for and a reduce, instructions"]["baseline_ratio"], 2)
        self.assertIsNotNone(rows["g++ -O3: a for and a reduce"]["baseline_ratio"])

    def test_without_nvcc_and_kokkos_there_are_those_of_hosts(self):
        done = self.run_script("", False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(self.report.read_text())["results"]), 10)

    def test_a_file_that_does_not_compile_is_an_error_with_its_case(self):
        done = self.run_script("Kernel9")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("g++ -O0: ten kernels", done.stderr)
        self.assertIn("no such header", done.stderr)
        self.assertFalse(self.report.exists())

    def test_a_folder_that_is_no_build_is_an_error(self):
        done = subprocess.run([sys.executable, HERE / "measure_compile_times", self.folder / "x.json", "--build", self.folder / "none"],
                              capture_output=True, text=True, check=False)
        self.assertIn("configure first", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
