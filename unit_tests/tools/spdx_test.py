#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/spdx.py: spdx_test.py SOURCE_FOLDER"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
LINE = "SPDX-License-Identifier: Apache-2.0"

sys.path.insert(0, str(SOURCE / "tools"))
import spdx  # noqa: E402


def written(name, text):
    return spdx.with_licence(pathlib.Path(name), text)


class WhereTheLineGoes(unittest.TestCase):
    def test_it_ends_the_comment_that_begins_a_file(self):
        self.assertEqual(written("a.hpp", "// Boxes.\n//\n// Two lines.\n#pragma once\n"),
                         f"// Boxes.\n//\n// Two lines.\n// {LINE}\n#pragma once\n")
        self.assertEqual(written("CMakeLists.txt", "# What it is.\n\nset(a 1)\n"), f"# What it is.\n# {LINE}\n\nset(a 1)\n")
        self.assertEqual(written("run", "#!/usr/bin/env bash\n# All.\nset -e\n"), f"#!/usr/bin/env bash\n# All.\n# {LINE}\nset -e\n")

    def test_a_file_without_a_comment_begins_with_it(self):
        self.assertEqual(written("a.cpp", "#include <x>\n"), f"// {LINE}\n#include <x>\n")
        self.assertEqual(written("a.cpp", "//! [shown]\nint a;\n"), f"// {LINE}\n//! [shown]\nint a;\n")
        self.assertEqual(written("a.cu", ""), f"// {LINE}\n")

    def test_python_keeps_its_docstring(self):
        for text in ('#!/usr/bin/env python3\n"""Doc."""\n', '"""Doc."""\n'):
            new = written("a.py", text)
            names = {}
            exec(compile(new, "a.py", "exec"), names)  # noqa: S102
            self.assertEqual(names["__doc__"], "Doc.")
            self.assertIn(f"# {LINE}\n", new)

    def test_a_comment_without_an_end_of_line_gets_one(self):
        self.assertEqual(written("a.cpp", "// Nothing"), f"// Nothing\n// {LINE}\n")

    def test_templates_of_sources_have_it_and_other_files_do_not(self):
        self.assertIn(LINE, written("version.hpp.in", "// It.\n"))
        for name in ("mesh.vtk", "README.md", "targets.json", "strata.pc.in"):
            self.assertEqual(written(name, "# text\n"), "# text\n")

    def test_a_second_time_changes_nothing(self):
        for name, text in (("a.hpp", "// It.\n#pragma once\n"), ("a.cpp", "int a;\n"), ("a.py", '"""Doc."""\n')):
            once = written(name, text)
            self.assertEqual(written(name, once), once)

    def test_a_string_that_holds_the_words_is_not_the_line(self):
        self.assertIn(f"# {LINE}\n", written("a.py", f'TEXT = "{LINE}"\n'))


class TheProgram(unittest.TestCase):
    def test_it_lists_writes_and_then_finds_nothing(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "tools").mkdir()
            shutil.copy(SOURCE / "tools/spdx.py", root / "tools")
            (root / "a.hpp").write_text("// It.\n#pragma once\n")
            (root / "data.json").write_text("{}\n")
            subprocess.run(["git", "init", "-q", root], check=True)

            def run(*options):
                result = subprocess.run([root / "tools/spdx.py", *options], capture_output=True, text=True)
                return result.returncode, result.stdout.splitlines(), result.stderr

            before = run()
            first = run("--write")
            second = run("--write")
            after = run()

            expected = ["a.hpp"] if LINE in (SOURCE / "tools/spdx.py").read_text().split('"""')[0] else ["a.hpp", "tools/spdx.py"]
            self.assertEqual((before[0], before[1]), (1, expected))
            self.assertIn("tools/spdx.py --write adds it", before[2])
            self.assertEqual(first[1][:-1], expected)
            self.assertEqual(second[1], ["spdx: the line is in 0 more files"])
            self.assertEqual(after, (0, [], ""))
            self.assertEqual((root / "data.json").read_text(), "{}\n")
            self.assertEqual((root / "a.hpp").read_text(), f"// It.\n// {LINE}\n#pragma once\n")


if __name__ == "__main__":
    unittest.main()
