#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What lldb shows of the arrays of a program: lldb_test.py PROGRAM SCRIPT. Exit status 77 where there is no lldb that can
run it.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

SCRIPT, PROGRAM = (os.path.realpath(sys.argv.pop()) for _ in range(2))
LLDB = next((name for name in ["lldb", *(f"lldb-{n}" for n in range(22, 12, -1))] if shutil.which(name)), None)


def environment():
    """Its Python takes the library beside the first python3 of PATH, which is to be that of lldb's own folder; and Debian's
    lldb does not find its module."""
    folder = os.path.dirname(shutil.which(LLDB))
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(LLDB))))
    modules = glob.glob(os.path.join(prefix, "lib", "python3.*", "dist-packages"))
    return {**os.environ, "PATH": os.pathsep.join([folder, os.environ["PATH"]]), "PYTHONPATH": os.pathsep.join(modules)}


def lldb(*commands):
    options = [word for command in commands for word in ("-o", command)]
    return subprocess.run([LLDB, "--no-lldbinit", "--batch", *options, PROGRAM], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, env=environment())


def shown(commands, function="stop_here"):
    """What lldb says to each command where the program calls `function`; an error does not end the others."""
    each = [f"script {ONE_COMMAND.format(command=command)}" for command in commands]
    result = lldb(f"command script import {SCRIPT}", f"breakpoint set --name {function}", "run", "up", *each)
    found = re.findall(r"<<<(.*?)>>>", result.stdout, re.S)
    found = [text for text in found if not text.startswith('" + ')]  # lldb repeats the command
    if len(found) != len(commands):
        raise AssertionError(f"lldb said {result.stdout} {result.stderr}")
    return [text.strip() for text in found]


ONE_COMMAND = ("r = lldb.SBCommandReturnObject(); lldb.debugger.GetCommandInterpreter().HandleCommand({command!r}, r); "
               'print("<<<" + (r.GetOutput() or "") + (r.GetError() or "") + ">>>")')


def printed(names, function="stop_here"):
    """The variables, without their types and names, each on one line."""
    texts = shown([f"frame variable {name}" for name in names], function)
    return [" ".join(text.partition(" = ")[2].split()) for text in texts]


def cannot_run():
    """Why lldb cannot run programs here, or nothing."""
    if LLDB is None:
        return "lldb is not installed (apt-get install lldb)"
    result = lldb("script print('has', 6 * 7)", "breakpoint set --name main", "run", "frame info")
    if "has 42" not in result.stdout:
        return "lldb has no Python"
    return None if "`main" in result.stdout.partition("frame info")[2] else "lldb may not run programs here"


class Views(unittest.TestCase):
    def test_a_view_shows_label_device_extents_layout_and_first_elements(self):
        right, left, any_rank, one = printed(["right", "left", "any_rank", "one"])

        elements = ("(0, 0) = 0 (0, 1) = 1 (0, 2) = 2 (0, 3) = 3 (1, 0) = 10 (1, 1) = 11 (1, 2) = 12 (1, 3) = 13 "
                    "(2, 0) = 20 (2, 1) = 21")
        self.assertEqual(right, f'"right" on Threads, 3 x 4, LayoutRight {{ {elements} }}')
        self.assertEqual(left, f'"left" on Serial, 3 x 4, LayoutLeft {{ {elements} }}')
        self.assertEqual(any_rank, f'"any rank" on Serial, 3 x 4, LayoutRight {{ {elements} }}')
        self.assertEqual(one, '"one" on Serial, one element, LayoutLeft { () = 7.5 }')

    def test_each_layout_and_shape_is_read_where_its_elements_are(self):
        self.assertEqual(shown(["strata_at tiled 17 2", "strata_at fixed 2 3", "strata_at narrow 2 1", "strata_at tiled_part 12 1"]),
                         ["172", "23", "21", "172"])
        part, column = printed(["part", "column"])
        self.assertEqual(part, '"right" on Threads, 2 x 2, LayoutRight { (0, 0) = 12 (0, 1) = 13 (1, 0) = 22 (1, 1) = 23 }')
        self.assertEqual(column, '"right" on Threads, 3, LayoutStrided { (0) = 2 (1) = 12 (2) = 22 }')

    def test_an_index_outside_is_an_error_that_says_so(self):
        outside, too_few, no_view, no_number, unknown = shown(
            ["strata_at right 3 0", "strata_at right 1", "strata_at memory 1", "strata_at right one", "strata_at nobody 1"])

        self.assertIn("index 0 is 3, of 0 to 2", outside)
        self.assertIn("1 indices of a view of 2 dimensions", too_few)
        self.assertIn("strata_at is for views", no_view)
        self.assertIn("as in: strata_at x 2 1", no_number)
        self.assertIn("nobody", unknown)

    def test_a_slice_begins_with_the_rows_that_it_holds(self):
        of_slice, = printed(["offset"])
        outside, = shown(["strata_at offset 0 0"])

        self.assertTrue(of_slice.startswith('"slice" on Serial, 3 x 4, LayoutRight { (1, 0) = 0 '), of_slice)
        self.assertIn("not among the rows that this view holds", outside)

    def test_views_of_nothing_and_of_the_users_memory(self):
        nothing, unmanaged = printed(["nothing", "unmanaged"])

        self.assertEqual(nothing, "a view of nothing on Serial, LayoutRight")
        self.assertEqual(unmanaged, "on Serial, 3, LayoutRight { (0) = 1 (1) = 2 (2) = 3 }")

    def test_the_number_of_elements_is_a_setting(self):
        _, right, wrong = shown(["strata_elements 2", "frame variable right", "strata_elements all"])

        self.assertIn("(0, 1) = 1", right)
        self.assertNotIn("(0, 2)", right)
        self.assertIn("strata_elements takes a number", wrong)

    def test_memory_of_emulated_is_read_in_its_kernels_only(self):
        outside, = printed(["on_device"])
        inside, = shown(["strata_at in_kernel 3"], "stop_in_kernel")

        self.assertEqual(outside, '"on device" on Emulated, 100, LayoutLeft: elements are in the memory of Emulated, '
                                  "which threads with its kernels see")
        self.assertEqual(inside, "1")


class CoherentArrays(unittest.TestCase):
    def test_an_array_shows_where_its_values_are_and_where_old_ones(self):
        u, none = printed(["u", "no_array"])

        self.assertEqual(u, '100 of double, LayoutRight: "u", 8 bytes an element [0] to [50): Emulated{0}; old values in Host '
                            "[50] to [100): Host")
        self.assertEqual(none, "no coherent array")


if __name__ == "__main__":
    reason = cannot_run()
    if reason:
        print(f"left out: {reason}")
        sys.exit(77)
    unittest.main()
