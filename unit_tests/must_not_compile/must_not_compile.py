#!/usr/bin/env python3
"""Compiles one case that must not compile, and says whether it fails as it should.

A case is a file that begins with comment lines, the first of which is required:
    // expect: REGEX        some line with "error:" has to match (Python's re.search); of several such, each
    // errors: N            at most N lines with "error:"; 1 where this line is absent
    // lines: N             at most N lines of output in all, for messages whose length is a subject
    // bytes: N             the same in bytes, names of folders left out
    // target: strata_core  whose include path is used; `strata` where this line is absent
    // but with: strata     the case has to compile with the include path of this target
A case holds one mistake, or one for each "expect"; everything else in it is correct. Files *.cu are cases for nvcc, up to PTX.

--precompile makes FOLDER/strata.hpp.gch, which cases that include <strata/strata.hpp> begin with where it is there and
the compiler takes it: they are most of the cases, and the header is most of their time.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys


def header(source):
    """The settings in the comment lines that begin the file."""
    settings = {"expect": []}
    for line in source.read_text().splitlines():
        found = re.match(r"// (expect|errors|lines|bytes|target|but with): (.+)$", line)
        if not found:
            break
        if found[1] == "expect":
            settings["expect"].append(found[2].strip())
        else:
            settings[found[1]] = found[2].strip()
    return settings


def precompile(args_folder, folder):
    folder.mkdir(parents=True, exist_ok=True)
    header_file = folder / "strata.hpp"
    header_file.write_text("#include <strata/strata.hpp>\n")
    command = (args_folder / "strata.txt").read_text().splitlines()
    return subprocess.run(command + ["-x", "c++-header", str(header_file), "-o", f"{header_file}.gch"]).returncode


def begin_of(target, source, folder):
    """Options by which the case begins with the precompiled header."""
    header_file = folder / "strata.hpp" if folder else None
    if target != "strata" or not header_file or not pathlib.Path(f"{header_file}.gch").exists():
        return []
    return ["-include", str(header_file)] if "#include <strata/strata.hpp>" in source.read_text() else []


def compile_as(target, args_folder, source, precompiled=None):
    if source.suffix == ".cu":
        arguments, options = f"{target}_nvcc.txt", ["-ptx", "-o", os.devnull]
    else:
        arguments, options = f"{target}.txt", ["-fsyntax-only", "-fdiagnostics-color=never"]
        options += begin_of(target, source, precompiled)
    command = (args_folder / arguments).read_text().splitlines()
    return subprocess.run(command + options + [str(source)], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})


def refuse(reason, output=""):
    print(output)
    print(f"REFUSED: {reason}")
    sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--args", type=pathlib.Path, required=True, help="build/compile_args")
    parser.add_argument("--precompiled", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--precompile", action="store_true")
    parser.add_argument("source", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    if options.precompile:
        sys.exit(precompile(options.args, options.precompiled))

    settings = header(options.source)
    if not settings["expect"]:
        refuse(f"{options.source.name} must begin with the line '// expect: REGEX'")
    result = compile_as(settings.get("target", "strata"), options.args, options.source, options.precompiled)
    errors = [line for line in result.stderr.splitlines() if "error:" in line]

    if result.returncode == 0:
        refuse(f"{options.source.name}: it compiles, and has to fail")
    for expected in settings["expect"]:
        if not any(re.search(expected, line) for line in errors):
            refuse(f"no error matches '{expected}'", result.stderr)
    allowed = int(settings.get("errors", 1))
    if len(errors) > allowed:
        refuse(f"{len(errors)} errors, at most {allowed} allowed", result.stderr)
    output = result.stderr.splitlines()
    if len(output) > int(settings.get("lines", len(output))):
        refuse(f"{len(output)} lines, at most {settings['lines']} allowed", result.stderr)
    length = len(re.sub(r"/\S*/", "", result.stderr))
    if length > int(settings.get("bytes", length)):
        refuse(f"{length} bytes, at most {settings['bytes']} allowed", result.stderr)
    if "but with" in settings:
        control = compile_as(settings["but with"], options.args, options.source, options.precompiled)
        if control.returncode != 0:
            refuse(f"it does not compile with {settings['but with']} either", control.stderr)
    print("\n".join(errors))


if __name__ == "__main__":
    main()
