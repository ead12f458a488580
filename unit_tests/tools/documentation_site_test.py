#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the links that tools/documentation_site.py checks: documentation_site_test.py SOURCE_FOLDER"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()


class Links(unittest.TestCase):
    def checked(self, pages):
        """(exit status, lines) for a folder with these pages."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            result = subprocess.run([SOURCE / "tools/documentation_site.py", "--links", folder], capture_output=True, text=True)
            return result.returncode, result.stdout.splitlines()

    def test_links_to_files_and_places_are_good(self):
        status, lines = self.checked({
            "a.html": '<a href="b/c.html#here">x</a><a href="#top">y</a><p id="top"></p><a href="https://no.such/">z</a><img src="p.png">',
            "b/c.html": '<a name="here"></a><a href="../a.html">back</a>', "p.png": ""})

        self.assertEqual((status, len(lines)), (0, 1), lines)
        self.assertIn("2 pages", lines[0])
        self.assertIn("0 broken links", lines[0])

    def test_a_link_to_no_file_to_no_place_and_a_missing_picture_are_found(self):
        status, lines = self.checked({
            "a.html": '<a href="none.html">x</a><a href="b.html#there">y</a><a href="#nowhere">z</a><img src="none.png">',
            "b.html": '<p id="here"></p>'})

        self.assertEqual(status, 1)
        self.assertEqual(lines[:-1], [f"a.html: {link} leads nowhere" for link in ("none.html", "b.html#there", "#nowhere", "none.png")])
        self.assertIn("4 broken links", lines[-1])


if __name__ == "__main__":
    unittest.main()
