#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources that declare different names, in batches: a batch is compiled as one, with the headers of its sources once.

    tools/source_batches.py MOST FILE...     a batch a line, of MOST files or fewer, with | between

Roughly: what declares a name in a way that is not found here may clash in a batch, and who compiles one has to compile
its sources one by one where it fails.
"""
import pathlib
import re
import sys


SUITE = re.compile(r"(?:TYPED_)?TEST(?:_F|_P|_SUITE|_SUITE_P)?\((\w+)")
USED = re.compile(r"using (?!namespace )(?:\w+::)+(\w+);")
DECLARED = re.compile(r"(?:struct|class|enum class|enum|#\s*define|using) (?:alignas\([^)]*\) )?(\w+)\b(?!::)")
FURTHER = re.compile(r", (\w+) = ")
ALIAS = re.compile(r"using (\w+) = .*;$")
# Functions of Strata that headers of other sources call: who declares one is compiled alone.
HIDDEN = {"in", "out", "inout"}
OTHER = re.compile(r"(?!using|namespace|static_assert)[a-zA-Z\[][^({=]*?(?<![\w:])(\w+)\s*(?:\(|\{|=|;|\[[^\[])")


def names_at_top(text):
    """(declared, used, aliases): names that a source declares outside of classes and functions, roughly, and what it takes
    from other namespaces, which others may take as well. Namespaces go together. Aliases are lines: two that are equal
    declare the same."""
    declared, used, aliases = set(), set(), {}
    for line in text.splitlines():
        if found := USED.match(line):
            used.add(found[1])
        elif found := ALIAS.match(line):
            aliases[found[1]] = line
        elif found := SUITE.match(line) or DECLARED.match(line) or OTHER.match(line):
            declared.add(found[1])
            if line.startswith(("constexpr", "inline", "const", "static")) and "(" not in line.partition("=")[0]:
                declared.update(FURTHER.findall(line))
    return declared - {"namespace", "main", "if", "for"} - set(aliases), used, aliases


def clashes(a, b):
    """Whether sources of such names do not compile as one."""
    if all(map(any, (a, b))) and HIDDEN & (a[0] | b[0]):
        return True
    for (declared, used, aliases), (others, others_used, others_aliases) in ((a, b), (b, a)):
        if declared & (others | others_used | others_aliases.keys()) or aliases.keys() & others_used:
            return True
        if any(others_aliases.get(name, line) != line for name, line in aliases.items()):
            return True
    return False


def batches_of(sources, most, kind=lambda path, text: None):
    """Lists of sources of one kind that declare different names."""
    batches = []
    for path in sources:
        text = path.read_text()
        names, its_kind = names_at_top(text), kind(path, text)
        for batch in batches:
            if batch["kind"] == its_kind and len(batch["paths"]) < most and not clashes(batch["names"], names):
                break
        else:
            batch = {"kind": its_kind, "paths": [], "names": (set(), set(), {})}
            batches.append(batch)
        batch["paths"].append(path)
        for all_names, its_names in zip(batch["names"], names):
            all_names.update(its_names)
    return [batch["paths"] for batch in batches]


if __name__ == "__main__":
    for batch in batches_of([pathlib.Path(name) for name in sys.argv[2:]], int(sys.argv[1])):
        print(*batch, sep="|")
