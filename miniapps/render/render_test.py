#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of render.py: what it draws, and what it says when it cannot. Status 77: there is nothing to draw with.

    ./render_test.py [--thermal PROGRAM] [--folder DIR]

PROGRAM is strata-thermal, one of whose results is drawn, too; DIR is where pictures are left (default: nowhere).
"""
import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HEAT_SINK = HERE.parent / "meshes" / "heat_sink.vtk"
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
options = None


def render(*arguments):
    return subprocess.run([sys.executable, str(HERE / "render.py"), *map(str, arguments)], capture_output=True,
                          text=True, encoding="utf-8", check=False, env={**os.environ, "PYTHONUTF8": "1"})


def two_cubes(path, values, move=(0, 0, 0)):
    """A .vtu as the mini-apps write it: a cube at x = 0, one at x = 2, with a field of elements and one of nodes."""
    nodes = [(x + 2 * cube, y, z) for cube in (0, 1) for x, y, z in CORNERS]
    arrays = {
        "Points": ("Points", "Float64", 3, struct.pack("<48d", *(number for node in nodes for number in node))),
        "connectivity": ("Cells", "Int64", 1, struct.pack("<16q", *range(16))),
        "heat": ("CellData", "Float64", 1, struct.pack("<2d", *values)),
        "u": ("PointData", "Float64", 3, struct.pack("<48d", *([0.0] * 24 + list(move) * 8))),
    }
    sections, data = {}, b""
    for name, (section, kind, components, content) in arrays.items():
        sections.setdefault(section, []).append(
            f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}" format="appended" '
            f'offset="{len(data)}"/>')
        data += struct.pack("<Q", len(content)) + content
    body = "".join(f"<{section}>{''.join(lines)}</{section}>" for section, lines in sections.items())
    path.write_bytes(b'<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">'
                     b'<UnstructuredGrid><Piece NumberOfPoints="16" NumberOfCells="2">' + body.encode() +
                     b'</Piece></UnstructuredGrid><AppendedData encoding="raw">_' + data + b"</AppendedData></VTKFile>")


def colours_of(pixels):
    return len(numpy.unique(pixels.reshape(-1, 3), axis=0))


class Render(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(options.folder or temporary.name)
        self.folder.mkdir(parents=True, exist_ok=True)

    def pixels(self, picture):
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        return (matplotlib_image.imread(picture)[..., :3] * 255).round().astype(int)

    def drawn(self, result, picture, *arguments):
        done = render(result, picture, "--with", "matplotlib", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), str(picture))
        return self.pixels(picture)

    def refused(self, *arguments):
        done = render(*arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_a_mesh_becomes_a_picture_of_the_width_asked_for_with_many_colours(self):
        pixels = self.drawn(HEAT_SINK, self.folder / "mesh.png", "--size", 600)

        self.assertEqual(pixels.shape[1], 600)
        self.assertTrue(300 <= pixels.shape[0] <= 600, pixels.shape)
        self.assertGreater(colours_of(pixels), 200)

    def test_elements_have_the_colours_of_their_values(self):
        for values, left_is_low in (((1.0, 5.0), True), ((5.0, 1.0), False)):
            two_cubes(self.folder / "two.vtu", values)

            pixels = self.drawn(self.folder / "two.vtu", self.folder / "two.png", "--field", "heat", "--size", 400,
                                "--view=-90,0")

            # From the front: the left cube fills the first third of what is left of the scale, the right one the last.
            part = pixels[:, :340]
            row = part[part.shape[0] // 2 + 10]
            left, right = row[60], row[280]
            low, high = (left, right) if left_is_low else (right, left)
            self.assertTrue(low[2] > low[1] and low[0] < 110, f"{low} is not dark violet")
            self.assertTrue(high[0] > 150 and high[1] > 150 and high[2] < 120, f"{high} is not yellow")

    def test_warp_moves_nodes_as_far_as_it_is_told(self):
        two_cubes(self.folder / "warp.vtu", (1.0, 5.0), move=(1, 0, 0))

        def gap(*warp):
            row = self.drawn(self.folder / "warp.vtu", self.folder / "warp.png", "--size", 400, "--view=-90,0", *warp)
            row = row[row.shape[0] // 2 + 10, :340].min(axis=1) < 250
            cubes = [k for k in range(1, len(row)) if row[k] != row[k - 1]]
            return (cubes[2] - cubes[1]) / (cubes[1] - cubes[0])

        self.assertAlmostEqual(gap(), 1.0, delta=0.1)
        self.assertAlmostEqual(gap("--warp", "u:2"), 3.0, delta=0.3)

    def test_what_strata_thermal_writes_is_drawn(self):
        if not options.thermal:
            self.skipTest("no --thermal PROGRAM")
        result = self.folder / "box.vtu"
        subprocess.run([options.thermal, "--device", "serial", "--quiet", "--mesh", "box:6x5x4", "--output", result],
                       check=True, capture_output=True)

        pixels = self.drawn(result, self.folder / "box.png", "--field", "temperature", "--size", 300)

        self.assertEqual(pixels.shape[1], 300)
        self.assertGreater(colours_of(pixels), 100)

    def test_a_file_that_is_not_there_is_named_with_what_makes_one(self):
        said = self.refused(self.folder / "nothing.vtu")

        self.assertIn("nothing.vtu", said)
        self.assertIn("--output", said)

    def test_damaged_files_are_named(self):
        two_cubes(self.folder / "whole.vtu", (1.0, 2.0))
        whole = (self.folder / "whole.vtu").read_bytes()
        for length in (0, 40, 400, len(whole) // 2, len(whole) - 200):
            (self.folder / "cut.vtu").write_bytes(whole[:length])

            said = self.refused(self.folder / "cut.vtu", self.folder / "cut.png")

            self.assertIn("cut.vtu", said)
            self.assertFalse((self.folder / "cut.png").exists())

    def test_an_unknown_field_is_refused_with_the_fields_that_there_are(self):
        two_cubes(self.folder / "fields.vtu", (1.0, 2.0))

        for arguments in (("--field", "pressure"), ("--warp", "heat")):
            said = self.refused(self.folder / "fields.vtu", *arguments)

            self.assertIn(arguments[1], said)
            self.assertRegex(said, "heat.*u|there are: u")

    def test_options_that_are_no_numbers_are_refused(self):
        for option in ("--view=sideways", "--range=1", "--size=3"):
            self.assertIn(option.split("=")[0], self.refused(HEAT_SINK, option))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thermal")
    parser.add_argument("--folder")
    options, rest = parser.parse_known_args()
    try:
        import numpy
        from matplotlib import image as matplotlib_image
    except ImportError as missing:
        print(f"skipped: {missing.name} is not installed (Debian: python3-matplotlib)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + rest)
