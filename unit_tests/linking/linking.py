#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and links kernel.cpp, and looks at what the compiler wrote or the linker said.

    checked_with_unchecked, unchecked_with_checked: a file of one kind beside the file of the library that names
        its kind. The first line of the linker's message that names a symbol is the one that says what to do.
    thread_locals: programs read the thread-local variables of kernels relative to the thread pointer. By way of
        the global offset table g++ 12 does so, for AVX-512, in instructions that ld refuses; shared libraries have
        to, and never call __tls_get_addr for them.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KERNEL = pathlib.Path(__file__).parent / "kernel.cpp"
NAMES = {
    "strata": "strata_a_file_compiled_without_STRATA_CHECKED_needs_the_library_strata",
    "strata_checked": "strata_a_file_compiled_with_STRATA_CHECKED_needs_the_library_strata_checked",
}


def run(command):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


def command_of(options, target):
    return (options.args / f"{target}.txt").read_text().splitlines()


def compiled(options, target, source, output, *flags):
    result = run(command_of(options, target) + [*flags, str(source), "-o", str(output)])
    if result.returncode != 0:
        sys.exit(result.stderr)
    return output


def missing(linked):
    return re.findall(r"undefined reference to [`'](.*)'", linked.stderr)


def check_mixed(options, folder, kind, other):
    kernel = compiled(options, kind, KERNEL, folder / "kernel.o", "-c")
    fitting = compiled(options, kind, options.library, folder / "fitting.o", "-c")
    wrong = compiled(options, other, options.library, folder / "wrong.o", "-c")
    link = command_of(options, kind)[:1] + [str(kernel), "-o", str(folder / "program")]
    first = missing(run(link + [str(wrong)]))[0]
    if first != NAMES[kind]:
        sys.exit(f"the first symbol that the linker misses is {first}, not {NAMES[kind]}")
    if NAMES[kind] in missing(run(link + [str(fitting)])):
        sys.exit(f"{NAMES[kind]} is missing beside the library that has it")


def check_thread_locals(options, folder):
    for mode, wanted in (("-fPIE", "@tpoff"), ("-fno-pie", "@tpoff"), ("-fPIC", "@gottpoff")):
        text = compiled(options, "strata", KERNEL, folder / "kernel.s", "-O2", "-S", mode).read_text()
        for name in ("emulated_offset", "host_worker"):
            found = set(re.findall(rf"{name}E(@\w+)", text))
            if found - {wanted} or (name == "emulated_offset" and not found):
                sys.exit(f"with {mode} {name} is read by {sorted(found)}, not by {wanted}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["checked_with_unchecked", "unchecked_with_checked", "thread_locals"])
    parser.add_argument("--args", type=pathlib.Path, required=True, help="build/compile_args")
    parser.add_argument("--library", type=pathlib.Path, help="the source of the library that names its kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.case == "thread_locals":
            check_thread_locals(options, pathlib.Path(folder))
        elif options.case == "checked_with_unchecked":
            check_mixed(options, pathlib.Path(folder), "strata_checked", "strata")
        else:
            check_mixed(options, pathlib.Path(folder), "strata", "strata_checked")


if __name__ == "__main__":
    main()
