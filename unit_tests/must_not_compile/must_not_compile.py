#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles cases that must not compile, and says which do not fail as they should.

    must_not_compile.py --args FOLDER [--precompiled FOLDER] [--alone] [--part K/N] CASE...

A case is a file that begins with comment lines, the first of which is required:
    // expect: REGEX        some line with "error:" has to match (Python's re.search); of several such, each
    // says: REGEX          some line of all that the compiler prints has to match
    // errors: N            at most N lines with "error:"; 1 where this line is absent
    // lines: N             at most N lines of output in all, for messages whose length is a subject
    // bytes: N             the same in bytes, names of folders left out
    // first lines: 10      a common mistake: a line with "strata: " is among the first 10 of the output, and it has the words
                            "you wrote" and "write"
    // target: strata_core  whose include path is used; `strata` where this line is absent
    // but with: strata     the case has to compile with the include path of this target
    // refused: REGEX       a test of this program: it has to refuse the case, for a reason that matches
A case holds one mistake, or one for each "expect"; everything else in it is correct. Files *.cu are cases for nvcc, up to PTX.

Headers are most of the time of a case. Therefore
--precompile makes FOLDER/strata.hpp.gch, which cases that include <strata/strata.hpp> begin with where it is there and
the compiler takes it; and cases that include the same headers are compiled together, each in a namespace of its own. A case
passes if the errors whose lines, or whose instantiations' lines, are its own are as it expects. Whatever does not pass so is
compiled by itself, which decides: of two cases in which a template fails for the same arguments g++ prints the message for one.
--alone compiles each case by itself, the common mistakes without the precompiled header.
--part K/N makes each Nth of the compilations.
--common COMPILER FOLDER compiles the common mistakes there by g++, clang++ or nvcc, and prints a table of their first lines.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r"^#include (<.+>)$", re.M)


class Refused(Exception):
    """Why a case does not fail as it should, and what the compiler printed."""

    def __init__(self, reason, output=""):
        super().__init__(reason)
        self.output = output


def header(source):
    """The settings in the comment lines that begin the file."""
    settings = {"expect": []}
    for line in source.read_text().splitlines():
        found = re.match(r"// (expect|says|errors|lines|bytes|first lines|target|but with|refused): (.+)$", line)
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
    # Any <strata/NAME.hpp> includes <strata/strata.hpp>.
    return ["-include", str(header_file)] if re.search(r"#include <strata/\w+\.hpp>", source.read_text()) else []


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


def check_message(settings, output):
    """That the compiler's output is as the case expects; its lines with "error:"."""
    lines = output.splitlines()
    errors = [line for line in lines if "error:" in line]
    for expected in settings["expect"]:
        if not any(re.search(expected, line) for line in errors):
            raise Refused(f"no error matches '{expected}'", output)
    if "says" in settings and not re.search(settings["says"], output):
        raise Refused(f"nothing matches '{settings['says']}'", output)
    allowed = int(settings.get("errors", 1))
    if len(errors) > allowed:
        raise Refused(f"{len(errors)} errors, at most {allowed} allowed", output)
    if len(lines) > int(settings.get("lines", len(lines))):
        raise Refused(f"{len(lines)} lines, at most {settings['lines']} allowed", output)
    length = len(re.sub(r"/\S*/", "", output))
    if length > int(settings.get("bytes", length)):
        raise Refused(f"{length} bytes, at most {settings['bytes']} allowed", output)
    if "first lines" in settings:
        fault, _ = fault_of_first_lines(lines, int(settings["first lines"]))
        if fault:
            raise Refused(fault, output)
    return errors


def check_alone(source, args_folder, precompiled, without_for_common):
    settings = header(source)
    if not settings["expect"]:
        raise Refused("it must begin with the line '// expect: REGEX'")
    if without_for_common and "first lines" in settings:
        precompiled = None
    result = compile_as(settings.get("target", "strata"), args_folder, source, precompiled)
    if result.returncode == 0:
        raise Refused("it compiles, and has to fail")
    errors = check_message(settings, result.stderr)
    if "but with" in settings:
        control = compile_as(settings["but with"], args_folder, source, precompiled)
        if control.returncode != 0:
            raise Refused(f"it does not compile with {settings['but with']} either", control.stderr)
    return errors


def compilations_of(sources, most=16):
    """Lists of cases that are compiled together: with the same headers of Strata, and not about what all of the output is."""
    groups = {}
    for source in sources:
        settings = header(source)
        if source.suffix == ".cu" or not settings["expect"] or settings.keys() - {"expect", "says", "errors", "refused"}:
            groups[source] = [[source]]
            continue
        headers = sorted(name for name in INCLUDE.findall(source.read_text()) if name.startswith("<strata/"))
        batches = groups.setdefault(tuple(headers), [[]])
        if len(batches[-1]) == most:
            batches.append([])
        batches[-1].append(source)
    return [batch for batches in groups.values() for batch in batches]


def outputs_of(batch, args_folder, precompiled):
    """What the compiler prints of each case of those that are compiled as one."""
    includes = dict.fromkeys(name for source in batch for name in INCLUDE.findall(source.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        together = pathlib.Path(folder) / "together.cpp"
        together.write_text("".join(f"#include {name}\n" for name in includes) + "".join(
            f"namespace {source.stem} {{\n#include \"{source}\"\n}}\n" for source in batch))
        lines = compile_as("strata", args_folder, together, precompiled).stderr.splitlines()
    # As g++ prints it: before an error in a header are the lines from which it is instantiated, unless they are those of the
    # error before.
    outputs = {str(source): [] for source in batch}
    owner, unassigned = None, []
    for line in lines:
        unassigned.append(line)
        named = line.partition(":")[0]
        owner = named if named in outputs else owner
        if owner and not re.match(r"In file included from|\s+from |\S+: (In|At) |\S+:\s+required ", line):
            outputs[owner] += unassigned
            unassigned = []
    return ["\n".join(outputs[str(source)]) for source in batch]


def check_together(batch, args_folder, precompiled):
    """The cases of a batch that fail as they should in one compilation, with their errors."""
    passed = {}
    for source, output in zip(batch, outputs_of(batch, args_folder, precompiled)):
        try:
            passed[source] = check_message(header(source), output)
        except Refused:
            pass
    return passed


def report(source, errors, options):
    """Whether a case fails as it should: with `errors` in its batch, or by itself."""
    reason = None
    try:
        errors = errors or check_alone(source, options.args, options.precompiled, options.alone)
        print(f"{source.stem}:", *errors, sep="\n  ")
    except Refused as refused:
        reason = str(refused)
        print(f"{refused.output}\nREFUSED: {source.name}: {reason}")
    wanted = header(source).get("refused")
    if wanted and not re.search(wanted, reason or ""):
        print(f"FAULT: {source.name} is not refused because of '{wanted}'")
        return False
    return bool(wanted) or reason is None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--args", type=pathlib.Path, required=True, help="build/compile_args")
    parser.add_argument("--precompiled", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--precompile", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--part", metavar="K/N", default="1/1")
    parser.add_argument("--common", metavar="COMPILER", help="of the common mistakes in the folder SOURCE")
    parser.add_argument("sources", type=pathlib.Path, nargs="*", metavar="SOURCE")
    options = parser.parse_args()
    if options.precompile:
        sys.exit(precompile(options.args, options.precompiled))
    if options.common:
        faults = table_of_common(options.common, options.args, options.sources[0])
        sys.exit(f"REFUSED: {'; '.join(faults)}" if faults else 0)

    compilations = [[source] for source in options.sources] if options.alone else compilations_of(options.sources)
    part, parts = map(int, options.part.split("/"))
    alone, faults = 0, 0
    for batch in compilations[part - 1::parts]:
        passed = check_together(batch, options.args, options.precompiled) if len(batch) > 1 else {}
        alone += len(batch) - len(passed)
        for source in batch:
            faults += not report(source, passed.get(source), options)
    print(f"{alone} cases compiled by themselves, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
