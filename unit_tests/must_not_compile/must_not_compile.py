#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one case that must not compile, and says whether it fails as it should.

A case is a file that begins with comment lines, the first of which is required:
    // expect: REGEX        some line with "error:" has to match (Python's re.search); of several such, each
    // says: REGEX          some line of all that the compiler prints has to match
    // errors: N            at most N lines with "error:"; 1 where this line is absent
    // lines: N             at most N lines of output in all, for messages whose length is a subject
    // bytes: N             the same in bytes, names of folders left out
    // first lines: 10      a common mistake: a line with "strata: " is among the first 10 of the output, and it has the words
                            "you wrote" and "write"; compiled without the precompiled header
    // target: strata_core  whose include path is used; `strata` where this line is absent
    // but with: strata     the case has to compile with the include path of this target
A case holds one mistake, or one for each "expect"; everything else in it is correct. Files *.cu are cases for nvcc, up to PTX.

--common COMPILER FOLDER compiles the common mistakes there by g++, clang++ or nvcc, and prints a table of their first lines.

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
        found = re.match(r"// (expect|says|errors|lines|bytes|first lines|target|but with): (.+)$", line)
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


def fault_of_first_lines(output, most):
    """What a common mistake's output lacks, or nothing; and the number of its first line of Strata, from 1."""
    number = next((k for k, line in enumerate(output, 1) if "strata: " in line), None)
    if number is None:
        return "no line has 'strata: '", None
    if number > most:
        return f"the first line with 'strata: ' is the {number}th, at most the {most}th is allowed", number
    text = output[number - 1].split("strata: ", 1)[1]
    missing = [words for words in ("you wrote", "write ") if words not in text]
    return (f"the first line of Strata lacks {' and '.join(map(repr, missing))}" if missing else None), number


def table_of_common(compiler, args_folder, folder):
    """A line for each common mistake: where the first line of Strata is, and what it says."""
    arguments = (args_folder / ("strata_nvcc.txt" if compiler == "nvcc" else "strata.txt")).read_text().splitlines()
    command = arguments + ["-x", "cu", "-ptx", "-o", os.devnull] if compiler == "nvcc" else [
        compiler, *(word for word in arguments[1:] if word != "-fopenmp-simd"), "-fsyntax-only",
        "-fno-color-diagnostics" if "clang" in compiler else "-fdiagnostics-color=never"]
    faults = []
    for source in sorted(folder.glob("*.cpp")):
        most = header(source).get("first lines")
        if most is None:
            continue
        output = subprocess.run([*command, str(source)], capture_output=True, text=True,
                                env={**os.environ, "LC_ALL": "C"}).stderr.splitlines()
        fault, number = fault_of_first_lines(output, int(most))
        text = output[number - 1].split("strata: ", 1)[1].rstrip('"') if number else ""
        print(f"{number or '-':>3}  {source.stem}: {text}", flush=True)
        if fault:
            faults.append(f"{source.stem}: {fault}")
    return faults


def refuse(reason, output=""):
    print(output)
    print(f"REFUSED: {reason}")
    sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--args", type=pathlib.Path, required=True, help="build/compile_args")
    parser.add_argument("--precompiled", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--precompile", action="store_true")
    parser.add_argument("--common", metavar="COMPILER", help="of the common mistakes in the folder SOURCE")
    parser.add_argument("source", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    if options.precompile:
        sys.exit(precompile(options.args, options.precompiled))

    if options.common:
        faults = table_of_common(options.common, options.args, options.source)
        if faults:
            refuse("; ".join(faults))
        return
    settings = header(options.source)
    if not settings["expect"]:
        refuse(f"{options.source.name} must begin with the line '// expect: REGEX'")
    precompiled = None if "first lines" in settings else options.precompiled
    result = compile_as(settings.get("target", "strata"), options.args, options.source, precompiled)
    errors = [line for line in result.stderr.splitlines() if "error:" in line]

    if result.returncode == 0:
        refuse(f"{options.source.name}: it compiles, and has to fail")
    for expected in settings["expect"]:
        if not any(re.search(expected, line) for line in errors):
            refuse(f"no error matches '{expected}'", result.stderr)
    if "says" in settings and not re.search(settings["says"], result.stderr):
        refuse(f"nothing matches '{settings['says']}'", result.stderr)
    allowed = int(settings.get("errors", 1))
    if len(errors) > allowed:
        refuse(f"{len(errors)} errors, at most {allowed} allowed", result.stderr)
    output = result.stderr.splitlines()
    if len(output) > int(settings.get("lines", len(output))):
        refuse(f"{len(output)} lines, at most {settings['lines']} allowed", result.stderr)
    length = len(re.sub(r"/\S*/", "", result.stderr))
    if length > int(settings.get("bytes", length)):
        refuse(f"{length} bytes, at most {settings['bytes']} allowed", result.stderr)
    if "first lines" in settings:
        fault, _ = fault_of_first_lines(output, int(settings["first lines"]))
        if fault:
            refuse(fault, result.stderr)
    if "but with" in settings:
        control = compile_as(settings["but with"], options.args, options.source, options.precompiled)
        if control.returncode != 0:
            refuse(f"it does not compile with {settings['but with']} either", control.stderr)
    print("\n".join(errors))


if __name__ == "__main__":
    main()
