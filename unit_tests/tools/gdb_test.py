#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gdb shows of the arrays of a program: gdb_test.py PROGRAM. Exit status 77 where there is no gdb that can run it.

The script for gdb comes out of the program itself (section .debug_gdb_scripts).
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM = os.path.realpath(sys.argv.pop(1))


def shown(expressions, function="stop_here", *setup):
    """What gdb prints for each expression where the program calls `function`, and what else it says."""
    commands = ["set width 0", "set confirm off", *setup, f"break {function}", "run", "up"]
    for expression in expressions:
        # Errors end a command file, but not what Python runs.
        commands.append(f"python exec({ONE_COMMAND.format(expression=expression)!r})")
    options = [word for command in commands for word in ("-ex", command)]
    result = subprocess.run(["gdb", "-q", "-nx", "-batch", "-iex", f"add-auto-load-safe-path {os.path.dirname(PROGRAM)}", *options,
                             PROGRAM], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    found = re.findall(r"<<<(.*?)>>>", result.stdout, re.S)
    if len(found) != len(expressions):
        raise AssertionError(f"gdb said {result.stdout} {result.stderr}")
    return [re.sub(r"^\$\d+ = ", "", text.rstrip("\n")) for text in found]


ONE_COMMAND = """
try:
    gdb.write("<<<" + gdb.execute("print {expression}", to_string=True) + ">>>")
except gdb.error as error:
    gdb.write("<<<error: " + str(error) + ">>>")
"""


def cannot_run():
    """Why gdb cannot run programs here, or nothing."""
    if shutil.which("gdb") is None:
        return "gdb is not installed (apt-get install gdb)"
    result = subprocess.run(["gdb", "-q", "-nx", "-batch", "-ex", "python print('has', 'Python')", "-ex", "break main", "-ex", "run",
                             "-ex", "print 40 + 2", PROGRAM], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if "has Python" not in result.stdout:
        return "gdb has no Python"
    return None if "$1 = 42" in result.stdout and "Breakpoint 1, main" in result.stdout else "gdb may not run programs here"


class Views(unittest.TestCase):
    def test_a_view_shows_label_device_extents_layout_and_first_elements(self):
        right, left, any_rank, one = shown(["right", "left", "any_rank", "one"])

        elements = "(0, 0) = 0, (0, 1) = 1, (0, 2) = 2, (0, 3) = 3, (1, 0) = 10, (1, 1) = 11, (1, 2) = 12, (1, 3) = 13, (2, 0) = 20, (2, 1) = 21"
        self.assertEqual(right, f'"right" on Threads, 3 x 4, LayoutRight = {{{elements}, ... = "more"}}')
        self.assertEqual(left, f'"left" on Serial, 3 x 4, LayoutLeft = {{{elements}, ... = "more"}}')
        self.assertEqual(any_rank, f'"any rank" on Serial, 3 x 4, LayoutRight = {{{elements}, ... = "more"}}')
        self.assertEqual(one, '"one" on Serial, one element, LayoutLeft = {() = 7.5}')

    def test_each_layout_and_shape_is_read_where_its_elements_are(self):
        tiled, fixed, narrow, part, tiled_part, column = shown(
            ["$at(tiled, 17, 2)", "$at(fixed, 2, 3)", "$at(narrow, 2, 1)", "part", "$at(tiled_part, 12, 1)", "column"])

        self.assertEqual((tiled, fixed, narrow, tiled_part), ("172", "23", "21", "172"))
        self.assertEqual(part, '"right" on Threads, 2 x 2, LayoutRight = {(0, 0) = 12, (0, 1) = 13, (1, 0) = 22, (1, 1) = 23}')
        self.assertEqual(column, '"right" on Threads, 3, LayoutStrided = {(0) = 2, (1) = 12, (2) = 22}')

    def test_elements_are_those_of_an_index(self):
        at, call, bracket = shown(["right.at(1, 2)", "right.operator()(2, 3)", "column[1]"])

        self.assertEqual((at, call, bracket), ("12", "23", "12"))

    def test_an_index_outside_is_an_error_that_says_so(self):
        outside, too_few, no_view = shown(["$at(right, 3, 0)", "$at(right, 1)", "$at(40, 1)"])

        self.assertIn("index 0 is 3, of 0 to 2", outside)
        self.assertIn("1 indices of a view of 2 dimensions", too_few)
        self.assertIn("$at is for views", no_view)

    def test_a_slice_begins_with_the_rows_that_it_holds(self):
        of_slice, outside = shown(["offset", "$at(offset, 0, 0)"])

        self.assertTrue(of_slice.startswith('"slice" on Serial, 3 x 4, LayoutRight = {(1, 0) = 0, '), of_slice)
        self.assertIn("not among the rows that this view holds", outside)

    def test_views_of_nothing_and_of_the_users_memory(self):
        nothing, unmanaged = shown(["nothing", "unmanaged"])

        self.assertEqual(nothing, "a view of nothing on Serial, LayoutRight")
        self.assertEqual(unmanaged, "on Serial, 3, LayoutRight = {(0) = 1, (1) = 2, (2) = 3}")

    def test_the_number_of_elements_is_a_setting(self):
        right, = shown(["right"], "stop_here", "set print strata-elements 2")

        self.assertEqual(right, '"right" on Threads, 3 x 4, LayoutRight = {(0, 0) = 0, (0, 1) = 1, ... = "more"}')

    def test_memory_of_emulated_is_read_in_its_kernels_only(self):
        outside, = shown(["on_device"])
        inside, = shown(["in_kernel.at(3)"], "stop_in_kernel")

        self.assertIn('"on device" on Emulated, 100, LayoutLeft = {(0) = <elements are in the memory of Emulated', outside)
        self.assertEqual(inside, "1")


class CoherentArrays(unittest.TestCase):
    def test_an_array_shows_where_its_values_are_and_where_old_ones(self):
        u, none = shown(["u", "no_array"])

        self.assertEqual(u.splitlines(), ['100 of double, LayoutRight: "u", 8 bytes an element',
                                          "  [0] to [50): Emulated{0}; old values in Host", "  [50] to [100): Host"])
        self.assertEqual(none, "no coherent array")


if __name__ == "__main__":
    reason = cannot_run()
    if reason:
        print(f"left out: {reason}")
        sys.exit(77)
    unittest.main()
