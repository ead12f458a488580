#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of the house: how much code there is, and how large its public interface is.

    tools/figures.py [COMMIT] [--list]   of the working tree, or of a commit; --list names what is counted

Printed are
  - lines of code by folder: lines of C++ files that hold more than comments, tests left out;
  - public names: what headers of the library declare in `strata` and outside of namespaces `detail`, each once;
  - functions with a label or a place in front: public ones, no members, whose first parameter is a label (`const
    char*`) or a place (`On`, `Across`, `Streamed...`, or a template parameter `Where`, or `First` where it may be left
    out); those that make arrays are not counted, as their label is that of the array. Overloads by it are those of them that exist again with the same
    parameters behind label and place;
  - files that a launch passes through: the headers of the library that a file with one `parallel_for` reads, and
    one with a `launch` over coherent arrays: all that their header includes, directly or not, and itself;
  - duplicates: runs of 8 or more equal lines of code that stand at two places, each pair of places once; comments,
    blank lines, includes and lines of brackets only do not count;
  - cycles of includes among the headers of the library, and its headers of more than 400 lines.

The reader of C++ here knows comments, strings and brackets, no more: enough for sources that clang-format has laid
out, and for comparing two commits."""

import argparse
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ("core", "devices", "views", "algorithms")
CODE = LIBRARY + ("miniapps",)
CPP = (".cpp", ".hpp", ".cu", ".cuh")
LONG = 400
LAUNCHES = {"parallel_for": "algorithms/parallel_for.hpp", "coherent launch": "algorithms/coherent_launch.hpp"}
COPIED = 8  # equal lines that make a duplicate
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
LABEL = re.compile(r"const char\s*\*")
PLACE = re.compile(r"(?:const )?(?:\w+::)*(?:On<|Across<|Streamed\w*\b|Where\b|First\b)")
MAKES_ARRAYS = re.compile(r"create|file_array|scatter_view")


def sources(commit):
    """(path, text) of the C++ files that are counted, in the working tree or a commit."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    if commit is None:
        paths = [path.relative_to(ROOT).as_posix() for folder in CODE for path in (ROOT / folder).rglob("*.*")]
    else:
        paths = git("ls-tree", "-r", "--name-only", commit).splitlines()
    for path in sorted(paths):
        if path.startswith(tuple(f"{folder}/" for folder in CODE)) and path.endswith(CPP):
            yield path, (ROOT / path).read_text() if commit is None else git("show", f"{commit}:{path}")


def bare(text):
    """The text without comments, lines kept; strings are empty ones."""
    def replace(token):
        newlines = "\n" * token[0].count("\n")
        return newlines + ("" if token[0].startswith("/") else '""')

    return TOKEN.sub(replace, text)


def declarations(text):
    """What stands at namespace scope outside of `detail`, up to its body or semicolon: (scope, head).

    `scope` are the names of the namespaces that are open."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", bare(text), flags=re.M)
    scopes, head, parens, skip = [], "", 0, 0
    for token in re.findall(r"[{}();]|[^{}();]+", text):
        if skip:
            skip += (token == "{") - (token == "}")
            continue
        if token in "()":
            parens += 1 if token == "(" else -1
        if token == "{" and parens == 0:
            namespace = re.search(r"\bnamespace\b([^=]*)$", head)
            if namespace:
                scopes.append(re.sub(r"\binline\s+\w+|\[\[.*?\]\]", "", namespace[1]).strip() or "(anonymous)")
            else:
                yield scopes[:], head.strip()
                skip = 1
            head = ""
        elif token == "}" and parens == 0:
            if scopes:
                scopes.pop()
            head = ""
        elif token == ";" and parens == 0:
            yield scopes[:], head.strip()
            head = ""
        else:
            head += token


def without_template(head):
    """The declaration without `template <...>` and requires-clauses in front."""
    head = re.sub(r"\s+", " ", head)
    while head.startswith("template"):
        depth = 0
        for at in range(head.index("<"), len(head)):
            depth += (head[at] == "<") - (head[at] == ">")
            if depth == 0:
                head = head[at + 1:].strip()
                break
    if head.startswith("requires requires"):  # of an expression: up to the end of its braces
        head = head[head.index("}") + 1:].strip() if "}" in head else ""
    elif head.startswith("requires"):
        depth, at = 0, len("requires")
        at = head.index("(", at)
        for at in range(at, len(head)):
            depth += (head[at] == "(") - (head[at] == ")")
            if depth == 0 and not head[at + 1:].lstrip().startswith(("&&", "||")):
                break
        head = head[at + 1:].strip()
    return head


def public(scope, head):
    joined = "::".join(scope).split("::")
    return "strata" in joined[0] and not any("detail" in name or "anonymous" in name for name in joined)


def name_of(head):
    """(name, whether it is a function's) of a declaration; None where it declares none."""
    head = without_template(head)
    if re.match(r"(?:using namespace|static_assert|extern|friend|namespace)\b", head) or not head:
        return None
    named = re.match(r"(?:struct|class|union|enum(?: class| struct)?)(?: alignas\(.*?\))?(?: \[\[.*?\]\])? (\w+)(<)?", head)
    if named:
        return None if named[2] else (named[1], False)
    named = re.match(r"(?:using|concept) (\w+)", head)
    if named:
        return named[1], False
    function = re.search(r"(operator\s*\S+?|~?\w+)\s*\(", re.sub(r"decltype\(auto\)|explicit\([^)]*\)", "auto", head))
    if function and (head.find("=") < 0 or head.find("(") < head.find("=") or "operator" in function[1]):
        return function[1], True
    named = re.search(r"(\w+)\s*(?:<.*>)?\s*(?:\[[^\]]*\])?\s*(?:=|$)", head)
    return (named[1], False) if named else None


def parameters_of(head):
    """The text between the brackets behind a function's name."""
    depth, start = 0, head.index("(")
    for at in range(start, len(head)):
        depth += (head[at] == "(") - (head[at] == ")")
        if depth == 0:
            return head[start + 1:at]
    return ""


def split_parameters(text):
    """The parameters, apart."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def interface(files):
    """The public names, the functions with a label or a place in front, and those of them that are overloads by it."""
    names, functions, all_of = set(), [], collections.defaultdict(list)
    for path, text in files:
        if not path.endswith(".hpp") or not path.startswith(LIBRARY):
            continue
        for scope, head in declarations(text):
            found = name_of(head) if public(scope, head) else None
            if found is None:
                continue
            name, is_function = found
            full_name = "::".join(scope[1:] + [name])
            names.add(full_name)
            if not is_function or MAKES_ARRAYS.match(name) or "->" in head.split(")")[-1]:
                continue
            declared = without_template(head)
            rest = split_parameters(parameters_of(declared[declared.index(name + "("):]))
            in_front = False
            while rest and (LABEL.match(rest[0]) or PLACE.match(rest[0])):
                in_front = True
                rest = rest[1:]
            key = (full_name, ", ".join(rest))
            all_of[key].append(declared)
            if in_front:
                functions.append((path, declared, key))
    return names, functions, [found for found in functions if len(all_of[found[2]]) > 1]


def includes_of(files):
    """header -> the headers that it includes, directly or not; of the library."""
    texts = {path: text for path, text in files if path.endswith(".hpp") and path.startswith(LIBRARY)}
    edges = {path: [name for name in re.findall(r"^\s*#\s*include\s*<strata/(\S+)>", text, re.M) if name in texts]
             for path, text in texts.items()}

    def reached(start):
        seen, open_ = set(), list(edges[start])
        while open_:
            path = open_.pop()
            if path not in seen:
                seen.add(path)
                open_ += edges[path]
        return seen

    return {path: reached(path) for path in edges}


def include_cycles(reach):
    """Headers that reach themselves, in sets that reach each other."""
    return sorted({tuple(sorted(other for other in reach[path] if path in reach[other]))
                   for path in reach if path in reach[path]})


def duplicates(files):
    """(lines, path and first line, path and first line) of runs of equal lines, each as long as it goes."""
    lines = []  # (text, path, number); text is None between files
    for path, text in files:
        for number, line in enumerate(bare(text).splitlines(), 1):
            line = " ".join(line.split())
            if re.search(r"\w", line) and not line.startswith("#include"):
                lines.append((line, path, number))
        lines.append((None, path, 0))
    windows = collections.defaultdict(list)
    for at in range(len(lines) - COPIED):
        window = tuple(line for line, _, _ in lines[at:at + COPIED])
        if None not in window:
            windows[window].append(at)
    found = []
    for places in windows.values():
        for k, b in enumerate(places):
            for a in places[:k]:
                is_first = a == 0 or lines[a - 1][0] is None or lines[a - 1][0] != lines[b - 1][0]
                if not is_first or b - a < COPIED:
                    continue
                count = COPIED
                while lines[a + count][0] is not None and lines[a + count][0] == lines[b + count][0]:
                    count += 1
                found.append((count, "{}:{}".format(*lines[a][1:]), "{}:{}".format(*lines[b][1:])))
    return sorted(found, reverse=True)


def figures(commit):
    files = list(sources(commit))
    lines = collections.Counter()
    for path, text in files:
        lines[path.split("/")[0]] += sum(1 for line in bare(text).splitlines() if line.strip())
    names, functions, overloads = interface(files)
    long = sorted((text.count("\n"), path) for path, text in files
                  if path.startswith(LIBRARY) and path.endswith(".hpp") and text.count("\n") > LONG)
    reach = includes_of(files)
    return {"lines": lines, "names": names, "functions": functions, "overloads": overloads, "long": long,
            "passed": {what: len(reach[header] | {header}) for what, header in LAUNCHES.items() if header in reach},
            "duplicates": duplicates(files), "cycles": include_cycles(reach)}


def lines_of(found, what, list_all=False):
    """What is printed of the figures of `what`."""
    lines = found["lines"]
    library = sum(lines[folder] for folder in LIBRARY)
    yield f"figures of {what}"
    yield "  lines of code without comments: " + ", ".join(f"{folder} {lines[folder]}" for folder in CODE)
    yield f"  lines of code of the library {library}, of library and mini-apps {library + lines['miniapps']}"
    yield f"  public names in strata: {len(found['names'])}"
    if list_all:
        yield "    " + " ".join(sorted(found["names"]))
    yield (f"  functions with a label or a place in front: {len(found['functions'])}, "
           f"of which overloads by it: {len(found['overloads'])}")
    if list_all:
        yield from (f"    {'by it' if one in found['overloads'] else '     '} {one[0]}: {one[1]}"
                    for one in found["functions"])
    yield "  files a launch passes through: " + ", ".join(f"{what} {count}" for what, count in found["passed"].items())
    yield f"  duplicates of {COPIED} lines and more: {len(found['duplicates'])}"
    yield from (f"    {count} lines {first} {second}" for count, first, second in found["duplicates"])
    yield f"  cycles of includes: {len(found['cycles'])}"
    yield from ("    " + " ".join(cycle) for cycle in found["cycles"])
    yield f"  headers of more than {LONG} lines: {len(found['long'])}"
    yield from (f"    {count} {path}" for count, path in found["long"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="a commit in place of the working tree")
    parser.add_argument("--list", action="store_true", help="names what is counted")
    options = parser.parse_args()
    print("\n".join(lines_of(figures(options.commit), options.commit or "the working tree", options.list)))


if __name__ == "__main__":
    main()
