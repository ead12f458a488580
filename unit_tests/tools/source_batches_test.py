#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which sources tools/source_batches.py compiles as one. The argument is the folder of the project."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools"))
from source_batches import batches_of  # noqa: E402


class SourceBatches(unittest.TestCase):
    def batches(self, *texts, most=3, **options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{k}.cpp" for k in range(len(texts))]
            for path, text in zip(paths, texts):
                path.write_text(text)
            return [[int(path.stem) for path in batch] for batch in batches_of(paths, most, **options)]

    def test_as_many_as_are_asked_for(self):
        self.assertEqual(self.batches("int a();", "int b();", "int c();", most=2), [[0, 1], [2]])

    def test_no_name_is_declared_twice(self):
        self.assertEqual(self.batches("struct A {\n};", "struct A {\n};"), [[0], [1]])
        self.assertEqual(self.batches("TEST(Suite, A) {\n}", "TEST(Suite, B) {\n}"), [[0], [1]])
        self.assertEqual(self.batches("constexpr int n = 1;", "constexpr int n = 1;"), [[0], [1]])
        self.assertEqual(self.batches("constexpr int in = 1;", "int a();", "int b();"), [[0], [1, 2]])
        self.assertEqual(self.batches("constexpr int n = 1, m = 2;", "constexpr int m = 1;"), [[0], [1]])
        self.assertEqual(self.batches("struct A {\n};", "using std::A;"), [[0], [1]])
        self.assertEqual(self.batches("using std::A;", "using std::A;"), [[0, 1]])

    def test_aliases_that_are_equal_may_be_repeated(self):
        alias, other = "using Numbers = std::vector<int>;", "using Numbers = std::vector<long>;"
        self.assertEqual(self.batches(alias, alias), [[0, 1]])
        self.assertEqual(self.batches(alias, other), [[0], [1]])
        self.assertEqual(self.batches(alias, "struct Numbers {\n};"), [[0], [1]])
        self.assertEqual(self.batches("struct Numbers {\n};", alias), [[0], [1]])
        self.assertEqual(self.batches(alias, "using other::Numbers;"), [[0], [1]])
        self.assertEqual(self.batches(alias, "int a();", other, alias), [[0, 1, 3], [2]])

    def test_sources_of_one_kind_go_together(self):
        texts = "using namespace a;", "using namespace b;", "using namespace a;\nint x();"
        self.assertEqual(self.batches(*texts, kind=lambda path, text: text.splitlines()[0]), [[0, 2], [1]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
