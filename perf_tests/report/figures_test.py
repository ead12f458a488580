#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of sweeps.py and figures.py: what is read, drawn, tabled and refused. Pictures need matplotlib, the rest not."""
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import figures
import sweeps

HERE = pathlib.Path(__file__).resolve().parent
THERMAL = ("device,type,elements,nodes,compute_us_per_element,fill_us_per_element,elements_per_second,cg_iterations,"
           "node_iterations_per_second")
DYNAMICS = ("device,type,kernels,elements,nodes,steps,seconds,us_per_step,us_per_element_step,"
            "element_steps_per_second")
MACHINE = "# gpu: GPU of tests\n# cpu: CPU of tests\n# processors: 4\n"


def thermal_rows(device, scale, sizes=(1000, 64000, 1060900)):
    """Computation takes scale / n^0.1 microseconds an element, float half of it; fill twice as long."""
    rows = []
    for n in sizes:
        for kind, factor in (("double", 1.0), ("float", 0.5)):
            compute = scale * factor / n**0.1
            rows.append(f"{device},{kind},{n},{n + 300},{compute:.8g},{2 * compute:.8g},{1e6 / (3 * compute):.8g},42,1e8")
    return rows


def dynamics_rows(device, rate):
    return [f"{device},{kind},{kernels},{n},{n + 300},100,1,{1e6 * n / (rate * factor):.8g},1,{rate * factor:.8g}"
            for n in (1000, 4096000) for kernels, factor in (("three", 1), ("fused", 2)) for kind in ("double", "float")]


class Files(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def file(self, name, header, rows, before=MACHINE):
        path = self.folder / name
        path.write_text(before + "\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path


class Sweeps(Files):
    def test_series_have_their_points_by_size_whatever_the_order_of_rows(self):
        rows = thermal_rows("Cuda", 0.001) + thermal_rows("Threads", 0.1)
        random.Random(5).shuffle(rows)

        series = sweeps.by_series(sweeps.read(self.file("a_thermal_sweep.csv", THERMAL, rows)).points)

        self.assertEqual(list(series), [("Cuda, GPU of tests", "double"), ("Cuda, GPU of tests", "float"),
                                        ("Threads, CPU of tests, 4 processors", "double"),
                                        ("Threads, CPU of tests, 4 processors", "float")])
        for points in series.values():
            self.assertEqual([p.elements for p in points], [1000, 64000, 1060900])
        expected = 0.05 / 64000**0.1
        self.assertAlmostEqual(series["Threads, CPU of tests, 4 processors", "float"][1]
                               .numbers["compute_us_per_element"], expected, delta=1e-6 * expected)

    def test_columns_count_by_name_and_runs_may_follow_each_other(self):
        one = thermal_rows("Serial", 1.0)
        path = self.file("a_thermal_sweep.csv", THERMAL, one + [THERMAL] + one + [THERMAL] + thermal_rows("Serial", 3.0))
        turned = [",".join(reversed(line.split(","))) for line in [THERMAL] + one]

        median = sweeps.by_series(sweeps.read(path).points)
        backwards = sweeps.by_series(sweeps.read(self.file("b_thermal_sweep.csv", turned[0], turned[1:])).points)

        self.assertEqual(median, backwards)
        self.assertEqual(next(iter(median.values()))[0].who, "Serial, CPU of tests, 1 processor")

    def test_emulated_is_no_machine(self):
        rows = thermal_rows("Emulated", 1.0) + thermal_rows("Serial", 1.0)

        points = sweeps.read(self.file("a_thermal_sweep.csv", THERMAL, rows)).points

        self.assertEqual({p.device for p in points}, {"Serial"})

    def test_the_machine_comes_from_a_json_of_the_same_first_word(self):
        (self.folder / "a_ceilings.json").write_text('{"machine": {"gpu": "G", "cpu": "Chip(R) C Processor", "processors": 8}}')
        path = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 1.0) + thermal_rows("Tbb", 1.0), before="")

        self.assertEqual({p.who for p in sweeps.read(path).points}, {"Cuda, G", "Tbb, Chip C, 8 processors"})

    def test_faults_are_named_with_their_line_and_what_is_wrong(self):
        good = thermal_rows("Serial", 1.0)
        cells = good[1].split(",")
        cases = [
            (THERMAL, [], "no row"),
            ("device,type,elements", [], "line 4: is no header"),
            (THERMAL, [good[0], ",".join(cells[:5])], "line 6: has 5 values, the header 9"),
            (THERMAL, [good[0], ",".join(cells[:4] + ["fast"] + cells[5:])], 'line 6: compute_us_per_element is "fast"'),
            (THERMAL, [good[0], ",".join(cells[:4] + ["0"] + cells[5:])], "line 6: compute_us_per_element is 0;"),
            (THERMAL, [good[0], ",".join(cells[:5] + ["inf"] + cells[6:])], "line 6: fill_us_per_element is inf;"),
            (THERMAL, [good[0], good[1].replace("float", "half")], 'line 6: type is "half", not one of double, float'),
            (THERMAL, [good[0], DYNAMICS], "line 6: a second header"),
            (DYNAMICS, [dynamics_rows("Serial", 1e6)[0].replace("three", "four")], 'line 5: kernels is "four"'),
        ]
        for header, rows, said in cases:
            path = self.file("bad.csv", header, rows)
            with self.assertRaises(sweeps.SweepError) as caught:
                sweeps.read(path)
            self.assertIn("bad.csv", str(caught.exception))
            self.assertIn(said, str(caught.exception))

    def test_a_missing_or_empty_file_says_what_makes_one(self):
        (self.folder / "empty.csv").write_text("")
        for name, said in (("nowhere.csv", "--sweep"), ("empty.csv", "is empty")):
            done = subprocess.run([sys.executable, str(HERE / "figures.py"), str(self.folder / name)],
                                  capture_output=True, text=True, check=False)

            self.assertEqual(done.returncode, 1)
            self.assertIn(name, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


class Tables(Files):
    def both(self):
        return [sweeps.read(self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 0.001))),
                sweeps.read(self.file("a_dynamics_sweep.csv", DYNAMICS, dynamics_rows("Cuda", 1.5e9)))]

    def test_figure_20_takes_the_size_of_the_paper_and_adds_times_not_rates(self):
        path = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 0.001, (1000, 800000, 1024000, 4096000)))

        rows = figures.data_of(20, [sweeps.read(path)])

        elements, computed, filled, both = rows["Cuda, GPU of tests", "double"]
        self.assertEqual(elements, 1024000)
        self.assertAlmostEqual(computed / 1e6, 1000 * 1024000**0.1, delta=0.1)
        self.assertAlmostEqual(filled / computed, 0.5, places=6)
        self.assertAlmostEqual(both / computed, 1 / 3, places=6)

    def test_figure_20_is_left_out_without_a_size_like_it(self):
        path = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Serial", 1.0, (1000, 128000)))

        self.assertFalse(figures.data_of(20, [sweeps.read(path)]))
        self.assertTrue(figures.data_of(19, [sweeps.read(path)]))
        self.assertFalse(figures.data_of(26, [sweeps.read(path)]))

    def test_tables_have_every_size_and_number(self):
        for number, expected in ((19, "| 64,000 | 3024 | 6049 |"), (26, "| 4,096,000 | 3000 | 3000 |")):
            lines = figures.table(number, figures.data_of(number, self.both()))

            self.assertIn(expected, lines)

    def test_the_sum_of_a_figure_changes_with_any_of_its_numbers(self):
        sums = set()
        for rate in (1.5e9, 1.5001e9):
            path = self.file("a_dynamics_sweep.csv", DYNAMICS, dynamics_rows("Cuda", rate))
            sums.add(figures.digest(figures.data_of(26, [sweeps.read(path)])))

        self.assertEqual(len(sums), 2)


try:
    import matplotlib  # noqa: F401
    IS_DRAWING = True
except ImportError:
    IS_DRAWING = False


@unittest.skipUnless(IS_DRAWING, "matplotlib is not installed (Debian: python3-matplotlib)")
class Pictures(Files):
    def drawn(self, number, *paths):
        all_sweeps = [sweeps.read(path) for path in paths]
        data, pyplot = figures.data_of(number, all_sweeps), figures.import_pyplot()
        figure = figures.draw(pyplot, number, data, figures.styles_of(all_sweeps))
        self.addCleanup(pyplot.close, figure)
        return figure

    def test_curves_show_the_rows_on_two_logarithmic_scales(self):
        thermal = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 0.001) + thermal_rows("Threads", 0.1))

        figure = self.drawn(19, thermal)

        compute, fill = figure.axes
        for axes, factor in ((compute, 1), (fill, 2)):
            lines = {line.get_label(): line for line in axes.get_lines()}
            self.assertEqual(len(lines), 4)
            self.assertEqual((axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()), ("log", "log", "elements"))
            line = lines["Threads, CPU of tests, 4 processors, float"]
            self.assertEqual(list(line.get_xdata()), [1000, 64000, 1060900])
            for n, y in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(y / (1e6 * n**0.1 / (0.05 * factor)), 1, places=6)
            self.assertEqual(line.get_linestyle(), "--")
            self.assertEqual(lines["Cuda, GPU of tests, double"].get_linestyle(), "-")
            colours = {line.get_color() for line in lines.values()}
            self.assertEqual(len(colours), 2)
        self.assertEqual(compute.get_ylabel(), "elements per second")
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        self.assertEqual(sorted(legend), sorted(line.get_label() for line in compute.get_lines()))

    def test_figure_26_has_a_panel_for_each_way_and_one_scale(self):
        dynamics = self.file("a_dynamics_sweep.csv", DYNAMICS, dynamics_rows("Cuda", 1.5e9))

        three, fused = self.drawn(26, dynamics).axes

        self.assertEqual(list(three.get_lines()[0].get_ydata()), [1.5e9, 1.5e9])
        self.assertEqual(list(fused.get_lines()[0].get_ydata()), [3e9, 3e9])
        self.assertEqual(three.get_ylim(), fused.get_ylim())

    def test_figure_20_has_a_line_for_each_device_and_type(self):
        thermal = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 0.001) + thermal_rows("Threads", 0.1))

        axes, = self.drawn(20, thermal).axes

        self.assertEqual([label.get_text() for label in axes.get_yticklabels()],
                         ["Cuda, GPU of tests, double", "Cuda, GPU of tests, float",
                          "Threads, CPU of tests, 4 processors, double", "Threads, CPU of tests, 4 processors, float"])
        points = [line for line in axes.get_lines() if line.get_marker() == "D"]
        rates = [float(line.get_xdata()[0]) for line in points]
        self.assertAlmostEqual(rates[1] / rates[0], 2, places=5)
        self.assertAlmostEqual(rates[0] / rates[2], 100, delta=1e-3)

    def test_files_are_pictures_of_1200_pixels_that_carry_their_sum(self):
        thermal = self.file("a_thermal_sweep.csv", THERMAL, thermal_rows("Cuda", 0.001))
        dynamics = self.file("a_dynamics_sweep.csv", DYNAMICS, dynamics_rows("Cuda", 1.5e9))
        out = self.folder / "out"

        done = subprocess.run([sys.executable, str(HERE / "figures.py"), "--output", str(out), str(thermal), str(dynamics)],
                              capture_output=True, text=True, check=False)

        self.assertEqual(done.returncode, 0, done.stderr)
        all_sweeps = [sweeps.read(thermal), sweeps.read(dynamics)]
        for number in (19, 20, 26):
            content = (out / f"figure_{number}.png").read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(int.from_bytes(content[16:20], "big"), 1200)
            self.assertTrue(10_000 < len(content) < 150_000, len(content))
            self.assertEqual(figures.digest_in(out / f"figure_{number}.png"),
                             figures.digest(figures.data_of(number, all_sweeps)))
            self.assertIn(f"](figure_{number}.png)", (out / "figures.md").read_text())


if __name__ == "__main__":
    unittest.main()
